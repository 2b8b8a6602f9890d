// The lowest plan of a network row by row, over all ways to stream it:
//
//     way -> order of operators -> repeats -> iterations -> order of rows -> layouts -> offsets
//
// A way uses what the options allow, or less: rows that arrive one by one or an input that is there from the
// start, rows along searched axes or along those that follow by themselves, rows in place where that lowers the
// load, wherever possible, or nowhere, a searched order of operators or the network's own. Rows that are computed once
// have a search of their own (row_rounds.cc). An allowed feature may not pay once offsets are found. So ways that use less follow if a bound
// leaves them a chance, and more options never raise the peak.
//
// Of two orders of operators, the one whose regions need less is taken. Then operators are repeated where
// recomputing rows for each reader is better. The order of rows is the best by live bytes. Alignment rounds
// up a row that lies alone, but not a row in a ring. If that changes sizes, orders are found for both.
// Placing decides the form of rows: rings, rings where those waste nothing, or granules that lie anywhere.
//
// Each order in each form is placed in a short time. The rest of the time is that of the best plan of all ways:
// packing it better gains more than a way that cannot be finished. The search ends when the peak fits the memory's
// capacity or reaches a bound, or when time is up.

#include "plan/row_search.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/checked.h"
#include "plan/row_ways.h"
#include "stream/affine.h"
#include "stream/bound.h"
#include "stream/choose.h"
#include "stream/directions.h"
#include "stream/polyhedra.h"
#include "stream/recompute.h"
#include "stream/recompute_search.h"
#include "stream/regions.h"
#include "stream/repeat.h"
#include "stream/replay.h"
#include "stream/search.h"
#include "stream/tiles.h"

namespace stowage::plan {
namespace {

using base::Deadline;
using stream::InPlace;

constexpr std::int64_t work_on_regions = 50'000'000;  // steps that are tried
constexpr unsigned long work_on_proof = 2'500'000;    // operations of the polyhedral library
constexpr std::int64_t most_cuts = 400;
// Of the time that is left. The rest is for order and offsets of the best plan.
constexpr double share_of_axes = 0.1;
constexpr double share_of_finding = 0.85;
constexpr double share_of_probes = 0.4;  // of the time of a way, after its orders: each of them in each form
constexpr double share_of_first = 0.75;  // if other ways may be lower
constexpr double share_of_others = 0.5;

class WaySearch {
 public:
  WaySearch(const Graph& graph, const PlanOptions& options, const Around& around, const Deadline& deadline,
            WholeOperators whole)
      : graph_(graph), options_(options), around_(around), deadline_(deadline), whole_(std::move(whole)) {}

  /// The lowest plan of all ways. None if time is up before the first plan, or if none is below `peak`. If none is, `last`
  /// gets the rest of the time.
  std::optional<PlacedRows> run(Bytes peak, std::optional<Attempt> last) {
    peak_ = peak;
    best_from_ = std::move(last);
    std::vector<Way> ways = ways_of(options_);
    if (whole_.order == stream::once(graph_).operators)
      std::erase_if(ways, [&](const Way& way) { return way.order != ways[0].order; });
    const Deadline turning = deadline_.part(share_of_axes);
    if (ways[0].turns) {
      find_axes(ways, turning);
      std::erase_if(ways, [&](const Way& way) { return way.turns && axes_for(way).empty(); });
    }
    const std::shared_ptr<const RowNetwork> first = prepare(ways[0], deadline_);
    if (!first) return std::nullopt;
    note_bound(*first);
    if (!is_repeated(first->network)) std::erase_if(ways, [](const Way& way) { return !way.repeats; });
    if (!first->has_apart) std::erase_if(ways, [&](const Way& way) { return way.apart != ways[0].apart; });
    const std::vector<Graph> graphs = graphs_of(*first);
    const auto may_be_lower = [&](const Way& way, Bytes least) {
      return std::any_of(graphs.begin(), way.repeats ? graphs.end() : graphs.begin() + 1,
                         [&](const Graph& graph) { return may_be_below(way, graph, least); });
    };
    const bool are_others_needed = std::any_of(
        ways.begin() + 1, ways.end(), [&](const Way& way) { return may_be_lower(way, first->regions.peak); });
    plan_in(first, deadline_.part(are_others_needed ? share_of_first : share_of_finding));
    const Deadline finding = deadline_.part(share_of_others);
    for (std::size_t w = 1; w < ways.size() && !is_done() && !finding.is_over(); ++w) {
      if (!may_be_lower(ways[w], peak_)) continue;
      const Deadline deadline = finding.part(1.0 / static_cast<double>(ways.size() - w));
      const std::shared_ptr<const RowNetwork> streamed = prepare(ways[w], deadline);
      if (!streamed) continue;  // the time of this way was too short
      note_recomputed(*streamed);
      plan_in(streamed, deadline);
    }
    note_end_of(finding);
    go_on();
    if (best_) {
      best_->streaming =
          streaming_of(*best_from_->streamed, *best_from_->order, *options_.stream, alignment_);
    }
    return std::move(best_);
  }

