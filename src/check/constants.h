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

/// A constant of a network, and where what is known of it stands.
struct KnownConstant {
  const Graph* graph = nullptr;
  const Constants* constants = nullptr;  ///< Null: nothing is known.
  TensorId tensor = 0;

  auto operator<=>(const KnownConstant&) const = default;
};

/// Tells which constants are the same bytes, and remembers those that are.
class EqualConstants {
 public:
  /// They have the same known bytes, or come from the same operation on constants that are equal. Cost:
  /// linear in the bytes that have not been compared before.
  [[nodiscard]] bool are_equal(const KnownConstant& a, const KnownConstant& b);

 private:
  using Pair = std::pair<KnownConstant, KnownConstant>;

  std::set<Pair> proven_;
};

/// The constants of a plan against the networks that they are of, in the plan's order: where there is a
/// memory for them, all that steps and the caller read are there, and their bytes are those that are said to
/// be separate. `matched` has the plan's entry for each tensor of the network, null where there is none.
class StoredConstants {
 public:
  explicit StoredConstants(const Plan& plan);

  void check(const Graph& graph, std::span<const PlannedTensor* const> matched, Faults& faults);
  /// After the last network.
  void check_savings(Faults& faults) const;

 private:
  const Plan& plan_;
  bool has_memory_ = false;
  Bytes weights_ = 0;
  Bytes instructions_ = 0;
};

/// Where a memory is for weights and instructions, those that are stored are there, as long as the plan runs,
/// and nothing else is. Which must be stored the networks tell.
[[nodiscard]] Faults check_weights(const Plan& plan);

}  // namespace stowage::check
