// Idea. Orders are looked for subgraph by subgraph, bodies before the operators that run them (order_model.cc,
// schedule/search.cc). What an order is worth is then seen by letting tensors share as they do in a plan:
//
//     the network's own order        load 9
//     the best one if all that may share does    needs 6 in theory, and has load 8 in fact
//     the best one if nothing shares             has load 7: taken
//
// The bound is that of the theory, which no sharing can fall below. Where a body's order is not proven, what
// its operator needs may be less by as much, and so is the bound.

#include "plan/ordering.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "alias/sharing.h"
#include "lifetime/keep_order.h"
#include "lifetime/residence.h"
#include "lifetime/uses.h"
#include "plan/order_model.h"
#include "plan/order_parts.h"
#include "schedule/search.h"
#include "stowage/problem.h"

namespace stowage::plan {
namespace {

using schedule::Budget;
using schedule::Found;

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
    const auto begin = Budget::Clock::now();
    Budget budget(end_after(begin), options_.stop);
    Ordering result{.clock = own_};
    OrderSearch& search = result.search;
    search.model = options_.buffers.model;
    search.own_load = search.load = load_of(own_);
    const Orders shared = orders_with(options_.alias, budget);
    search.lower_bound = std::min(shared.bound, search.own_load);
    search.states = shared.states;
    consider(shared, result);
    if (options_.alias != Alias::none && search.load > search.lower_bound) {
      const Orders apart = orders_with(Alias::none, budget);
      search.states += apart.states;
      consider(apart, result);
    }
    result.is_cut_short = budget.is_over() && search.load > search.lower_bound;
    search.seconds = std::chrono::duration<double>(Budget::Clock::now() - begin).count();
    return result;
  }

 private:
  [[nodiscard]] Budget::Clock::time_point end_after(Budget::Clock::time_point begin) const {
    constexpr std::chrono::duration<double> longest{1e6};
    return begin + std::chrono::duration_cast<Budget::Clock::duration>(std::min(options_.time_limit, longest));
  }

  void consider(const Orders& orders, Ordering& result) const {
    Clock clock = lifetime::clock_of(graph_, options_.buffers.model, orders.orders);
    const Bytes load = load_of(clock);
    if (load >= result.search.load) return;
    result.search.load = load;
    result.clock = std::move(clock);
    result.is_own = false;
  }

  /// The most live bytes when all that may share does.
  [[nodiscard]] Bytes load_of(const Clock& clock) const {
    const lifetime::Uses uses = lifetime::uses_of(graph_, clock);
    const alias::Sharing sharing = alias::share(graph_, clock, uses, residences_,
                                                {.alias = options_.alias,
                                                 .alignment = options_.buffers.alignment,
                                                 .apart = {},
                                                 .model = options_.buffers.model});
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

  Orders orders_with(Alias alias, Budget& budget) const {
    const Bytes alignment = options_.buffers.alignment;
    const Parts parts = parts_of(graph_, own_, residences_, alias, alignment);
    OrderModels models(graph_, residences_, parts,
                       {.alignment = alignment,
                        .may_overwrite = alias != Alias::none,
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
};

}  // namespace

Ordering ordering_of(const Graph& graph, const OrderingOptions& options) {
  return OrderFinder(graph, options).take();
}

}  // namespace stowage::plan
