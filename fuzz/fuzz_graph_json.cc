#include "plan_anything.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  stowage::fuzz::plan_anything(bytes, "graph.json");
  stowage::fuzz::share_anything(bytes, "graph.json");
  return 0;
}
