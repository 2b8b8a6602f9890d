#pragma once

#include "stowage/graph.h"
#include "stream/model.h"

namespace stowage::stream {

/// Where the network's input comes from and its output goes to.
enum class Io : std::uint8_t {
  arena,  ///< The input is in the arena from the start, the output stays in it.
  rows,   ///< The input arrives row by row, and rows of the output leave as soon as they are there.
};

struct InstanceOptions {
  std::int64_t granule = 1;  ///< Rows that an instance computes, at least 1.
  Io io = Io::arena;
};

/// The operators of a network (`add_rows`) over rows, and what they read. Constants, and what is computed
/// from nothing else, is not part of it. Throws UsageError for a network with bodies (If, Loop) or sizes that
/// depend on data.
[[nodiscard]] Model instances_of(const Graph& graph, const InstanceOptions& options);

/// The same network with operators and tensors as wholes: each operator has one instance, each tensor one
/// granule.
[[nodiscard]] Model without_rows(const Model& model);

}  // namespace stowage::stream
