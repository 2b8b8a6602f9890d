// Networks on one device, from graphs to offsets. The pipeline:
//
//     order     orders of operators that are worth planning                      ordering.cc
//     share     which tensors of whole operators share bytes, each network alone arrangement.cc
//     compose   networks on common clocks, with feeds                            composition.cc
//     pause     where one network runs between steps of another                  pauses.cc
//     place     offsets, clock by clock                                          placement.cc
//     move      between memories, if allowed                                     moves.cc
//     finish    peaks, bounds, claims, summary                                   draft.cc
//     constants equal constants are stored once                                  constants.cc
//
// Networks by rows come with their steps and buffers (rows.cc): for them there is nothing to order or to share.
//
// An order with less load usually gives a lower peak, but packing and several memories may change that. So
// orders are planned, lowest load first and the networks' own among them, until none that is left can be
// better:
//
//     order 1   load 6   plan at 8
//     order 2   load 7   plan at 7     taken: no plan in the own order is below its load
//     own       load 9
//
// With several networks or memories, loads say less: only the first order and the own one are planned. Whether
// sharing pays is found for each network alone, so several are also planned without it. A plan is better if it
// exceeds no capacity that another keeps, then if it costs less, then if its peak is lower.
// Cost: the search, which takes at most half of the time limit, and usually one plan.

#include "plan/networks.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "alias/buffers.h"
#include "base/checked.h"
#include "plan/arrangement.h"
#include "plan/composition.h"
#include "plan/constants.h"
#include "plan/draft.h"
#include "plan/extent.h"
#include "plan/least_cost.h"
#include "plan/moves.h"
#include "plan/order_profile.h"
#include "plan/ordering.h"
#include "plan/passing.h"
#include "plan/pauses.h"
#include "plan/placement.h"
#include "plan/row_moves.h"
#include "plan/weight_reads.h"
#include "share/equal_data.h"
#include "share/feeds.h"
#include "share/timeline.h"

namespace stowage::plan {
namespace {

using base::Deadline;
using lifetime::Residence;

constexpr double share_of_sharing =
    0.67;  // of the time, if several networks are planned without sharing, too

constexpr double share_of_unmoved = 0.08;  // of the time, for rows in one memory each, if they may move

/// An order of whole operators for each network.
using Candidate = std::vector<SchedulePtr>;

std::vector<Ordering> find_orders(const Context& context, const Deadline& deadline) {
  std::vector<Ordering> orderings;
  for (std::size_t m = 0; m < context.networks.size(); ++m) {
    const Deadline of_one = deadline.part(0.5 / static_cast<double>(context.networks.size() - m));
    const NetworkFacts& network = context.networks[m];
    orderings.push_back(in_file_of(network.input(), [&] { return ordering_of(network, of_one); }));
  }
  return orderings;
}

/// Whether loads show how good a plan can be.
bool is_simple(const Context& context) { return context.networks.size() == 1 && context.working.size() == 1; }

std::vector<Candidate> candidates_of(const Context& context, const std::vector<Ordering>& orderings) {
  Candidate own;
  for (const NetworkFacts& network : context.networks) own.push_back(network.own());
  if (orderings.empty()) return {own};
  std::vector<Candidate> candidates;
  if (is_simple(context)) {
    for (const SchedulePtr& choice : orderings[0].choices) candidates.push_back({choice});
    return candidates;
  }
  Candidate first;
  for (const Ordering& ordering : orderings) first.push_back(ordering.choices.front());
  const bool differs = !std::ranges::equal(
      first, own, [](const SchedulePtr& a, const SchedulePtr& b) { return a->load == b->load; });
  if (differs) candidates.push_back(std::move(first));
  candidates.push_back(std::move(own));
  return candidates;
}

/// Plans networks in given orders of their operators or by given rows, up to the offsets of their buffers.
class OrderedPlanner {
 public:
  /// Null in `rows`: the network runs whole operators.
  OrderedPlanner(const Context& context, const Candidate& orders, std::span<const RowsPtr> rows,
                 const Deadline& deadline)
      : context_(context),
        orders_(orders),
        rows_(rows.begin(), rows.end()),
        deadline_(deadline),
        graphs_(graphs_of(context)) {
    rows_.resize(context.networks.size());
    for (std::size_t m = 0; m < rows_.size(); ++m) {
      std::vector<bool>& leaves = leaving_.emplace_back(graphs_[m].graph.tensors.size(), false);
      for (const Step& step : rows_[m] ? rows_[m]->steps : std::vector<Step>()) {
        if (const auto* const leave = std::get_if<Leave>(&step)) leaves[leave->tensor] = true;
      }
    }
  }

