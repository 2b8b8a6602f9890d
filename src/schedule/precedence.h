#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/storage.h"

namespace stowage::schedule {

/// A set of operators, a bit for each.
using Set = std::vector<std::uint64_t>;

inline constexpr std::size_t set_word = 64;

[[nodiscard]] inline bool contains(std::span<const std::uint64_t> set, std::size_t op) {
  return (set[op / set_word] >> (op % set_word) & 1U) != 0;
}

inline void insert(std::span<std::uint64_t> set, std::size_t op) {
  set[op / set_word] |= std::uint64_t{1} << (op % set_word);
}

/// Calls with every operator of the set, in ascending order.
template <typename Function>
void for_each(std::span<const std::uint64_t> set, const Function& function) {
  for (std::size_t w = 0; w < set.size(); ++w) {
    for (std::uint64_t left = set[w]; left != 0; left &= left - 1)
      function(w * set_word + static_cast<std::size_t>(std::countr_zero(left)));
  }
}

/// Which operators run before which, and what follows from that: a bit for each pair, both ways.
class Precedence {
 public:
  explicit Precedence(const Storage& storage);

  [[nodiscard]] std::size_t operators() const { return operators_; }
  [[nodiscard]] std::size_t words() const { return words_; }
  [[nodiscard]] std::span<const std::uint64_t> before(std::size_t op) const { return row(before_, op); }
  [[nodiscard]] std::span<const std::uint64_t> after(std::size_t op) const { return row(after_, op); }
  /// All but the operator itself that run neither before nor after it for certain.
  [[nodiscard]] Set undecided(std::size_t op) const;

  /// False if `later` runs before `earlier`, so that no order can do both. Cost: operators^2 / 64 at most.
  [[nodiscard]] bool require(std::size_t earlier, std::size_t later);

  /// For each operator those before it from which the others follow.
  [[nodiscard]] std::vector<std::vector<std::size_t>> direct() const;

 private:
  [[nodiscard]] std::span<const std::uint64_t> row(const std::vector<std::uint64_t>& rows,
                                                   std::size_t op) const {
    return std::span(rows).subspan(op * words_, words_);
  }

  std::size_t operators_;
  std::size_t words_;
  std::vector<std::uint64_t> before_;  ///< A set for each operator.
  std::vector<std::uint64_t> after_;
};

}  // namespace stowage::schedule
