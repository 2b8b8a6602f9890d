// An order is too high in few places. Take a limit below its peak and repair it: at the first step over
// the limit, the hill, go back to a valley, and search for a detour from there that stays below the limit and
// meets the order again after the hill.
//
//     live                       hill
//      |                          /\.
//    --|- - - - - - - - - - - - -/- \- - - limit
//      |        /\      ________/_   \.
//      |   \   /  \    /  detour  \___\______
//      |    \_/    \__/                meets again
//      |    valley  valley
//      +------------------------------------------ steps
//
// To meet the order, skip what the detour has run, and run the rest in sequence. Once no step is left to
// skip, the states are equal, and the rest of the order is unchanged.
//
// A detour is a path over states, which are the counters of all operators (how many rows each has done). A
// move is "the next row of operator t": it pulls what the row needs, as late as possible. Then it runs all
// steps that do not raise the live bytes. These never hurt: live bytes are submodular in the counters (a row
// goes after all its readers), so having run them is an advantage in every later state. Paths are tried
// lightest first (least live bytes), then from the same valley deepest first (the last operator). The nearest
// valley comes first; if it has no way, the next deeper one follows.
//
// Bisection between the target and the peak finds the limit, with few tries for each detour. When no limit
// helps any more, it starts again with four times as many.
//
// Source: the patent on polyhedral scheduling (docs/streaming.md) improves orders step by step with affine
// maps until a target is met. Orders here are freer: any list of iterations, with each operator's rows
// ascending. They start from that of regions.cc or of affine.cc. Detours as shortest bottleneck paths,
// and repair, are ours.
//
// Cost: tries * (steps of a pull + operators); memory: tries of one detour * operators.

#include "stream/search.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <unordered_set>

#include "stream/replay.h"
#include "stream/walk.h"

namespace stowage::stream {
namespace {

enum class Preference : std::uint8_t { lightest, deepest };

std::uint64_t hash_of(const State& state) {
  std::uint64_t hash = 0x9e3779b97f4a7c15U;
  for (const std::int32_t done : state.counters()) {
    hash = (hash ^ static_cast<std::uint64_t>(done)) * 0xff51afd7ed558ccdU;
    hash ^= hash >> 32U;
  }
  return hash;
}

/// A state on a path from the start of a detour.
struct Node {
  State state;
  std::vector<IterationId> steps{};  ///< From the parent.
  std::size_t parent = 0;
};

/// A node from which no move was tried yet. The largest is tried next.
struct Open {
  std::size_t depth = 0;
  Bytes live = 0;
  std::size_t node = 0;

  bool operator<(const Open& other) const {
    if (depth != other.depth) return depth < other.depth;
    return live != other.live ? live > other.live : node > other.node;
  }
};

/// The tries that are left.
struct Effort {
  std::int64_t each = 0;  ///< For one detour.
  std::int64_t left = 0;  ///< In all.
  base::Deadline deadline{};

  [[nodiscard]] bool is_spent() const { return left <= 0 || deadline.is_over(); }
  /// Counts steps, and operators that are looked at.
  void spend(std::int64_t looks) const {
    constexpr std::int64_t work_of_look = 8;  // in the units of deadlines
    deadline.spend(work_of_look * looks);
  }
};

class Detour {
 public:
  Detour(const RowProgram& program, const std::vector<IterationId>& order, std::size_t start,
         std::size_t hill, Bytes limit)
      : program_(program),
        order_(order),
        start_(start),
        hill_(hill),
        limit_(limit),
        all_{0, program.operators()} {}

  /// The whole order with the detour; none if none is found.
  std::optional<std::vector<IterationId>> find(const State& base, Preference preference, Effort& effort) {
    std::unordered_set<std::uint64_t> seen{hash_of(base)};
    std::priority_queue<Open> open;
    nodes_ = {{base}};
    open.push({});
    std::int64_t tries = effort.each;
    while (!open.empty()) {
      const std::size_t parent = open.top().node;
      open.pop();
      for (std::size_t op = program_.operators(); op-- > 0;) {
        if (nodes_[parent].state.is_finished(op)) continue;
        --effort.left;
        if (--tries < 0 || effort.is_spent()) return std::nullopt;
        Walk walk(program_, nodes_[parent].state);
        const bool is_pulled = walk.pull(op, all_, limit_);
        if (is_pulled) walk.settle(all_, limit_);
        effort.spend(static_cast<std::int64_t>(program_.operators() + walk.steps().size()));
        if (!is_pulled) continue;
        if (!seen.insert(hash_of(walk.state())).second) continue;
        nodes_.push_back({walk.state(), walk.steps(), parent});
        if (auto joined = join()) return joined;
        open.push({preference == Preference::deepest ? op : 0, walk.state().live(), nodes_.size() - 1});
      }
    }
    return std::nullopt;
  }