  Draft draft() {
    share::Timeline timeline = timeline_of(context_, clocks());
    const Passing passing = passing_on(context_, graphs_, timeline);
    // The steps say which buffers have sums: there are fewer now.
    if (take_out_fed(passing)) timeline = timeline_of(context_, clocks());
    share_bytes(timeline, passing);
    const std::vector<std::size_t> first_buffer = compose_all(timeline, passing);
    const BufferAccesses accesses = accesses_of_rows(timeline, first_buffer);
    draft_.plan.clocks = timeline.clocks();
    insert_pauses(timeline, graphs_, draft_.plan);
    move_sums(first_buffer);
    // From here on, only moves add or resize buffers.
    place_buffers();
    if (context_.options.moves == Moves::allowed) move_between_memories(accesses);
    // From here on, offsets are fixed.
    note_copies();
    if (rows_.size() == 1 && rows_[0]) draft_.plan.streaming = rows_[0]->streaming;
    return std::move(draft_);
  }

  /// The orders; that of a single network with the sharing of the draft if that has less load than all that is allowed.
  [[nodiscard]] Candidate arranged() const {
    if (orders_.size() != 1 || !arrangements_[0].shares) return orders_;
    Schedule schedule = *orders_[0];
    schedule.shares = arrangements_[0].shares;
    schedule.load = max_load(schedule.shares->buffers.buffers);
    if (schedule.load >= orders_[0]->load) return orders_;
    return {std::make_shared<const Schedule>(std::move(schedule))};
  }

  /// The sum of the networks' peaks if each is planned alone, with its inputs and outputs.
  [[nodiscard]] Bytes separate() const { return separate_; }

 private:
  [[nodiscard]] Clock clock_of(std::size_t m) const {
    if (!rows_[m]) return context_.networks[m].clock_of(*orders_[m]);
    Clock clock{rows_[m]->steps};
    std::size_t first_tensor = 0;
    for (std::size_t before = 0; before < m; ++before)
      first_tensor += context_.networks[before].graph().tensors.size();
    for (Step& step : clock.steps) {
      if (auto* const run = std::get_if<Run>(&step)) run->model = m;
      if (auto* const arrive = std::get_if<Arrive>(&step)) arrive->tensor += first_tensor;
      if (auto* const leave = std::get_if<Leave>(&step)) leave->tensor += first_tensor;
    }
    return clock;
  }

  [[nodiscard]] std::vector<Clock> clocks() const {
    std::vector<Clock> clocks;
    for (std::size_t m = 0; m < orders_.size(); ++m) clocks.push_back(clock_of(m));
    return clocks;
  }

  /// Inputs of networks by rows that others feed are in the buffers of these, and so is state that several share. True
  /// if there are any.
  bool take_out_fed(const Passing& passing) {
    fed_.resize(rows_.size());
    bool has_fed = false;
    for (std::size_t m = 0; m < rows_.size(); ++m) {
      std::vector<TensorId> inputs;
      for (const share::ResolvedFeed& feed : passing.feeds) {
        if (feed.input.model == m && rows_[m]) inputs.push_back(feed.input.tensor);
      }
      std::vector<TensorId> all = inputs;
      for (const share::ModelTensor& it : share::tensors_of(passing.states)) {
        if (it.model == m && rows_[m]) all.push_back(it.tensor);
      }
      if (all.empty()) continue;
      WithoutFed without = without_fed(*rows_[m], all);
      rows_[m] = std::make_shared<const PlacedRows>(std::move(without.rows));
      fed_[m] = std::move(without.fed);
      std::erase_if(fed_[m], [&](const auto& it) {
        return std::ranges::find(inputs, it.first) == inputs.end();  // state is whole
      });
      has_fed = true;
    }
    return has_fed;
  }

  /// The bytes of tensors that a network by rows passes on in buffers that are not among its own.
  [[nodiscard]] Bytes bytes_elsewhere(std::size_t m, const share::Timeline& timeline,
                                      const Passing& passing) const {
    Bytes bytes = 0;
    for (const auto& [tensor, residence] : passed_tensors(m, timeline, passing)) {
      const bool is_elsewhere = rows_[m]->tensors[tensor].views.empty() && !fed_[m].contains(tensor);
      if (is_elsewhere && !leaving_[m][tensor])
        bytes += base::align_up(graphs_[m].graph.tensors[tensor].bytes, rows_[m]->alignment);
    }
    return bytes;
  }

