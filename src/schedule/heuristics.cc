// Orders found without a proof: greedy ones, and a beam of sets of executed operators. The beam has its own
// explanation below.

#include "schedule/heuristics.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <tuple>
#include <utility>
#include <vector>

#include "schedule/executed.h"

namespace stowage::schedule {
namespace {

using Lists = std::vector<std::vector<std::size_t>>;

Lists followers_of(const Storage& storage) {
  Lists followers(storage.operators());
  for (std::size_t op = 0; op < storage.operators(); ++op) {
    for (const std::size_t earlier : storage.waits_for[op]) followers[earlier].push_back(op);
  }
  return followers;
}

enum class Take : std::uint8_t { oldest, newest };

/// Always takes the operator that has been ready for the longest, or the shortest, time.
Order by_age(const Storage& storage, const Lists& followers, Take take) {
  std::vector<std::size_t> missing;
  std::deque<std::size_t> ready;
  for (std::size_t op = 0; op < storage.operators(); ++op) {
    missing.push_back(storage.waits_for[op].size());
    if (missing[op] == 0) ready.push_back(op);
  }
  if (take == Take::newest) std::reverse(ready.begin(), ready.end());
  Order order;
  while (!ready.empty()) {
    const std::size_t op = take == Take::oldest ? ready.front() : ready.back();
    take == Take::oldest ? ready.pop_front() : ready.pop_back();
    order.push_back(op);
    for (const std::size_t later : followers[op]) {
      if (--missing[later] == 0) ready.push_back(later);
    }
  }
  return order;
}

/// Puts an operator before all that wait for it, once those are in the order.
Order reverse_post_order(const Storage& storage, const Lists& followers) {
  std::vector<bool> seen(storage.operators(), false);
  Order order;
  std::vector<std::pair<std::size_t, std::size_t>> open;  // an operator, and the number of visited followers
  for (std::size_t root = 0; root < storage.operators(); ++root) {
    if (seen[root]) continue;
    seen[root] = true;
    open.emplace_back(root, 0);
    while (!open.empty()) {
      auto& [op, visited] = open.back();
      if (visited == followers[op].size()) {
        order.push_back(op);
        open.pop_back();
        continue;
      }
      const std::size_t next = followers[op][visited++];
      if (!seen[next]) open.emplace_back(next, 0);
      seen[next] = true;
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

Order least_alive(const Storage& storage, Direction direction) {
  Executed executed(storage, direction);
  while (!executed.is_complete()) {
    const auto rank = [&](std::size_t op) {
      const Effect effect = executed.effect_of(op);
      return std::tuple(effect.after, effect.during, op);
    };
    const auto ready = executed.ready();
    executed.run(*std::min_element(ready.begin(), ready.end(),
                                   [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); }));
  }
  return executed.order();
}

}  // namespace

std::vector<Order> greedy_orders(const Storage& storage) {
  const Lists followers = followers_of(storage);
  return {by_age(storage, followers, Take::oldest), by_age(storage, followers, Take::newest),
          reverse_post_order(storage, followers), least_alive(storage, Direction::forward),
          least_alive(storage, Direction::backward)};
}

// If the sets of executed operators are too many to examine all (decide.cc), examine those with the
// fewest live bytes, a certain number for each number of executed operators:
//
//     executed   1      2      3      4
//                o ---- o ---- o ---- o     kept
//                 `---- o      o  ...
//                       x      x            dropped
//
// When a set is examined, the operators that lose nothing follow (`settle`). Sets form a tree: each knows its
// parent and the operators between. Moving from one to another goes back to their common ancestor. Cost:
// width * operators * ready operators, and the paths between.

namespace {

class Beam {
 public:
  Beam(const Storage& storage, Direction direction, Bytes capacity, std::size_t width, Budget& budget)
      : executed_(storage, direction), capacity_(capacity), width_(width), budget_(budget) {}

  std::optional<Order> search() {
    settle(executed_, capacity_, rejected_, budget_);
    nodes_.push_back({.sequence = sequence_from(0), .depth = executed_.sequence().size()});
    levels_.resize(executed_.operators() + 1);
    levels_[nodes_[0].depth].push_back(0);
    for (std::size_t depth = nodes_[0].depth; depth < executed_.operators(); ++depth) {
      std::vector<std::size_t> best = std::move(levels_[depth]);
      keep_best(best, width_);
      std::sort(best.begin(), best.end());  // neighbours share most of their paths
      for (const std::size_t node : best) {
        if (budget_.is_over()) return std::nullopt;
        go_to(node);
        if (is_settled(node)) expand();
      }
    }
    if (levels_.back().empty()) return std::nullopt;
    go_to(levels_.back().front());
    return executed_.order();
  }

 private:
  struct Node {
    std::size_t parent = 0;
    std::vector<std::size_t> sequence;  ///< Operators executed since the parent.
    std::size_t depth = 0;              ///< The number of executed operators.
    Bytes live = 0;
    std::uint64_t hash = 0;
  };

  [[nodiscard]] std::vector<std::size_t> sequence_from(std::size_t depth) const {
    const auto sequence = executed_.sequence().subspan(depth);
    return {sequence.begin(), sequence.end()};
  }

  /// Keeps the sets with the fewest live bytes, each once, and drops the others.
  void keep_best(std::vector<std::size_t>& level, std::size_t count) {
    std::sort(level.begin(), level.end(), [&](std::size_t a, std::size_t b) {
      const Node& left = nodes_[a];
      const Node& right = nodes_[b];
      if (left.live != right.live) return left.live < right.live;
      return left.hash != right.hash ? left.hash < right.hash : a < b;
    });
    std::vector<std::size_t> best;
    for (const std::size_t node : level) {
      const bool is_known = !best.empty() && nodes_[best.back()].hash == nodes_[node].hash;
      (is_known || best.size() == count ? free_ : best).push_back(node);
    }
    level = std::move(best);
  }

  void add(Node node) {
    const std::size_t depth = node.depth;
    std::size_t index = nodes_.size();
    if (free_.empty()) {
      nodes_.push_back(std::move(node));
    } else {
      index = free_.back();
      free_.pop_back();
      nodes_[index] = std::move(node);
    }
    levels_[depth].push_back(index);
    if (levels_[depth].size() > 8 * width_) keep_best(levels_[depth], 4 * width_);
  }

  void undo_to(std::size_t depth) {
    while (executed_.sequence().size() > depth) executed_.undo();
  }

  void go_to(std::size_t target) {
    std::vector<std::size_t> way;
    std::size_t from = at_;
    for (std::size_t to = target; from != to;) {
      if (nodes_[from].depth >= nodes_[to].depth) {
        from = nodes_[from].parent;
      } else {
        way.push_back(to);
        to = nodes_[to].parent;
      }
    }
    undo_to(nodes_[from].depth);
    for (; !way.empty(); way.pop_back()) {
      for (const std::size_t op : nodes_[way.back()].sequence) executed_.run(op);
    }
    at_ = target;
  }

  /// Executes operators that lose nothing, which moves the set to a level of more operators.
  bool is_settled(std::size_t node) {
    const std::size_t depth = executed_.sequence().size();
    settle(executed_, capacity_, rejected_, budget_);
    if (executed_.sequence().size() == depth) return true;
    const auto more = executed_.sequence().subspan(depth);
    nodes_[node].sequence.insert(nodes_[node].sequence.end(), more.begin(), more.end());
    nodes_[node].depth = executed_.sequence().size();
    nodes_[node].live = executed_.live();
    nodes_[node].hash = executed_.hash();
    levels_[nodes_[node].depth].push_back(node);
    at_ = nodes_[node].parent;  // the node may be dropped at its new level
    undo_to(nodes_[at_].depth);
    return false;
  }

  void expand() {
    const std::size_t depth = executed_.sequence().size();
    std::vector<std::size_t> ready(executed_.ready().begin(), executed_.ready().end());
    std::sort(ready.begin(), ready.end());
    budget_.spend(static_cast<std::int64_t>(ready.size()));
    for (const std::size_t op : ready) {
      if (executed_.effect_of(op).during > capacity_) continue;
      executed_.run(op);
      add({.parent = at_,
           .sequence = sequence_from(depth),
           .depth = executed_.sequence().size(),
           .live = executed_.live(),
           .hash = executed_.hash()});
      undo_to(depth);
    }
  }

  Executed executed_;
  Bytes capacity_;
  Bytes rejected_ = largest_value;
  std::size_t width_;
  Budget& budget_;
  std::vector<Node> nodes_;
  std::vector<std::size_t> free_;                 ///< Nodes of dropped sets; none has children.
  std::vector<std::vector<std::size_t>> levels_;  ///< Nodes by the number of executed operators.
  std::size_t at_ = 0;                            ///< The node of the present state of `executed_`.
};

}  // namespace

std::optional<Order> beam(const Storage& storage, Direction direction, Bytes capacity, std::size_t width,
                          Budget& budget) {
  return Beam(storage, direction, capacity, width, budget).search();
}

}  // namespace stowage::schedule
