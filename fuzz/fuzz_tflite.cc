#include "plan_anything.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  stowage::fuzz::plan_anything(bytes, "model.tflite");
  stowage::fuzz::share_anything(bytes, "model.tflite");
  return 0;
}
