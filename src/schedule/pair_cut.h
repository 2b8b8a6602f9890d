#pragma once

#include <cstddef>
#include <vector>

#include "base/max_flow.h"
#include "schedule/precedence.h"
#include "schedule/storage.h"

namespace stowage::schedule {

/// Operators in chains, in each of which all but the first wait for the one before, that one alone, which
/// leads nowhere else.
struct Chains {
  explicit Chains(const Storage& storage);

  Set heads;  ///< First operators.
  /// Per operator: the first of those from which one leads here along the chain that leave no more alive than
  /// there was. Of all sets with the least alive that have it, one has both.
  std::vector<std::size_t> leaders;
};

/// The cut around an operator (cuts.cc), where more precedes than operators wait for; and what it costs more
/// if another operator has run before, or has not. What is given must outlive it.
class PairCut {
 public:
  /// `direct` is of the precedence, now or before. Only heads may have been required to wait.
  PairCut(const Storage& storage, const Chains& chains, const Precedence& precedence,
          const std::vector<std::vector<std::size_t>>& direct)
      : storage_(storage), chains_(chains), precedence_(precedence), direct_(direct) {}

  /// The least bytes alive when the operator begins, without what it writes over; or more than enough.
  Bytes least_alive(std::size_t op, const std::vector<std::size_t>* overwritten, Bytes enough);

  /// What it is more if another operator, its own leader, has run before, or has not; or more than enough.
  Bytes with(std::size_t other, Bytes enough) { return flow_.send(nodes_[other], sink, enough); }
  Bytes without(std::size_t other, Bytes enough) { return flow_.send(source, nodes_[other], enough); }

  /// The executed operators of the cut that was looked for last: the fewest, and the most.
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
  std::vector<std::size_t> nodes_;  ///< Per operator: in the network.
  std::vector<std::size_t> readers_;
};

}  // namespace stowage::schedule