 private:
  /// Continues the order from the last node, if that meets it after the hill.
  [[nodiscard]] std::optional<std::vector<IterationId>> join() const {
    std::vector<IterationId> steps = steps_of_last();
    std::size_t ahead = steps.size();
    State state = nodes_.back().state;
    std::size_t at = start_;
    for (; ahead > 0; ++at) {
      const Iteration& instance = program_.instances[order_[at]];
      if (instance.index < state.done(instance.op)) {
        --ahead;
        continue;
      }
      if (state.load_of(instance.op) > limit_) return std::nullopt;
      state.run(instance.op);
      steps.push_back(order_[at]);
    }
    if (at <= hill_) return std::nullopt;
    std::vector<IterationId> result = order_;
    std::copy(steps.begin(), steps.end(), result.begin() + static_cast<std::ptrdiff_t>(start_));
    return result;
  }

  [[nodiscard]] std::vector<IterationId> steps_of_last() const {
    std::vector<IterationId> steps;
    for (std::size_t n = nodes_.size() - 1; n != 0; n = nodes_[n].parent)
      steps.insert(steps.end(), nodes_[n].steps.rbegin(), nodes_[n].steps.rend());
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  const RowProgram& program_;
  const std::vector<IterationId>& order_;
  std::size_t start_;
  std::size_t hill_;
  Bytes limit_;
  Region all_;
  std::vector<Node> nodes_{};
};

class Mending {
 public:
  Mending(const RowProgram& program, std::vector<IterationId> order, Bytes limit)
      : program_(program), order_(std::move(order)), limit_(limit) {}

  /// An order that stays within the limit, if detours around all hills are found.
  std::optional<std::vector<IterationId>> run(Effort& effort) {
    while (const auto hill = find_hill()) {
      effort.spend(std::ssize(order_));
      if (!pass(*hill, effort)) return std::nullopt;
    }
    return std::move(order_);
  }

 private:
  /// The first step over the limit. Notes the live bytes before each step up to it.
  std::optional<std::size_t> find_hill() {
    lives_.clear();
    State state(program_);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      lives_.push_back(state.live());
      const std::size_t op = program_.instances[order_[i]].op;
      if (state.load_of(op) > limit_) return i;
      state.run(op);
    }
    return std::nullopt;
  }

  bool pass(std::size_t hill, Effort& effort) {
    for (const std::size_t start : valleys_before(hill)) {
      State base(program_);
      for (std::size_t i = 0; i < start; ++i) base.run(program_.instances[order_[i]].op);
      for (const Preference preference : {Preference::lightest, Preference::deepest}) {
        if (effort.is_spent()) return false;
        auto passed = Detour(program_, order_, start, hill, limit_).find(base, preference, effort);
        if (!passed) continue;
        order_ = std::move(*passed);
        return true;
      }
    }
    return false;
  }

  /// Steps with fewer live bytes before them than before all later steps up to the hill, nearest first.
  [[nodiscard]] std::vector<std::size_t> valleys_before(std::size_t hill) const {
    std::vector<std::size_t> valleys{hill};
    for (std::size_t i = hill; i-- > 0;) {
      if (lives_[i] < lives_[valleys.back()]) valleys.push_back(i);
    }
    return valleys;
  }

  const RowProgram& program_;
  std::vector<IterationId> order_;
  Bytes limit_;
  std::vector<Bytes> lives_{};
};

}  // namespace

std::vector<IterationId> improve(const RowProgram& program, std::span<const IterationId> order,
                                 const SearchOptions& options) {
  constexpr std::int64_t least_tries = 1000;
  constexpr std::int64_t most_tries = 64 * least_tries;
  std::vector<IterationId> best(order.begin(), order.end());
  Bytes peak = replay(program, best).peak;
  Effort effort{.left = options.work, .deadline = options.deadline};
  for (effort.each = least_tries; effort.each <= most_tries; effort.each *= 4) {
    Bytes low = options.target;  // lower limits were not reached or are not needed
    while (low < peak && !effort.is_spent()) {
      const Bytes limit = low + (peak - 1 - low) / 2;
      if (auto found = Mending(program, best, limit).run(effort)) {
        best = std::move(*found);
        peak = replay(program, best).peak;
      } else {
        low = limit + 1;
      }
    }
  }
  return best;
}

}  // namespace stowage::stream
