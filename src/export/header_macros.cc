#include "export/header_macros.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>

#include "export/header_tables.h"

namespace stowage::exporting {

void Macros::define(const std::string& name, std::int64_t value) {
  std::string own = name;
  for (int i = 2; !names_.insert(own).second; ++i) own = fmt::format("{}_{}", name, i);
  fmt::print(out_, "#define {}_{} {}u\n", capitals_, own, value);
}

void Macros::define_files(const Plan& plan, std::span<const ModelDetails> details) {
  for (std::size_t m = 0; m < details.size(); ++m) {
    const std::string model = plan.models.size() == 1 ? "" : macro_name(plan.models[m].name) + "_";
    out_ << (m == 0 ? "\n/* Files of the models: bytes, and their XXH64. */\n" : "");
    define(model + "FILE_BYTES", details[m].bytes);
    fmt::print(out_, "#define {}_{}FILE_HASH 0x{:016X}ull\n", capitals_, model, details[m].hash);
  }
}

void Macros::define_memories(const Plan& plan) {
  out_ << "\n/* Memories: bytes to allocate, and what the address of the first one is a multiple of. */\n";
  for (const PlannedMemory& memory : plan.memories) {
    define(macro_name(memory.memory.name) + "_SIZE", memory.peak);
    define(macro_name(memory.memory.name) + "_ALIGNMENT", memory.memory.alignment);
  }
}

}  // namespace stowage::exporting
