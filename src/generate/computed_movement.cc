// Operators that move elements to or from places which are computed when they run: slices, ReverseSequence, Trilu; and
// ranges of numbers, whose start and step are computed.
//
// Our own kernels end a run whose numbers do not fit the plan's shapes. C has no such way out: there, a slice has as
// many elements as its output has room for, with zeros for those out of range; a sequence is at most as long as its
// axis; and a range has as many numbers as its output.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "generate/element_loops.h"
#include "generate/moves.h"
#include "generate/text.h"
#include "generate/windows.h"
#include "kernels/kernels.h"
#include "kernels/onnx/operands.h"
#include "kernels/onnx/slice.h"
#include "kernels/tflite/operands.h"

namespace stowage::generate {
namespace {

using kernels::Operands;
using kernels::refuse;

void expect_whole(const Writer& writer) {
  if (writer.axis() != nullptr) refuse("it runs by rows");
}

// Slices

/// What is known of a slice along a dimension of the input; the rest are C expressions.
struct SlicedAxis {
  std::size_t axis = 0;
  std::string begin{};
  std::string step{};
};

/// `sizes` are those of the output in the dimensions of the input.
void call_slice(Writer& writer, const Shape& sizes, const std::vector<SlicedAxis>& axes) {
  constexpr std::size_t most_dimensions = 6;
  const Operand in = writer.input(0);
  const Operand out = writer.output();
  expect_countable(in);
  expect_countable(out);
  if (out.count() == 0) return;
  std::size_t rank = 1;  // dimensions behind the last one that is sliced are runs
  for (const SlicedAxis& it : axes) rank = std::max(rank, it.axis + 1);
  if (rank > most_dimensions) refuse("it slices {} dimensions", rank);
  std::string extents, counts;
  for (std::size_t d = 0; d < rank; ++d) {
    extents += fmt::format("{}{}", d == 0 ? "" : ", ", in.shape.at(d));
    counts += fmt::format("{}{}", d == 0 ? "" : ", ", sizes.at(d));
    writer.line(fmt::format("begins[{0}] = 0;\nsteps[{0}] = 1;", d));
  }
  writer.declare(fmt::format("int64_t begins[{0}], steps[{0}];", rank));
  for (const SlicedAxis& it : axes) {
    writer.line(fmt::format("steps[{}] = {};", it.axis, it.step));
    writer.line(fmt::format("begins[{}] = {};", it.axis, it.begin));
  }
  const std::int64_t run = kernels::count_of(in.shape, rank, in.shape.size()) *
                           static_cast<std::int64_t>(kernels::element_size(in.dtype));
  writer.need("stowage_slice");
  writer.line(fmt::format(
      "stowage_slice(&{}, begins, steps, {}, {});",
      writer.layer("stowage_slice_shape", fmt::format("{}, {{{}}}, {{{}}}, {}", rank, extents, counts, run)),
      in.at, out.at));
}

/// Number `i` of an input of integers, as C.
std::string number_of_input(Writer& writer, std::size_t input, std::size_t i) {
  const Operand operand = writer.input(input);
  if (operand.dtype != DType::int32 && operand.dtype != DType::int64)
    refuse("its input {} is {}", input, name_of(operand.dtype));
  return fmt::format("({})[{}]", operand.at, i);
}

}  // namespace

void emit_computed_slice(Writer& writer) {
  expect_whole(writer);
  const kernels::Signature& signature = writer.signature();
  const std::size_t rank = signature.inputs.at(0).value().shape.size();
  const auto count = static_cast<std::size_t>(kernels::count_of(signature.inputs.at(1).value().shape));
  if (signature.has_input(3)) static_cast<void>(constant_data(writer, 3));
  std::vector<std::int64_t> every(count);
  std::iota(every.begin(), every.end(), 0);
  const auto given = kernels::onnx_ops::integers_at(signature, "axes", 3).value_or(every);
  if (given.size() != count) refuse("it has {} axes for {} begins", given.size(), count);
  std::vector<SlicedAxis> axes;
  for (std::size_t i = 0; i < count; ++i)
    axes.push_back({kernels::axis_of(given[i], rank), number_of_input(writer, 1, i),
                    signature.has_input(4) ? number_of_input(writer, 4, i) : "1"});
  call_slice(writer, signature.outputs.at(0)->shape, axes);
}

void emit_computed_strided_slice(Writer& writer) {
  expect_whole(writer);
  const Operands operands(writer.signature());
  const Shape& shape = operands.input(0).shape;
  const auto count = static_cast<std::size_t>(kernels::count_of(operands.input(1).shape));
  if (count > shape.size()) refuse("it has {} begins for {} dimensions", count, shape.size());
  const auto is_set = [&](std::string_view mask, std::size_t d) {
    return ((static_cast<std::uint64_t>(operands.integer(mask)) >> d) & 1U) != 0;
  };
  std::vector<SlicedAxis> axes;
  Shape sizes;
  auto size = operands.output().shape.begin();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool is_one = d < count && is_set("shrink_axis_mask", d);
    sizes.push_back(is_one ? 1 : *size++);
    if (d >= count) continue;
    const std::string step = is_one ? "1" : number_of_input(writer, 3, d);
    axes.push_back({d,
                    is_set("begin_mask", d) ? fmt::format("{} < 0 ? {} : 0", step, shape[d] - 1)
                                            : number_of_input(writer, 1, d),
                    step});
  }
  call_slice(writer, sizes, axes);
}