  /// Whether the search was truncated and a lower plan may exist. No bound is proven for axes that were not tried.
  [[nodiscard]] bool is_cut_short() const {
    if (!is_good_enough()) return is_cut_ || are_axes_cut_ || deadline_.is_over();
    return are_axes_cut_ && peak_ > capacity();
  }
  [[nodiscard]] bool are_axes_cut() const { return are_axes_cut_; }
  /// What the lowest plan is made from.
  [[nodiscard]] const std::optional<Attempt>& best_from() const { return best_from_; }
  /// Proven for all these plans.
  [[nodiscard]] Bytes bound() const { return bound_; }

 private:
  [[nodiscard]] stream::InstanceOptions instance_options(const Way& way) const {
    return {.granule = granule_of(*options_.stream),
            .granules = around_.granules,
            .io = way.io,
            .passed = around_.passed,
            .in_place = way.in_place,
            .axes = way.turns ? axes_for(way) : stream::ChosenAxes{}};
  }

  /// The axes that help one of the ways may not help another: rows in place want others than rows apart, and inputs that
  /// are there from the start others than rows that arrive. The bound is claimed for rows apart, too.
  void find_axes(const std::vector<Way>& ways, const Deadline& deadline) {
    const auto find = [&](const Way& way) {
      const auto key = std::pair(way.in_place, way.io);
      if (!way.turns || axes_.contains(key) || deadline.is_over()) return;
      axes_[key];
      axes_[key] = stream::axes_where_it_helps(graph_, instance_options(way), {work_on_regions, deadline});
    };
    for (const Way& way : ways) find(way);
    Way apart = ways[0];
    apart.in_place = InPlace::never;
    find(apart);
    are_axes_cut_ = deadline.is_over();
  }

  [[nodiscard]] stream::ChosenAxes axes_for(const Way& way) const {
    const auto found = axes_.find({way.in_place, way.io});
    return found == axes_.end() ? stream::ChosenAxes{} : found->second;
  }

  [[nodiscard]] bool is_done() const { return deadline_.is_over() || is_good_enough(); }

  /// A search that ends because its time is over may have missed a lower plan.
  void note_end_of(const Deadline& deadline) { is_cut_ = is_cut_ || deadline.is_over(); }

  /// If rows may be recomputed, the bound holds only for the rows of the ways so far. Where rows are wanted in any case
  /// (run), the plan of whole operators is not good enough.
  [[nodiscard]] bool is_good_enough() const {
    if (peak_ > whole_.peak) return false;
    const Bytes least = options_.stream->recompute > 1 ? 0 : bound_;
    return peak_ <= std::max(least, capacity());
  }

  /// Null if time is up.
  [[nodiscard]] std::shared_ptr<const RowNetwork> prepare(const Way& way, const Deadline& deadline) {
    const Deadline trying = deadline.part(0.25);
    RowNetwork streamed{.network = best_order(way, deadline)};
    if (way.repeats) {
      streamed.network =
          stream::repeat_where_it_helps(streamed.network, instance_options(way), {work_on_regions, trying});
    }
    note_end_of(trying);
    complete(way, deadline, streamed);
    note_end_of(deadline);
    if (deadline.is_over()) return nullptr;
    return std::make_shared<const RowNetwork>(std::move(streamed));
  }

