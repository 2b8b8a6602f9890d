// Padding with an element, or with elements of the input in reverse order.
//
// Padding with an element has at most three dimensions, since those without any merge with their neighbours. In
// mirrored padding the inner dimensions without any are one element. By rows, a row of the padding is filled, or is
// made from the row that it mirrors.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "generate/moves.h"
#include "generate/sources.h"
#include "kernels/onnx/pad.h"
#include "kernels/tflite/remap.h"

namespace stowage::generate {
namespace {

using kernels::Operands;
using kernels::refuse;

struct PadDimension {
  std::int64_t extent = 1;
  std::int64_t before = 0;
  std::int64_t after = 0;

  [[nodiscard]] bool is_padded() const { return before > 0 || after > 0; }
};

/// Three dimensions; those without padding are part of the one before them.
std::array<PadDimension, 3> merged_padding(const std::vector<PadDimension>& all) {
  std::vector<PadDimension> merged;
  for (const PadDimension& next : all) {
    if (!merged.empty() && !next.is_padded()) {
      PadDimension& last = merged.back();
      last = {last.extent * next.extent, last.before * next.extent, last.after * next.extent};
    } else if (!merged.empty() && merged.back().extent == 1 && !merged.back().is_padded()) {
      merged.back() = next;
    } else {
      merged.push_back(next);
    }
  }
  if (merged.size() > 3) refuse("it pads {} dimensions apart", merged.size());
  merged.insert(merged.begin(), 3 - merged.size(), PadDimension{});
  return {merged[0], merged[1], merged[2]};
}

std::string padding_layer(Writer& writer, const Operands& operands, const std::vector<PadDimension>& all) {
  const auto [planes, rows, columns] = merged_padding(all);
  std::vector<std::byte> fill = kernels::zero_of(operands.output());
  const std::string& type = writer.op().type;
  if (type == "PADV2" || (type == "Pad" && operands.has_input(2))) {
    const auto data = writer.sources().program().constants[writer.op().inputs.at(2).value()];
    if (data.data() == nullptr) refuse("its filling is not constant");
    fill.assign(data.begin(), data.end());
  }
  if (const float value = writer.signature().attributes.real("value", 0); value != 0) {
    if (operands.output().dtype != DType::float32)
      refuse("it fills {} with an attribute", name_of(operands.output().dtype));
    const auto given = std::as_bytes(std::span(&value, 1));
    fill.assign(given.begin(), given.end());
  }
  std::string bytes;
  for (const std::byte byte : fill)
    bytes += fmt::format("{}{}", bytes.empty() ? "" : ", ", static_cast<int>(byte));
  return writer.layer(
      "stowage_pad_shape",
      fmt::format("{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {{{}}}", planes.extent, rows.extent,
                  columns.extent, planes.before, rows.before, columns.before, planes.after, rows.after,
                  columns.after, kernels::element_size(operands.output().dtype), bytes));
}

/// Where rows are apart, channel by channel: that is only so for channels without padding.
void take_planes(Writer& writer, std::vector<PadDimension>& all) {
  const auto begin = all.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(writer.axis()->axis);
  if (std::any_of(begin, end, [](const PadDimension& it) { return it.is_padded(); })) return;
  writer.take_planes();
  const Shape& seen = writer.seen().outputs.at(0)->shape;
  for (auto it = begin; it != end; ++it) it->extent = seen[static_cast<std::size_t>(it - begin)];
}

void emit_padding(Writer& writer, std::vector<PadDimension> all) {
  const Operands operands(writer.signature());
  writer.need("stowage_movement");
  if (writer.axis() == nullptr) {
    const std::string layer = padding_layer(writer, operands, all);
    writer.line(fmt::format("stowage_pad(&{}, {}, {});", layer, writer.input(0).at, writer.output().at));
    return;
  }
  const std::size_t axis = writer.axis()->axis;
  const PadDimension along = std::exchange(all[axis], PadDimension{});
  take_planes(writer, all);
  const std::string layer = padding_layer(writer, operands, all);
  const Operand out = writer.output_row(axis, "y");
  const std::string own = along.before == 0 ? "y" : fmt::format("y - {}", along.before);
  const std::string pad =
      fmt::format("stowage_pad(&{}, {}, {});", layer, writer.input_row(0, axis, own).at, out.at);
  if (!along.is_padded()) {
    writer.line(pad);
    return;
  }
  writer.line(fmt::format("if (y >= {} && y < {}) {{", along.before, along.before + along.extent));
  writer.line("  " + pad);
  writer.line("} else {");
  writer.line(fmt::format("  stowage_fill(&{}, {}, {});", layer, out.at, out.count()));
  writer.line("}");
}

// Mirrored

/// The row of the input that row y of the output is equal to.
std::string mirrored_row(const PadDimension& along, std::int64_t edge) {
  const std::string own = along.before == 0 ? "y" : fmt::format("y - {}", along.before);
  return fmt::format("stowage_mirrored({}, {}, {})", own, along.extent, edge);
}

/// The last element itself, or the other end, instead of a reverse order.
constexpr std::int64_t repeats_edge = 2;
constexpr std::int64_t wraps = 3;

/// `edge` is 1 if the elements at the edges are not there twice, or one of these two.
void emit_mirrored(Writer& writer, std::vector<PadDimension> all, std::int64_t edge) {
  constexpr std::size_t most_dimensions = 6;
  const Operands operands(writer.signature());
  for (const PadDimension& it : all)
    if (it.is_padded() && edge < repeats_edge && std::max(it.before, it.after) > it.extent - edge)
      refuse("it mirrors {} and {} elements of {}", it.before, it.after, it.extent);
  const RowAxis* const axis = writer.axis();
  if (axis != nullptr && axis->reads.empty()) refuse("it runs by rows, but reads its input as a whole");
  const PadDimension along =
      axis == nullptr ? PadDimension{} : std::exchange(all[axis->axis], PadDimension{});
  if (axis != nullptr) take_planes(writer, all);
  auto element = static_cast<std::int64_t>(kernels::element_size(operands.output().dtype));
  for (; !all.empty() && !all.back().is_padded(); all.pop_back()) element *= all.back().extent;
  if (all.empty()) all.push_back({});
  if (std::ranges::any_of(all, [](const PadDimension& it) { return it.extent == 0; }))
    refuse("its input is empty");
  if (all.size() > most_dimensions) refuse("it mirrors {} dimensions", all.size());
  std::string extents;
  std::string before;
  std::string after;
  for (const PadDimension& it : all) {
    const std::string_view comma = extents.empty() ? "" : ", ";
    extents += fmt::format("{}{}", comma, it.extent);
    before += fmt::format("{}{}", comma, it.before);
    after += fmt::format("{}{}", comma, it.after);
  }
  const std::string layer = writer.layer(
      "stowage_mirror_shape",
      fmt::format("{}, {{{}}}, {{{}}}, {{{}}}, {}, {}", all.size(), extents, before, after, edge, element));
  writer.need("stowage_mirror_pad");
  const Operand in =
      axis == nullptr ? writer.input(0) : writer.input_row(0, axis->reads[0].axis, mirrored_row(along, edge));
  writer.line(fmt::format("stowage_mirror_pad(&{}, {}, {});", layer, in.at, writer.output().at));
}

// Operators

std::vector<PadDimension> paddings_of(const Operands& operands) {
  const Shape& shape = operands.input(0).shape;
  const std::vector<std::int64_t> numbers = operands.constants(1, "paddings");
  if (numbers.size() != 2 * shape.size()) refuse("its paddings are {} numbers", numbers.size());
  std::vector<PadDimension> all;
  for (std::size_t d = 0; d < shape.size(); ++d)
    all.push_back({shape[d], numbers[2 * d], numbers[2 * d + 1]});
  return all;
}

void emit_pad(Writer& writer) { emit_padding(writer, paddings_of(Operands(writer.signature()))); }

void emit_mirror_pad(Writer& writer) {
  const Operands operands(writer.signature());
  emit_mirrored(writer, paddings_of(operands), operands.integer("mode") == 0 ? 1 : 0);
}

/// Elements are cut off: without another filling than 0, the order says all.
void emit_cut(Writer& writer) {
  kernels::Signature signature = writer.signature();
  if (writer.axis() != nullptr) refuse("it cuts off elements, and runs by rows");
  const bool is_zero =
      signature.has_input(2) && signature.inputs[2]->is_constant &&
      std::ranges::all_of(signature.inputs[2]->constant, [](std::byte it) { return it == std::byte{0}; });
  if ((signature.has_input(2) && !is_zero) || signature.attributes.real("value", 0) != 0)
    refuse("it cuts off elements, and fills with other than 0");
  if (signature.has_input(2)) signature.inputs[2].reset();
  emit_order_of(writer, signature);
}

void emit_pad_of_onnx(Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  const Shape& shape = signature.inputs.at(0)->shape;
  const std::string mode = signature.attributes.text("mode", "constant");
  const std::vector<std::int64_t> pads = kernels::onnx_ops::pads_of(signature, shape.size());
  std::vector<PadDimension> all;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    all.push_back({shape[d], pads[d], pads[d + shape.size()]});
    if (all.back().before < 0 || all.back().after < 0) return emit_cut(writer);
  }
  if (mode == "reflect") return emit_mirrored(writer, std::move(all), 1);
  if (mode == "edge") return emit_mirrored(writer, std::move(all), repeats_edge);
  if (mode == "wrap") return emit_mirrored(writer, std::move(all), wraps);
  emit_padding(writer, std::move(all));
}

}  // namespace

EmitPart padding_operators() {
  return {{"Pad", emit_pad_of_onnx, RowHandling::own},
          {"PAD", emit_pad, RowHandling::own},
          {"PADV2", emit_pad, RowHandling::own},
          {"MIRROR_PAD", emit_mirror_pad, RowHandling::own}};
}

}  // namespace stowage::generate
