#include "efforts.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "bounds.h"
#include "facts.h"
#include "layers.h"
#include "ledger.h"
#include "open_judge.h"
#include "replay.h"
#include "stowage/error.h"

namespace stowage::campaign {
namespace {

constexpr std::int64_t much = 5000;

using Plans = std::vector<std::pair<std::int64_t, PlanResult>>;

std::string words_for(const Claim& claim) {
  return std::string(name_of(claim.scope)) + " claim of " + std::to_string(claim.lower_bound) +
         (claim.proven_optimal ? ", proven optimal" : "");
}

/// Whether the claim is about all that the options leave to the planner. Claims of offsets are of the very buffers
/// of their plan, and brute force looks at them.
bool is_of_everything(const Claim& claim, const PlanOptions& options) {
  if (options.memories.size() != 1 || options.banks) return false;
  return options.stream ? claim.scope == ClaimScope::stream : claim.scope == ClaimScope::order;
}

void compare(const PlanOptions& options, std::int64_t effort, const PlanResult& little,
             const PlanResult& longer, std::int64_t longer_effort, Findings& findings, Tally& tally) {
  const Plan& plan = little.plan;
  const Bytes peak = longer.plan.summary.peak;
  const std::string words = "--effort " + std::to_string(effort) + ": peak " +
                            std::to_string(plan.summary.peak) + ", --effort " +
                            std::to_string(longer_effort) + ": " + std::to_string(peak);
  for (const Claim& claim : plan.claims) {
    if (!is_of_everything(claim, options)) continue;
    ++tally.compared["claims of little effort with plans of more"];
    if (claim.lower_bound > peak)
      findings.push_back({"efforts: claim refuted", words_for(claim) + "; " + words});
    if (claim.proven_optimal && plan.summary.peak > peak)
      findings.push_back(
          {"efforts: proven optimal, but more effort is lower", words_for(claim) + "; " + words});
  }
  for (const OrderSearch& search : plan.order_searches)
    for (const OrderSearch& other : longer.plan.order_searches)
      if (search.model == other.model) {
        ++tally.compared["order bounds of little effort with loads of more"];
        if (search.lower_bound > other.load)
          findings.push_back({"efforts: order bound refuted", "bound " + std::to_string(search.lower_bound) +
                                                                  ", load " + std::to_string(other.load)});
      }
  ++tally.compared["plans of little effort with plans of more"];
  if (options.stream && !plan.streaming && plan.left_out.empty() && longer.plan.streaming &&
      plan.summary.peak > peak)
    findings.push_back({"efforts: no rows, and not a word of it", words});
  if (!plan.interrupted && plan.summary.peak > peak && options.memories.size() == 1) {
    // Of orders of one load, a search with more effort may pack another one, and higher. No claim says otherwise.
    if (effort > longer_effort)
      ++tally.compared["of them higher with more effort"];
    else
      findings.push_back({"efforts: lower with more effort, but not cut short", words});
  }
  if (plan.interrupted) ++tally.compared["of them cut short"];
}

void check_bank_use(const Plans& plans, Findings& findings, Tally& tally) {
  for (const auto& [effort, one] : plans)
    for (const auto& [other_effort, other] : plans) {
      if (!one.bank_use || !other.bank_use) continue;
      ++tally.compared["clashes of banks with bounds of them"];
      const bool is_same = one.plan.tensors == other.plan.tensors && one.plan.clocks == other.plan.clocks;
      if (is_same && one.bank_use->pairs == other.bank_use->pairs &&
          one.bank_use->least_clashes > other.bank_use->clashes)
        findings.push_back({"efforts: bound of clashes refuted",
                            "at least " + std::to_string(one.bank_use->least_clashes) + " by --effort " +
                                std::to_string(effort) + ", but " + std::to_string(other.bank_use->clashes) +
                                " by --effort " + std::to_string(other_effort)});
    }
}

std::optional<PlanResult> plan_with(const Case& drawn, std::span<const Input> inputs, std::int64_t effort,
                                    Findings& findings, Tally& tally) {
  PlanOptions options = drawn.options;
  options.solve.effort = effort;
  try {
    return make_plan(inputs, options);
  } catch (const UsageError& error) {
    ++tally.refusals["efforts: " + reason_of(error.what())];
  } catch (const Error& error) {
    const bool is_state = std::string(error.what()).find("while the state it replaces") != std::string::npos;
    if (!is_state || options.order != Order::keep)
      findings.push_back({"error: " + reason_of(error.what()), error.what()});
    else
      ++tally.refusals["efforts: " + reason_of(error.what())];
  } catch (const std::exception& error) {
    findings.push_back({"exception: " + reason_of(error.what()), error.what()});
  }
  return std::nullopt;
}

}  // namespace

void draw_efforts(Case& drawn) {
  Random random(drawn.seed * 1'000'003 + drawn.number);
  const std::size_t kind = random.index(10);
  kind < 3   ? draw_layers(drawn)
  : kind < 6 ? draw_rows(drawn)
  : kind < 9 ? draw_net(drawn)
             : draw_memories(drawn);
  PlanOptions& options = drawn.options;
  drawn.may_be_cut_short = true;
  options.solve.effort = random.pick(std::vector<std::int64_t>{50, 50, 200, 1000});
  options.solve.strategy = "auto";
  options.memories[0].capacity = options.memories.size() > 1 ? options.memories[0].capacity : std::nullopt;
  if (kind < 3 && random.chance(25)) {
    const Banks banks{.count = random.between(2, 4), .size = random.between(32, 400)};
    options.banks = banks;
    options.memories[0].capacity = banks.count * banks.size;
    options.stream.reset();
  }
}

Findings judge_efforts(const Case& drawn, Tally& tally) {
  Findings findings;
  const std::vector<Input> inputs = read_sources(drawn);
  Networks networks;
  for (const Input& input : inputs) {
    networks.graphs.push_back(std::get<Graph>(input.content));
    networks.constants.push_back(input.constants);
  }
  Plans plans;
  const std::int64_t little = *drawn.options.solve.effort;
  for (const std::int64_t effort : {little, much}) {
    const auto planned = plan_with(drawn, inputs, effort, findings, tally);
    if (!planned) {
      ++tally.families[drawn.family].refused;
      return findings;
    }
    plans.emplace_back(effort, *planned);
    // Nothing is left to find.
    if (!planned->plan.interrupted && planned->plan.summary.peak == planned->plan.summary.lower_bound &&
        !planned->plan.order_searches.empty() &&
        planned->plan.order_searches[0].lower_bound == planned->plan.summary.peak && !drawn.options.stream)
      tally.remarks["proven by little effort"].push_back(drawn.number);
  }
  count_plan(plans[0].second, tally.families[drawn.family]);
  ++tally.compared["efforts of " + std::to_string(little)];
  for (const auto& [effort, result] : plans) {
    for (const Fault& fault : result.faults)
      if (fault.kind != FaultKind::capacity || result.outcome == Outcome::fits)
        findings.push_back({"own checker: " + reason_of(fault.what), fault.what});
    for (Finding& finding : check_ledger(networks, result, drawn.options))
      findings.push_back(std::move(finding));
    Case of_effort = drawn;
    of_effort.options.solve.effort = effort;
    for (Finding& finding : check_bounds(of_effort, networks.graphs, result, tally))
      findings.push_back(std::move(finding));
  }
  compare(drawn.options, little, plans[0].second, plans[1].second, much, findings, tally);
  // What is found with little effort refutes a claim of more, too.
  compare(drawn.options, much, plans[1].second, plans[0].second, little, findings, tally);
  check_bank_use(plans, findings, tally);
  return findings;
}

}  // namespace stowage::campaign
