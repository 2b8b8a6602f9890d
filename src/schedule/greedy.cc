#include "schedule/greedy.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <tuple>
#include <utility>

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

/// Of the operators that are ready, always the one that has been so for longest, or shortest.
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

/// An operator is put in front of all that wait for it, when they are in the order.
Order reverse_post_order(const Storage& storage, const Lists& followers) {
  std::vector<bool> seen(storage.operators(), false);
  Order order;
  std::vector<std::pair<std::size_t, std::size_t>> open;  // an operator, and how many followers were visited
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

}  // namespace stowage::schedule