  /// Arranges each network alone. This also places the buffers of a single network.
  void share_bytes(const share::Timeline& timeline, const Passing& passing) {
    for (std::size_t m = 0; m < graphs_.size(); ++m) {
      const NetworkFacts& network = context_.networks[m];
      if (rows_[m]) {
        arrangements_.push_back(arrangement_of_rows(*rows_[m]));
        separate_ += rows_[m]->peak + bytes_elsewhere(m, timeline, passing);
        continue;
      }
      const auto arrange_with = [&](const PassedTensors& passed) {
        const auto others = static_cast<double>(graphs_.size() > 1 ? graphs_.size() + 1 - m : 1);
        return in_file_of(network.input(), [&] {
          return arrange(context_, network, *orders_[m], passed, deadline_.part(1 / others));
        });
      };
      PassedTensors passed = passed_tensors(m, timeline, passing);
      arrangements_.push_back(arrange_with(passed));
      if (passed.empty()) {
        separate_ += arrangements_.back().cost.peak;
        continue;
      }
      for (auto& [tensor, residence] : passed) {  // alone it passes none of them
        const Residence own = network.residences()[tensor];
        residence = own == Residence::state ? own : Residence::arena;
      }
      separate_ += arrange_with(passed).cost.peak;
    }
  }

  /// In one memory, rows are where the search for them has placed them.
  [[nodiscard]] Arrangement arrangement_of_rows(const PlacedRows& rows) const {
    if (context_.working.size() == 1) return {.solution = rows.solution};
    if (graphs_.size() > 1) return {};
    const Problem problem = problem_of(buffers_of(rows, context_.networks[0]), context_.working);
    return {.solution = solve_provably(problem, context_.options.solve, time_of_placing())};
  }

  [[nodiscard]] bool has_rows() const {
    return std::ranges::any_of(rows_, [](const RowsPtr& it) { return it != nullptr; });
  }

  /// If rows may move, choosing when takes longest.
  [[nodiscard]] Deadline time_of_placing() const {
    const bool may_move = has_rows() && rows_may_move(context_);
    return may_move ? deadline_.part(share_of_unmoved) : deadline_;
  }

  /// The buffers of rows, where the options say.
  static std::vector<Buffer> buffers_of(const PlacedRows& rows, const NetworkFacts& network) {
    std::vector<Buffer> buffers = rows.problem.buffers;
    assign_places(network.places(), rows.tensors, buffers);
    return buffers;
  }

  [[nodiscard]] Alone alone(std::size_t m) const {
    Alone network{.network = graphs_[m], .uses = orders_[m]->uses};
    if (const RowsPtr& rows = rows_[m]) {
      network.end = static_cast<Position>(rows->steps.size());
      network.is_by_rows = true;
      network.leaves = leaving_[m];
      network.fed = fed_[m];
      network.buffers = buffers_of(*rows, context_.networks[m]);
      if (context_.working.size() == 1) {  // row blocks that differ in traffic only make a plan long
        for (Buffer& buffer : network.buffers) buffer.traffic = 0;
      }
      network.tensors = rows->tensors;
      return network;
    }
    const alias::Buffers& own = arrangements_[m].shares->buffers;
    network.end = network.uses.end;
    network.buffers = own.buffers;
    network.tensors = alias::planned_tensors(graphs_[m].graph, own.held, m);
    return network;
  }

  /// The first buffer of each network in the plan.
  std::vector<std::size_t> compose_all(const share::Timeline& timeline, const Passing& passing) {
    std::vector<Alone> networks;
    for (std::size_t m = 0; m < graphs_.size(); ++m) networks.push_back(alone(m));
    Composition together = compose(std::move(networks), timeline, passing, context_.alignment());
    Plan& plan = draft_.plan;
    plan.models = infos_of(context_.inputs);
    plan.tensors = std::move(together.tensors);
    plan.feeds = std::move(together.feeds);
    plan.states = std::move(together.states);
    plan.released = std::move(together.released);
    plan.buffers = std::move(together.buffers);
    assign_places_again();
    for (const NetworkFacts& network : context_.networks)
      draft_.alignments.push_back(network.buffer_options().alignment);
    return std::move(together.first_buffer);
  }

  /// Buffers of tensors that are passed on are made last.
  void assign_places_again() {
    Plan& plan = draft_.plan;
    std::size_t first = 0;
    for (const NetworkFacts& network : context_.networks) {
      const std::span own(plan.tensors.data() + first, network.graph().tensors.size());
      assign_places(network.places(), own, plan.buffers);
      expect_placed(network.places(), own, plan.buffers);
      first += own.size();
    }
  }

