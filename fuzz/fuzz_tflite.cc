#include "plan_anything.h"
#include "stowage/error.h"
#include "stowage/tflm.h"

namespace {

/// Whatever can be read can be written with a plan, read again, and be rid of it.
void plan_in_file(std::string_view bytes) {
  try {
    const stowage::Input input = stowage::parse_input(bytes, "model.tflite");
    const auto& graph = std::get<stowage::Graph>(input.content);
    stowage::OfflinePlan plan{.offsets = stowage::OfflineOffsets(graph.tensors.size(), 16)};
    if (const auto found = stowage::read_offline_offsets(bytes)) plan.offsets = *found;
    (void)stowage::check_offline_offsets(graph, plan.offsets);
    const std::string written = stowage::with_offline_plan(bytes, plan);
    if (stowage::read_offline_offsets(written) != plan.offsets) std::abort();
    if (stowage::read_offline_offsets(stowage::without_offline_plan(written))) std::abort();
  } catch (const stowage::Error&) {
  } catch (const stowage::UsageError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  stowage::fuzz::plan_anything(bytes, "model.tflite");
  stowage::fuzz::share_anything(bytes, "model.tflite");
  plan_in_file(bytes);
  return 0;
}
