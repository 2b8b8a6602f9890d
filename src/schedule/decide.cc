// The future of an order depends on the set of operators executed so far, not on their sequence. So the
// question "is there an order within the capacity?" becomes a search for a path to the full set in a graph of
// sets, by steps within the capacity:
//
//     {} -> a -> ab -> abc -> ..           a step that needs too much is rejected
//        -> b -> ab (been there)           a set that was examined is not examined again
//
// The search is depth first and takes the operator that leaves the fewest live bytes first: if an order
// exists it is found soon. If none exists, all reachable sets have been examined, and the smallest rejected
// step is a bound: any smaller capacity rejects the same steps again. After each operator follow those that
// lose nothing (executed.cc), which leaves few sets to choose in. Symmetric sets count as one (symmetry.cc).
//
// Cost: operators * ready operators per set; one bit per operator and set. Source: Ahn et al., "Ordering
// chaos: memory-aware scheduling of irregularly wired neural networks for edge devices" (2020), for the sets;
// commits and bounds from rejections are ours.

#include "schedule/decide.h"

#include <algorithm>
#include <vector>

#include "schedule/executed.h"

namespace stowage::schedule {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 29;  ///< For sets.

class StateSearch {
 public:
  StateSearch(const Storage& storage, Symmetry& symmetry, Direction direction, Bytes capacity,
              std::int64_t most_states, Budget& budget)
      : executed_(storage, direction),
        symmetry_(symmetry),
        seen_(executed_.bits().size()),
        capacity_(capacity),
        most_states_(most_states),
        budget_(budget) {}

  Decision decide() {
    open_set();
    while (!frames_.empty() && !executed_.is_complete()) {
      if (is_too_much()) return {.states = states()};
      Frame& frame = frames_.back();
      if (frame.next == frame.choices.size()) {
        while (executed_.sequence().size() > frame.depth) executed_.undo();
        frames_.pop_back();
        continue;
      }
      const std::size_t depth = executed_.sequence().size();
      executed_.run(frame.choices[frame.next++].op);
      settle(executed_, capacity_, rejected_, budget_);
      if (is_new()) {
        open_set_from(depth);
      } else {
        while (executed_.sequence().size() > depth) executed_.undo();
      }
    }
    if (executed_.is_complete()) return {.order = executed_.order(), .states = states()};
    return {.bound = rejected_, .states = states()};
  }

 private:
  struct Choice {
    Effect effect;
    std::size_t op = 0;

    bool operator<(const Choice& other) const {
      if (effect.after != other.effect.after) return effect.after < other.effect.after;
      if (effect.during != other.effect.during) return effect.during < other.effect.during;
      return op < other.op;
    }
  };
  /// A set on the path to the present one, and the choices that may follow it.
  struct Frame {
    std::size_t depth = 0;  ///< Operators executed before those that led here.
    std::vector<Choice> choices;
    std::size_t next = 0;
  };

  [[nodiscard]] std::int64_t states() const { return static_cast<std::int64_t>(seen_.size()); }

  [[nodiscard]] bool is_too_much() const {
    return states() > most_states_ || seen_.bytes() > most_bytes || budget_.is_over();
  }

  void open_set() {
    settle(executed_, capacity_, rejected_, budget_);
    (void)is_new();
    open_set_from(0);
  }

  /// Whether neither the set nor a symmetric one was examined before.
  bool is_new() {
    if (symmetry_.is_trivial()) return seen_.insert(executed_.bits(), executed_.hash());
    canonical_.assign(executed_.bits().begin(), executed_.bits().end());
    symmetry_.make_canonical(canonical_);
    return seen_.insert(canonical_, hash_of(canonical_));
  }

  void open_set_from(std::size_t depth) {
    Frame& frame = frames_.emplace_back(Frame{.depth = depth, .choices = {}});
    for (const std::size_t op : executed_.ready()) {
      const Effect effect = executed_.effect_of(op);
      if (effect.during <= capacity_) {
        frame.choices.push_back({effect, op});
      } else {
        rejected_ = std::min(rejected_, effect.during);
      }
    }
    std::sort(frame.choices.begin(), frame.choices.end());
    budget_.spend(static_cast<std::int64_t>(executed_.ready().size()) + 1);
  }

  Executed executed_;
  Symmetry& symmetry_;
  std::vector<std::uint64_t> canonical_;
  SeenSets seen_;
  Bytes capacity_;
  std::int64_t most_states_;
  Budget& budget_;
  Bytes rejected_ = largest_value;
  std::vector<Frame> frames_;
};

}  // namespace

Decision decide(const Storage& storage, Symmetry& symmetry, Direction direction, Bytes capacity,
                std::int64_t most_states, Budget& budget) {
  return StateSearch(storage, symmetry, direction, capacity, most_states, budget).decide();
}

bool SeenSets::insert(std::span<const std::uint64_t> bits, std::uint64_t hash) {
  if (2 * (size() + 1) > slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    if (is_at(slots_[slot] - 1, bits, hash)) return false;
  }
  hashes_.push_back(hash);
  pool_.insert(pool_.end(), bits.begin(), bits.end());
  slots_[slot] = hashes_.size();
  return true;
}

bool SeenSets::is_at(std::size_t index, std::span<const std::uint64_t> bits, std::uint64_t hash) const {
  return hashes_[index] == hash &&
         std::equal(bits.begin(), bits.end(), pool_.begin() + static_cast<std::ptrdiff_t>(index * words_));
}

void SeenSets::grow() {
  slots_.assign(2 * slots_.size(), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t index = 0; index < hashes_.size(); ++index) {
    std::size_t slot = hashes_[index] & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = index + 1;
  }
}

}  // namespace stowage::schedule
