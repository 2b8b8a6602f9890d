#pragma once

#include <compare>
#include <cstddef>
#include <set>
#include <span>
#include <utility>

#include "stowage/graph.h"
#include "stowage/import.h"
#include "stowage/plan.h"

namespace stowage::check {

/// A constant of a network, and the source of its bytes.
struct KnownConstant {
  const Graph* graph = nullptr;
  const Constants* constants = nullptr;  ///< Null: they are unknown.
  TensorId tensor = 0;

  auto operator<=>(const KnownConstant&) const = default;
};

/// Decides which constants have the same bytes, and caches the equal ones.
class EqualConstants {
 public:
  /// True if they have the same known bytes, or come from the same operation on equal constants. Cost: linear
  /// in the bytes that were not compared before.
  [[nodiscard]] bool are_equal(const KnownConstant& a, const KnownConstant& b);

 private:
  using Pair = std::pair<KnownConstant, KnownConstant>;

  std::set<Pair> proven_;
};

/// Checks the constants of a plan against its networks, in the plan's order. If they have a memory, all
/// constants that steps and the caller read are in it, and their bytes match the `separate` of the savings.
/// `matched` has the plan's entry for each tensor of the network, null if it has none.
class StoredConstants {
 public:
  explicit StoredConstants(const Plan& plan);

  void check(const Graph& graph, std::span<const PlannedTensor* const> matched, Faults& faults);
  /// Call after the last network.
  void check_savings(Faults& faults) const;

 private:
  const Plan& plan_;
  bool has_memory_ = false;
  Bytes weights_ = 0;
  Bytes instructions_ = 0;
};

/// If there is a memory for weights and instructions, it holds the stored ones as long as the plan runs, and
/// nothing else. Copies of them in other memories are there from the copy on. Only the networks tell which must be
/// stored.
[[nodiscard]] Faults check_weights(const Plan& plan);

}  // namespace stowage::check
