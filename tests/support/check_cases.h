/// Plans to check, and what is expected of the checker. Example:
///
///     Case it = small_case();
///     tensor_named(it.plan, "a").views[0].life.upper = 1;
///     EXPECT_TRUE(has_fault(check(it), {{FaultKind::accounting}, {"'a'"}}));
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "oracle/naive_interpreter.h"
#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage::cases {

/// A network and a plan for it.
struct Case {
  Graph graph{};
  Plan plan{};
  std::vector<std::vector<oracle::Positions>> needs{};  ///< From the machine.
  Faults faults{};                                      ///< What make_plan reported.
};

[[nodiscard]] Case case_of(Graph graph, const PlanOptions& options = {.alias = Alias::none});

/// Of a random network. None when a state could not be kept, which is the network's fault.
[[nodiscard]] std::optional<Case> random_case(std::uint64_t seed, Alias alias = Alias::none);

/// x (16 bytes) -> a -> b -> y, alignment 8.
[[nodiscard]] Case small_case();

[[nodiscard]] Faults check(const Case& it);
[[nodiscard]] std::string text_of(const Faults& faults);
[[nodiscard]] std::string in_quotes(const std::string& name);

/// What a mutation must be reported as: a fault of one of the kinds that has one of the names in it.
struct Expected {
  std::set<FaultKind> kinds{};
  std::vector<std::string> names{};
};

[[nodiscard]] bool has_fault(const Faults& faults, const Expected& expected);

/// Makes the plan's numbers true, so that nothing but the harm can be found.
void correct_claims(Plan& plan);

/// Index of the buffer; a failure where there is none.
[[nodiscard]] std::size_t buffer_named(const Plan& plan, const std::string& id);
[[nodiscard]] PlannedTensor& tensor_named(Plan& plan, const std::string& name);

}  // namespace stowage::cases
