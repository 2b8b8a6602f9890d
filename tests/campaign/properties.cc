#include "properties.h"

#include <functional>
#include <optional>
#include <sstream>
#include <string>

#include "stowage/error.h"
#include "stowage/export.h"

namespace stowage::campaign {
namespace {

class Comparer {
 public:
  Comparer(const Case& drawn, std::span<const Input> inputs, const PlanResult& result, Tally& tally,
           Findings& findings)
      : drawn_(drawn), inputs_(inputs), result_(result), tally_(tally), findings_(findings) {}

  [[nodiscard]] const PlanOptions& options() const { return drawn_.options; }

  /// The plan with the changed options; none where it was cut short or refused.
  std::optional<PlanResult> variant(const std::function<void(PlanOptions&)>& change) const {
    PlanOptions changed = drawn_.options;
    change(changed);
    try {
      PlanResult other = make_plan(inputs_, changed);
      if (other.plan.interrupted) return std::nullopt;
      return other;
    } catch (const UsageError&) {
      return std::nullopt;
    }
  }

  /// The case has more freedom than the variant.
  void expect_not_above(const std::string& what, const std::function<void(PlanOptions&)>& change) {
    const auto other = variant(change);
    if (!other) return;
    ++tally_.compared[what];
    if (result_.plan.summary.peak > other->plan.summary.peak)
      findings_.push_back(
          {"more freedom, higher peak: " + what, std::to_string(result_.plan.summary.peak) + " against " +
                                                     std::to_string(other->plan.summary.peak)});
  }

  /// What is claimed of the case must hold for a plan that the same claim is about.
  void expect_claims_hold(const std::string& what, ClaimScope scope,
                          const std::function<void(PlanOptions&)>& change) {
    const auto other = variant(change);
    if (!other) return;
    ++tally_.compared[what];
    for (const Claim& claim : result_.plan.claims)
      if (claim.scope == scope && claim.lower_bound > other->plan.summary.peak)
        findings_.push_back({"claim refuted: " + what, "claim " + std::to_string(claim.lower_bound) +
                                                           ", peak " +
                                                           std::to_string(other->plan.summary.peak)});
  }

  void expect_cost_not_above(const std::string& what, const std::function<void(PlanOptions&)>& change) {
    const auto other = variant(change);
    if (!other || other->outcome != result_.outcome) return;
    ++tally_.compared[what];
    if (result_.plan.summary.cost > other->plan.summary.cost)
      findings_.push_back(
          {"more freedom, higher cost: " + what, std::to_string(result_.plan.summary.cost) + " against " +
                                                     std::to_string(other->plan.summary.cost)});
    // Of the same order, and with nothing shared, both choose for the same buffers.
    const bool is_same = options().alias == Alias::none && options().order == Order::keep;
    if (is_same && result_.plan.summary.cost_bound > other->plan.summary.cost)
      findings_.push_back({"cost bound refuted: " + what, std::to_string(result_.plan.summary.cost_bound) +
                                                              " against " +
                                                              std::to_string(other->plan.summary.cost)});
  }

