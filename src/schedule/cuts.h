#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/max_flow.h"
#include "schedule/budget.h"
#include "schedule/storage.h"

namespace stowage::schedule {

/// The bytes that an operator's step needs in every order; see cuts.cc.
[[nodiscard]] Bytes least_load(const Storage& storage, std::size_t op);

/// No order has a smaller peak. The better the given order is, the fewer cuts are computed.
[[nodiscard]] Bytes bound_by_cuts(const Storage& storage, std::span<const std::size_t> order, Budget& budget);

/// A set of operators, a bit for each.
using Set = std::vector<std::uint64_t>;

inline constexpr std::size_t set_word = 64;

[[nodiscard]] inline bool contains(std::span<const std::uint64_t> set, std::size_t op) {
  return (set[op / set_word] >> (op % set_word) & 1U) != 0;
}

inline void insert(std::span<std::uint64_t> set, std::size_t op) {
  set[op / set_word] |= std::uint64_t{1} << (op % set_word);
}

/// Calls the function with every operator of the set, in ascending order.
template <typename Function>
void for_each(std::span<const std::uint64_t> set, const Function& function) {
  for (std::size_t w = 0; w < set.size(); ++w) {
    for (std::uint64_t left = set[w]; left != 0; left &= left - 1)
      function(w * set_word + static_cast<std::size_t>(std::countr_zero(left)));
  }
}

/// The order between operators and its consequences: a bit for each pair, both ways.
class Precedence {
 public:
  explicit Precedence(const Storage& storage);

  [[nodiscard]] std::size_t operators() const { return operators_; }
  [[nodiscard]] std::size_t words() const { return words_; }
  [[nodiscard]] std::span<const std::uint64_t> before(std::size_t op) const { return row(before_, op); }
  [[nodiscard]] std::span<const std::uint64_t> after(std::size_t op) const { return row(after_, op); }
  /// The operators that may run before or after it, without itself.
  [[nodiscard]] Set undecided(std::size_t op) const;

  /// False if `later` runs before `earlier`, so that no order satisfies both. Cost: operators^2 / 64 at most.
  [[nodiscard]] bool require(std::size_t earlier, std::size_t later);

  /// For each operator the least set of earlier ones that implies the others.
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

/// Operators in chains. Each operator except the first waits only for the one before it, which has no other
/// follower.
struct Chains {
  explicit Chains(const Storage& storage);

  Set heads;  ///< First operators.
  /// Per operator: the first operator from which the chain leads here while every later one leaves no more
  /// bytes alive than before it. Of all sets with the fewest live bytes that contain it, one contains both.
  std::vector<std::size_t> leaders;
};

/// The cut around an operator (cuts.cc), with more precedence than `waits_for`; and its additional cost if
/// another operator has run before, or has not. All arguments must outlive it.
class PairCut {
 public:
  /// `direct` is of the precedence, now or earlier. Only heads may have got new predecessors.
  PairCut(const Storage& storage, const Chains& chains, const Precedence& precedence,
          const std::vector<std::vector<std::size_t>>& direct)
      : storage_(storage), chains_(chains), precedence_(precedence), direct_(direct) {}

  /// The fewest live bytes when the operator begins, without those it writes over; or more than enough.
  Bytes least_alive(std::size_t op, const std::vector<std::size_t>* overwritten, Bytes enough);

  /// The additional bytes if another operator, its own leader, has run before, or has not; or too many.
  Bytes with(std::size_t other, Bytes enough) { return flow_.send(nodes_[other], sink, enough); }
  Bytes without(std::size_t other, Bytes enough) { return flow_.send(source, nodes_[other], enough); }

  /// The executed operators of the last cut: the smallest set, and the largest.
  [[nodiscard]] Set fewest() const;
  [[nodiscard]] Set most() const;

  [[nodiscard]] const std::vector<Bytes>& sent() const { return flow_.sent(); }
  void go_back_to(const std::vector<Bytes>& sent) { flow_.go_back_to(sent); }

 private:
  static constexpr std::size_t source = 0;
  static constexpr std::size_t sink = 1;

  [[nodiscard]] bool is_open(std::size_t op) const { return nodes_[op] > sink; }
  template <typename IsIn>
  [[nodiscard]] Set executed(const IsIn& is_in) const;
  void add_value(const Value& value, bool is_free);

  const Storage& storage_;
  const Chains& chains_;
  const Precedence& precedence_;
  const std::vector<std::vector<std::size_t>>& direct_;
  base::FlowNetwork flow_;
  std::size_t op_ = 0;
  std::vector<std::size_t> nodes_;  ///< Per operator its node in the network.
  std::vector<std::size_t> readers_;
};

}  // namespace stowage::schedule
