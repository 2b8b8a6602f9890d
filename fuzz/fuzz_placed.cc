#include <string_view>

#include "plan_anything.h"

/// Plans of other programs: the name lets the content decide which.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stowage::fuzz::plan_anything({reinterpret_cast<const char*>(data), size}, "placed");
  return 0;
}
