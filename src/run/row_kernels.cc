// Idea. A kernel must know the whole shapes of its operator: scales, padding and places follow from them. One
// that moves windows does, and takes its rows from a table. Where the rules say that all rows are alike
// (model/row_rules.h), and only there, to the operator a row is a tensor that has one row, and a kernel that
// is prepared for such tensors serves for all. What is left (padding, a slice along the rows, blocks of
// pixels) runs as a whole for every row it is asked for, on inputs of which only that is filled in which the
// row reads: slow, but right for every operator there is.

#include "run/row_kernels.h"

#include <utility>

#include "kernels/kernels.h"
#include "model/row_rules.h"

namespace stowage::run {
namespace {

/// The rows that the operator's kernel takes from a table; none if it takes none.
std::optional<RowAxis> windows_of(const Graph& graph, const Operator& op, const Kernel& kernel,
                                  RowAxis axis) {
  if (!kernel.run_rows || !axis.is_windows || op.outputs.size() != 1 || !op.inputs[0]) return std::nullopt;
  const Tensor& input = graph.tensors[*op.inputs[0]];
  if (input.shape->size() != 4 || !bytes_of_row(input, axis.axis)) return std::nullopt;
  if (axis.reads.empty())  // all of them
    axis.reads.push_back({.axis = axis.axis, .rows = {.scale = 0, .taps = (*input.shape)[axis.axis]}});
  const RowRead& read = axis.reads[0];
  if (axis.reads.size() != 1 || read.input != 0 || read.axis != axis.axis) return std::nullopt;
  return axis;
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
  if (!model::has_rows_alike(model::Site(network, 0, op), axis.axis)) return std::nullopt;
  Signature signature = signature_of(network, program, 0, op);
  for (const RowRead& read : axis.reads) {
    if (!take_row(*signature.inputs[read.input], read.axis)) return std::nullopt;
  }
  for (auto& output : signature.outputs) {
    if (output && !take_row(*output, axis.axis)) return std::nullopt;
  }
  try {
    return kernels::prepare(signature, KernelSet::plain);
  } catch (const kernels::Unsupported&) {
    return std::nullopt;
  }
}

}  // namespace

bool reads_same_row(const RowRead& read) { return read.rows == RowMap{}; }

RowKernel row_kernel_of(const Network& network, const Program& program, std::size_t op, const RowAxis& axis) {
  const Operator& own = network.graph().subgraphs[0].operators[op];
  if (auto windows = windows_of(network.graph(), own, program.kernels[0][op], axis))
    return {.axis = std::move(*windows), .way = RowWay::windows};
  auto alone = kernel_alone(network, program, op, axis);
  if (!alone) return {.axis = axis};
  return {.axis = axis, .way = RowWay::alone, .alone = std::move(alone)};
}

}  // namespace stowage::run
