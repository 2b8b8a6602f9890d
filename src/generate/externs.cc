// Operators whose function the user of a package writes (--extern). The header declares and describes it:
//
//     /* Operator 3, custom.warp: for you to write. Computes row `row` (of 24) of its output along dimension 1.
//      *   input_0: int8 1x48x48x8, scale 0.5, zero point -3; its rows 2 * row - 1 + k, k < 3; null: no such row
//      *   output_0: int8 1x24x24x8, scale 0.25, zero point 0; its row `row` */
//     void net_custom_warp_3(int32_t row, const void *const *input_0, int8_t *output_0);

#include <fmt/format.h>

#include <algorithm>

#include "generate/sources.h"
#include "generate/text.h"

namespace stowage::generate {
namespace {

using kernels::refuse;

/// "2 * y - 1", rounded down where it is divided.
std::string first_row_text(const RowMap& map, std::string_view row) {
  std::string text = map.scale == 1 ? std::string(row) : fmt::format("{} * {}", row, map.scale);
  // A multiple of the divisor makes the dividend positive: C rounds towards zero.
  const std::int64_t whole = map.divisor == 1 ? 0 : std::max<std::int64_t>(-map.offset / map.divisor + 1, 0);
  const std::int64_t offset = map.offset + whole * map.divisor;
  if (map.divisor > 1 && map.scale < 0) refuse("it reads rows backwards");
  if (offset != 0) text += fmt::format(" {} {}", offset < 0 ? '-' : '+', offset < 0 ? -offset : offset);
  if (map.divisor == 1) return text;
  text = fmt::format("({}) / {}", text, map.divisor);
  return whole == 0 ? text : fmt::format("{} - {}", text, whole);
}

std::string tensor_text(const kernels::Argument& argument) {
  std::string text = fmt::format("{} {}", name_of(argument.dtype), show_shape(argument.shape));
  if (argument.quantization == nullptr || argument.quantization->scales.size() != 1) return text;
  return text +
         fmt::format(", scale {}, zero point {}", argument.quantization->scales[0],
                     argument.quantization->zero_points.empty() ? 0 : argument.quantization->zero_points[0]);
}

/// The parameters of the function and the arguments of its call, with a line about each.
struct Interface {
  std::string parameters{};
  std::string arguments{};
  std::string comment{};

  void add(const std::string& type, const std::string& name, const std::string& argument,
           const std::string& about) {
    const char* const separator = parameters.empty() ? "" : ", ";
    parameters += fmt::format("{}{}{}", separator, type, name);
    arguments += separator + argument;
    if (!about.empty()) comment += fmt::format(" *   {}: {}\n", name, about);
  }
};

void add_input(Writer& writer, std::size_t i, Interface& interface) {
  const std::string name = fmt::format("input_{}", i);
  const kernels::Argument& argument = *writer.signature().inputs[i];
  std::string about = tensor_text(argument);
  const RowRead* const read = writer.axis() == nullptr ? nullptr : row_read(*writer.axis(), i);
  if (read == nullptr || read->rows == RowMap{}) {
    if (read != nullptr) about += "; its row `row`";
    interface.add(fmt::format("const {} *", c_type(argument.dtype)), name, writer.input(i).at, about);
    return;
  }
  writer.window(i, read->axis, first_row_text(read->rows, "y"),
                {.taps = read->rows.taps, .dilation = read->rows.dilation}, "rows_" + std::to_string(i));
  about += fmt::format("; its rows {} + {} * k, 0 <= k < {}; null: no such row",
                       first_row_text(read->rows, "row"), read->rows.dilation, read->rows.taps);
  interface.add("const void *const *", name, "rows_" + std::to_string(i), about);
}

}  // namespace

void emit_extern(Writer& writer) {
  if (writer.kind().sums || writer.carried() != nullptr)
    refuse("it keeps something from row to row, which a function of yours cannot: plan without --stream");
  Interface interface;
  if (writer.axis() != nullptr) interface.add("int32_t ", "row", "y", "");
  for (std::size_t i = 0; i < writer.signature().inputs.size(); ++i) {
    if (writer.signature().inputs[i]) add_input(writer, i, interface);
  }
  for (std::size_t o = 0; o < writer.signature().outputs.size(); ++o) {
    if (!writer.signature().outputs[o]) continue;
    const kernels::Argument& argument = *writer.signature().outputs[o];
    const std::string row = writer.axis() == nullptr ? "" : "; its row `row`";
    interface.add(fmt::format("{} *", c_type(argument.dtype)), fmt::format("output_{}", o),
                  writer.output(o).at, tensor_text(argument) + row);
  }
  const Operator& op = writer.op();
  for (std::size_t i = 0; i < op.scratch.size(); ++i) {
    const Operand scratch = writer.scratch(i);
    interface.add(
        fmt::format("{} *", c_type(scratch.dtype)), fmt::format("scratch_{}", i), scratch.at,
        fmt::format("{} numbers of {} for it alone while it runs", scratch.count(), name_of(scratch.dtype)));
  }
  const bool is_in_place = std::ranges::any_of(op.inputs, [&](const auto& input) {
    const auto i = static_cast<std::size_t>(&input - op.inputs.data());
    return input && in_place_output(writer.sources().network().graph(), op, i);
  });
  const std::string name = writer.sources().name() + "_" + function_name(op, writer.number());
  const std::string what =
      writer.axis() == nullptr
          ? "the whole output"
          : fmt::format("row `row` (of {}) of its output along dimension {}",
                        writer.signature().outputs[0]->shape[writer.axis()->axis], writer.axis()->axis);
  writer.sources().declare_extern(fmt::format(
      "\n/* Operator {}, {}: for you to write. Computes {}.\n{}{} */\nvoid {}({});\n", writer.number(),
      in_comment(op.type), what, interface.comment,
      is_in_place ? " * An output may be at the place of an input; elements are then read before they "
                    "are written.\n"
                  : "",
      name, interface.parameters));
  writer.line(fmt::format("{}({});", name, interface.arguments));
}

}  // namespace stowage::generate
