// RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR.
//
// Where each place of the output lies between places of the input is a table for the columns, and one for the
// rows, from which a step looks its rows up.

#include <fmt/format.h>

#include <algorithm>

#include "generate/sources.h"
#include "generate/text.h"
#include "kernels/kernels.h"
#include "operators/resize_taps.h"

namespace stowage::generate {
namespace {

using kernels::Operands;
using kernels::refuse;

/// The two tables of places, or of distances.
struct Tables {
  std::string rows{};
  std::string columns{};
};

template <typename Element, typename Places, typename Get>
Tables tables_of(Writer& writer, const std::string& name, DType dtype, const Places& rows,
                 const Places& columns, const Get& get) {
  const auto table = [&](const Places& places, const std::string& axis) {
    std::vector<Element> all;
    for (const auto& place : places) all.push_back(static_cast<Element>(get(place)));
    return writer.sources().array(fmt::format("{}_{}_{}", name, axis, writer.number()),
                                  fmt::format("{} {} of operator {}", name, axis, writer.number()), dtype,
                                  all);
  };
  return {table(rows, "rows"), table(columns, "columns")};
}

operators::TfliteResizeAxis axis_of(const Operands& operands, std::size_t d) {
  return {.input = operands.input(0).shape[d],
          .output = operands.output().shape[d],
          .aligns_corners = operands.flag("align_corners"),
          .centers = operands.flag("half_pixel_centers")};
}

/// Refuses what our own kernel refuses, and what the generated ones lack.
void expect_image(Writer& writer, const Operands& operands) {
  static_cast<void>(kernels::prepare(writer.signature(), KernelSet::plain));
  constexpr std::int64_t largest = 65535;
  for (const std::size_t d : {1U, 2U})
    if (operands.input(0).shape[d] > largest)
      refuse("dimension {} has extent {}", d, operands.input(0).shape[d]);
  if (operands.input(0).shape[0] != 1) refuse("it has a batch of {}, expected 1", operands.input(0).shape[0]);
  if (writer.axis() != nullptr && writer.axis()->axis != 1)
    refuse("it runs by rows along axis {}, expected 1", writer.axis()->axis);
  writer.loop_over(operands.output().shape[1]);
}

void emit_nearest(Writer& writer) {
  const Operands operands(writer.signature());
  expect_image(writer, operands);
  writer.need("stowage_resize");
  const auto same = [](std::int64_t place) { return place; };
  const Tables places =
      tables_of<std::uint16_t>(writer, "nearest", DType::uint16, nearest_places(axis_of(operands, 1)),
                               nearest_places(axis_of(operands, 2)), same);
  const Shape& out = operands.output().shape;
  const auto bytes = out[3] * static_cast<std::int64_t>(kernels::element_size(operands.output().dtype));
  writer.line(fmt::format("stowage_resize_nearest({}, {}, {}, {}, {});", places.columns, out[2], bytes,
                          writer.input_row(0, 1, places.rows + "[y]").at, writer.output_row(1, "y").at));
}

/// `Distance` is that of the tables.
template <typename Distance, typename Places>
void emit_between(Writer& writer, const Operands& operands, DType dtype, const Places& rows,
                  const Places& columns) {
  const Tables first = tables_of<std::uint16_t>(writer, "first", DType::uint16, rows, columns,
                                                [](const auto& it) { return it.first; });
  const Tables second = tables_of<std::uint16_t>(writer, "second", DType::uint16, rows, columns,
                                                 [](const auto& it) { return it.second; });
  const Tables distance = tables_of<Distance>(writer, "distance", dtype, rows, columns,
                                              [](const auto& it) { return it.distance; });
  const Shape& out = operands.output().shape;
  const std::string kernel = fmt::format("bilinear_{}", suffix_of(operands.output().dtype));
  writer.need("stowage_" + kernel);
  const std::string layer = writer.layer(
      fmt::format("stowage_resize_{}_layer", dtype == DType::float32 ? "f32" : "integer"),
      fmt::format("{}, {}, {}, {}, {}", first.columns, second.columns, distance.columns, out[2], out[3]));
  writer.line(fmt::format("stowage_resize_{}(&{}, {}, {}, {}[y], {});", kernel, layer,
                          writer.input_row(0, 1, first.rows + "[y]").at,
                          writer.input_row(0, 1, second.rows + "[y]").at, distance.rows,
                          writer.output_row(1, "y").at));
}

void emit_bilinear(Writer& writer) {
  const Operands operands(writer.signature());
  expect_image(writer, operands);
  const operators::TfliteResizeAxis rows = axis_of(operands, 1);
  const operators::TfliteResizeAxis columns = axis_of(operands, 2);
  if (operands.output().dtype == DType::float32 || operands.output().dtype == DType::uint8)
    return emit_between<float>(writer, operands, DType::float32, real_places(rows), real_places(columns));
  emit_between<std::int16_t>(writer, operands, DType::int16, integer_places(rows), integer_places(columns));
}

}  // namespace

EmitPart resizing_operators() {
  return {{"RESIZE_BILINEAR", emit_bilinear, RowHandling::own},
          {"RESIZE_NEAREST_NEIGHBOR", emit_nearest, RowHandling::own}};
}

}  // namespace stowage::generate
