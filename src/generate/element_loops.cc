// Loops over elements, as text: inputs that are repeated to the output do not move along some dimensions.
//
//     for (i0 = 0; i0 < 3; i0++)
//       for (i1 = 0; i1 < 4; i1++) {
//         const float a = in_0[i0 * 4 + i1];
//         const float b = in_1[i1];
//         out[i0 * 4 + i1] = a < 0.0F ? b * a : a;
//       }

#include "generate/element_loops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "generate/text.h"

namespace stowage::generate {

using kernels::refuse;

namespace {

/// How far an input moves along dimension `d` of the output.
std::int64_t stride_of(const Shape& in, const Shape& out, std::size_t d) {
  if (in.size() > out.size()) refuse("an input has {} dimensions, the output {}", in.size(), out.size());
  const std::size_t missing = out.size() - in.size();
  if (d < missing || in[d - missing] == 1) return 0;
  if (in[d - missing] != out[d])
    refuse("an input has extent {} where the output has {}", in[d - missing], out[d]);
  return kernels::count_of(in, d - missing + 1, in.size());
}

template <typename Element, typename Literal = Element>
std::string first_of(std::span<const std::byte> data) {
  Element element{};
  std::memcpy(&element, data.data(), sizeof element);
  return literal(Literal{element});
}

/// The only number of a constant; nothing for types that need no such literal.
std::string number_in(DType dtype, std::span<const std::byte> data) {
  switch (dtype) {
    case DType::float32:
      return first_of<float>(data);
    case DType::int32:
      return first_of<std::int32_t, std::int64_t>(data);
    case DType::int64:
      return first_of<std::int64_t>(data);
    default:
      return {};
  }
}

/// A number in an expression: booleans are 0 or 1, whatever byte they are.
std::string value_of(DType dtype, const std::string& element) {
  return dtype == DType::boolean ? fmt::format("{} != 0", element) : element;
}

std::string_view type_of_value(DType dtype) { return dtype == DType::boolean ? "int" : c_type(dtype); }

}  // namespace

std::vector<Stretched> stretched(const Shape& out, const std::vector<Shape>& inputs) {
  std::vector<Stretched> steps;
  for (std::size_t d = 0; d < out.size(); ++d) {
    Stretched next{.extent = out[d]};
    for (const Shape& in : inputs) next.strides.push_back(stride_of(in, out, d));
    if (out[d] == 1) continue;
    bool follows = !steps.empty();
    for (std::size_t i = 0; i < inputs.size() && follows; ++i)
      follows = steps.back().strides[i] == next.strides[i] * next.extent;
    if (follows) {
      next.extent *= steps.back().extent;
      steps.back() = std::move(next);
    } else {
      steps.push_back(std::move(next));
    }
  }
  if (steps.empty()) steps.push_back({1, std::vector<std::int64_t>(inputs.size(), 0)});
  return steps;
}

void expect_countable(const Operand& operand) {
  if (operand.count() > std::numeric_limits<std::int32_t>::max())
    refuse("a tensor has {} elements", operand.count());
}

std::string moved(const std::string& index, std::int64_t stride) {
  if (stride == 0) return "";
  return stride == 1 ? " + " + index : fmt::format(" + {} * {}", index, stride);
}

LoopInput loop_input(Writer& writer, std::size_t i) {
  LoopInput it{.operand = writer.input(i)};
  const TensorId tensor = writer.op().inputs[i].value();
  if (writer.sources().is_constant(tensor) && it.operand.count() == 1 &&
      kernels::count_of(*writer.sources().network().graph().tensors[tensor].shape) == 1)
    it.number = number_in(it.operand.dtype, writer.sources().data_of(tensor));
  return it;
}

void write_loops(Writer& writer, const std::vector<LoopInput>& inputs, const Operand& out,
                 const ElementLines& lines) {
  std::vector<Shape> shapes;
  for (const LoopInput& in : inputs) {
    expect_countable(in.operand);
    shapes.push_back(in.operand.shape);
  }
  expect_countable(out);
  const std::vector<Stretched> steps = stretched(out.shape, shapes);
  std::vector<std::string> places(inputs.size());
  std::string place;
  std::string indent;
  std::int64_t inner = out.count();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].number.empty())
      writer.line(fmt::format("const {} *const in_{} = {};", c_type(inputs[i].operand.dtype), i,
                              inputs[i].operand.at));
  writer.line(fmt::format("{} *const out = {};", c_type(out.dtype), out.at));
  for (std::size_t d = 0; d < steps.size(); ++d) {
    const std::string index = fmt::format("i{}", d);
    inner = steps[d].extent == 0 ? 0 : inner / steps[d].extent;
    writer.declare(fmt::format("int32_t {};", index));
    writer.line(fmt::format("{0}for ({1} = 0; {1} < {2}; {1}++){3}", indent, index, steps[d].extent,
                            d + 1 == steps.size() ? " {" : ""));
    for (std::size_t i = 0; i < inputs.size(); ++i) places[i] += moved(index, steps[d].strides[i]);
    place += moved(index, inner);
    indent += "  ";
  }
  const auto element = [](const std::string& array, const std::string& at) {
    return fmt::format("{}[{}]", array, at.empty() ? "0" : at.substr(std::string_view(" + ").size()));
  };
  std::vector<std::string> elements;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    elements.push_back(inputs[i].number.empty() ? element(fmt::format("in_{}", i), places[i])
                                                : inputs[i].number);
  for (const std::string& line : lines(elements, element("out", place))) writer.line(indent + line);
  writer.line(indent.substr(2) + "}");
}

std::string stored(DType dtype, const std::string& text) {
  return dtype == DType::float32 ? text : fmt::format("({})({})", c_type(dtype), text);
}

ElementLines element_lines(const std::vector<LoopInput>& inputs, DType out, const std::string& text) {
  return [&inputs, out, text](const std::vector<std::string>& elements, const std::string& place) {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const DType dtype = inputs[i].operand.dtype;
      lines.push_back(
          fmt::format("const {} {} = {};", type_of_value(dtype), "abc"[i], value_of(dtype, elements[i])));
    }
    lines.push_back(fmt::format("{} = {};", place, stored(out, text)));
    return lines;
  };
}

}  // namespace stowage::generate
