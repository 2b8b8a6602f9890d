#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "export/header_tables.h"
#include "stowage/error.h"
#include "stowage/tflm.h"

namespace stowage {

void write_buffer_plan(const std::vector<Bytes>& buffers, const std::string& prefix, std::ostream& out) {
  if (!exporting::is_identifier(prefix))
    throw UsageError(fmt::format("--prefix is \"{}\", expected a C identifier", prefix));
  fmt::print(
      out,
      "/* Offsets for TensorFlow Lite Micro, written by stowage: a BufferPlan, as memory_plan_struct.h has "
      "it.\n   In C++:\n"
      "       extern \"C\" const int32_t {0}_buffer_plan[];\n"
      "       tflite::NonPersistentMemoryPlannerShim "
      "planner(reinterpret_cast<const tflite::BufferPlan *>({0}_buffer_plan));\n"
      "       tflite::MicroAllocator *allocator = "
      "tflite::MicroAllocator::Create(tensor_arena, size, &planner);\n"
      "   The planner reports no head, so the runtime does not notice an arena that is too small. */\n"
      "#include <stdint.h>\n\n"
      "extern const int32_t {0}_buffer_plan[];\n"
      "const int32_t {0}_buffer_plan[] = {{\n  {1}, /* buffers: tensors in the order of the file, then "
      "scratch */\n",
      prefix, buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i] > std::numeric_limits<std::int32_t>::max())
      throw UsageError(fmt::format("--buffer-plan: offset {} has more than 31 bits", buffers[i]));
    fmt::print(out, "  {}{}\n", buffers[i], i + 1 < buffers.size() ? "," : "");
  }
  fmt::print(out, "}};\n");
}

}  // namespace stowage
