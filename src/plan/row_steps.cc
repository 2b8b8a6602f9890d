// Rows whose steps are larger where that reads weights less often. How much memory is best spent on that, and how much on
// rows and staged weights, only the cost in all memories shows (row_costs.cc). So choices of steps are compared by what they
// cost at least:
//
//     rows of    112 x 112   56 x 56   14 x 14   7 x 7     cost at least
//                        2         2         2     all     103
//                        2         2       all     all      93
//                        1         1       all     all      80      the cheapest: other rows in one region, or in half
//                        1         1         8     all      84      a region, while that costs less
//
// The network in blocks (stream/blocks.h) is tried, too: blocks of channels need less memory, and each reads just its part of
// the weights. Orders by regions are chosen by what they read and write in slow memory (stream/regions.cc).
//
// A choice that is cheapest in a slightly smaller memory leaves room for what placing wastes, so it is looked for, too. Its
// capacity is a rung of a fixed ladder: more memory is then not dearer by chance.
//
// Steps that read least within limits (stream/steps.cc) are tried as well, in orders that need least. A small network gets
// far with them, for its axes and orders are searched for. The choices that cost least at least go on.
//
// Cost: an order and its prices for each choice, and a search for rows for each limit.

#include "plan/row_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "plan/first_rows.h"
#include "plan/granules.h"
#include "plan/row_blocks.h"
#include "plan/row_search.h"
#include "plan/row_ways.h"
#include "stream/blocks.h"
#include "stream/program.h"
#include "stream/repeat.h"
#include "stream/steps.h"

namespace stowage::plan {
namespace {

using base::Deadline;

constexpr std::int64_t work_on_steps = 2'000'000;                  // steps that are tried for one order
constexpr std::array<double, 3> limits_of_steps{0.75, 1.0, 1.25};  // of the capacity
constexpr std::int64_t work_of_step = 2000;                        // to unroll it, and to lay its rows out
constexpr std::int64_t most_steps = 6000;                          // of a network in blocks
constexpr std::size_t most_choices_of_blocks = 5;  // those that split most operators, into fewest blocks
constexpr std::size_t most_choices = 3;            // of all, if weights may move
constexpr double share_of_costs = 0.45;            // of the time, to compare by cost; then come limits
constexpr double share_of_less = 0.3;              // of what is left, for costs in a smaller memory
constexpr double steps_of_octave = 4;              // of the ladder of capacities that has the smaller one
constexpr double share_of_rows_within = 0.9;       // of what is left; the rest is to compare all
constexpr double share_of_trials = 0.7;            // of that; the rest is for offsets
constexpr double share_of_networks = 0.6;          // of that, to choose blocks
constexpr double share_of_limits = 0.25;           // of the time for limits, to choose steps
constexpr double share_of_quick_rows = 0.4;        // of the time for one of these

/// What choices of steps have in common.
struct Choosing {
  const Input& input;
  const PlanOptions& options;
  Around around{};  ///< Without granules.
  const MemoriesOfRows& memories;
  stream::InstanceOptions instances{};
};

/// The rows that need least in steps with these granules.
NetworkRows lowest_with(const Graph& graph, const PlanOptions& options, const Around& around,
                        const Deadline& deadline) {
  NetworkRows result;
  auto first = first_rows(graph, options, around, deadline.part(share_of_quick_rows));
  std::optional<Attempt> from;
  Bytes peak = largest_value;
  if (first) {
    peak = first->placed.peak;
    from = first->from;
    result.rows = std::make_shared<const PlacedRows>(std::move(first->placed));
  }
  if (!deadline.is_over()) {
    const WholeOperators unknown{.peak = largest_value, .order = stream::once(graph).operators};
    FoundRows better = lowest_rows(graph, options, around, deadline, unknown, peak, from);
    result.is_cut = better.is_cut;
    if (better.best) {
      result.rows = std::make_shared<const PlacedRows>(std::move(*better.best));
      from = std::move(better.from);
    }
  }
  result.from = std::move(from);
  return result;
}

/// Rows of blocks as rows of the network.
void put_in_network(NetworkRows& rows, const model::SplitNetwork& blocks) {
  rows.rows = std::make_shared<const PlacedRows>(in_network(*rows.rows, blocks));
  rows.from.reset();
  rows.blocks = blocks;
}

/// Granules that cost little, by trying.
class GranuleSearch {
 public:
  /// Of the network, or of one in blocks. Its stretches have the blocks of the network's.
  GranuleSearch(const Choosing& choosing, const Graph& graph, std::optional<model::SplitNetwork> blocks)
      : choosing_(choosing),
        graph_(blocks ? model::stored(*blocks) : graph),
        blocks_(std::move(blocks)),
        stretches_(stream::stretches_of(graph, choosing.instances)) {
    if (!blocks_) return;
    std::map<std::size_t, std::vector<std::size_t>> blocks_of;
    for (std::size_t op = 0; op < blocks_->operators.size(); ++op)
      blocks_of[blocks_->operators[op].of].push_back(op);
    for (stream::Stretch& stretch : stretches_) {
      std::vector<std::size_t> operators;
      for (const std::size_t op : stretch.operators)
        operators.insert(operators.end(), blocks_of[op].begin(), blocks_of[op].end());
      stretch.operators = std::move(operators);
    }
  }

