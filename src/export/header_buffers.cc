// The C header of a buffer list, which has no steps and tensors: sizes of memories and offsets of buffers as macros, and
// a table of all buffers.

#include "export/header_buffers.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <limits>
#include <string>

#include "export/header_macros.h"
#include "export/header_tables.h"

namespace stowage::exporting {
namespace {

class BuffersWriter {
 public:
  BuffersWriter(const Plan& plan, const HeaderOptions& options, std::ostream& out)
      : plan_(plan),
        options_(options),
        prefix_(options.prefix),
        capitals_(macro_name(options.prefix)),
        macros_(capitals_, out),
        out_(out) {}

  void write() {
    fmt::print(
        out_,
        "/* Where the buffers of a list are, written by stowage. Define {0}_IMPLEMENTATION in one file "
        "before including\n   this one: the table is defined there. */\n"
        "#ifndef {0}_PLAN_H_\n#define {0}_PLAN_H_\n\n#include <stdint.h>\n\n"
        "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n",
        capitals_);
    macros_.define("MEMORIES", std::ssize(plan_.memories));
    macros_.define("BUFFERS", std::ssize(plan_.buffers));
    macros_.define_memories(plan_);
    if (options_.names) write_offsets();
    write_table();
    fmt::print(out_, "\n#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {}_PLAN_H_ */\n", capitals_);
  }

 private:
  void write_offsets() {
    out_ << "\n/* Buffers: where they begin in their memory. */\n";
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b)
      macros_.define("OFFSET_" + macro_name(plan_.buffers[b].id), plan_.places[b].offset);
  }

  void write_table() {
    const bool is_large = std::ranges::any_of(plan_.memories, [](const PlannedMemory& it) {
      return it.peak > std::numeric_limits<std::uint32_t>::max();
    });
    fmt::print(out_,
               "\ntypedef struct {0}_buffer {{\n  const char *name;\n  uint32_t memory;\n  {1} offset, "
               "bytes;\n}} {0}_buffer;\n\n/* In the order of the list. */\n"
               "extern const {0}_buffer {0}_buffers[];\n\n#ifdef {2}_IMPLEMENTATION\n"
               "const {0}_buffer {0}_buffers[] = {{\n",
               prefix_, is_large ? "uint64_t" : "uint32_t", capitals_);
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      const Place& place = plan_.places[b];
      fmt::print(out_, "  {{{}, {}u, {}u, {}u}},\n", options_.names ? literal(plan_.buffers[b].id) : "0",
                 place.memory, place.offset, plan_.buffers[b].size);
    }
    if (plan_.buffers.empty()) out_ << "  {0, 0u, 0u, 0u}, /* C has no empty arrays */\n";
    fmt::print(out_, "}};\n#endif /* {}_IMPLEMENTATION */\n", capitals_);
  }

  const Plan& plan_;
  const HeaderOptions& options_;
  std::string prefix_;
  std::string capitals_;
  Macros macros_;
  std::ostream& out_;
};

}  // namespace

void write_buffers_header(const Plan& plan, const HeaderOptions& options, std::ostream& out) {
  BuffersWriter(plan, options, out).write();
}

}  // namespace stowage::exporting
