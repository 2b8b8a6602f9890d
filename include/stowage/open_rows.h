/// Example: how many steps an operator with windows of three rows at every other row has, for 64 rows.
///
///     const stowage::StepCount count{.times = 1, .plus = -1, .over = 2};
///     return stowage::steps_at(count, 64) == 31 ? 0 : 1;
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/graph.h"
#include "stowage/import.h"
#include "stowage/options.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage {

/// How many steps something has at a size n: (times * n + plus) / over, rounded down.
struct StepCount {
  std::int64_t times = 1;
  std::int64_t plus = 0;
  std::int64_t over = 1;  ///< Positive.

  bool operator==(const StepCount&) const = default;
};

[[nodiscard]] std::int64_t steps_at(const StepCount& count, std::int64_t size);

/// A plan by rows of which only the number of rows is open. The plan is that for one size. For all others, the steps
/// follow from the same affine schedule, and buffers, rings and offsets are the same. Operators that do not depend on
/// the size and run behind all that do are later by as much as those end later.
struct OpenRows {
  SizeSymbol size{};
  std::int64_t at = 1;  ///< The size that the plan is for.
  /// Of each entry of AffineSchedule::operators; none: it has as many steps at every size.
  std::vector<std::optional<StepCount>> steps{};

  bool operator==(const OpenRows&) const = default;
};

/// At which sizes the checker has accepted the plan.
struct OpenRowsReport {
  std::int64_t checked = 0;
  std::int64_t largest = 0;    ///< Of these.
  bool is_every_size = false;  ///< These are all sizes that the model accepts.
};

/// Reads the model at a size. Throws Error for a size that the model rejects.
using ReadAtSize = std::function<Input(std::int64_t size)>;

struct FoundOpenRows {
  std::optional<PlanResult> planned{};  ///< None: there is none for all sizes.
  OpenRows rows{};
  OpenRowsReport report{};
  std::string why_not{};  ///< If there is no plan: the reason, in words that name an operator or a tensor.
};

/// Looks for a plan by rows whose bytes do not depend on the size; see plan/open_rows.cc. For one network in one memory,
/// whose inputs and outputs come and go by rows (Io::rows). The plan holds for the sizes of the report; that it holds for
/// all others is evidence, not proof, unless these are all.
[[nodiscard]] FoundOpenRows find_open_rows(const SizeSymbol& size, const ReadAtSize& read,
                                           const PlanOptions& options);

/// The plan at another size, for the network at that size. It is a plan like others. Throws Error if the plan does not
/// hold there, and UsageError for a size that is not in the range.
[[nodiscard]] Plan plan_at(const Plan& plan, const OpenRows& rows, std::int64_t size, const Graph& at);

/// Checks the plan at all of its sizes, or at a spread of them; stops at the first fault.
[[nodiscard]] Faults check_open_rows(const Plan& plan, const OpenRows& rows, const ReadAtSize& read,
                                     OpenRowsReport& report);

/// Writes the plan with its open rows as JSON. Other readers of plans see the plan for one size.
void write_json(const Plan& plan, const OpenRows& rows, std::ostream& out);

/// The open rows of plan JSON; none if it has none. Throws Error as `parse_plan`.
[[nodiscard]] std::optional<OpenRows> parse_open_rows(std::string_view json);

}  // namespace stowage
