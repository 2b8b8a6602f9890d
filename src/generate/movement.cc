// Operators that only move elements.
//
// A transposition or slice is a sum of index * stride over the dimensions of the output. Joining and splitting
// copies runs of bytes.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "generate/moves.h"
#include "generate/text.h"
#include "generate/windows.h"
#include "kernels/onnx/operands.h"
#include "kernels/onnx/slice.h"
#include "kernels/tflite/joining.h"
#include "kernels/tflite/remap.h"

namespace stowage::generate {

void call_move(Writer& writer, const std::vector<MoveDimension>& dimensions, std::int64_t begin,
               const std::string& from, const std::string& to) {
  constexpr std::size_t most_dimensions = 6;
  std::vector<MoveDimension> merged;
  for (const MoveDimension& next : dimensions) {
    if (next.extent == 1) continue;
    if (!merged.empty() && merged.back().stride == next.stride * next.extent) {
      merged.back() = {merged.back().extent * next.extent, next.stride};
    } else {
      merged.push_back(next);
    }
  }
  if (merged.empty()) merged.push_back({});
  if (merged.size() > most_dimensions) kernels::refuse("it moves {} dimensions", merged.size());
  std::string extents;
  std::string strides;
  for (const auto& [extent, stride] : merged) {
    extents += fmt::format("{}{}", extents.empty() ? "" : ", ", extent);
    strides += fmt::format("{}{}", strides.empty() ? "" : ", ", stride);
  }
  const std::size_t bytes = kernels::element_size(writer.signature().outputs.at(0)->dtype);
  const std::string layer =
      writer.layer("stowage_move_shape",
                   fmt::format("{}, {{{}}}, {{{}}}, {}, {}", merged.size(), extents, strides, begin, bytes));
  writer.need("stowage_movement");
  writer.line(fmt::format("stowage_move(&{}, {}, {});", layer, from, to));
}

void call_copy(Writer& writer, const std::string& from, const Operand& to) {
  writer.need("stowage_movement");
  writer.line(fmt::format("stowage_copy_runs({}, 0, {}, 0, {}, 1);", from, to.at,
                          to.count() * static_cast<std::int64_t>(kernels::element_size(to.dtype))));
}

namespace {

using kernels::Operands;
using kernels::refuse;

std::int64_t element_bytes(const Operands& operands) {
  return static_cast<std::int64_t>(kernels::element_size(operands.output().dtype));
}

// RESHAPE, SQUEEZE, EXPAND_DIMS

/// The rows of a reshaped tensor: bytes of each, and the axis. In memory a row is `runs` runs, one for each place
/// in front of the axis.
struct ReshapeRows {
  std::size_t axis = 0;
  Bytes bytes = 0;
  std::int64_t runs = 1;

