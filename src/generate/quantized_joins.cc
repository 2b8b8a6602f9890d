// QLinearConcat. Inputs may have scales of their own: what becomes of a number of an input is a table of 256 results.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "generate/images.h"
#include "generate/text.h"
#include "kernels/kernels.h"

namespace stowage::generate {
namespace {

using kernels::Signature;

/// What becomes of each of the 256 numbers of an input, as its own kernel says.
std::vector<std::byte> joined_numbers(const Signature& whole, std::size_t input) {
  constexpr std::int64_t numbers = 256;
  Signature one{.type = whole.type, .version = whole.version, .attributes = whole.attributes};
  one.inputs = {whole.inputs[0], whole.inputs[1], whole.inputs[input], whole.inputs[input + 1],
                whole.inputs[input + 2]};
  one.outputs = {whole.outputs.at(0)};
  const std::size_t rank = one.outputs[0]->shape.size();
  Shape shape(rank, 1);
  shape[kernels::axis_of(whole.attributes.integer("axis", 0), rank)] = numbers;
  one.inputs[2]->shape = one.outputs[0]->shape = shape;
  const kernels::Kernel kernel = kernels::prepare(one, KernelSet::plain);
  std::vector<std::byte> in(numbers);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(i);
  std::vector<std::byte> out(in.size());
  std::vector<const std::byte*> inputs;
  for (const auto& argument : one.inputs) inputs.push_back(argument ? argument->constant.data() : nullptr);
  inputs[2] = in.data();
  const std::vector<std::byte*> outputs{out.data()};
  kernel.run({.inputs = inputs, .outputs = outputs});
  return out;
}

std::string table_of_input(Writer& writer, std::size_t input) {
  return writer.sources().array(fmt::format("table_{}_{}", writer.number(), input / 3),
                                "results of operator " + writer.number(), DType::uint8,
                                joined_numbers(writer.seen(), input));
}

/// Lines of each channel, of images that have different channels.
void join_channels_of_bytes(Writer& writer) {
  const Signature& signature = writer.seen();
  const Channel out = writer.image_row_of_output("y");
  writer.need("stowage_table_8");
  writer.declare("int32_t i;");
  std::int64_t begin = 0;
  for (std::size_t i = 2; i < signature.inputs.size(); i += 3) {
    const Shape& shape = signature.inputs[i]->shape;
    const Channel in = writer.image_row_of_input("y", i);
    writer.line(fmt::format("for (i = 0; i < {}; i++)", shape[1]));
    writer.line(
        fmt::format("  stowage_table_8({}, 0, (const uint8_t *){} + i * {}, {}{} + ({} + i) * {}, {});",
                    table_of_input(writer, i), in.at, in.row, byte_out, out.at, begin, out.row, shape[3]));
    begin += shape[1];
  }
}

void emit_scaled_join(Writer& writer) {
  const Signature& signature = writer.seen();
  expect_byte(signature.outputs.at(0).value());
  for (std::size_t i = 0; i < signature.inputs.size(); ++i)
    if (i < 2 || i % 3 != 2) static_cast<void>(constant_data(writer, i));
  const Shape& shape = signature.outputs[0]->shape;
  const std::size_t axis = kernels::axis_of(signature.attributes.integer("axis", 0), shape.size());
  const bool is_of_lines = writer.axis() != nullptr && writer.axis()->axis == axis_of_height;
  if (is_of_lines && axis == 1 && shape.size() == 4 && shape[0] == 1) return join_channels_of_bytes(writer);
  const std::int64_t outer = kernels::count_of(shape, 0, axis);
  const std::int64_t whole = kernels::count_of(shape) / outer;
  writer.need("stowage_table_8");
  if (outer > 1) writer.declare("int32_t i;");
  std::int64_t begin = 0;
  for (std::size_t i = 2; i < signature.inputs.size(); i += 3) {
    const Operand in = writer.input(i);
    const std::int64_t run = in.count() / outer;
    const std::string table = table_of_input(writer, i);
    const bool is_one = outer == 1;
    if (!is_one) writer.line(fmt::format("for (i = 0; i < {}; i++)", outer));
    writer.line(fmt::format("{}stowage_table_8({}, 0, (const uint8_t *){}{}, {}{} + {}{}, {});",
                            is_one ? "" : "  ", table, in.at, is_one ? "" : fmt::format(" + i * {}", run),
                            byte_out, writer.output().at, begin,
                            is_one ? "" : fmt::format(" + i * {}", whole), run));
    begin += run;
  }
}

}  // namespace

EmitPart quantized_joins() { return {{"com.microsoft.QLinearConcat", emit_scaled_join}}; }

}  // namespace stowage::generate
