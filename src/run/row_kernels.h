#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/kernel.h"
#include "run/program.h"
#include "stowage/graph.h"
#include "stowage/network.h"

namespace stowage::run {

/// How an operator computes a row of its outputs.
enum class RowWay : std::uint8_t {
  windows,  ///< Its kernel knows the whole shapes, and finds the rows of its first input in a table.
  alone,    ///< A kernel for a single row, if the rules say that all rows are equal.
  whole     ///< Its kernel runs as a whole on the inputs that it reads; one row of the result is kept.
};

struct RowKernel {
  /// The axis of the operator. A kernel with a table gets a table of all rows if it reads all.
  RowAxis axis{};
  RowWay way = RowWay::whole;
  std::optional<Kernel> alone{};
};

/// Requires an operator of the main subgraph with plain kernels.
[[nodiscard]] RowKernel row_kernel_of(const Network& network, const Program& program, std::size_t op,
                                      const RowAxis& axis);

}  // namespace stowage::run