  [[nodiscard]] Bytes run() const { return bytes / runs; }
};

ReshapeRows rows_of_reshaped(const Tensor& tensor, std::size_t axis) {
  return {axis, bytes_of_row(tensor, axis).value(), kernels::count_of(*tensor.shape, 0, axis)};
}

std::string copy_text(const std::string& from, const std::string& to, Bytes bytes) {
  return fmt::format("stowage_copy_runs({}, 0, {}, 0, {}, 1);", from, to, bytes);
}

/// Elements from one run of a row to the next; in a whole tensor there are other rows between them.
std::int64_t step_of_runs(const Strided& it, const Shape& shape, std::size_t axis) {
  std::int64_t step = 0;
  for (std::size_t d = 0; d < axis; ++d)
    if (shape[d] != 1) step = it.strides[d];
  return step;
}

/// Rows of the output that are a row of the input, several ones, or a part of one.
void reshape_by_rows(Writer& writer, const ReshapeRows& in, const ReshapeRows& out) {
  const Operands operands(writer.signature());
  const std::int64_t element = element_bytes(operands);
  const Strided to = writer.strided_output();
  const auto copy = [&](const std::string& row, const std::string& part_of_row, const std::string& part,
                        Bytes bytes) {
    const Strided from = writer.strided_input(0, row);
    return fmt::format("stowage_copy_runs({}{}, {}, {}{}, {}, {}, {});", from.at, part_of_row,
                       step_of_runs(from, operands.input(0).shape, in.axis) * element, to.at, part,
                       step_of_runs(to, operands.output().shape, out.axis) * element, bytes, out.runs);
  };
  if (in.runs != out.runs) refuse("its rows are {} runs in front, and {} behind", in.runs, out.runs);
  if (in.bytes == out.bytes) {
    writer.line(copy("y", "", "", out.run()));
  } else if (out.bytes % in.bytes == 0) {
    const Bytes parts = out.bytes / in.bytes;
    writer.declare("int32_t i;");
    writer.line(fmt::format("for (i = 0; i < {}; i++)", parts));
    writer.line("  " + copy(fmt::format("y * {} + i", parts), "",
                            fmt::format(" + i * {}", in.run() / element), in.run()));
  } else if (in.bytes % out.bytes == 0) {
    const Bytes parts = in.bytes / out.bytes;
    writer.line(copy(fmt::format("y / {}", parts), fmt::format(" + y % {} * {}", parts, out.run() / element),
                     "", out.run()));
  } else {
    refuse("rows of {} bytes become rows of {} bytes", in.bytes, out.bytes);
  }
}

/// Whether an operator or the caller reads it.
bool is_read(const Graph& graph, TensorId tensor) {
  return std::ranges::any_of(graph.subgraphs, [&](const Subgraph& it) {
    return std::ranges::find(it.outputs, tensor) != it.outputs.end() ||
           std::ranges::any_of(it.operators, [&](const Operator& op) {
             return std::ranges::find(op.inputs, std::optional(tensor)) != op.inputs.end();
           });
  });
}

/// Rows of the output from an input that is whole: in it they are runs, one for each index in front of the axis.
void reshape_to_rows(Writer& writer, std::size_t axis) {
  const Operands operands(writer.signature());
  const Shape& shape = operands.output().shape;
  const std::int64_t bytes = element_bytes(operands);
  const std::int64_t run = kernels::count_of(shape, axis + 1, shape.size());
  const Strided out = writer.strided_output();
  const std::int64_t step = step_of_runs(out, shape, axis);
  writer.line(fmt::format("stowage_copy_runs({} + y * {}, {}, {}, {}, {}, {});", writer.input(0).at, run,
                          shape[axis] * run * bytes, out.at, step * bytes, run * bytes,
                          kernels::count_of(shape, 0, axis)));
}

/// Rows of the input that lie apart go to their places in the whole output: a run for each index in front of them.
void gather_rows(Writer& writer, const Tensor& in, std::size_t axis) {
  const Shape& shape = *in.shape;
  const std::int64_t run = kernels::count_of(shape, axis + 1, shape.size());
  const std::int64_t bytes = run * element_bytes(Operands(writer.signature()));
  const Operand whole = writer.output();
  writer.loop_over(shape[axis]);
  writer.line(fmt::format("stowage_copy_runs({}, {}, {} + y * {}, {}, {}, {});",
                          writer.input_row(0, axis, "y").at, bytes, whole.at, run, shape[axis] * bytes, bytes,
                          kernels::count_of(shape, 0, axis)));
}

void emit_reshape(Writer& writer) {
  const Operands operands(writer.signature());
  const Graph& graph = writer.sources().network().graph();
  const Tensor& in = graph.tensors[writer.op().inputs.at(0).value()];
  const Tensor& out = graph.tensors[writer.op().outputs.at(0).value()];
  writer.need("stowage_movement");
  if (writer.signature().has_output(1) && is_read(graph, *writer.op().outputs[1]))
    refuse("its second output is read");
  if (in.bytes != out.bytes) refuse("its input has {} bytes, its output {}", in.bytes, out.bytes);
  const RowAxis* const axis = writer.axis();
  if (axis != nullptr && !axis->reads.empty()) {
    reshape_by_rows(writer, rows_of_reshaped(in, axis->reads[0].axis), rows_of_reshaped(out, axis->axis));
    return;
  }
  if (axis != nullptr) return reshape_to_rows(writer, axis->axis);
  if (writer.sources().is_constant(*writer.op().inputs[0]) || writer.storage_of_input(0).is_contiguous()) {
    writer.line(copy_text(writer.input(0).at, writer.output().at, out.bytes));
    return;
  }
  gather_rows(writer, in, *writer.storage_of_input(0).axis());
}

void emit_identity(Writer& writer) {
  if (writer.axis() == nullptr) return emit_reshape(writer);
  const Operand in = writer.input(0);
  writer.need("stowage_movement");
  writer.line(copy_text(in.at, writer.output().at, in.count() * element_bytes(Operands(writer.seen()))));
}

// Strides

/// The elements of the output in their order. Where those of a row of the output are apart, behind its first dimension,
/// each index of that is moved by itself.
void emit_moves(Writer& writer, const Strided& in, std::vector<MoveDimension> dimensions,
                std::int64_t begin) {
  const Strided out = writer.strided_output();
  MoveDimension alone;
  std::int64_t alone_step = 0;
  std::int64_t count = 1;
  for (std::size_t d = dimensions.size(); d-- > 0; count *= dimensions[d].extent) {
    if (dimensions[d].extent == 1 || out.strides[d] == count) continue;
    if (alone.extent != 1) refuse("rows of its output are apart in two dimensions");
    alone = std::exchange(dimensions[d], MoveDimension{});
    alone_step = out.strides[d];
  }
  if (alone.extent == 1) return call_move(writer, dimensions, begin, in.at, out.at);
  writer.declare("int32_t i;");
  writer.line(fmt::format("for (i = 0; i < {}; i++)", alone.extent));
  call_move(writer, dimensions, begin, fmt::format("{} + i * {}", in.at, alone.stride),
            fmt::format("{} + i * {}", out.at, alone_step));
}

void emit_order(Writer& writer, const std::vector<std::int64_t>& order) {
  const Shape& shape = writer.seen().inputs.at(0)->shape;
  const Strided in = writer.strided_input(0);
  std::vector<MoveDimension> dimensions;
  for (const std::int64_t axis : order) {
    const std::size_t d = kernels::axis_of(axis, shape.size());
    dimensions.push_back({shape[d], in.strides[d]});
  }
  emit_moves(writer, in, std::move(dimensions), 0);
}

void emit_transpose(Writer& writer) { emit_order(writer, Operands(writer.seen()).constants(1, "order")); }

/// Without an order, that of the dimensions is reversed.
void emit_transpose_of_onnx(Writer& writer) {
  const auto rank = static_cast<std::int64_t>(writer.seen().inputs.at(0)->shape.size());
  std::vector<std::int64_t> reversed;
  for (std::int64_t d = rank - 1; d >= 0; --d) reversed.push_back(d);
  emit_order(writer, writer.seen().attributes.integers("perm", reversed));
}

/// Elements begin, begin + step, ... along each dimension; rows are taken so, too.
void emit_slices(Writer& writer, const kernels::onnx_ops::Slicing& it) {
  const RowAxis* const rows = writer.axis();
  const Strided in =
      rows == nullptr
          ? writer.strided_input(0)
          : writer.strided_input(0, fmt::format("y * {} + {}", it.steps[rows->axis], it.begins[rows->axis]));
  std::vector<MoveDimension> dimensions;
  std::int64_t first = 0;
  for (std::size_t d = 0; d < it.shape.size(); ++d) {
    const bool is_row = rows != nullptr && d == rows->axis;
    dimensions.push_back({is_row ? 1 : it.shape[d], in.strides[d] * it.steps[d]});
    if (!is_row) first += it.begins[d] * in.strides[d];
  }
  emit_moves(writer, in, std::move(dimensions), first);
}

void emit_slice(Writer& writer) {
  const Operands operands(writer.signature());
  const std::vector<std::int64_t> begins = operands.constants(1, "begin");
  emit_slices(writer, {.begins = begins, .steps = Shape(begins.size(), 1), .shape = operands.output().shape});
}

void emit_slice_of_onnx(Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  for (std::size_t i = 1; i < signature.inputs.size(); ++i)
    if (signature.has_input(i) && !signature.inputs[i]->is_constant) return emit_computed_slice(writer);
  emit_slices(writer, kernels::onnx_ops::slicing_of(signature));
}

// Joining and splitting

/// Copies `count` runs of `run` elements of input `i`, or what becomes of them if the input has another scale.
/// Strides are in elements, too.
void write_runs(Writer& writer, std::size_t i, const std::string& in, std::int64_t in_stride,
                const std::string& out, std::int64_t out_stride, std::int64_t run, std::int64_t count) {
  const Operands operands(writer.seen());
  const kernels::JoinTable table = kernels::join_table_of(operands.input(i), operands.output());
  if (table.empty()) {
    const std::int64_t bytes = element_bytes(operands);
    writer.line(fmt::format("stowage_copy_runs({}, {}, {}, {}, {}, {});", in, in_stride * bytes, out,
                            out_stride * bytes, run * bytes, count));
    return;
  }
  const std::string name =
      writer.sources().array(fmt::format("table_{}_{}", writer.number(), i),
                             "results of operator " + writer.number(), DType::uint8, table);
  writer.need("stowage_table_8");
  const std::string index = fmt::format("i{}", i);
  writer.declare(fmt::format("int32_t {};", index));
  writer.line(fmt::format("for ({0} = 0; {0} < {1}; {0}++)", index, count));
  writer.line(fmt::format("  stowage_table_8({0}, 0, {1} + {2} * {3}, {4} + {2} * {5}, {6});", name, in,
                          index, in_stride, out, out_stride, run));
}

void join_by_rows(Writer& writer, std::size_t axis) {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < writer.signature().inputs.size(); ++i) {
    const std::int64_t extent = writer.signature().inputs[i]->shape[axis];
    const std::string own = begin == 0 ? "y" : fmt::format("y - {}", begin);
    writer.line(fmt::format("{}if (y < {}) {{", i == 0 ? "" : "} else ", begin + extent));
    const Operand row = writer.input_row(i, axis, own);
    write_runs(writer, i, row.at, row.count(), writer.output_row(axis, "y").at, row.count(), row.count(), 1);
    begin += extent;
  }
  writer.line("}");
}

/// Images [1, channels, height, width] of which each has other channels, by rows: lines of each channel.
void join_channels(Writer& writer) {
  const Operands operands(writer.seen());
  const Channel out = writer.image_row_of_output("y");
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < operands.inputs(); ++i) {
    const Shape& shape = operands.input(i).shape;
    const Channel in = writer.image_row_of_input("y", i);
    write_runs(writer, i, in.at, in.row, out.at + (begin == 0 ? "" : fmt::format(" + {}", begin * out.row)),
               out.row, shape[3], shape[1]);
    begin += shape[1];
  }
}

