#include "judge.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <span>
#include <variant>

#include "bounds.h"
#include "efforts.h"
#include "ledger.h"
#include "mutate.h"
#include "open_judge.h"
#include "properties.h"
#include "stowage/error.h"
#include "stowage/graph.h"
#include "values.h"
#include "variables.h"

namespace stowage::campaign {

/// The first line of the message without names and numbers, so that equal reasons are counted together.
std::string reason_of(const std::string& message) {
  std::string reason;
  bool is_quoted = false;
  int depth = 0;
  for (const char c : message.substr(0, message.find('\n'))) {
    if (c == '\'') is_quoted = !is_quoted;
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (is_quoted || c == '\'' || depth > 0 || c == ')') continue;
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      if (reason.empty() || reason.back() != '#') reason += '#';
      continue;
    }
    reason += c;
  }
  return reason;
}

void count_plan(const PlanResult& result, Tally::OfFamily& family) {
  const Plan& plan = result.plan;
  ++family.planned;
  if (result.outcome == Outcome::exceeds_capacity) ++family.too_large;
  if (plan.interrupted) ++family.cut_short;
  if (plan.summary.peak == plan.summary.lower_bound) ++family.proven;
  if (plan.copies_removed.count > 0) ++family.aliased;
  if (plan.streaming) ++family.streamed;
  if (plan.streaming && plan.streaming->recomputed > 1) ++family.recomputed;
  if (plan.clocks.size() > 1) ++family.forked;
  for (const Clock& clock : plan.clocks)
    if (std::any_of(clock.steps.begin(), clock.steps.end(),
                    [](const Step& step) { return std::holds_alternative<Copy>(step); })) {
      ++family.moved;
      break;
    }
}

namespace {

void add(Findings& all, Findings more) {
  for (Finding& finding : more) all.push_back(std::move(finding));
}

/// The replay knows rows, but neither blocks nor what operators carry from row to row. Such plans are checked, run
/// and compared, and element_machine and row tests replay others of their kind.
bool has_blocks_or_carries(const Plan& plan) {
  return std::any_of(plan.clocks.begin(), plan.clocks.end(), [](const Clock& clock) {
    return std::any_of(clock.steps.begin(), clock.steps.end(), [](const Step& step) {
      const Run* const run = std::get_if<Run>(&step);
      return run != nullptr && (run->block || run->carry);
    });
  });
}

}  // namespace

Findings judge(const Case& drawn, Tally& tally) {
  Findings findings;
  Tally::OfFamily& family = tally.families[drawn.family];
  ++family.cases;
  if (drawn.network) return judge_open(drawn, tally);
  if (drawn.family == Family::efforts) return judge_efforts(drawn, tally);
  if (drawn.family == Family::variables) return judge_variables(drawn, tally);
  std::vector<Input> inputs;
  try {
    inputs = read_sources(drawn);
  } catch (const std::exception& error) {
    return {{"rejected: " + reason_of(error.what()), error.what()}};
  }
  std::optional<PlanResult> result;
  try {
    result = make_plan(inputs, drawn.options);
  } catch (const UsageError& error) {
    ++family.refused;
    ++tally.refusals[reason_of(error.what())];
    return {};
  } catch (const Error& error) {
    // In the file's order an old state may be read too late: the user is told so.
    const bool is_state = std::string(error.what()).find("while the state it replaces") != std::string::npos;
    if (!is_state || drawn.options.order != Order::keep)
      return {{"error: " + reason_of(error.what()), error.what()}};
    ++family.refused;
    ++tally.refusals[reason_of(error.what())];
    return {};
  } catch (const std::exception& error) {
    return {{"exception: " + reason_of(error.what()), error.what()}};
  }
  count_plan(*result, family);
  for (const Fault& fault : result->faults)
    if (fault.kind != FaultKind::capacity || result->outcome == Outcome::fits)
      findings.push_back({"own checker: " + reason_of(fault.what), fault.what});
  Networks networks;
  for (const Input& input : inputs) {
    networks.graphs.push_back(std::get<Graph>(input.content));
    networks.constants.push_back(input.constants);
  }
  const std::vector<Graph>& graphs = networks.graphs;
  add(findings, check_ledger(networks, *result, drawn.options));
  add(findings, check_bounds(drawn, graphs, *result, tally));
  ReplayTally replayed;
  const bool is_replayed = !has_blocks_or_carries(result->plan);
  if (is_replayed) add(findings, replay(networks, result->plan, drawn.number, replayed));
  tally.replayed.left_out += is_replayed ? 0 : 1;
  tally.replayed.steps += replayed.steps;
  tally.replayed.bytes += replayed.bytes;
  tally.replayed.in_place += replayed.in_place;
  tally.replayed.kept += replayed.kept;
  tally.replayed.ambiguous += replayed.ambiguous;
  if (replayed.in_place > 0) ++family.in_place;
  if (is_replayed && findings.empty() && drawn.number / 10 % 4 == 0)
    try_mutations(drawn, networks, result->plan, tally);
  if (drawn.family == Family::net) add(findings, check_values(drawn, result->plan, tally));
  add(findings, check_properties(drawn, inputs, *result, tally));
  return findings;
}

}  // namespace stowage::campaign
