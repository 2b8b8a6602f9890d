/// Example: plan a buffer list and look at the result.
///
///     const std::string list = "id,lower,upper,size\na,0,2,64\nb,1,3,32\n";
///     const stowage::Input input = stowage::parse_input(list, "list.csv");
///     const stowage::PlanResult result = stowage::make_plan(input);
///     return result.faults.empty() && result.plan.summary.peak == 96 ? 0 : 1;
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stowage/import.h"
#include "stowage/options.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage {

/// How near a plan is to the places that PlanOptions::near names.
struct Nearness {
  std::int64_t buffers = 0;       ///< Those that the options name.
  std::int64_t buffers_kept = 0;  ///< Those of them that are where the options say.
  Bytes bytes = 0;                ///< Sizes of all that the options name.
  Bytes bytes_kept = 0;
  Bytes most_bytes_kept = 0;  ///< An upper bound: no offsets keep more.
};

/// How well a plan uses the banks of its memory. A pair is two operands of one step in different buffers, or parts of
/// them: what the step reads and writes. It clashes if a bank holds bytes of both.
struct BankUse {
  std::int64_t pairs = 0;
  std::int64_t clashes = 0;
  std::int64_t least_clashes = 0;  ///< No offsets within the banks have fewer.
};

struct PlanResult {
  Plan plan{};
  Outcome outcome = Outcome::fits;
  /// Faults that the checker found in the plan. Any fault is a bug in stowage.
  Faults faults{};
  /// If the plan does not fit: one memory with a capacity (bytes) that would be enough, all others unchanged.
  /// This capacity is the smallest one found within the time limit.
  std::optional<Memory> enough{};
  std::optional<Nearness> nearness{};  ///< Only with PlanOptions::near.
  std::optional<BankUse> bank_use{};   ///< Only with PlanOptions::banks, for a plan that fits in them.
};

/// Decides order, live ranges and offsets, and checks the result. Throws Error if the input is impossible,
/// and UsageError if options do not fit it.
[[nodiscard]] PlanResult make_plan(const Input& input, const PlanOptions& options = PlanOptions());

/// The same for an input that is not needed any more: a list's buffers are moved into the plan, so that a list
/// of millions is held once. Leaves a list without buffers.
[[nodiscard]] PlanResult make_plan(Input&& input, const PlanOptions& options = PlanOptions());

/// The same for several networks on one device. Options name them by their ModelInfo::name, which must be
/// unique.
[[nodiscard]] PlanResult make_plan(std::span<const Input> inputs, const PlanOptions& options = PlanOptions());

/// The places of a plan's buffers, for PlanOptions::near of another one.
[[nodiscard]] std::vector<NearPlace> places_in(const Plan& plan);

/// A list without the offsets that it gives its buffers. Networks stay as they are.
[[nodiscard]] Input without_pins(Input input);

/// Checks a plan by itself and against its inputs, in the order of the plan: networks, or one list. Weights
/// that share bytes must have equal data; checking that needs inputs with constants.
[[nodiscard]] Faults check_plan(const Plan& plan, std::span<const Input> inputs);

/// The result of one strategy.
struct Comparison {
  std::string strategy{};  ///< A name from `strategies()`.
  std::string obstacle{};  ///< Why it does not apply to the input; then nothing else is set.
  Summary summary{};
  CopiesRemoved copies_removed{};
  std::vector<PlannedMemory> memories{};
  bool interrupted = false;
  std::vector<LeftOut> left_out{};
  Outcome outcome = Outcome::fits;
  Faults faults{};  ///< As in PlanResult.
};

/// Plans the input with every strategy, one after the other, each with the whole time limit. If cancelled, it
/// skips the remaining strategies. A list that gives all of its buffers offsets comes first as it is, "as placed",
/// and then without them. Throws like `make_plan`.
[[nodiscard]] std::vector<Comparison> compare(const Input& input, const PlanOptions& options = PlanOptions());
[[nodiscard]] std::vector<Comparison> compare(std::span<const Input> inputs,
                                              const PlanOptions& options = PlanOptions());

}  // namespace stowage
