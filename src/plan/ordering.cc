// Idea. Orders are looked for subgraph by subgraph, bodies before the operators that run them
// (order_model.cc, schedule/search.cc), in three worlds:
//
//     all that may share does              its bound holds for every order, whatever shares
//     the same without the copies that a plan could not remove in the order found there
//     nothing shares
//
// Where nothing may share, what all of it needs when everything does is a bound as well.
//
// What an order is worth is then seen by letting tensors share as they do in a plan. The choices are the
// orders of no more load than the network's own; which of them packs best shows when they are placed
// (orders.cc).
//
// Where a body's order is not proven, what its operator needs may be less by as much, and so is the bound.

#include "plan/ordering.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "alias/sharing.h"
#include "lifetime/keep_order.h"
#include "lifetime/residence.h"
#include "lifetime/uses.h"
#include "plan/networks.h"
#include "plan/order_model.h"
#include "plan/order_parts.h"
#include "schedule/search.h"
#include "stowage/problem.h"

namespace stowage::plan {
namespace {

using schedule::Budget;
using schedule::Found;

alias::Sharing sharing_in(const Graph& graph, const Clock& clock, const lifetime::Uses& uses,
                          const std::vector<lifetime::Residence>& residences,
                          const OrderingOptions& options) {
  return alias::share(graph, clock, uses, residences,
                      {.alias = options.alias,
                       .alignment = options.buffers.alignment,
                       .apart = {},
                       .model = options.buffers.model});
}

/// Orders of all subgraphs, and what is known of the network's.
struct Orders {
  std::vector<std::vector<std::size_t>> orders;
  Bytes bound = 0;
  std::int64_t states = 0;
};

class OrderFinder {
 public:
  OrderFinder(const Graph& graph, const OrderingOptions& options)
      : graph_(graph),
        options_(options),
        own_(lifetime::keep_order(graph, options.buffers.model)),
        uses_(lifetime::uses_of(graph, own_)),
        residences_(lifetime::residences_of(graph, uses_, options.io)) {}

  Ordering take() {
    begin_ = Budget::Clock::now();
    OrderSearch& search = result_.search;
    search.model = options_.buffers.model;
    result_.own = {own_, load_of(own_, shared_in(own_))};
    result_.choices.push_back(result_.own);
    search.own_load = result_.own.load;
    if (options_.alias == Alias::none) {
      explore_apart();
    } else {
      explore_shared();
    }
    std::stable_sort(result_.choices.begin(), result_.choices.end(),
                     [](const OrderedSteps& a, const OrderedSteps& b) { return a.load < b.load; });
    search.load = result_.choices.front().load;
    result_.is_cut_short = result_.is_cut_short && search.load > search.lower_bound;
    search.seconds = std::chrono::duration<double>(Budget::Clock::now() - begin_).count();
    return std::move(result_);
  }

 private:
  /// What came of a world.
  struct Explored {
    Bytes bound = 0;
    Bytes load = 0;
    std::int64_t work = 0;
    std::vector<KeptCopy> kept;  ///< In the order found.
  };

  void explore_shared() {
    const Explored explored = explore(everything_shared(), first_share, unlimited);
    raise_bound(explored);
    const bool is_proven = explored.load == result_.search.lower_bound;
    if (!is_proven && !explored.kept.empty()) {
      SharingWorld world = everything_shared();
      for (const KeptCopy& kept : explored.kept) world.may_pass_on[kept.subgraph][kept.op] = false;
      explore(world, second_share, unlimited);
    }
    explore(nothing_shared(), 1, is_proven ? std::max(explored.work, least_work) : unlimited);
  }

  /// What an order needs when everything shares is a bound here, too, and is easier to prove.
  void explore_apart() {
    raise_bound(explore(nothing_shared(), first_share, quick_work));
    if (is_open()) raise_bound(explore(everything_shared(), half, unlimited));
    if (is_open()) raise_bound(explore(nothing_shared(), 1, unlimited));
  }

  void raise_bound(const Explored& explored) {
    Bytes& bound = result_.search.lower_bound;
    bound = std::max(bound, std::min(explored.bound, result_.search.own_load));
  }

  [[nodiscard]] bool is_open() const {
    return std::all_of(result_.choices.begin(), result_.choices.end(),
                       [&](const OrderedSteps& choice) { return choice.load > result_.search.lower_bound; });
  }

  /// Of the time that there is, up to when a world may be explored.
  static constexpr double first_share = 0.7;
  static constexpr double second_share = 0.85;
  static constexpr double half = 0.5;
  static constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t least_work = 300'000;
  static constexpr std::int64_t quick_work = 3'000'000;

  [[nodiscard]] SharingWorld world_where(bool may_share) const {
    SharingWorld world{.may_overwrite = may_share, .may_pass_on = {}};
    for (const Subgraph& subgraph : graph_.subgraphs)
      world.may_pass_on.emplace_back(subgraph.operators.size(), may_share);
    return world;
  }
  [[nodiscard]] SharingWorld everything_shared() const { return world_where(true); }
  [[nodiscard]] SharingWorld nothing_shared() const { return world_where(false); }