namespace {

// Ranges

/// TensorFlow Lite adds the step up, ONNX multiplies it.
void emit_range(Writer& writer) {
  const Operand out = writer.output();
  expect_countable(out);
  const bool adds_up = writer.op().type == "RANGE";
  const std::string_view type = c_type(out.dtype);
  const bool is_real = out.dtype == DType::float32 || out.dtype == DType::float64;
  const std::string_view wide = out.dtype == DType::int64 ? "uint64_t" : "uint32_t";
  writer.declare("int32_t i;");
  writer.line(fmt::format("{}{} a = *({});", adds_up ? "" : "const ", type, writer.input(0).at));
  writer.line(fmt::format("const {} step = *({});", type, writer.input(2).at));
  writer.line(fmt::format("{} *const out = {};", type, out.at));
  if (adds_up) {
    writer.line(fmt::format("for (i = 0; i < {}; i++) {{", out.count()));
    writer.line("  out[i] = a;");
    writer.line(is_real ? "  a = a + step;" : fmt::format("  a = ({0})(({1})a + ({1})step);", type, wide));
    writer.line("}");
    return;
  }
  writer.line(fmt::format("for (i = 0; i < {}; i++)", out.count()));
  writer.line(is_real ? fmt::format("  out[i] = a + ({})i * step;", type)
                      : fmt::format("  out[i] = ({0})(({1})a + ({1})i * ({1})step);", type, wide));
}

// ReverseSequence and Trilu

void emit_reverse_sequence(Writer& writer) {
  expect_whole(writer);
  const kernels::Signature& signature = writer.signature();
  const Operand in = writer.input(0);
  const Operand out = writer.output();
  expect_countable(in);
  const bool is_time_first = signature.attributes.integer("time_axis", 0) == 0;
  const std::int64_t times = in.shape.at(is_time_first ? 0 : 1);
  const std::int64_t batches = in.shape.at(is_time_first ? 1 : 0);
  const std::int64_t run = kernels::count_of(in.shape, 2, in.shape.size());
  const std::int64_t time_step = (is_time_first ? batches : 1) * run;
  const std::int64_t batch_step = (is_time_first ? 1 : times) * run;
  writer.need("stowage_movement");
  writer.declare("int32_t b, t;");
  writer.line(fmt::format("for (b = 0; b < {}; b++) {{", batches));
  writer.line(fmt::format("  const int64_t given = ({})[b];", writer.input(1).at));
  writer.line(
      fmt::format("  const int32_t length = given < 0 ? 0 : given > {0} ? {0} : (int32_t)given;", times));
  writer.line(fmt::format("  for (t = 0; t < {}; t++) {{", times));
  writer.line("    const int32_t from = t < length ? length - 1 - t : t;");
  writer.line(fmt::format(
      "    stowage_copy_runs({0} + b * {2} + from * {3}, 0, {1} + b * {2} + t * {3}, 0, {4}, 1);", in.at,
      out.at, batch_step, time_step, run * static_cast<std::int64_t>(kernels::element_size(in.dtype))));
  writer.line("  }");
  writer.line("}");
}

/// One side of a diagonal, which may be computed.
void emit_triangle(Writer& writer) {
  expect_whole(writer);
  const kernels::Signature& signature = writer.signature();
  const Operand in = writer.input(0);
  const Operand out = writer.output();
  static_cast<void>(c_type(in.dtype));  // others have no 0
  expect_countable(in);
  const std::int64_t rows = in.shape.at(in.shape.size() - 2);
  const std::int64_t columns = in.shape.back();
  if (in.count() == 0) return;
  const bool is_upper = signature.attributes.integer("upper", 1) != 0;
  writer.declare("int32_t i, j;");
  writer.line(fmt::format("const int64_t given = {};",
                          signature.has_input(1) ? fmt::format("*({})", writer.input(1).at) : "0"));
  writer.line(
      fmt::format("const int64_t k = given < -{0} ? -{0} : given > {1} ? {1} : given;", rows, columns));
  writer.line(fmt::format("for (i = 0; i < {}; i++)", in.count() / columns));
  writer.line(fmt::format("  for (j = 0; j < {}; j++)", columns));
  writer.line(fmt::format("    ({0})[i * {2} + j] = j {3} i % {4} + k ? ({1})[i * {2} + j] : 0;", out.at,
                          in.at, columns, is_upper ? ">=" : "<=", rows));
}

}  // namespace

EmitPart computed_movement_operators() {
  return {{"RANGE", emit_range},
          {"Range", emit_range},
          {"ReverseSequence", emit_reverse_sequence, RowHandling::own},
          {"Trilu", emit_triangle, RowHandling::own}};
}

}  // namespace stowage::generate