  /// Sums of rows are in buffers of the plan.
  void move_sums(const std::vector<std::size_t>& first_buffer) {
    for (Clock& clock : draft_.plan.clocks) {
      for (Step& step : clock.steps) {
        auto* const run = std::get_if<Run>(&step);
        if (run == nullptr) continue;
        if (run->sums) run->sums->buffer += first_buffer[run->model];
        if (run->carry) run->carry->buffer += first_buffer[run->model];
      }
    }
  }

  void place_buffers() {
    if (graphs_.size() == 1) {
      draft_.placement = placement_of(std::move(arrangements_[0].solution), context_.working.size());
      return;
    }
    draft_.placement = place(draft_.plan.buffers, draft_.plan.clocks, context_.working,
                             context_.options.solve, time_of_placing());
  }

  /// Which steps use each buffer, where that is known.
  [[nodiscard]] BufferAccesses accesses_of_rows(const share::Timeline& timeline,
                                                const std::vector<std::size_t>& first_buffer) const {
    BufferAccesses all(draft_.plan.buffers.size());
    for (std::size_t m = 0; m < rows_.size(); ++m) {
      if (!rows_[m] || rows_[m]->accesses.size() != rows_[m]->problem.buffers.size()) continue;
      const Position begin = timeline.stage_of(m).begin;
      for (std::size_t b = 0; b < rows_[m]->accesses.size(); ++b) {
        for (stream::RowAccess access : rows_[m]->accesses[b]) {
          access.first += begin;
          access.last += begin;
          all[first_buffer[m] + b].push_back(access);
        }
      }
    }
    return all;
  }

  /// Moves tensors only if everything fits without moves.
  void move_between_memories(const BufferAccesses& accesses) {
    const std::vector<Memory>& memories = context_.working;
    Plan& plan = draft_.plan;
    const auto extents =
        extents_of(plan.buffers, draft_.placement.places, plan.clocks, context_.working.size());
    for (std::size_t m = 0; m < extents.size(); ++m) {
      if (extents[m].peak > memories[m].capacity.value_or(largest_value)) return;
    }
    plan.places = std::move(draft_.placement.places);
    const pack::Control control{context_.options.solve, deadline_};
    if (has_rows()) {
      const std::vector<ReadsOfConstant> reads = reads_of_constants(context_.inputs, plan);
      const std::optional<StoredWeights> weights = stored_weights(reads);
      const auto moves = move_rows(accesses, memories, weights, control, plan);
      // What is read of weights is added with them (plan/constants.cc). Nothing is proven if they could not move, too.
      const bool has_weights = std::ranges::any_of(
          context_.options.memories, [](const Memory& it) { return it.role == MemoryRole::weights; });
      draft_.placement.cost_bound = moves && (weights || !has_weights)
                                        ? moves->cost_bound - moves->weights_cost
                                    : has_weights ? std::numeric_limits<std::int64_t>::min() / 2
                                                  : 0;
      plan.interrupted = plan.interrupted || (moves && moves->is_cut);
    } else {
      move_tensors(context_.inputs, memories, control, plan);
      draft_.placement.cost_bound = least_cost(context_.inputs, plan, memories);
    }
    draft_.placement.places = std::move(plan.places);
  }

  /// None unless all constants are in one memory.
  [[nodiscard]] std::optional<StoredWeights> stored_weights(const std::vector<ReadsOfConstant>& reads) const {
    std::optional<StoredWeights> found;
    for (const Memory& memory : context_.options.memories) {
      if (memory.role != MemoryRole::weights) continue;
      if (found) return std::nullopt;
      found.emplace(StoredWeights{memory, reads});
    }
    return found;
  }

  void note_copies() {
    Plan& plan = draft_.plan;
    for (const Arrangement& arrangement : arrangements_) {
      if (!arrangement.shares) continue;
      const Shares& shares = *arrangement.shares;
      plan.copies_removed.count += shares.removed.count;
      plan.copies_removed.bytes += shares.removed.bytes;
      plan.copies_kept.insert(plan.copies_kept.end(), shares.kept.begin(), shares.kept.end());
    }
  }

