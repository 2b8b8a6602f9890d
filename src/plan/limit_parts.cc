#include "plan/limit_parts.h"

#include <algorithm>
#include <cstdint>

namespace stowage::plan {

SolveOptions with_part(SolveOptions options, double part) {
  if (options.effort)
    options.effort =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(*options.effort) * part));
  else
    options.time_limit *= part;
  return options;
}

}  // namespace stowage::plan