void emit_join(Writer& writer) {
  const Operands operands(writer.seen());
  if (operands.integer("fused_activation_function") != 0) refuse("it has a fused activation");
  const Shape& shape = operands.output().shape;
  const std::size_t axis = kernels::axis_of(operands.integer("axis"), shape.size());
  for (std::size_t i = 0; i < operands.inputs(); ++i) operands.expect_alike(i);
  writer.need("stowage_movement");
  if (writer.axis() != nullptr && writer.axis()->axis == axis) return join_by_rows(writer, axis);
  const bool is_of_lines = writer.axis() != nullptr && writer.axis()->axis == 2 && shape.size() == 4;
  if (is_of_lines && axis == 1 && shape[0] == 1) return join_channels(writer);
  const std::int64_t outer = kernels::count_of(shape, 0, axis);
  const std::int64_t whole = kernels::count_of(operands.output().shape) / outer;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < operands.inputs(); ++i) {
    const std::int64_t run = kernels::count_of(operands.input(i).shape) / outer;
    if (run > 0)
      write_runs(writer, i, writer.input(i).at, run,
                 writer.output().at + (begin == 0 ? "" : fmt::format(" + {}", begin)), whole, run, outer);
    begin += run;
  }
}

/// SPLIT, SPLIT_V and UNPACK; `data` is the input that is split.
void split(Writer& writer, std::size_t data, std::int64_t number) {
  const Operands operands(writer.seen());
  const Shape& shape = operands.input(data).shape;
  const std::size_t axis = kernels::axis_of(number, shape.size());
  const std::int64_t outer = kernels::count_of(shape, 0, axis);
  const std::int64_t whole = kernels::count_of(shape) / outer;
  const auto bytes = static_cast<std::int64_t>(kernels::element_size(operands.input(data).dtype));
  if (writer.axis() != nullptr && writer.axis()->axis == axis)
    refuse("it runs by rows along the axis that it splits");
  const Operand in = writer.input(data);
  writer.need("stowage_movement");
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < writer.op().outputs.size(); ++i) {
    const std::int64_t run = kernels::count_of(operands.output(i).shape) / outer;
    if (run > 0)
      writer.line(fmt::format("stowage_copy_runs({}, {}, {}, {}, {}, {});",
                              in.at + (begin == 0 ? "" : fmt::format(" + {}", begin)), whole * bytes,
                              writer.output(i).at, run * bytes, run * bytes, outer));
    begin += run;
  }
}