  void complete(const Way& way, const Deadline& deadline, RowNetwork& streamed) {
    const Graph& graph = streamed.network.graph;
    stream::InstanceOptions options = instance_options(way);
    const Deadline placing = deadline.part(0.25);
    options = stream::backward_where_it_helps(graph, options, {work_on_regions, placing});
    if (way.in_place != InPlace::never && way.apart)
      options = stream::in_place_where_it_helps(graph, options, {work_on_regions, placing});
    streamed.has_apart = !options.apart.empty();
    note_end_of(placing);
    streamed.once = stream::instances_of(graph, options);
    streamed.model = streamed.once;
    if (way.recompute > 1) {
      const Deadline choosing = deadline.part(0.33);
      const stream::TrialEffort effort{work_on_regions, choosing};
      streamed.model = stream::tiles_within(streamed.once, way.recompute, effort);
      streamed.model = stream::recompute_within(streamed.model, way.recompute / recomputed(streamed), effort);
      note_end_of(choosing);
    }
    streamed.program = stream::unroll(streamed.model, {.deadline = deadline});
    streamed.regions = stream::order_by_regions(streamed.program, work_on_regions, deadline);
    // A target that is known for later ways alone would give them other orders than if they were the first.
    const Deadline scheduling = deadline.part(share_of_affine());
    streamed.affine =
        stream::affine_order(streamed.model, streamed.program, capacity(), {work_on_regions, scheduling});
    note_end_of(scheduling);
    // The search has run the schedule step by step. One that isl refutes is not offered all the same. Recomputed
    // rows follow no affine access, so isl is not asked about them.
    if (streamed.affine && streamed.model == streamed.once &&
        stream::is_legal(streamed.model, streamed.affine->times, work_on_proof) == false)
      streamed.affine.reset();
  }

  /// The network's own order or that of the plan of whole operators, whichever has the lower peak of regions.
  [[nodiscard]] stream::Repeated best_order(const Way& way, const Deadline& deadline) const {
    stream::Repeated own = stream::once(graph_);
    if (way.order == Order::keep || whole_.order == own.operators) return own;
    stream::Repeated other = stream::in_order(graph_, whole_.order);
    const auto peak_of = [&](const stream::Repeated& it) {
      return stream::least_peak_of(stream::instances_of(it.graph, instance_options(way)),
                                   {work_on_regions, deadline});
    };
    return peak_of(other) < peak_of(own) ? other : own;
  }

  /// Whether some order of rows may need less than `peak`. Recomputed rows have no bound.
  [[nodiscard]] bool may_be_below(const Way& way, const Graph& graph, Bytes peak) const {
    if (way.recompute > 1) return true;
    const Deadline deadline = deadline_.part(0.05);
    const stream::RowModel model = stream::instances_of(graph, instance_options(way));
    const stream::RowProgram program = stream::unroll(model, {.deadline = deadline});
    if (deadline.is_over()) return true;
    const Bytes bound = stream::lower_bound(program, stream::layer_by_layer(program),
                                            {.most_cuts = most_cuts, .enough = peak, .deadline = deadline})
                            .bytes;
    return base::align_up(bound, alignment_) < peak;
  }

  [[nodiscard]] bool is_repeated(const stream::Repeated& network) const {
    return network.operators.size() != graph_.subgraphs[0].operators.size();
  }

  /// The network with no repeats, with all repeats, and as chosen.
  [[nodiscard]] std::vector<Graph> graphs_of(const RowNetwork& chosen) const {
    stream::Repeated all = stream::repeat_all(stream::once(graph_), deadline_.without_limit());
    const bool is_all = chosen.network.operators.size() == all.operators.size();
    std::vector<Graph> graphs{is_repeated(chosen.network) ? graph_ : chosen.network.graph};
    if (is_repeated(chosen.network)) graphs.push_back(chosen.network.graph);
    if (!is_all) graphs.push_back(std::move(all.graph));
    return graphs;
  }

  /// Proven for all orders of a model's rows; 0 if time is up, or the model reads more than it must.
  [[nodiscard]] Bytes bound_of(stream::RowModel model, const RowNetwork& streamed) const {
    if (model.reads_more) return 0;
    const Deadline deadline = deadline_.part(1.0 / 6);
    for (stream::Operator& op : model.operators) {
      op.accumulator = 0;  // an operator may run as a whole
      op.together = 1;
    }
    const stream::RowProgram program = stream::unroll(model, {.deadline = deadline});
    if (deadline.is_over()) return 0;
    // The order is of the chosen axes, so it may be no order of this program, even if it has as many steps.
    const auto& steps = streamed.regions.steps;
    const bool fits = !stream::replay(program, steps).fault;
    const Bytes bound = stream::lower_bound(program, fits ? steps : stream::layer_by_layer(program),
                                            {.most_cuts = most_cuts, .deadline = deadline})
                            .bytes;
    return base::align_up(bound, alignment_);
  }

