// Networks of which each may run by rows:
//
//     rows       each network alone, in one memory as large as the fastest: the lowest plan     row_rounds.cc
//     together   networks by rows and others on common clocks, in all memories                  networks.cc
//     whole      the same networks, all of whole operators
//     the best of all
//
// Rows that need least are also those that leave least to slower memories. But with inputs and outputs in memory, an order
// operator by operator may need least, all of it in the slow memory. So with several memories, rows that need least beside
// inputs and outputs are tried, too: they flow through windows in the fast memory. Where reads of weights cost, larger steps
// are tried (row_steps.cc); if rows may move, each choice is tried for a while, and the one that promises most goes on.
//
// What networks pass to each other is whole in memory, in one buffer for all of them. Its rows come as the first of them
// writes them, and go as the last one reads them. An output that is needed behind the branch of its network is whole in
// a buffer of the clock around it, unless its rows leave.
//
// Cost: one or two searches for rows for each network, four more for larger steps, and as many plans and two more if there
// are several networks or memories.

#include "plan/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/context.h"
#include "plan/extent.h"
#include "plan/left_out.h"
#include "plan/networks.h"
#include "plan/passing.h"
#include "plan/row_rounds.h"
#include "plan/row_steps.h"
#include "plan/row_ways.h"

namespace stowage::plan {
namespace {

using base::Deadline;

// Of the time, if there are several networks or memories.
constexpr double share_of_rows = 0.65;
constexpr double share_of_rows_that_move = 0.55;
constexpr double share_of_whole_together = 0.4;  // of what is left
constexpr double share_of_whole_beside_moves =
    0.1;  // the same, if rows may move: choosing when takes longest

constexpr double share_of_rows_beside_weights = 0.65;  // for rows and larger steps, if reads of weights count
constexpr double share_of_larger_steps = 0.55;         // of that, for these
constexpr double share_of_trying = 0.4;  // of what is left, if rows may move: then one choice goes on

/// Whether what steps read of weights has a cost.
bool count_weights(const Context& context) {
  return context.working.size() > 1 && std::ranges::any_of(context.options.memories, [](const Memory& it) {
           return it.role == MemoryRole::weights && it.cost > 0;
         });
}

/// The options of one network in one memory as large as the fastest. Where weights count, the lowest rows are wanted, for
/// what is free beside them has a use; so they are where rows arrive and move, whatever the capacity, for the cost is not
/// to rise with it.
PlanOptions alone(const Context& context, const PlanOptions& options, const Input& input) {
  PlanOptions own = options;
  own.alignment = alignment_in(options, input.info.format);
  own.memories = {context.working[0]};
  const bool are_lowest_wanted = options.io == Io::rows && rows_may_move(context);
  if (count_weights(context) || are_lowest_wanted) own.memories[0].capacity.reset();
  own.run.clear();
  own.feeds.clear();
  own.states.clear();
  own.released.clear();
  own.places.clear();
  if (!rows_may_move(context)) {
    own.moves = Moves::none;
  } else if (own.stream->layout == StreamLayout::automatic) {
    own.stream->layout = StreamLayout::granules;  // only rows that lie alone move
  }
  return own;
}

/// The rows of each network.
std::vector<NetworkRows> rows_of_each(const Context& context, const PlanOptions& options,
                                      const std::vector<stream::PassedIo>& passed, const Deadline& deadline) {
  std::vector<NetworkRows> found;
  for (std::size_t m = 0; m < passed.size(); ++m) {
    const Input& input = context.inputs[m];
    const Deadline of_one = deadline.part(1 / static_cast<double>(passed.size() - m));
    found.push_back(
        in_file_of(input, [&] { return rows_of(input, alone(context, options, input), passed[m], of_one); }));
  }
  return found;
}

/// Names the network among several.
std::vector<LeftOut> of_network(std::vector<LeftOut> left_out, const Context& context, std::size_t model) {
  if (context.inputs.size() == 1) return left_out;
  for (LeftOut& it : left_out) it.why = fmt::format("{}: {}", context.inputs[model].info.name, it.why);
  return left_out;
}

void add(std::vector<LeftOut> more, std::vector<LeftOut>& left_out) {
  std::ranges::move(more, std::back_inserter(left_out));
}

Plan plan_one(const Context& context, NetworkRows found) {
  if (!found.rows) return std::move(found.whole);
  Plan plan = plan_networks_by_rows(context, {&found.rows, 1}, std::move(found.bounds));
  plan.left_out = std::move(found.left_out);
  plan.interrupted = found.is_cut;
  return plan;
}

/// Some rows are left out if others are there.
void note_networks_without_rows(const Context& context, const std::vector<NetworkRows>& found, Plan& plan) {
  for (std::size_t m = 0; m < found.size(); ++m) {
    if (found[m].rows) {
      add(of_network(found[m].left_out, context, m), plan.left_out);
      continue;
    }
    std::vector<LeftOut> none = of_network(found[m].whole.left_out, context, m);
    std::erase_if(none, [](const LeftOut& it) { return it.what != Wish::rows; });
    for (LeftOut& it : none) it.what = Wish::some_rows;
    add(std::move(none), plan.left_out);
  }
}

bool has_rows(const std::vector<NetworkRows>& found) {
  return std::ranges::any_of(found, [](const NetworkRows& it) { return it.rows != nullptr; });
}

/// What several networks are together.
Streaming streaming_of(const std::vector<NetworkRows>& found, const Plan& plan, const Plan& whole) {
  Streaming together{.load = most_live_bytes(plan.buffers, plan.clocks),
                     .load_of_layers = most_live_bytes(whole.buffers, whole.clocks)};
  for (const NetworkRows& it : found) {
    if (!it.rows) continue;
    const Streaming& one = it.rows->streaming;
    together.granule = std::max(together.granule, one.granule);
    together.recomputed = std::max(together.recomputed, one.recomputed);
    together.recompute_limit = std::max(together.recompute_limit, one.recompute_limit);
  }
  return together;
}

/// `bounds` are proven for every choice of rows. The plan claims them for those that were tried for it.
Plan plan_of(const Context& context, const std::vector<NetworkRows>& found, ProvenBounds bounds,
             const Deadline& deadline) {
  std::vector<RowsPtr> rows;
  for (const NetworkRows& it : found) rows.push_back(it.rows);
  const bool are_all_tried = std::ranges::all_of(found, [](const auto& it) { return it.left_out.empty(); });
  for (auto& [scope, bytes] : bounds) {
    if (scope == ClaimScope::stream && !are_all_tried) scope = ClaimScope::rows;
  }
  Plan plan = plan_networks_by_rows(Context(context.inputs, context.options, deadline), rows, bounds);
  note_networks_without_rows(context, found, plan);
  return plan;
}

/// Rows whose windows need least beside inputs and outputs, which are placed afterwards.
std::vector<NetworkRows> windows_of_each(const Context& context, const PlanOptions& options,
                                         const std::vector<stream::PassedIo>& passed,
                                         const Deadline& deadline) {
  PlanOptions outside = options;
  outside.io = Io::external;
  outside.alias = Alias::none;
  std::vector<NetworkRows> found = rows_of_each(context, outside, passed, deadline.part(0.8));
  for (std::size_t m = 0; m < found.size(); ++m) {
    if (!found[m].rows) continue;
    found[m].rows = nullptr;
    if (!found[m].from) continue;
    const PlanOptions own = alone(context, options, context.inputs[m]);
    const Around around{passed[m], *own.alignment, keeps_state(context.inputs[m])};
    auto placed = place_with_io(*found[m].from, {own, own.solve.strategy, around,
                                                 deadline.part(1 / static_cast<double>(found.size() - m))});
    if (placed) found[m].rows = std::make_shared<const PlacedRows>(std::move(*placed));
  }
  return found;
}

/// Rows of each network in larger and larger steps, if reads of weights count.
std::vector<std::vector<NetworkRows>> larger_steps_of_each(const Context& context, const PlanOptions& options,
                                                           const std::vector<stream::PassedIo>& passed,
                                                           const std::vector<NetworkRows>& found,
                                                           const Deadline& deadline) {
  std::vector<std::vector<NetworkRows>> of_each;
  if (!context.working[0].capacity) return {};
  MemoriesOfRows memories{.working = context.working};
  for (const Memory& it : context.options.memories) {
    if (it.role != MemoryRole::weights) continue;
    memories.cost_of_weights = std::max(memories.cost_of_weights, it.cost);
    if (rows_may_move(context)) memories.weights = it;  // all in one memory, as for moves
  }
  std::size_t most = 0;
  for (std::size_t m = 0; m < found.size(); ++m) {
    const Input& input = context.inputs[m];
    of_each.push_back(rows_in_larger_steps(input, alone(context, options, input), passed[m], found[m],
                                           memories,
                                           deadline.part(1 / static_cast<double>(found.size() - m))));
    most = std::max(most, of_each.back().size());
  }
  std::vector<std::vector<NetworkRows>> choices(most);
  for (std::size_t c = 0; c < most; ++c) {
    for (std::size_t m = 0; m < found.size(); ++m) {
      const std::vector<NetworkRows>& own = of_each[m];
      choices[c].push_back(own.empty() ? found[m] : own[std::min(c, own.size() - 1)]);
    }
  }
  return choices;
}

/// Rows as the options say, those that need least beside inputs and outputs, and larger steps.
std::vector<std::vector<NetworkRows>> choices_of_rows(const Context& context, const PlanOptions& options,
                                                      const Deadline& deadline) {
  const bool has_two = options.io == Io::arena && options.alias != Alias::all && context.working.size() > 1;
  const bool has_steps = count_weights(context) && !options.stream->granule;
  const std::vector<stream::PassedIo> passed = passed_by_rows(context, options.io);
  const Deadline of_rows = has_steps ? deadline.part(1 - share_of_larger_steps) : deadline;
  std::vector<std::vector<NetworkRows>> choices{
      rows_of_each(context, options, passed, has_two ? of_rows.part(0.5) : of_rows)};
  if (has_two) choices.push_back(windows_of_each(context, options, passed, of_rows));
  if (has_steps) {
    for (auto& it : larger_steps_of_each(context, options, passed, choices[0], deadline))
      choices.push_back(std::move(it));
  }
  return choices;
}

/// Why rows are no better than whole operators in all memories, and with all networks.
std::string why_not_better(const Plan& rows, const Plan& whole) {
  const auto figures = [](const Plan& plan) {
    return fmt::format("cost {} and need {} bytes", plan.summary.cost, plan.summary.peak);
  };
  if (outcome_of(rows) != outcome_of(whole)) return "no rows that fit the memories were found";
  if (rows.summary.cost > whole.summary.cost)
    return fmt::format("no rows with a lower traffic cost were found: those found {}, whole operators {}",
                       figures(rows), figures(whole));
  if (whole.memories.size() > 1) return "no rows that need less at that traffic cost were found";
  return "no rows with a lower peak of all networks were found";
}

Plan plan_together(const Context& context, const PlanOptions& options, const Deadline& deadline) {
  const bool has_steps = count_weights(context) && !options.stream->granule;
  const bool may_move = rows_may_move(context);
  const double of_rows = has_steps  ? share_of_rows_beside_weights
                         : may_move ? share_of_rows_that_move
                                    : share_of_rows;
  const auto choices = choices_of_rows(context, options, deadline.part(of_rows));
  const double share = may_move ? share_of_whole_beside_moves : share_of_whole_together;
  const Deadline of_whole = deadline.part(has_rows(choices[0]) ? share : 1);
  Plan whole = plan_networks(Context(context.inputs, context.options, of_whole));
  const ProvenBounds bounds = choices[0].size() == 1 ? choices[0][0].bounds : ProvenBounds{};
  bool is_cut = false;
  std::optional<Plan> best;
  std::pair<std::int64_t, std::size_t> most_promising{largest_value,
                                                      0};  // mean of cost and bound, and choice
  const auto try_choice = [&](std::size_t c, const Deadline& own) {
    Plan plan = plan_of(context, choices[c], bounds, own);
    if (choices[c].size() > 1) plan.streaming = streaming_of(choices[c], plan, whole);
    most_promising = std::min(most_promising, {plan.summary.cost / 2 + plan.summary.cost_bound / 2, c});
    if (!best || worth_of(plan) < worth_of(*best)) best = std::move(plan);
  };
  const bool goes_on = choices.size() > 2 && may_move;
  const Deadline trying = goes_on ? deadline.part(share_of_trying) : deadline;
  for (std::size_t c = 0; c < choices.size(); ++c) {
    is_cut = is_cut || std::ranges::any_of(choices[c], &NetworkRows::is_cut);
    if (has_rows(choices[c])) try_choice(c, trying.part(1 / static_cast<double>(choices.size() - c)));
  }
  if (goes_on && best && best->interrupted && !deadline.is_over())
    try_choice(most_promising.second, deadline);
  if (!best) {
    for (std::size_t m = 0; m < context.inputs.size(); ++m)
      add(of_network(choices[0][m].whole.left_out, context, m), whole.left_out);
  } else if (worth_of(whole) <= worth_of(*best)) {
    leave_rows_out(options, why_not_better(*best, whole), "", whole);
    best.reset();
  }
  Plan& plan = best ? *best : whole;
  plan.interrupted = plan.interrupted || is_cut;
  return std::move(plan);
}

}  // namespace

Plan plan_by_rows(std::span<const Input> inputs, const PlanOptions& options, const Deadline& deadline) {
  expect_rows(inputs, options);
  const Context context(inputs, without_rows(options), deadline);
  const std::vector<Graph> chosen = chosen_by_rows(inputs, *options.stream);
  const bool is_simple = inputs.size() == 1 && context.options.memories.size() == 1;
  Plan plan = is_simple ? plan_one(context, rows_of(inputs[0], options, {}, deadline))
                        : plan_together(context, options, deadline);
  note_left_out(options, chosen, plan);
  return plan;
}

}  // namespace stowage::plan
