// Orders are searched subgraph by subgraph, bodies before the operators that run them (order_model.cc,
// schedule/search.cc), in three aliasing modes:
//
//     all that may share does              its bound holds for every order, with any sharing
//     the same without the copies that a plan could not remove in the order found there
//     nothing shares
//
// If nothing may share, the bound of an order in which everything shares holds as well.
//
// Sharing tensors as a plan does then shows the load of an order. The choices are the orders with no more
// load than the network's own. Placing shows which of them packs best (networks.cc).
//
// If a body's order is not proven, its operator may need less by the gap, and the bound falls by it.

#include "plan/ordering.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "lifetime/lives.h"
#include "plan/order_model.h"
#include "plan/order_parts.h"
#include "schedule/search.h"
#include "stowage/problem.h"

namespace stowage::plan {
namespace {

using base::Deadline;
using schedule::Budget;
using schedule::Found;

/// Orders of all subgraphs, and results for the network.
struct Orders {
  std::vector<std::vector<std::size_t>> orders;
  Bytes bound = 0;
  std::int64_t states = 0;
};

class OrderFinder {
 public:
  OrderFinder(const NetworkFacts& network, const Deadline& deadline)
      : network_(network),
        graph_(network.graph()),
        model_(network.model()),
        deadline_(deadline),
        first_(deadline.part(0.7)),
        second_(deadline.part(0.85)),
        half_(deadline.part(0.5)) {}

  Ordering result() {
    const auto begin = deadline_.now();
    OrderSearch& search = result_.search;
    search.model = model_;
    result_.choices.push_back(network_.own());
    search.own_load = network_.own()->load;
    if (network_.alias() == Alias::none) {
      explore_apart();
    } else {
      explore_shared();
    }
    std::stable_sort(result_.choices.begin(), result_.choices.end(),
                     [](const SchedulePtr& a, const SchedulePtr& b) { return a->load < b->load; });
    search.load = result_.choices.front()->load;
    result_.is_cut_short = result_.is_cut_short && search.load > search.lower_bound;
    search.seconds = Deadline::Seconds(deadline_.now() - begin).count();
    return std::move(result_);
  }

 private:
  /// The result of an aliasing mode.
  struct Explored {
    Bytes bound = 0;
    Bytes load = 0;
    std::int64_t work = 0;
    std::vector<KeptCopy> kept{};  ///< In the order found.
  };

  void explore_shared() {
    const Explored explored = explore(everything_shared(), first_, unlimited);
    raise_bound(explored);
    const bool is_proven = explored.load == result_.search.lower_bound;
    if (!is_proven && !explored.kept.empty()) {
      SharingWorld world = everything_shared();
      for (const KeptCopy& kept : explored.kept) world.may_pass_on[kept.subgraph][kept.op] = false;
      explore(world, second_, unlimited);
    }
    explore(nothing_shared(), deadline_, is_proven ? std::max(explored.work, least_work) : unlimited);
  }

  /// The bound of orders in which everything shares holds here, too, and is easier to prove.
  void explore_apart() {
    raise_bound(explore(nothing_shared(), first_, quick_work));
    if (is_open()) raise_bound(explore(everything_shared(), half_, unlimited));
    if (is_open()) raise_bound(explore(nothing_shared(), deadline_, unlimited));
  }

  void raise_bound(const Explored& explored) {
    Bytes& bound = result_.search.lower_bound;
    bound = std::max(bound, std::min(explored.bound, result_.search.own_load));
  }

  [[nodiscard]] bool is_open() const {
    return std::all_of(result_.choices.begin(), result_.choices.end(),
                       [&](const SchedulePtr& choice) { return choice->load > result_.search.lower_bound; });
  }

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

  Explored explore(const SharingWorld& world, const Deadline& deadline, std::int64_t most_work) {
    Budget budget(deadline, most_work);
    const std::optional<Orders> orders = orders_in(world, budget);
    result_.is_cut_short = result_.is_cut_short || budget.is_over();
    if (!orders) return {.load = network_.own()->load};
    const SchedulePtr found = schedule_of(lifetime::clock_of(graph_, model_, orders->orders));
    result_.search.states += orders->states;
    return {orders->bound, found->load, budget.spent(), found->shares->kept};
  }

  /// Adds the order to the choices if its load is not above that of the own order.
  SchedulePtr schedule_of(Clock clock) {
    const auto is_it = [operators = lifetime::operators_of(clock)](const SchedulePtr& choice) {
      return choice->operators == operators;
    };
    const auto known = std::find_if(result_.choices.begin(), result_.choices.end(), is_it);
    if (known != result_.choices.end()) return *known;
    SchedulePtr schedule = network_.schedule_of(std::move(clock));
    if (schedule->load <= result_.search.own_load) result_.choices.push_back(schedule);
    return schedule;
  }

  /// Adds each body before the subgraphs that run it. The own order has been unfolded, so bodies are not
  /// nested too deeply.
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

  /// None if time is up before the search begins.
  std::optional<Orders> orders_in(const SharingWorld& world, Budget& budget) const {
    budget.look();
    if (budget.is_over()) return std::nullopt;
    const Bytes alignment = network_.buffer_options().alignment;
    const Parts parts = parts_of(graph_, network_.own()->operators, network_.residences(), world, alignment);
    OrderModels models(graph_, network_.residences(), parts,
                       {.alignment = alignment,
                        .may_overwrite = world.may_overwrite,
                        .keeps_state = network_.buffer_options().keeps_state});
    budget.look();
    if (budget.is_over()) return std::nullopt;
    Orders result;
    result.orders.resize(graph_.subgraphs.size());
    std::vector<Bytes> peaks(graph_.subgraphs.size(), 0);
    Bytes unproven = 0;  // bytes that bodies may need less
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

  const NetworkFacts& network_;
  const Graph& graph_;
  std::size_t model_;
  Deadline deadline_;
  Deadline first_;  ///< For the first mode, and so on.
  Deadline second_;
  Deadline half_;
  Ordering result_;
};

}  // namespace

Ordering ordering_of(const NetworkFacts& network, const Deadline& deadline) {
  return OrderFinder(network, deadline).result();
}

}  // namespace stowage::plan
