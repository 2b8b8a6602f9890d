#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

namespace stowage::base {

/// Disjoint sets of 0 to n - 1, each represented by a member; at first each member is alone. Cost of an
/// operation: log n amortised, by path halving.
class UnionFind {
 public:
  explicit UnionFind(std::size_t n) : parents_(n) {
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
  }

  /// The representative of the member's set.
  [[nodiscard]] std::size_t find(std::size_t member) {
    while (parents_[member] != member) member = parents_[member] = parents_[parents_[member]];
    return member;
  }

  /// Joins two sets; the representative of b's set represents the result and is returned.
  std::size_t join(std::size_t a, std::size_t b) {
    b = find(b);
    return parents_[find(a)] = b;
  }

 private:
  std::vector<std::size_t> parents_;
};

}  // namespace stowage::base
