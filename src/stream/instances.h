#pragma once

#include <set>

#include "stowage/graph.h"
#include "stowage/options.h"
#include "stream/model.h"

namespace stowage::stream {

/// Whether operators may write a row over one that they read.
enum class InPlace : std::uint8_t {
  never,
  where_possible,
  same_size,  ///< Only where both rows have the same bytes: rings hold such rows, but no row inside another.
  /// Either, for a bound that holds for both: what may lie in what is read is not counted while an operator
  /// runs.
  open
};

struct InstanceOptions {
  std::int64_t granule = 1;  ///< Rows that an instance computes, at least 1.
  Io io = Io::arena;
  InPlace in_place = InPlace::where_possible;
  std::set<TensorId> apart{};  ///< Tensors that are not written over others all the same.
};

/// Throws UsageError for a network with bodies (If, Loop) or sizes that depend on data.
void expect_streamable(const Graph& graph);

/// The operators of a network (`add_rows`) over rows, and what they read. Constants, and what is computed
/// from nothing else, is not part of it. Throws UsageError as `expect_streamable` does.
[[nodiscard]] RowModel instances_of(const Graph& graph, const InstanceOptions& options);

/// The same network with operators and tensors as wholes: each operator has one instance, each tensor one
/// granule.
[[nodiscard]] RowModel without_rows(const RowModel& model);

}  // namespace stowage::stream
