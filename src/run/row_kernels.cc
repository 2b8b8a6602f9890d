// A kernel needs the whole shapes of its operator: scales, padding and places follow from them. A
// kernel that moves windows knows them, and takes its rows from a table. If the rules say that all rows are
// equal (operators/rows.h), and only then, a row counts as a tensor with one row, and one kernel for such
// tensors computes all rows. All other operators (padding, a slice along the rows, blocks of pixels) run as a
// whole for every requested row, on inputs in which only the rows that it reads are filled in: slow, but
// correct for every operator.

#include "run/row_kernels.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/kernels.h"
#include "kernels/rows.h"
#include "operators/rows.h"

namespace stowage::run {
namespace {

/// The rows that the operator's kernel takes from a table; none if it uses no table.
std::optional<RowAxis> windows_of(const Network& network, std::size_t index, const Kernel& kernel,
                                  RowAxis axis) {
  const Operator& op = network.graph().subgraphs[0].operators[index];
  if (!kernel.run_rows || op.outputs.size() != 1 || !op.inputs[0]) return std::nullopt;
  if (axis.axis != operators::window_axis(operators::Site(network, 0, index))) return std::nullopt;
  const Tensor& input = network.graph().tensors[*op.inputs[0]];
  if (input.shape->size() != 4 || !bytes_of_row(input, axis.axis)) return std::nullopt;
  if (axis.reads.empty())  // all rows
    axis.reads.push_back({.axis = axis.axis, .rows = {.scale = 0, .taps = (*input.shape)[axis.axis]}});
  const RowRead& read = axis.reads[0];
  if (axis.reads.size() != 1 || read.input != 0 || read.axis != axis.axis) return std::nullopt;
  return axis;
}

/// The same tensor with one row; false if its quantization differs between rows.
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
  if (!operators::has_rows_alike(operators::Site(network, 0, op), axis.axis)) return std::nullopt;
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

RowKernel row_kernel_of(const Network& network, const Program& program, std::size_t op, const RowAxis& axis) {
  if (auto windows = windows_of(network, op, program.kernels[0][op], axis))
    return {.axis = std::move(*windows), .way = RowWay::windows};
  auto alone = kernel_alone(network, program, op, axis);
  if (!alone) return {.axis = axis};
  return {.axis = axis, .way = RowWay::alone, .alone = std::move(alone)};
}

}  // namespace stowage::run