  /// Notes the bound of all ways without recomputed rows, and of whole operators.
  void note_bound(const RowNetwork& first) {
    Way way = ways_of(options_)[0];
    way.turns = false;
    bound_ = whole_.bound;
    stream::InstanceOptions natural = instance_options(way);
    if (way.in_place != InPlace::never) natural.in_place = InPlace::open;
    std::vector<stream::InstanceOptions> all{natural};
    for (const auto& [of, axes] : axes_) {
      if (axes.empty()) continue;
      all.push_back(natural);
      all.back().axes = axes;
    }
    if (stream::runs_backward(first.once)) {
      for (std::size_t i = 0, count = all.size(); i < count; ++i) {
        all.push_back(all[i]);
        all.back().turns_back = true;
      }
    }
    for (const stream::InstanceOptions& options : all) {
      for (const Graph& graph : graphs_of(first))
        bound_ = std::min(bound_, bound_of(stream::instances_of(graph, options), first));
    }
    note_recomputed(first);
  }

  /// Recomputed rows make other iterations, with a bound of their own.
  void note_recomputed(const RowNetwork& streamed) {
    if (streamed.model != streamed.once) bound_ = std::min(bound_, bound_of(streamed.model, streamed));
  }

  /// Places every order in every form, each in a short time.
  void plan_in(const std::shared_ptr<const RowNetwork>& streamed, const Deadline& deadline) {
    std::vector<Attempt> attempts;
    for (RowOrder& order : orders_of(*streamed, deadline)) {
      const auto shared = std::make_shared<const RowOrder>(std::move(order));
      for (const stream::Form form : shared->forms) attempts.push_back({streamed, shared, form});
    }
    note_end_of(deadline);
    const Deadline placing = deadline.part(share_of_probes);
    for (std::size_t a = 0; a < attempts.size(); ++a)
      place(attempts[a], placing.part(1 / static_cast<double>(attempts.size() - a)));
  }

  /// Spends the remaining time on the best plan: on its order if that search was truncated, then on its offsets.
  /// The strategy that has placed it goes on; if that ends early, all of them do.
  void go_on() {
    if (!best_from_) return;
    if (is_order_cut_ && !is_done() && options_.stream->layout != StreamLayout::ring) improve_order();
    const std::string used = best_ ? best_->solution.strategy : options_.solve.strategy;
    lower_best(used);
    if (options_.solve.strategy != used) lower_best(options_.solve.strategy);
  }

  void lower_best(const std::string& strategy) {
    if (!best_ || best_->peak > best_->solution.lower_bound) place(Attempt(*best_from_), deadline_, strategy);
  }

  void improve_order() {
    const Attempt from = *best_from_;
    const RowOrder& order = *from.order;
    const stream::RowProgram program =
        stream::unroll(from.streamed->model, {.alignment = order.counted_in, .deadline = deadline_});
    if (deadline_.is_over()) return;
    auto steps = stream::improve(program, order.steps, {.target = target(), .deadline = deadline_.part(0.4)});
    if (steps == order.steps) return;
    const auto better = std::make_shared<const RowOrder>(order_of(std::move(steps), order));
    for (const stream::Form form : better->forms) place({from.streamed, better, form}, deadline_.part(0.2));
  }

  /// Places an attempt, and keeps it if its peak is lower than all before.
  void place(const Attempt& attempt, const Deadline& deadline) {
    place(attempt, deadline, options_.solve.strategy);
  }

  void place(const Attempt& attempt, const Deadline& deadline, const std::string& strategy) {
    note_end_of(deadline);
    if (is_done() || deadline.is_over()) return;
    auto placed =
        place_rows(*attempt.streamed, *attempt.order, attempt.form, {options_, strategy, around_, deadline});
    is_cut_ = is_cut_ || (placed ? placed->solution.interrupted : deadline.is_over());
    const bool is_cheaper =
        placed && best_ && placed->peak == peak_ && placed->recomputed < best_->recomputed;
    if (!placed || (placed->peak >= peak_ && !is_cheaper)) return;
    peak_ = placed->peak;
    best_ = std::move(placed);
    best_from_ = attempt;
  }

