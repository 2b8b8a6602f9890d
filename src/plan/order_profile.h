#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage::plan {

/// An operator that runs elsewhere than in the model's own order.
struct MovedOperator {
  std::string name{};    ///< Or its type, where it has no name.
  std::size_t from = 0;  ///< Position in the own order.
  std::size_t to = 0;    ///< Position in the plan's.
};

/// Live bytes of the steps of a network in two orders, if all that may share does, and what was moved.
struct OrderProfile {
  std::vector<Bytes> own{};              ///< Per position of the model's own order.
  std::vector<Bytes> planned{};          ///< Per position of the plan's.
  std::vector<MovedOperator> moved{};    ///< As few as possible, in the plan's order.
  std::vector<std::string> own_names{};  ///< Of operators, per position.
  std::vector<std::string> planned_names{};
};

/// Of a plan of one network whose order was searched for and is another than its own; see order_profile.cc.
[[nodiscard]] std::optional<OrderProfile> order_profile_of(const Input& input, const PlanOptions& options,
                                                           const Plan& plan);

}  // namespace stowage::plan
