#pragma once

#include <compare>
#include <span>
#include <vector>

#include "stowage/graph.h"
#include "stowage/import.h"
#include "stowage/options.h"
#include "stream/instances.h"

namespace stowage::plan {

/// A way to stream: what it uses of the features that the options allow.
struct Way {
  Io io = Io::arena;
  stream::InPlace in_place = stream::InPlace::where_possible;
  bool apart = true;  ///< Tensors are apart where that lowers the load, though they could be in place.
  double recompute = 1;
  bool repeats = true;
  bool turns = true;  ///< Rows along searched axes, not those that follow by themselves.
  Order order = Order::search;

  auto operator<=>(const Way&) const = default;
};

/// The first way uses everything that the options allow. Each other way uses less.
[[nodiscard]] std::vector<Way> ways_of(const PlanOptions& options);

/// The network, in which only the operators that the options name can run row by row.
[[nodiscard]] Graph chosen_by_rows(const Graph& graph, const StreamOptions& options);

/// The same for each network. Throws UsageError if the options name an operator that none of them has.
[[nodiscard]] std::vector<Graph> chosen_by_rows(std::span<const Input> inputs, const StreamOptions& options);

/// The options of a plan of whole operators.
[[nodiscard]] PlanOptions without_rows(PlanOptions options);

/// Throws UsageError for inputs and options that cannot be planned by rows.
void expect_rows(std::span<const Input> inputs, const PlanOptions& options);

}  // namespace stowage::plan
