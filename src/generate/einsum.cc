// Einsum of float32, as loops over the letters of the output around loops over the others, as in our own kernel:
//
//     for (i0 = 0; i0 < 8; i0++)                      g, of "btgi,gih->btgh"
//       for (i1 = 0; i1 < 32; i1++) {                 h
//         float t = 0.0F;
//         for (i2 = 0; i2 < 64; i2++)                 i
//           t += in_0[i0 * 64 + i2] * in_1[i0 * 2048 + i2 * 32 + i1];
//         *out++ = t;
//       }

#include "kernels/onnx/einsum.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "generate/element_loops.h"

namespace stowage::generate {
namespace {

using kernels::refuse;

void emit_einsum(Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  if (signature.outputs.at(0).value().dtype != DType::float32) refuse("it is not of float32");
  const kernels::onnx_ops::Space space = kernels::onnx_ops::einsum_space(signature);
  std::vector<std::string> places(space.strides.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Operand in = writer.input(i);
    expect_countable(in);
    writer.line(fmt::format("const float *const in_{} = {};", i, in.at));
  }
  const Operand to = writer.output();
  expect_countable(to);
  writer.line(fmt::format("float *out = {};", to.at));
  std::string indent;
  const auto open = [&](std::size_t axis) {
    if (space.sizes[axis] == 1) return;
    const std::string index = fmt::format("i{}", axis);
    writer.declare(fmt::format("int32_t {};", index));
    writer.line(fmt::format("{0}for ({1} = 0; {1} < {2}; {1}++) {{", indent, index, space.sizes[axis]));
    for (std::size_t i = 0; i < places.size(); ++i) places[i] += moved(index, space.strides[i][axis]);
    indent += "  ";
  };
  const auto close_to = [&](std::size_t depth) {
    while (indent.size() > depth) {
      indent.resize(indent.size() - 2);
      writer.line(indent + "}");
    }
  };
  for (std::size_t axis = 0; axis < space.kept; ++axis) open(axis);
  const std::size_t depth = indent.size();
  writer.line(indent + "{");
  indent += "  ";
  writer.line(indent + "float t = 0.0F;");
  for (std::size_t axis = space.kept; axis < space.sizes.size(); ++axis) open(axis);
  std::string term;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string place = places[i].empty() ? "0" : places[i].substr(std::string_view(" + ").size());
    term += fmt::format("{}in_{}[{}]", i == 0 ? "" : " * ", i, place);
  }
  writer.line(fmt::format("{}t = t + {};", indent, term));
  close_to(depth + 2);
  writer.line(indent + "*out++ = t;");
  close_to(0);
}

}  // namespace

EmitPart einsum_operators() { return {{"Einsum", emit_einsum}}; }

}  // namespace stowage::generate