void emit_split(Writer& writer) {
  const std::vector<std::int64_t> axes = Operands(writer.signature()).constants(0, "axis");
  if (axes.size() != 1) refuse("it has {} axes, expected 1", axes.size());
  split(writer, 1, axes[0]);
}

void emit_split_v(Writer& writer) {
  const std::vector<std::int64_t> axes = Operands(writer.signature()).constants(2, "axis");
  if (axes.size() != 1) refuse("it has {} axes, expected 1", axes.size());
  split(writer, 0, axes[0]);
}

void emit_split_of_onnx(Writer& writer) {
  split(writer, 0, writer.signature().attributes.integer("axis", 0));
}

void emit_unpack(Writer& writer) {
  if (writer.axis() != nullptr) refuse("it runs by rows");
  split(writer, 0, Operands(writer.signature()).integer("axis"));
}

void emit_pack(Writer& writer) {
  if (writer.axis() != nullptr) refuse("it runs by rows");
  emit_join(writer);
}

}  // namespace

EmitPart movement_operators() {
  return {{"RESHAPE", emit_reshape, RowHandling::own},
          {"SQUEEZE", emit_reshape, RowHandling::own},
          {"EXPAND_DIMS", emit_reshape, RowHandling::own},
          {"Reshape", emit_reshape, RowHandling::own},
          {"Flatten", emit_reshape, RowHandling::own},
          {"Squeeze", emit_reshape, RowHandling::own},
          {"Unsqueeze", emit_reshape, RowHandling::own},
          {"Identity", emit_identity, RowHandling::elements},
          {"Dropout", emit_identity, RowHandling::elements},
          {"Concat", emit_join, RowHandling::own},
          {"Transpose", emit_transpose_of_onnx},
          {"TRANSPOSE", emit_transpose},
          {"SLICE", emit_slice, RowHandling::own},
          {"Slice", emit_slice_of_onnx, RowHandling::own},
          {"CONCATENATION", emit_join, RowHandling::own},
          {"PACK", emit_pack},
          {"SPLIT", emit_split},
          {"Split", emit_split_of_onnx},
          {"SPLIT_V", emit_split_v},
          {"UNPACK", emit_unpack}};
}

}  // namespace stowage::generate
