// Operators that read or write at places which indices give, constant or computed; and TopK, which gives such indices.
//
// Our own kernels end a run at an index out of range. C has no such way out: there, what is read out of range is zeros,
// and nothing outside of the input is touched.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "generate/element_loops.h"
#include "generate/moves.h"
#include "generate/text.h"
#include "kernels/kernels.h"
#include "kernels/onnx/operands.h"

namespace stowage::generate {
namespace {

using kernels::refuse;

constexpr std::int64_t most_entries = 1 << 16;  // of a table of numbers

/// "32" or "64"
std::string_view bits_of_index(const kernels::Argument& indices) {
  if (indices.dtype == DType::int32) return "32";
  if (indices.dtype == DType::int64) return "64";
  refuse("its indices are {}", name_of(indices.dtype));
}

/// Only ONNX counts negative indices from the end.
int wraps(const Writer& writer) { return writer.op().type.starts_with("GATHER") ? 0 : 1; }

void call_gather(Writer& writer, std::string_view kernel, const std::string& layer) {
  for (const Operand& operand : {writer.input(0), writer.input(1), writer.output()})
    expect_countable(operand);
  writer.need("stowage_gather");
  writer.line(fmt::format("stowage_{}_{}(&{}, {}, {}, {});", kernel,
                          bits_of_index(writer.seen().inputs.at(1).value()), layer, writer.input(0).at,
                          writer.input(1).at, writer.output().at));
}

void emit_gather(Writer& writer) {
  static_cast<void>(kernels::prepare(writer.signature(), KernelSet::plain));  // refuses what does not fit
  const kernels::Signature& signature = writer.seen();
  const Shape& data = signature.inputs.at(0).value().shape;
  const Shape& indices = signature.inputs.at(1).value().shape;
  const std::size_t axis = kernels::axis_of(signature.attributes.integer("axis", 0), data.size());
  const auto batched = static_cast<std::size_t>(signature.attributes.integer("batch_dims", 0));
  if (batched > axis || batched > indices.size()) refuse("it has {} batch dimensions", batched);
  const std::size_t element = kernels::element_size(signature.inputs[0]->dtype);
  const std::int64_t run =
      kernels::count_of(data, axis + 1, data.size()) * static_cast<std::int64_t>(element);
  call_gather(
      writer, "gather",
      writer.layer("stowage_gather_shape",
                   fmt::format("{}, {}, {}, {}, {}, {}", kernels::count_of(data, 0, batched),
                               kernels::count_of(data, batched, axis), data[axis],
                               kernels::count_of(indices, batched, indices.size()), run, wraps(writer))));
}

void emit_gather_of_tuples(Writer& writer) {
  constexpr std::size_t most_dimensions = 6;
  const kernels::Signature& signature = writer.signature();
  if (writer.axis() != nullptr) refuse("it runs by rows");
  const Shape& data = signature.inputs.at(0).value().shape;
  const Shape& indices = signature.inputs.at(1).value().shape;
  const auto batched = static_cast<std::size_t>(signature.attributes.integer("batch_dims", 0));
  const auto depth = static_cast<std::size_t>(indices.back());
  if (depth > most_dimensions) refuse("its indices are tuples of {}", depth);
  const auto element = static_cast<std::int64_t>(kernels::element_size(signature.inputs[0]->dtype));
  std::string extents;
  std::string strides;
  for (std::size_t d = batched; d < batched + depth; ++d) {
    const std::string_view comma = extents.empty() ? "" : ", ";
    extents += fmt::format("{}{}", comma, data[d]);
    strides += fmt::format("{}{}", comma, kernels::count_of(data, d + 1, data.size()) * element);
  }
  const std::int64_t run = kernels::count_of(data, batched + depth, data.size()) * element;
  call_gather(
      writer, "gather_tuples",
      writer.layer("stowage_tuples_shape",
                   fmt::format("{}, {}, {}, {{{}}}, {{{}}}, {}, {}, {}", kernels::count_of(data, 0, batched),
                               kernels::count_of(indices, batched, indices.size() - 1), depth,
                               depth == 0 ? "0" : extents, depth == 0 ? "0" : strides,
                               kernels::count_of(data, batched, data.size()) * element, run, wraps(writer))));
}

/// One of two values for each place along the new axis: a table has these places.
void emit_one_hot(Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  if (writer.axis() != nullptr) refuse("it runs by rows");
  const Operand out = writer.output();
  LoopInput indices = loop_input(writer, 0);
  const DType dtype = indices.operand.dtype;
  if (dtype != DType::int32 && dtype != DType::int64) refuse("its indices are {}", name_of(dtype));
  const std::size_t axis = kernels::axis_of(signature.attributes.integer("axis", -1), out.shape.size());
  indices.operand.shape.insert(indices.operand.shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  if (out.shape[axis] > most_entries) refuse("it has {} places", out.shape[axis]);
  std::vector<std::int32_t> numbers;
  for (std::int32_t i = 0; i < out.shape[axis]; ++i) numbers.push_back(i);
  LoopInput places{.operand = {.at = writer.sources().array("places_" + writer.number(),
                                                            "places of operator " + writer.number(),
                                                            DType::int32, numbers),
                               .dtype = DType::int32,
                               .shape = Shape(out.shape.size() - axis, 1)}};
  places.operand.shape[0] = out.shape[axis];
  const Operand values = writer.input(2);
  const std::string size = std::to_string(out.shape[axis]);
  write_loops(writer, {indices, places}, out,
              [&](const std::vector<std::string>& elements, const std::string& place) {
                return std::vector{fmt::format("const {} a = {};", c_type(dtype), elements[0]),
                                   fmt::format("{} = ({})[(a < 0 ? a + {} : a) == {} ? 1 : 0];", place,
                                               values.at, size, elements[1])};
              });
}

/// Loops over indices, each of which gives the place along one axis; `at` is that place, `first` the element at the
/// begin of its run. `line` says what is done if it is in range.
void write_places(Writer& writer, std::string_view line, std::string_view otherwise) {
  const kernels::Signature& signature = writer.signature();
  if (writer.axis() != nullptr) refuse("it runs by rows");
  const Shape& data = signature.inputs.at(0).value().shape;
  const Operand indices = writer.input(1);
  for (const Operand& operand : {writer.input(0), indices, writer.output()}) expect_countable(operand);
  const std::size_t axis = kernels::axis_of(signature.attributes.integer("axis", 0), data.size());
  for (std::size_t d = 0; d < data.size(); ++d)
    if (d != axis && data[d] != indices.shape[d]) refuse("its indices are fewer than its data");
  static_cast<void>(bits_of_index(*signature.inputs[1]));
  const std::int64_t inner = kernels::count_of(data, axis + 1, data.size());
  const std::int64_t size = data[axis];
  writer.declare("int32_t i;");
  writer.line(fmt::format("for (i = 0; i < {}; i++) {{", indices.count()));
  writer.line(fmt::format("  const int64_t given = ({})[i];", indices.at));
  writer.line(fmt::format("  const int64_t at = given < 0 ? given + {} : given;", size));
  writer.line(fmt::format("  const int64_t place = i / {} * {} + i % {} + at * {};",
                          std::max<std::int64_t>(indices.shape[axis] * inner, 1), size * inner,
                          std::max<std::int64_t>(inner, 1), inner));
  writer.line(fmt::format("  if (at >= 0 && at < {}) {}{}", size, line, otherwise.empty() ? "" : " else"));
  if (!otherwise.empty()) writer.line(fmt::format("  {}", otherwise));
  writer.line("}");
}

void emit_gather_of_elements(Writer& writer) {
  const Operand out = writer.output();
  static_cast<void>(c_type(out.dtype));  // others have no 0
  write_places(writer, fmt::format("({})[i] = ({})[place];", out.at, writer.input(0).at),
               fmt::format("  ({})[i] = 0;", out.at));
}

/// What an update makes of an element, as C; `old` and `update` are expressions.
std::string changed(const Writer& writer, const std::string& old, const std::string& update) {
  const kernels::Signature& signature = writer.signature();
  const std::string reduction = signature.attributes.text("reduction", "none");
  if (reduction == "none") return update;
  const DType dtype = signature.inputs.at(0)->dtype;
  const std::string_view type = c_type(dtype);
  if (dtype == DType::boolean) refuse("it combines booleans");
  if (reduction == "max" || reduction == "min")
    return fmt::format("{0} {2} {1} ? {0} : {1}", update, old, reduction == "max" ? ">" : "<");
  const std::string_view sign = reduction == "add" ? "+" : "*";
  if (dtype == DType::float32 || dtype == DType::float64) return fmt::format("{} {} {}", old, sign, update);
  const std::string_view wide = dtype == DType::int64 || dtype == DType::uint64 ? "uint64_t" : "uint32_t";
  return fmt::format("({0})(({1}){2} {3} ({1}){4})", type, wide, old, sign, update);
}

/// An update out of range is left out.
void emit_scatter_of_elements(Writer& writer) {
  if (writer.axis() != nullptr) refuse("it runs by rows");
  const Operand out = writer.output();
  call_copy(writer, writer.input(0).at, out);
  const std::string place = fmt::format("({})[place]", out.at);
  write_places(
      writer,
      fmt::format("{} = {};", place, changed(writer, place, fmt::format("({})[i]", writer.input(2).at))), "");
}

/// Tuples of indices say which runs of data are changed; a tuple out of range changes none.
void emit_scatter_of_tuples(Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  if (writer.axis() != nullptr) refuse("it runs by rows");
  const Operand indices = writer.input(1);
  const Operand out = writer.output();
  for (const Operand& operand : {indices, writer.input(2), out}) expect_countable(operand);
  static_cast<void>(bits_of_index(*signature.inputs.at(1)));
  const auto depth = static_cast<std::size_t>(indices.shape.back());
  const std::int64_t run = kernels::count_of(out.shape, depth, out.shape.size());
  call_copy(writer, writer.input(0).at, out);
  writer.declare("int32_t i, j;");
  writer.line(fmt::format("for (i = 0; i < {}; i++) {{",
                          kernels::count_of(indices.shape, 0, indices.shape.size() - 1)));
  writer.line("  int64_t at, first = 0;\n  int is_in = 1;");
  for (std::size_t d = 0; d < depth; ++d) {
    writer.line(fmt::format("  at = ({})[i * {} + {}];", indices.at, depth, d));
    writer.line(fmt::format("  at = at < 0 ? at + {} : at;", out.shape[d]));
    writer.line(fmt::format("  is_in = is_in && at >= 0 && at < {};", out.shape[d]));
    writer.line(fmt::format("  first = first * {} + at;", out.shape[d]));
  }
  if (depth == 0) writer.line("  at = 0;\n  first = at;");
  const std::string element = fmt::format("({})[first * {} + j]", out.at, run);
  writer.line(fmt::format("  for (j = 0; is_in && j < {}; j++)", run));
  writer.line(
      fmt::format("    {} = {};\n}}", element,
                  changed(writer, element, fmt::format("({})[i * {} + j]", writer.input(2).at, run))));
}

/// Runs of data are joined to those of their segments. Of a segment that there is not, they are left out.
void emit_segments(Writer& writer) {
  static_cast<void>(kernels::prepare(writer.signature(), KernelSet::plain));  // refuses what does not fit
  const std::string_view type = writer.op().type;
  const Operand data = writer.input(0);
  const Operand ids = writer.input(1);
  const Operand out = writer.output();
  for (const Operand* const operand : {&data, &ids, &out}) expect_countable(*operand);
  const bool is_real = out.dtype == DType::float32;
  const bool is_sum = type.ends_with("SUM"), is_product = type.ends_with("PROD"),
             is_most = type.ends_with("MAX");
  const std::string_view first = is_sum       ? "0"
                                 : is_product ? "1"
                                 : is_most    ? (is_real ? "-3.40282347e+38F" : "INT32_MIN")
                                              : (is_real ? "3.40282347e+38F" : "INT32_MAX");
  const std::string_view joined = is_sum       ? (is_real ? "a + b" : "(int32_t)((uint32_t)a + (uint32_t)b)")
                                  : is_product ? (is_real ? "a * b" : "(int32_t)((uint32_t)a * (uint32_t)b)")
                                  : is_most    ? "a > b ? a : b"
                                               : "a < b ? a : b";
  const std::int64_t run = kernels::count_of(data.shape, ids.shape.size(), data.shape.size());
  writer.declare("int32_t i, j;");
  writer.line(fmt::format("const {} *const data = {};", c_type(data.dtype), data.at));
  writer.line(fmt::format("const int32_t *const segments = {};", ids.at));
  writer.line(fmt::format("{} *const out = {};", c_type(out.dtype), out.at));
  writer.line(fmt::format("for (i = 0; i < {}; i++) out[i] = {};", out.count(), first));
  writer.line(fmt::format("for (i = 0; i < {}; i++) {{", ids.count()));
  writer.line(fmt::format("  if (segments[i] < 0 || segments[i] >= {}) continue;", out.shape.at(0)));
  writer.line(fmt::format("  for (j = 0; j < {}; j++) {{", run));
  writer.line(fmt::format("    const {} a = out[segments[i] * {} + j], b = data[i * {} + j];",
                          c_type(out.dtype), run, run));
  writer.line(fmt::format("    out[segments[i] * {} + j] = {};", run, joined));
  writer.line("  }");
  writer.line("}");
}

/// The best elements along an axis, and their places.
void emit_best(Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  if (writer.axis() != nullptr) refuse("it runs by rows");
  const Operand in = writer.input(0);
  const std::string function = fmt::format("stowage_best_{}", suffix_of(in.dtype));
  const Operand out = writer.output();
  expect_countable(in);
  const std::size_t axis = kernels::axis_of(signature.attributes.integer("axis", -1), in.shape.size());
  const std::int64_t inner = kernels::count_of(in.shape, axis + 1, in.shape.size());
  const std::string layer = writer.layer(
      "stowage_best_shape",
      fmt::format("{}, {}, {}, {}, {}", kernels::count_of(in.shape, 0, axis), in.shape[axis], inner,
                  out.shape[axis], signature.attributes.integer("largest", 1) != 0 ? 1 : 0));
  writer.need("stowage_best");
  writer.line(fmt::format("{}(&{}, {}, {}, {});", function, layer, in.at, out.at, writer.output(1).at));
}

void emit_suppression(Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  const Operand scores = writer.input(1);
  const Operand out = writer.output();
  for (const Operand& operand : {writer.input(0), scores, out}) expect_countable(operand);
  const auto limit = [&](std::size_t i) {
    return signature.has_input(i) ? writer.input(i).at : std::string("NULL");
  };
  writer.need("stowage_suppress");
  writer.line(fmt::format(
      "stowage_suppress(&{}, {}, {}, {}, {}, {}, {});",
      writer.layer(
          "stowage_suppress_shape",
          fmt::format("{}, {}, {}, {}, {}", scores.shape.at(0), scores.shape.at(1), scores.shape.at(2),
                      out.shape.at(0), signature.attributes.integer("center_point_box", 0) != 0 ? 1 : 0)),
      writer.input(0).at, scores.at, limit(2), limit(3), limit(4), out.at));
}

}  // namespace

EmitPart gathering_operators() {
  return {{"GATHER", emit_gather},
          {"Gather", emit_gather},
          {"GATHER_ND", emit_gather_of_tuples, RowHandling::own},
          {"GatherND", emit_gather_of_tuples, RowHandling::own},
          {"GatherElements", emit_gather_of_elements, RowHandling::own},
          {"NonMaxSuppression", emit_suppression},
          {"OneHot", emit_one_hot, RowHandling::own},
          {"Scatter", emit_scatter_of_elements, RowHandling::own},
          {"ScatterElements", emit_scatter_of_elements, RowHandling::own},
          {"ScatterND", emit_scatter_of_tuples, RowHandling::own},
          {"TopK", emit_best, RowHandling::own},
          {"UNSORTED_SEGMENT_MAX", emit_segments},
          {"UNSORTED_SEGMENT_MIN", emit_segments},
          {"UNSORTED_SEGMENT_PROD", emit_segments},
          {"UNSORTED_SEGMENT_SUM", emit_segments}};
}

}  // namespace stowage::generate