  /// As many rows everywhere but in the last stretches, which run as whole operators: so many that more cost more.
  void look_at_simple_ones(std::int64_t granule, const Deadline& deadline) {
    std::vector<stream::Stretch> simple = stretches_;
    for (stream::Stretch& it : simple) it.granule = std::min(granule, it.rows);
    std::int64_t before = largest_value;
    for (std::size_t s = simple.size(); s-- > 0 && !deadline.is_over();) {
      simple[s].granule = simple[s].rows;
      const std::int64_t cost = cost_of(stream::granules_of(graph_, simple, choosing_.instances), deadline);
      if (cost > before) break;
      before = cost;
    }
  }

  /// Goes on from the cheapest: changes the rows of one stretch after the other, as long as that costs less; then of
  /// halves of stretches.
  void run(const Deadline& deadline) {
    take_cheapest();
    while (!deadline.is_over() && (lower(deadline) || cut())) {
    }
  }

  /// What the cheapest steps cost, and their granules.
  [[nodiscard]] std::optional<std::pair<std::int64_t, stream::ChosenGranules>> cheapest() const {
    std::optional<std::pair<std::int64_t, stream::ChosenGranules>> best;
    for (const auto& [granules, cost] : costs_) {
      if (cost < (best ? best->first : largest_value)) best.emplace(cost, granules);
    }
    return best;
  }

  [[nodiscard]] std::int64_t least_cost() const {
    const auto best = cheapest();
    return best ? best->first : largest_value;
  }

  /// Rows in the cheapest steps: in the order that costs little, and in the one that needs least.
  [[nodiscard]] std::vector<NetworkRows> rows(const Deadline& deadline) const {
    Around around = choosing_.around;
    const auto best = cheapest();
    if (!best) return {};
    around.granules = best->second;
    std::vector<NetworkRows> all;
    if (auto rows = first_rows(graph_, choosing_.options, around, deadline.part(share_of_quick_rows))) {
      all.push_back({.from = std::move(rows->from), .is_cut = true});
      all.back().rows = std::make_shared<const PlacedRows>(std::move(rows->placed));
    }
    around.fast.reset();
    if (!deadline.is_over()) all.push_back(lowest_with(graph_, choosing_.options, around, deadline));
    std::erase_if(all, [](const NetworkRows& it) { return !it.rows; });
    if (!blocks_) return all;
    for (NetworkRows& it : all) put_in_network(it, *blocks_);
    return all;
  }

 private:
  [[nodiscard]] std::int64_t least() const { return choosing_.instances.granule; }

  /// Twice and half as many rows, and all.
  [[nodiscard]] std::vector<std::int64_t> granules_near(const stream::Stretch& stretch) const {
    std::vector<std::int64_t> near;
    const auto add = [&](std::int64_t granule) {
      if (granule != stretch.granule && std::ranges::find(near, granule) == near.end())
        near.push_back(granule);
    };
    add(std::min(2 * stretch.granule, stretch.rows));
    add(std::max(stretch.granule / 2, std::min(least(), stretch.rows)));
    add(stretch.rows);
    return near;
  }

  /// True if some choice costs less.
  bool lower(const Deadline& deadline) {
    bool is_better = false;
    for (std::size_t s = 0; s < stretches_.size(); ++s) {
      for (const std::int64_t granule : granules_near(stretches_[s])) {
        if (deadline.is_over()) return is_better;
        is_better = try_granule(s, granule, deadline) || is_better;
      }
    }
    return is_better;
  }

  bool try_granule(std::size_t s, std::int64_t granule, const Deadline& deadline) {
    const std::int64_t before = stretches_[s].granule;
    stretches_[s].granule = granule;
    const std::int64_t cost = cost_of(stream::granules_of(graph_, stretches_, choosing_.instances), deadline);
    if (cost < cost_) {
      cost_ = cost;
      return true;
    }
    stretches_[s].granule = before;
    return false;
  }