  /// For rings, the affine order. Else, for each count of row bytes, a searched order and its start.
  std::vector<RowOrder> orders_of(const RowNetwork& streamed, const Deadline& deadline) {
    using stream::Form;
    std::vector<RowOrder> orders;
    if (options_.stream->layout == StreamLayout::ring) {
      if (streamed.affine) {
        const RowOrder rings{.forms = {Form::rings}, .regions = streamed.affine->regions};
        orders.push_back(order_of(streamed.affine->steps, rings));
      }
      return orders;
    }
    const stream::RowProgram rounded =
        stream::unroll(streamed.model, {.alignment = alignment_, .deadline = deadline});
    if (deadline.is_over()) return orders;
    const bool is_rounded =
        !std::equal(rounded.granules.begin(), rounded.granules.end(), streamed.program.granules.begin(),
                    [](const auto& a, const auto& b) { return a.bytes == b.bytes; });
    std::vector<Form> forms{Form::granules};
    if (options_.stream->layout == StreamLayout::automatic)
      forms = {Form::rings, Form::tight_rings, Form::granules};
    const bool is_affine = streamed.affine && streamed.affine->peak <= streamed.regions.peak;
    const RowOrder by_bytes{.forms = std::move(forms),
                            .regions = is_affine ? streamed.affine->regions : streamed.regions.regions};
    add_orders(streamed.program, is_affine ? streamed.affine->steps : streamed.regions.steps, by_bytes,
               deadline.part(is_rounded ? 0.4 : 0.5), orders);
    if (is_rounded) {
      const stream::RegionOrder regions = stream::order_by_regions(rounded, work_on_regions, deadline);
      if (deadline.is_over()) return orders;
      const RowOrder by_granules{
          .forms = {Form::granules}, .regions = regions.regions, .counted_in = alignment_};
      add_orders(rounded, regions.steps, by_granules, deadline.part(0.3), orders);
    }
    return orders;
  }

  [[nodiscard]] double share_of_affine() const {
    return options_.stream->layout == StreamLayout::ring ? 0.6 : 0.1;
  }

  /// A load that is good enough for an order.
  [[nodiscard]] Bytes target() const { return std::max(bound_, capacity()); }
  [[nodiscard]] Bytes capacity() const { return options_.memories[0].capacity.value_or(0); }

  void add_orders(const stream::RowProgram& program, const std::vector<stream::IterationId>& steps,
                  const RowOrder& kind, const Deadline& deadline, std::vector<RowOrder>& orders) {
    const Bytes bound =
        stream::lower_bound(program, steps, {.most_cuts = most_cuts, .deadline = deadline.part(0.2)}).bytes;
    orders.push_back(order_of(
        stream::improve(program, steps, {.target = std::max(bound, target()), .deadline = deadline}), kind));
    is_order_cut_ = deadline.is_over();
    note_end_of(deadline);
    if (orders.back().steps != steps) orders.push_back(order_of(steps, kind));
  }

  /// An order with the other members of `kind`.
  static RowOrder order_of(std::vector<stream::IterationId> steps, const RowOrder& kind) {
    RowOrder order = kind;
    order.steps = std::move(steps);
    return order;
  }

  const Graph& graph_;
  const PlanOptions& options_;
  const Around& around_;
  const Deadline& deadline_;
  Bytes alignment_ = around_.alignment;
  WholeOperators whole_;
  /// Those that help, by how outputs lie over inputs and where the inputs are.
  std::map<std::pair<InPlace, Io>, stream::ChosenAxes> axes_{};
  Bytes bound_ = 0;
  Bytes peak_ = 0;  ///< The lowest so far, also of whole operators.
  bool is_cut_ = false;
  bool are_axes_cut_ = false;
  bool is_order_cut_ = false;  ///< The last search for an order of rows was truncated.
  std::optional<PlacedRows> best_{};
  std::optional<Attempt> best_from_{};
};

}  // namespace

FoundRows lowest_rows(const Graph& graph, const PlanOptions& options, const Around& around,
                      const Deadline& deadline, WholeOperators whole, Bytes peak,
                      std::optional<Attempt> last) {
  WaySearch planner(graph, options, around, deadline, std::move(whole));
  FoundRows found{.best = planner.run(peak, std::move(last))};
  found.from = planner.best_from();
  found.bound = planner.bound();
  found.is_cut = planner.is_cut_short();
  found.are_axes_cut = planner.are_axes_cut();
  return found;
}

}  // namespace stowage::plan
