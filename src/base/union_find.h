#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

namespace stowage::base {

/// Disjoint sets of 0 to n - 1, each known by one of its members; at first each is alone. Cost of a look:
/// log n amortised, by halving paths.
class UnionFind {
 public:
  explicit UnionFind(std::size_t n) : parents_(n) {
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
  }

  /// The member by which its set is known.
  [[nodiscard]] std::size_t find(std::size_t member) {
    while (parents_[member] != member) member = parents_[member] = parents_[parents_[member]];
    return member;
  }

  /// Makes one set of two, known by the member that b's was known by; returns it.
  std::size_t join(std::size_t a, std::size_t b) {
    b = find(b);
    return parents_[find(a)] = b;
  }

 private:
  std::vector<std::size_t> parents_;
};

}  // namespace stowage::base