  /// Goes on from the cheapest choice that is known. Its stretches are as long as their operators have equal granules.
  void take_cheapest() {
    const auto best = cheapest();
    if (!best) return;
    const stream::ChosenGranules& granules = best->second;
    cost_ = best->first;
    std::vector<stream::Stretch> own;
    for (const stream::Stretch& stretch : stretches_) {
      bool is_first = true;
      for (const std::size_t op : stretch.operators) {
        const auto found = granules.find(*graph_.subgraphs[0].operators[op].outputs[0]);
        const std::int64_t granule = found == granules.end() ? least() : found->second;
        if (is_first || own.back().granule != granule)
          own.push_back({.operators = {}, .rows = stretch.rows, .granule = granule});
        own.back().operators.push_back(op);
        is_first = false;
      }
    }
    stretches_ = std::move(own);
  }

  /// Cuts stretches into halves. False if all are short.
  bool cut() {
    std::vector<stream::Stretch> halves;
    for (stream::Stretch& whole : stretches_) {
      const auto middle = whole.operators.begin() + std::ssize(whole.operators) / 2;
      stream::Stretch rest{{middle, whole.operators.end()}, whole.rows, whole.granule};
      whole.operators.erase(middle, whole.operators.end());
      if (!whole.operators.empty()) halves.push_back(std::move(whole));
      halves.push_back(std::move(rest));
    }
    const bool is_cut = halves.size() > stretches_.size();
    stretches_ = std::move(halves);
    return is_cut;
  }

  /// At least; the largest value if time is up, or nothing is known.
  std::int64_t cost_of(const stream::ChosenGranules& granules, const Deadline& deadline) {
    const auto [known, is_new] = costs_.emplace(granules, largest_value);
    if (!is_new) return known->second;
    if (blocks_) {
      stream::InstanceOptions instances = choosing_.instances;
      instances.granules = granules;
      if (stream::iterations_of(stream::instances_of(graph_, instances)) > most_steps) return largest_value;
    }
    try {
      known->second = cost_of_order(granules, deadline).value_or(largest_value);
    } catch (const stream::TooLarge&) {  // it stays as dear as can be
    }
    return known->second;
  }

  [[nodiscard]] std::optional<std::int64_t> cost_of_order(const stream::ChosenGranules& granules,
                                                          const Deadline& deadline) const {
    Around around = choosing_.around;
    around.granules = granules;
    const auto order = first_order(graph_, choosing_.options, around, deadline);
    if (!order) return std::nullopt;
    deadline.spend(work_of_step * std::ssize(order->order->steps));
    auto rows = lay_rows(*order->streamed, *order->order, order->form,
                         {choosing_.options, choosing_.options.solve.strategy, around, deadline});
    if (!rows) return std::nullopt;
    if (blocks_) rows = in_network(std::move(*rows), *blocks_);
    return least_cost_of(choosing_.input, *rows, choosing_.memories, {choosing_.options.solve, deadline});
  }

