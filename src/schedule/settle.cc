// Idea. Let S be the executed set and S' a larger one that can be reached from it within the capacity,
// with no more bytes alive, and let no set between them have fewer bytes alive than S'. Then
// going to S' at once loses nothing:
//
//     an order that completes S      S  a x b y c ..        x y lead from S to S'
//     the same after x y             S  x y a b c ..
//
// Bytes alive are submodular in the executed set: with T what the first order had executed before some step,
// live(T and S') + live(T or S') <= live(T) + live(S'), and T and S' is between S and S', so it has
// no fewer bytes alive than S': every step of the second order finds at most as many alive as in the first.
// Nor does its operator add more: what it writes, it writes in both; what it may write over has lost readers,
// not won any.
//
//     alive
//      |   _/\_
//      | S/    \__ S'
//      +-----------> executed
//
// In a chain each operator waits for the one before. The sets between S and the end of a chain are the chain's
// beginnings. So a chain is followed until it is no higher than where it began: all sets between are. A single
// operator is a chain of one.
//
// Source: the commits are ours; that live bytes are submodular is used by Kayaaslan et al., "Scheduling
// series-parallel task graphs to minimize peak memory" (2018), too.

#include "schedule/settle.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace stowage::schedule {
namespace {

class Settler {
 public:
  Settler(Executed& executed, Bytes capacity, Bytes& rejected, Budget& budget)
      : executed_(executed), capacity_(capacity), rejected_(rejected), budget_(budget) {}

  void settle() {
    while (run_one() || run_chain()) {
    }
  }

 private:
  [[nodiscard]] bool fits(const Effect& effect) {
    if (effect.during <= capacity_) return true;
    rejected_ = std::min(rejected_, effect.during);
    return false;
  }

  /// Runs an operator that leaves no more alive than there was.
  bool run_one() {
    std::optional<std::size_t> best;
    Bytes least = 0;
    for (const std::size_t op : executed_.ready()) {
      const Effect effect = executed_.effect_of(op);
      if (effect.after > executed_.live() || !fits(effect)) continue;
      if (!best || effect.after < least || (effect.after == least && op < *best)) {
        best = op;
        least = effect.after;
      }
    }
    budget_.spend(static_cast<std::int64_t>(executed_.ready().size()));
    if (best) executed_.run(*best);
    return best.has_value();
  }

  /// Runs a chain that leads to where no more is alive than now.
  bool run_chain() {
    std::vector<std::size_t> heads(executed_.ready().begin(), executed_.ready().end());
    std::sort(heads.begin(), heads.end());
    return std::any_of(heads.begin(), heads.end(), [&](std::size_t head) {
      if (!fits(executed_.effect_of(head))) return false;
      const std::size_t depth = executed_.sequence().size();
      if (follow_chain(head)) return true;
      undo_to(depth);
      return false;
    });
  }

  void undo_to(std::size_t depth) {
    while (executed_.sequence().size() > depth) executed_.undo();
  }

  /// Each operator is one that the last one made ready.
  bool follow_chain(std::size_t head) {
    const Bytes live = executed_.live();
    for (std::optional<std::size_t> next = head; next;) {
      const std::size_t known = executed_.ready().size() - 1;
      executed_.run(*next);
      if (executed_.live() <= live) return true;
      next = least_of(executed_.ready().subspan(known));
    }
    return false;
  }

  /// The operator that leaves least alive, of those that fit.
  std::optional<std::size_t> least_of(std::span<const std::size_t> operators) {
    std::optional<std::size_t> best;
    Bytes least = 0;
    for (const std::size_t op : operators) {
      const Effect effect = executed_.effect_of(op);
      if (!fits(effect)) continue;
      if (!best || effect.after < least || (effect.after == least && op < *best)) {
        best = op;
        least = effect.after;
      }
    }
    budget_.spend(static_cast<std::int64_t>(operators.size()) + 1);
    return best;
  }

  Executed& executed_;
  Bytes capacity_;
  Bytes& rejected_;
  Budget& budget_;
};

}  // namespace

void settle(Executed& executed, Bytes capacity, Bytes& rejected, Budget& budget) {
  Settler(executed, capacity, rejected, budget).settle();
}

}  // namespace stowage::schedule