  Explored explore(const SharingWorld& world, double share, std::int64_t most_work) {
    constexpr std::chrono::duration<double> longest{1e6};
    const auto time = std::min(options_.time_limit, longest) * share;
    Budget budget(begin_ + std::chrono::duration_cast<Budget::Clock::duration>(time), options_.stop,
                  most_work);
    const Orders orders = orders_in(world, budget);
    Clock clock = lifetime::clock_of(graph_, options_.buffers.model, orders.orders);
    alias::Sharing sharing = shared_in(clock);
    const Bytes load = load_of(clock, sharing);
    const auto is_known = [&](const OrderedSteps& choice) { return choice.clock == clock; };
    if (load <= result_.search.own_load &&
        std::none_of(result_.choices.begin(), result_.choices.end(), is_known))
      result_.choices.push_back({std::move(clock), load});
    result_.search.states += orders.states;
    result_.is_cut_short = result_.is_cut_short || budget.is_over();
    return {orders.bound, load, budget.spent(), std::move(sharing.kept)};
  }

  [[nodiscard]] alias::Sharing shared_in(const Clock& clock) const {
    return sharing_in(graph_, clock, lifetime::uses_of(graph_, clock), residences_, options_);
  }

  /// The most live bytes when all that may share does.
  [[nodiscard]] Bytes load_of(const Clock& clock, const alias::Sharing& sharing) const {
    const lifetime::Uses uses = lifetime::uses_of(graph_, clock);
    return max_load(alias::buffers_of(graph_, uses, sharing, options_.buffers).buffers);
  }

  /// Every body before the subgraphs whose operators run it. The own order has been unfolded, so bodies
  /// are not nested too deeply.
  void add_bodies_first(std::size_t subgraph, std::vector<bool>& seen,
                        std::vector<std::size_t>& subgraphs) const {
    if (seen[subgraph]) return;
    seen[subgraph] = true;
    for (const Operator& op : graph_.subgraphs[subgraph].operators) {
      if (op.folded) continue;
      for (const std::size_t body : op.bodies) add_bodies_first(body, seen, subgraphs);
    }
    subgraphs.push_back(subgraph);
  }

  Orders orders_in(const SharingWorld& world, Budget& budget) const {
    const Bytes alignment = options_.buffers.alignment;
    const Parts parts = parts_of(graph_, own_, residences_, world, alignment);
    OrderModels models(graph_, residences_, parts,
                       {.alignment = alignment,
                        .may_overwrite = world.may_overwrite,
                        .keeps_state = options_.buffers.keeps_state});
    Orders result;
    result.orders.resize(graph_.subgraphs.size());
    std::vector<Bytes> peaks(graph_.subgraphs.size(), 0);
    Bytes unproven = 0;  // that bodies may need less
    std::vector<bool> seen(graph_.subgraphs.size(), false);
    std::vector<std::size_t> subgraphs;
    add_bodies_first(0, seen, subgraphs);
    for (const std::size_t subgraph : subgraphs) {
      const OrderModel model = models.model_of(subgraph, peaks);
      const Found found = schedule::find_order(model.storage, model.own, budget);
      for (const std::size_t op : found.order) result.orders[subgraph].push_back(model.operators[op]);
      peaks[subgraph] = found.peak;
      result.states += found.states;
      result.bound = std::max<Bytes>(found.bound - unproven, 0);
      unproven = std::max(unproven, found.peak - result.bound);
    }
    return result;
  }

  const Graph& graph_;
  const OrderingOptions& options_;
  Clock own_;
  lifetime::Uses uses_;
  std::vector<lifetime::Residence> residences_;
  Budget::Clock::time_point begin_;
  Ordering result_;
};

}  // namespace

OrderingOptions ordering_options_of(const Input& input, std::size_t model, const PlanOptions& options) {
  return {.io = options.io,
          .alias = options.alias,
          .buffers = buffer_options_of(input, model, options),
          .time_limit = {},
          .stop = {}};
}

std::vector<Bytes> loads_of(const Graph& graph, const Clock& clock, const OrderingOptions& options) {
  const lifetime::Uses uses = lifetime::uses_of(graph, clock);
  const auto residences = lifetime::residences_of(graph, uses, options.io);
  const alias::Sharing sharing = sharing_in(graph, clock, uses, residences, options);
  std::vector<Bytes> loads(clock.steps.size() + 1, 0);  // first what changes, then what is there
  for (const Buffer& buffer : alias::buffers_of(graph, uses, sharing, options.buffers).buffers) {
    for (const Piece& piece : buffer.pieces) {
      loads[static_cast<std::size_t>(piece.life.lower)] += piece.size;
      loads[static_cast<std::size_t>(piece.life.upper)] -= piece.size;
    }
  }
  std::partial_sum(loads.begin(), loads.end(), loads.begin());
  loads.pop_back();
  return loads;
}

Ordering ordering_of(const Graph& graph, const OrderingOptions& options) {
  return OrderFinder(graph, options).take();
}

}  // namespace stowage::plan
