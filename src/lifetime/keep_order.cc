#include "lifetime/keep_order.h"

#include <fmt/format.h>

#include "stowage/error.h"

namespace stowage::lifetime {
namespace {

/// Bodies that run bodies can unfold to exponentially many steps; this many path entries are
/// about 100 MB.
constexpr std::size_t most_path_entries = 4'000'000;
constexpr std::size_t longest_path = 1'000;

class Unfolding {
 public:
  Unfolding(const Graph& graph, std::size_t model, const std::vector<std::vector<std::size_t>>& orders)
      : graph_(graph), model_(model), orders_(orders) {}

  void add(std::size_t subgraph) {
    if (path_.size() > longest_path)
      throw Error(fmt::format("subgraph {}", subgraph), "bodies are nested too deeply");
    for (const std::size_t o : orders_[subgraph]) {
      const Operator& op = graph_.subgraphs[subgraph].operators[o];
      if (op.folded) continue;
      path_.push_back(subgraph);
      path_.push_back(o);
      path_entries_ += path_.size();
      if (path_entries_ > most_path_entries) {
        throw Error(describe(graph_, subgraph, o),
                    fmt::format("unfolds to more than {} path entries", most_path_entries));
      }
      clock_.steps.emplace_back(Run{model_, path_, std::nullopt});
      for (const std::size_t body : op.bodies) add(body);
      path_.resize(path_.size() - 2);
    }
  }

  [[nodiscard]] Clock take() { return std::move(clock_); }

 private:
  const Graph& graph_;
  std::size_t model_;
  const std::vector<std::vector<std::size_t>>& orders_;
  std::vector<std::size_t> path_;
  std::size_t path_entries_ = 0;
  Clock clock_;
};

}  // namespace

Clock keep_order(const Graph& graph, std::size_t model) {
  return clock_of(graph, model, topological_orders(graph));
}

Clock clock_of(const Graph& graph, std::size_t model, const std::vector<std::vector<std::size_t>>& orders) {
  Unfolding unfolding(graph, model, orders);
  unfolding.add(0);
  return unfolding.take();
}

}  // namespace stowage::lifetime
