// READ_VARIABLE and ASSIGN_VARIABLE: copies from and to what is kept from run to run.

#include <fmt/format.h>

#include "generate/sources.h"

namespace stowage::generate {
namespace {

void copy_bytes(Writer& writer, const Operand& from, const Operand& to) {
  writer.need("stowage_movement");
  writer.line(fmt::format("stowage_copy_runs({}, 0, {}, 0, {}, 1);", from.at, to.at,
                          from.count() * static_cast<std::int64_t>(kernels::element_size(from.dtype))));
}

void emit_read(Writer& writer) { copy_bytes(writer, writer.input(0), writer.output()); }

void emit_assign(Writer& writer) { copy_bytes(writer, writer.input(1), writer.state(0)); }

}  // namespace

EmitPart variable_operators() { return {{"READ_VARIABLE", emit_read}, {"ASSIGN_VARIABLE", emit_assign}}; }

}  // namespace stowage::generate