  const Choosing& choosing_;
  Graph graph_;
  std::optional<model::SplitNetwork> blocks_;
  std::vector<stream::Stretch> stretches_;
  std::map<stream::ChosenGranules, std::int64_t> costs_{};
  std::int64_t cost_ = largest_value;  ///< Of the stretches.
};

/// The network itself, as it was found, and in other blocks.
std::vector<std::optional<model::SplitNetwork>> networks_to_try(const Choosing& choosing, const Graph& graph,
                                                                const NetworkRows& found) {
  std::vector<std::optional<model::SplitNetwork>> networks{std::nullopt};
  if (found.blocks) networks.emplace_back(found.blocks);
  const bool may_have_blocks = choosing.options.stream->blocks != StreamBlocks::none &&
                               !choosing.around.keeps_state && graph.ties.empty() &&
                               choosing.around.passed.empty();
  if (!may_have_blocks) return networks;
  std::vector<model::Splits> choices = stream::block_choices(graph, choosing.instances.axes);
  std::ranges::stable_sort(choices, {}, [](const model::Splits& it) {
    return std::pair(-std::ssize(it), it.begin()->second.bounds.size());
  });
  choices.resize(std::min(choices.size(), most_choices_of_blocks));
  for (const model::Splits& splits : choices) networks.emplace_back(model::split(graph, splits));
  return networks;
}

/// Rows in steps that read least within limits, each in an order that needs least.
std::vector<NetworkRows> rows_within_limits(const Choosing& choosing, const Graph& network,
                                            const NetworkRows& found, const Deadline& deadline) {
  const Graph graph = found.blocks ? model::stored(*found.blocks) : network;
  const Bytes capacity = *choosing.memories.working[0].capacity;
  std::vector<Bytes> bytes;
  for (const double limit : limits_of_steps)
    bytes.push_back(static_cast<Bytes>(limit * static_cast<double>(capacity)));
  const std::vector<stream::LargerSteps> steps =
      stream::steps_within(graph, choosing.instances, bytes, {work_on_steps, deadline.part(share_of_limits)});
  std::vector<NetworkRows> all;
  Around around = choosing.around;
  around.fast.reset();
  for (std::size_t s = 0; s < steps.size() && !deadline.is_over(); ++s) {
    around.granules = steps[s].granules;
    NetworkRows rows = lowest_with(graph, choosing.options, around,
                                   deadline.part(1 / static_cast<double>(steps.size() - s)));
    if (!rows.rows) continue;
    if (found.blocks) put_in_network(rows, *found.blocks);
    all.push_back(std::move(rows));
  }
  return all;
}

/// Rows in steps that cost least, as far as they are tried, each in an order that costs little.
std::vector<NetworkRows> rows_that_cost_least(const Choosing& choosing, const Graph& graph,
                                              const NetworkRows& found, const Deadline& deadline) {
  const Deadline trying = deadline.part(share_of_trials);
  const Deadline looking = trying.part(share_of_networks);
  std::unique_ptr<GranuleSearch> best;
  for (const auto& network : networks_to_try(choosing, graph, found)) {
    if (looking.is_over()) break;
    auto search = std::make_unique<GranuleSearch>(choosing, graph, network);
    search->look_at_simple_ones(2 * choosing.instances.granule, looking);
    if (!best || search->least_cost() < best->least_cost()) best = std::move(search);
  }
  if (!best) return {};
  best->look_at_simple_ones(choosing.instances.granule, trying);
  best->run(trying);
  return best->rows(deadline);
}

/// Those that cost least at least, in that order; those of which nothing is known in time come last. What they cost in the
/// smaller memory counts, too: no plan uses all bytes of one. Where nothing moves, the bound says less about a plan, and a
/// trial takes less time, so all are left.
std::vector<NetworkRows> most_promising(std::vector<NetworkRows> all, const Choosing& choosing,
                                        const MemoriesOfRows& smaller, const Deadline& deadline) {
  std::vector<std::pair<std::int64_t, std::size_t>> costs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const pack::Control control{choosing.options.solve, deadline};
    std::int64_t cost = largest_value;
    const auto of_all = least_cost_of(choosing.input, *all[i].rows, choosing.memories, control);
    const auto of_less = least_cost_of(choosing.input, *all[i].rows, smaller, control);
    if (of_all && of_less) cost = *of_all / 2 + *of_less / 2;
    costs.emplace_back(cost, i);
  }
  std::ranges::sort(costs);
  std::vector<NetworkRows> best;
  const std::size_t most = choosing.memories.weights ? most_choices : costs.size();
  for (std::size_t i = 0; i < std::min(costs.size(), most); ++i)
    best.push_back(std::move(all[costs[i].second]));
  return best;
}

/// The next lower capacity of a ladder: so memories that are nearly as large have choices in common.
Bytes rung_below(Bytes capacity) {
  if (capacity < 2) return capacity;
  const double rung = std::floor(steps_of_octave * std::log2(static_cast<double>(capacity - 1)));
  return static_cast<Bytes>(std::exp2(rung / steps_of_octave));
}

}  // namespace

std::vector<NetworkRows> rows_in_larger_steps(const Input& input, const PlanOptions& options,
                                              const stream::PassedIo& passed, const NetworkRows& found,
                                              const MemoriesOfRows& memories, const Deadline& deadline) {
  std::vector<NetworkRows> all;
  if (!found.rows) return all;
  const Graph graph = chosen_by_rows(std::get<Graph>(input.content), *options.stream);
  const PlanOptions own = with_granule(options, found.rows->streaming.granule);
  const Way way = ways_of(own).front();
  Choosing choosing{
      .input = input,
      .options = own,
      .around = {passed, *options.alignment, keeps_state(input)},
      .memories = memories,
      .instances = {
          .granule = *own.stream->granule, .io = way.io, .passed = passed, .in_place = way.in_place}};
  choosing.around.fast = memories.working[0].capacity;
  for (NetworkRows& it : rows_that_cost_least(choosing, graph, found, deadline.part(share_of_costs)))
    all.push_back(std::move(it));
  MemoriesOfRows smaller = memories;
  smaller.working[0].capacity = rung_below(*memories.working[0].capacity);
  Choosing in_less{choosing.input, own, choosing.around, smaller, choosing.instances};
  in_less.around.fast = smaller.working[0].capacity;
  for (NetworkRows& it : rows_that_cost_least(in_less, graph, found, deadline.part(share_of_less)))
    all.push_back(std::move(it));
  for (NetworkRows& it : rows_within_limits(choosing, graph, found, deadline.part(share_of_rows_within)))
    all.push_back(std::move(it));
  for (NetworkRows& it : all) it.left_out = found.left_out;
  return most_promising(std::move(all), choosing, smaller, deadline);
}

}  // namespace stowage::plan
