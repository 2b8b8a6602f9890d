// A streamed plan is checked row by row, from the plan and the network alone:
//
//   tensor_rows   what the rows of each tensor are along
//   row_lives     the steps, played back: when each row is written, and when it is last read
//   row_places    the view in which it is from the one to the other
//   row_updates   rows that operators write over while they read them
//   row_bytes     whether all bytes are there, and nobody else has them
//
// Inputs that do not arrive are there before the first step; outputs that do not leave are read after the
// last.

#include "check/stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "check/constants.h"
#include "check/matching.h"
#include "check/row_bytes.h"
#include "check/row_lives.h"
#include "check/row_places.h"
#include "check/row_updates.h"
#include "check/tensor_rows.h"

namespace stowage::check {
namespace {

/// What this version does not understand of networks that are streamed.
void check_network(const Streamed& it, Faults& faults) {
  const auto fault = [&](const std::string& what) {
    faults.push_back(
        {FaultKind::format, "the plan is streamed; this version understands that only of " + what});
  };
  if (!it.graph.ties.empty()) fault("networks without state");
  for (const Operator& op : it.graph.subgraphs[0].operators) {
    if (!op.bodies.empty()) return fault("networks without bodies");
  }
  for (TensorId t = 0; t < it.graph.tensors.size(); ++t) {
    if (it.graph.tensors[t].kind == TensorKind::state && !it.matched[t]->views.empty())
      fault("networks whose state is elsewhere, but " + describe(it.graph, t) + " has a view");
  }
}

/// Tensors whose rows must be somewhere: all that steps write and read but what the caller owns.
std::vector<bool> planned_tensors(const Streamed& it) {
  const std::vector<bool> elsewhere = may_be_elsewhere(it.graph);
  std::vector<bool> planned(it.graph.tensors.size(), false);
  for (TensorId t = 0; t < planned.size(); ++t)
    planned[t] = is_variable(it.graph.tensors[t]) && !(elsewhere[t] && it.matched[t]->views.empty());
  for (const Step& step : it.plan.clocks[0].steps) {
    const auto* const arrive = std::get_if<Arrive>(&step);
    const auto* const leave = std::get_if<Leave>(&step);
    if (arrive == nullptr && leave == nullptr) continue;
    const TensorId t = *it.ids[arrive != nullptr ? arrive->tensor : leave->tensor];
    planned[t] = is_variable(it.graph.tensors[t]);
  }
  return planned;
}

void check_numbers(const Streamed& it, bool has_run_again, Faults& faults) {
  if (it.plan.copies_removed != CopiesRemoved{}) {
    faults.push_back(
        {FaultKind::accounting, fmt::format("{} copies are said to be removed; this version counts none "
                                            "in streamed plans",
                                            it.plan.copies_removed.count)});
  }
  if (!it.plan.streaming) return;
  const auto claim = [&](const std::string& what) { faults.push_back({FaultKind::claim, what}); };
  if (!has_run_again && it.plan.streaming->recomputed > 1) {
    claim(fmt::format("{} times the multiplies are said to be run, but no row is run again",
                      it.plan.streaming->recomputed));
  }
  std::set<std::size_t> seen;
  for (const StreamRegion& region : it.plan.streaming->regions) {
    for (const std::size_t op : region.operators) {
      if (op >= it.graph.subgraphs[0].operators.size()) {
        claim(fmt::format("operator {} is said to be in a region, there are {}", op,
                          it.graph.subgraphs[0].operators.size()));
      } else if (!seen.insert(op).second) {
        claim(describe(it.graph, 0, op) + " is said to be in two regions, or twice in one");
      }
    }
  }
}

Streamed matched(const Plan& plan, const Graph& graph, Faults& faults) {
  Streamed it{plan, graph, match_tensors(plan, graph, 0, faults), {}};
  it.ids.resize(plan.tensors.size());
  for (TensorId t = 0; t < it.matched.size(); ++t) {
    if (it.matched[t] == nullptr) continue;
    it.ids[static_cast<std::size_t>(it.matched[t] - plan.tensors.data())] = t;
    check_tensor(graph, t, it.matched[t]->tensor, faults);
  }
  return it;
}

}  // namespace

Faults check_stream(const Plan& plan, const Given& given) {
  Faults faults;
  const Streamed it = matched(plan, *given.graph, faults);
  if (!faults.empty()) return faults;
  check_network(it, faults);
  const std::vector<TensorRows> rows = rows_of_tensors(it, faults);
  if (!faults.empty()) return faults;
  PlayedRows played = play_rows(it, rows, faults);
  const std::vector<bool> planned = planned_tensors(it);
  Holders holders{{}, std::move(played.sums), given.constants};
  for (TensorId t = 0; t < rows.size(); ++t) {
    if (planned[t]) place_rows(it, t, rows[t], played.lives[t], holders.rows, faults);
  }
  end_rows_written_over(it, rows, played.steps, holders.rows);
  check_row_bytes(it, rows, holders, faults);
  check_numbers(it, played.has_run_again, faults);
  StoredConstants stored(plan);
  stored.check(it.graph, it.matched, faults);
  stored.check_savings(faults);
  return faults;
}

}  // namespace stowage::check
