#include "plan_anything.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stowage::fuzz::plan_anything({reinterpret_cast<const char*>(data), size}, "graph.json");
  return 0;
}