  const Context& context_;
  const Candidate& orders_;
  std::vector<RowsPtr> rows_;
  std::vector<std::map<TensorId, Buffer>>
      fed_{};                                 ///< Per network by rows: buffers of inputs that others feed.
  std::vector<std::vector<bool>> leaving_{};  ///< Per network: tensors of which rows leave.
  Deadline deadline_;
  std::vector<share::NamedGraph> graphs_;
  std::vector<Arrangement> arrangements_;
  Draft draft_;
  Bytes separate_ = 0;
};

/// Notes the results of searches for orders. Loads of several networks do not add up.
void note_searches(const std::vector<Ordering>& orderings, const Candidate& orders, Draft& draft) {
  if (orderings.empty()) return;
  draft.order = "search";
  for (std::size_t m = 0; m < orderings.size(); ++m) {
    draft.plan.order_searches.push_back(orderings[m].search);
    draft.plan.order_searches.back().load = orders[m]->load;
    draft.plan.interrupted = draft.plan.interrupted || orderings[m].is_cut_short;
  }
  if (orderings.size() > 1) return;
  draft.bounds.emplace_back(ClaimScope::order, orderings[0].search.lower_bound);
}

void share_constants(const Context& context, Bytes separate, Plan& plan) {
  const bool are_planned = std::any_of(plan.memories.begin(), plan.memories.end(), [](const auto& memory) {
    return memory.memory.role == MemoryRole::weights;
  });
  if (context.networks.size() == 1 && !are_planned) return;
  const Bytes working = plan.summary.peak;
  share::EqualData classes = share::equal_data(context.inputs);
  share::leave_unread_out(classes, context.inputs);
  if (are_planned)
    place_constants(classes, reads_of_constants(context.inputs, plan), context.alignment(), plan);
  plan.savings = Savings{share::saving_of(classes, context.inputs, TensorKind::weight),
                         share::saving_of(classes, context.inputs, TensorKind::instruction),
                         {context.networks.size() == 1 ? working : separate, working}};
}

Plan plan_in_best_order(const Context& context, const Deadline& deadline) {
  std::vector<Ordering> orderings;
  if (context.options.order == Order::search) orderings = find_orders(context, deadline);
  const std::vector<Candidate> candidates = candidates_of(context, orderings);
  std::optional<Plan> best;
  Candidate best_orders;
  Bytes separate = 0;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    if (best && is_simple(context) && best->summary.peak <= candidates[c][0]->load) break;
    OrderedPlanner planner(context, candidates[c], {},
                           deadline.part(1 / static_cast<double>(candidates.size() - c)));
    Draft draft = planner.draft();
    Candidate arranged = planner.arranged();
    note_searches(orderings, arranged, draft);
    Plan plan = finish(std::move(draft), context.options.memories);
    if (best && worth_of(plan) >= worth_of(*best)) continue;
    best = std::move(plan);
    best_orders = std::move(arranged);
    separate = planner.separate();
  }
  if (orderings.size() == 1) {
    const NetworkFacts& network = context.networks[0];
    best->order_profile = order_profile_of(network, *network.own(), *best_orders[0]);
  }
  share_constants(context, separate, *best);
  return std::move(*best);
}

bool shares_buffers(const Plan& plan) {
  std::vector<std::size_t> views(plan.buffers.size());
  for (const PlannedTensor& tensor : plan.tensors) {
    for (const View& view : tensor.views) ++views[view.buffer];
  }
  return std::ranges::any_of(views, [](std::size_t count) { return count > 1; });
}

}  // namespace

std::tuple<Outcome, std::int64_t, Bytes> worth_of(const Plan& plan) {
  return {outcome_of(plan), plan.summary.cost, plan.summary.peak};
}

Plan plan_networks_by_rows(const Context& context, std::span<const RowsPtr> rows, ProvenBounds bounds) {
  Candidate own;
  for (const NetworkFacts& network : context.networks) own.push_back(network.own());
  OrderedPlanner planner(context, own, rows, context.deadline);
  Draft draft = planner.draft();
  draft.order = "stream";
  draft.bounds = std::move(bounds);
  Plan plan = finish(std::move(draft), context.options.memories);
  share_constants(context, planner.separate(), plan);
  return plan;
}

Plan plan_networks(const Context& context) {
  if (context.networks.size() == 1 || context.options.alias != Alias::automatic)
    return plan_in_best_order(context, context.deadline);
  Plan plan = plan_in_best_order(context, context.deadline.part(share_of_sharing));
  if (!shares_buffers(plan)) return plan;
  PlanOptions apart = context.options;
  apart.alias = Alias::none;
  Plan other = plan_in_best_order(Context(context.inputs, apart, context.deadline), context.deadline);
  other.interrupted = other.interrupted || plan.interrupted;
  return worth_of(other) < worth_of(plan) ? std::move(other) : std::move(plan);
}

}  // namespace stowage::plan
