// Idea. Most operators compute rows independently of each other: to them a row is a tensor that has one row,
// and a kernel that is prepared for such tensors serves for all rows. Those that move windows have kernels
// that take their rows from a table. What is left (padding, a slice along the rows, blocks of pixels) runs as
// a whole for every row it is asked for, on inputs of which only that is filled in which the row reads: slow,
// but right for every operator there is.

#include "run/row_kernels.h"

#include <algorithm>

#include "run/kernels.h"

namespace stowage::run {
namespace {

/// Whether the kernel of the operator goes through these rows.
bool has_windows(const Graph& graph, const Operator& op, const Kernel& kernel, const RowAxis& axis) {
  if (!kernel.run_rows || !axis.is_windows || op.outputs.size() != 1 || axis.reads.size() != 1) return false;
  const RowRead& read = axis.reads[0];
  return read.input == 0 && read.axis == axis.axis && graph.tensors[*op.inputs[0]].shape->size() == 4;
}

/// The same tensor with one row; none if its quantization differs from row to row.
bool take_row(Argument& argument, std::size_t axis) {
  if (argument.quantization != nullptr && argument.quantization->scales.size() > 1 &&
      argument.quantization->axis == axis)
    return false;
  argument.shape[axis] = 1;
  argument.constant = {};
  argument.is_constant = false;
  return true;
}

/// A kernel for one row; none if there is no such kernel.
std::optional<Kernel> kernel_alone(const Network& network, const Program& program, std::size_t op,
                                   const RowAxis& axis) {
  Signature signature = signature_of(network, program, 0, op);
  for (const RowRead& read : axis.reads) {
    if (!reads_same_row(read) || !take_row(*signature.inputs[read.input], read.axis)) return std::nullopt;
  }
  for (auto& output : signature.outputs) {
    if (output && !take_row(*output, axis.axis)) return std::nullopt;
  }
  try {
    return prepare(signature, KernelSet::plain);
  } catch (const Unsupported&) {
    return std::nullopt;
  }
}

}  // namespace

bool reads_same_row(const RowRead& read) {
  return read.rows.scale == 1 && read.rows.divisor == 1 && read.rows.offset == 0 && read.rows.taps == 1;
}

RowKernel row_kernel_of(const Network& network, const Program& program, std::size_t op, const RowAxis& axis) {
  const Operator& own = network.graph().subgraphs[0].operators[op];
  if (has_windows(network.graph(), own, program.kernels[0][op], axis))
    return {.axis = &axis, .way = RowWay::windows};
  auto alone = kernel_alone(network, program, op, axis);
  if (!alone) return {.axis = &axis};
  return {.axis = &axis, .way = RowWay::alone, .alone = std::move(alone)};
}

}  // namespace stowage::run
