#pragma once

#include <map>
#include <set>
#include <string>

#include "stowage/graph.h"
#include "stowage/options.h"
#include "stream/axes.h"
#include "stream/model.h"

namespace stowage::stream {

/// Whether operators may write a row over one that they read.
enum class InPlace : std::uint8_t {
  never,
  where_possible,
  same_size,  ///< Only if both rows have the same bytes: rings hold such rows, but no row inside another.
  /// Undecided, for a bound that holds for both. While an operator runs, outputs that may lie in its inputs
  /// do not count.
  open
};

/// Inputs and outputs of a network among others, and where they are instead of where all others are: as wholes in memory
/// (arena), in another buffer (external), or, for outputs, gone row by row if they can, and else in another buffer (rows).
using PassedIo = std::map<TensorId, Io>;

/// Rows that iterations compute of some tensors, at least 1.
using ChosenGranules = std::map<TensorId, std::int64_t>;

struct InstanceOptions {
  std::int64_t granule = 1;   ///< Rows that an iteration computes, at least 1.
  ChosenGranules granules{};  ///< Of tensors for which it is another number.
  Io io = Io::arena;
  PassedIo passed{};
  InPlace in_place = InPlace::where_possible;
  ChosenAxes axes{};             ///< Axes of rows.
  bool turns_back = false;       ///< Operators beside one that runs backward do so, too, as far as they can.
  std::set<TensorId> apart{};    ///< Tensors that are never written over others.
  bool carries_one_row = false;  ///< Operators that sum up or carry a buffer do so for a single row, too.
};

/// Throws UsageError for a network with sizes that depend on data.
void expect_streamable(const Graph& graph);

/// Why `expect_streamable` throws; empty if it does not.
[[nodiscard]] std::string obstacle_to_streaming(const Graph& graph);

/// The operators of a network over rows (`add_rows`), and their reads. One that reads too many rows to unroll runs as
/// a whole. Leaves out constants and what only they determine. Throws UsageError as `expect_streamable` does.
[[nodiscard]] RowModel instances_of(const Graph& graph, const InstanceOptions& options);

/// How many iterations all its operators have.
[[nodiscard]] std::int64_t iterations_of(const RowModel& model);

/// The same network with whole operators and tensors: one iteration for each operator, one granule for each
/// tensor.
[[nodiscard]] RowModel without_rows(const RowModel& model);

}  // namespace stowage::stream