 private:
  const Case& drawn_;
  std::span<const Input> inputs_;
  const PlanResult& result_;
  Tally& tally_;
  Findings& findings_;
};

void compare_layers(Comparer& compare) {
  const PlanOptions& options = compare.options();
  if (options.alias == Alias::automatic) {
    compare.expect_not_above("--alias auto, --alias none", [](PlanOptions& o) { o.alias = Alias::none; });
    compare.expect_not_above("--alias auto, --alias all", [](PlanOptions& o) { o.alias = Alias::all; });
  }
  if (options.order == Order::search) {
    compare.expect_not_above("--order search, --order keep", [](PlanOptions& o) { o.order = Order::keep; });
    compare.expect_claims_hold("order claim, other alias", ClaimScope::order, [](PlanOptions& o) {
      if (o.alias != Alias::none) o.alias = o.alias == Alias::all ? Alias::automatic : Alias::all;
    });
    compare.expect_claims_hold("order claim, --order keep", ClaimScope::order,
                               [](PlanOptions& o) { o.order = Order::keep; });
  }
  compare.expect_claims_hold("order claim, another strategy", ClaimScope::order,
                             [](PlanOptions& o) { o.solve.strategy = "greedy-by-size"; });
}

void compare_streams(Comparer& compare) {
  const PlanOptions& options = compare.options();
  const auto as_layers = [](PlanOptions& o) {
    o.stream.reset();
    if (o.io == Io::rows) o.io = Io::arena;
  };
  if (options.io == Io::rows) {
    compare.expect_not_above("--io rows, --io arena", [](PlanOptions& o) { o.io = Io::arena; });
    compare.expect_not_above("--io rows, layers", as_layers);
  } else {
    compare.expect_not_above("--stream, layers", as_layers);
    compare.expect_claims_hold("stream claim, layers", ClaimScope::stream, as_layers);
  }
  if (options.stream->recompute > 1)
    compare.expect_not_above("--recompute F, --recompute 1", [](PlanOptions& o) { o.stream->recompute = 1; });
  else
    compare.expect_claims_hold("stream claim, other alias", ClaimScope::stream, [](PlanOptions& o) {
      if (o.alias != Alias::none) o.alias = o.alias == Alias::all ? Alias::automatic : Alias::all;
    });
  if (options.alias == Alias::automatic) {
    compare.expect_not_above("--stream --alias auto, none", [](PlanOptions& o) { o.alias = Alias::none; });
    compare.expect_not_above("--stream --alias auto, all", [](PlanOptions& o) { o.alias = Alias::all; });
  }
}

/// What differs from run to run: how long it took.
Plan without_seconds(Plan plan) {
  plan.summary.seconds = 0;
  for (OrderSearch& search : plan.order_searches) search.seconds = 0;
  return plan;
}

/// Same input, options and seed, same plan, whatever the threads; and written and read it is the same.
void check_repetition(const Comparer& compare, const PlanResult& result, Findings& findings, Tally& tally) {
  const auto by_threads = [&](std::size_t threads, std::optional<std::int64_t> effort) {
    return compare.variant([&](PlanOptions& o) {
      o.solve.threads = threads;
      if (effort) o.solve.effort = effort;
    });
  };
  const auto are_alike = [](const Plan& a, const Plan& b) {
    return without_seconds(a) == without_seconds(b);
  };
  if (const auto again = by_threads(2, std::nullopt)) {
    ++tally.compared["plans with themselves, made by two threads"];
    if (!are_alike(again->plan, result.plan)) {
      // A plan that is optimal may have been found by a search that the clock ended: so without the clock.
      constexpr std::int64_t enough = 20000;
      const auto one = by_threads(1, enough);
      const auto two = by_threads(2, enough);
      // A plan of rows that a longer search has not found again says so.
      const bool are_whole = one && two && !one->plan.interrupted && !two->plan.interrupted;
      if (are_whole && !are_alike(one->plan, two->plan))
        findings.push_back(
            {"another plan of the same input",
             std::to_string(one->plan.summary.peak) + " and " + std::to_string(two->plan.summary.peak)});
    }
  }
  std::ostringstream text;
  write_json(result.plan, text);
  if (parse_plan(text.str()) != result.plan) findings.push_back({"a plan is not what is read of it", ""});
}

/// With the size that is said to be enough it fits.
void check_enough(const Comparer& compare, const PlanResult& result, Findings& findings, Tally& tally) {
  if (result.outcome == Outcome::fits) return;
  if (!result.enough) {
    tally.remarks["does not fit, and no size is said to be enough"].push_back(0);
    return;
  }
  const auto larger = compare.variant([&](PlanOptions& o) {
    for (Memory& memory : o.memories)
      if (memory.name == result.enough->name) memory.capacity = result.enough->capacity;
  });
  if (!larger) return;
  ++tally.compared["sizes that are enough"];
  if (larger->outcome != Outcome::fits)
    findings.push_back({"not enough", std::to_string(result.enough->capacity.value_or(-1)) + " bytes of " +
                                          result.enough->name});
}

}  // namespace

Findings check_properties(const Case& drawn, std::span<const Input> inputs, const PlanResult& result,
                          Tally& tally) {
  Findings findings;
  if (result.plan.interrupted || drawn.may_be_cut_short || drawn.options.solve.strategy != "auto")
    return findings;
  Comparer compare(drawn, inputs, result, tally, findings);
  const std::vector<Memory>& memories = drawn.options.memories;
  check_enough(compare, result, findings, tally);
  if (drawn.number / 10 % 3 == 0) check_repetition(compare, result, findings, tally);
  if (memories.size() > 1) {
    if (drawn.options.moves == Moves::allowed)
      compare.expect_cost_not_above("--moves, without", [](PlanOptions& o) { o.moves = Moves::none; });
    compare.expect_cost_not_above("auto, free-list", [](PlanOptions& o) {
      o.solve.strategy = "free-list";
      o.moves = Moves::none;
    });
    return findings;
  }
  if (memories[0].capacity) return findings;
  if (drawn.options.stream)
    compare_streams(compare);
  else
    compare_layers(compare);
  return findings;
}

}  // namespace stowage::campaign
