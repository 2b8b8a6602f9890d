// Strategies that run by name alone, since they are never the lowest: see portfolio.cc. The packer for C has none.

#include <vector>

#include "pack/portfolio.h"
#include "pack/strategies.h"

namespace stowage::pack {

std::vector<Strategy> packers_by_name() {
  return {
      {{"two-stack", "from the outputs backwards, on both sides of an origin", "CN112256441B"},
       two_stack,
       obstacle_to_two_stack,
       {.of_many = 1, .work = 300}},
      {{"slots", "equal slots, as many as buffers are alive at once", "CN patent application, 2024"},
       slots,
       obstacle_to_slots,
       {.of_many = 1, .work = 200}},
  };
}

}  // namespace stowage::pack
