#pragma once

#include <optional>

#include "kernels/kernel.h"
#include "run/program.h"
#include "stowage/graph.h"
#include "stowage/network.h"

namespace stowage::run {

/// How an operator computes a row of its outputs.
enum class RowWay : std::uint8_t {
  windows,  ///< Its kernel knows the whole shapes, and finds the rows of its first input in a table.
  alone,    ///< A kernel for a single row, where the rules say that all rows are alike.
  whole     ///< Its kernel runs as a whole on what it reads of its inputs, and a row of that is kept.
};

struct RowKernel {
  /// The operator's own. A kernel that takes a table is given one of all rows where it reads all of them.
  RowAxis axis{};
  RowWay way = RowWay::whole;
  std::optional<Kernel> alone{};
};

/// Of an operator of the main subgraph, which has plain kernels.
[[nodiscard]] RowKernel row_kernel_of(const Network& network, const Program& program, std::size_t op,
                                      const RowAxis& axis);

/// Whether row r reads row r of that input, and nothing else of it.
[[nodiscard]] bool reads_same_row(const RowRead& read);

}  // namespace stowage::run
