#include "model/multiplies.h"

#include <algorithm>

namespace stowage::model {

std::int64_t multiplies_of_rows(std::int64_t multiplies, std::int64_t extent, std::int64_t begin,
                                std::int64_t end) {
  const std::int64_t rest = multiplies % extent;
  return multiplies / extent * (end - begin) + std::min(end, rest) - std::min(begin, rest);
}

}  // namespace stowage::model
