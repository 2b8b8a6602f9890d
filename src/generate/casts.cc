// Cast of both formats, Clip and FILL: functions of elements whose C depends on types and on which operands there are.

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "generate/element_loops.h"
#include "generate/text.h"
#include "kernels/kernels.h"

namespace stowage::generate {
namespace {

using kernels::refuse;

// Cast

/// "INT8_MIN"
std::string limit_of(DType dtype, std::string_view which) {
  std::string name = upper(c_type(dtype));
  name.resize(name.size() - std::string_view("_T").size());
  return fmt::format("{}_{}", name, which);
}

/// Of integers, beyond which reals become the limits.
std::string cast_of_real(DType to) {
  const auto bits = static_cast<int>(bits_of(to).value());
  const bool is_signed =
      to != DType::uint8 && to != DType::uint16 && to != DType::uint32 && to != DType::uint64;
  const float end = std::ldexp(1.0F, is_signed ? bits - 1 : bits);
  return fmt::format("!(a > {}) ? (isnan(a) ? 0 : {}) : a >= {} ? {} : ({})a",
                     literal(is_signed ? -end : 0.0F), is_signed ? limit_of(to, "MIN") : "0", literal(end),
                     limit_of(to, "MAX"), c_type(to));
}

/// The real parts.
void cast_complex(Writer& writer) {
  const Operand in = writer.input(0);
  const Operand out = writer.output();
  expect_countable(in);
  writer.declare("int32_t i;");
  writer.line(fmt::format("for (i = 0; i < {}; i++) ({})[i] = ({})[i].re;", out.count(), out.at, in.at));
}

void emit_cast(Writer& writer) {
  static_cast<void>(kernels::prepare(writer.signature(), KernelSet::plain));  // refuses what does not fit
  if (writer.seen().inputs.at(0).value().dtype == DType::complex64) return cast_complex(writer);
  const Operand out = writer.output();
  std::vector<LoopInput> inputs{loop_input(writer, 0)};
  LoopInput& in = inputs[0];
  const auto is_real = [](DType dtype) { return dtype == DType::float32 || dtype == DType::float64; };
  std::string text = fmt::format("({})a", c_type(out.dtype));
  if (out.dtype == DType::boolean) {
    text = "a != 0";
  } else if (is_real(in.operand.dtype) && !is_real(out.dtype)) {
    text = cast_of_real(out.dtype);
  }
  // TFLite takes booleans as the bytes that they are.
  if (writer.op().type == "CAST" && in.operand.dtype == DType::boolean) in.operand.dtype = DType::uint8;
  in.operand.shape = out.shape;  // as many elements, in the same order
  writer.need_math();
  write_loops(writer, inputs, out, element_lines(inputs, out.dtype, text));
}

// Clip

void emit_clip(Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  const DType dtype = signature.outputs.at(0).value().dtype;
  std::vector<LoopInput> inputs{loop_input(writer, 0)};
  std::string text = "a";
  const auto clip = [&](std::size_t i, std::string_view attribute, std::string_view relation) {
    std::string limit;
    if (signature.has_input(i)) {
      inputs.push_back(loop_input(writer, i));
      inputs.back().operand.shape = {};
      limit = std::string(1, "abc"[inputs.size() - 1]);
    } else if (signature.attributes.has(attribute)) {
      if (dtype != DType::float32) refuse("it has a limit of float32 for {}", name_of(dtype));
      limit = literal(signature.attributes.real(attribute, 0));
    } else {
      return;
    }
    text = text == "a" ? fmt::format("a {} {} ? {} : a", relation, limit, limit)
                       : fmt::format("({0}) {1} {2} ? {2} : ({0})", text, relation, limit);
  };
  clip(1, "min", "<");
  clip(2, "max", ">");
  if (dtype == DType::float64) refuse("float64 is not supported");
  write_loops(writer, inputs, writer.output(), element_lines(inputs, dtype, text));
}

// FILL

void emit_fill(Writer& writer) {
  const Operand out = writer.output();
  std::vector<LoopInput> inputs{loop_input(writer, 1)};
  inputs[0].operand.shape = {};
  write_loops(writer, inputs, out, element_lines(inputs, out.dtype, "a"));
}

}  // namespace

EmitPart cast_operators() {
  constexpr RowHandling each = RowHandling::elements;
  return {{"Cast", emit_cast, each},
          {"CastLike", emit_cast, each},
          {"CAST", emit_cast, each},
          {"Clip", emit_clip, each},
          {"FILL", emit_fill}};
}

}  // namespace stowage::generate
