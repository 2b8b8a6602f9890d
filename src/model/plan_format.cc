#include "model/plan_format.h"

#include <variant>

namespace stowage::model {

std::size_t counted(std::size_t bytes) {
  constexpr std::size_t bytes_of_one = 256;
  return 1 + bytes / bytes_of_one;
}

std::size_t counted(const Step& step) {
  if (const auto* const run = std::get_if<Run>(&step)) return counted(run->path.size() * sizeof(std::size_t));
  if (const auto* const fork = std::get_if<Fork>(&step))
    return counted(fork->clocks.size() * sizeof(std::size_t));
  return 1;
}

}  // namespace stowage::model
