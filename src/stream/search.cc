// Idea. An order is too high in few places. Take a limit below its peak and mend it: at the first step over
// the limit, the hill, go back to a valley, and look for a detour from there that stays below the limit and
// comes back to the order behind the hill.
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
// Back to the order: skip what the detour has run, and run the rest in the order's sequence. As soon as
// nothing is skipped any more, the detour has met the order: the states are the same, and all that follows is
// as it was.
//
// A detour is a path over states, which are the counters of all operators (how many rows each has done). A
// move is "the next row of operator t": what it needs is pulled, as late as possible, and then all steps are
// taken that do not leave more bytes than there were, for these never hurt: what is live is submodular in the
// counters (a row goes after all its readers), so that having run them stays an advantage in every state
// that is reached later. Paths are tried lightest first (least live bytes), then from the same valley deepest
// first (the operator furthest behind). From the nearest valley; if there is no way, from the next deeper
// one.
//
// The limit is found by bisection between the target and the peak, with a small number of tries for each
// detour; when no limit helps any more, all over again with four times as many.
//
// Source: the patent on polyhedral scheduling (docs/streaming.md) improves the orders of operators step by step
// with affine maps until a target is met. Orders here are freer: any list of instances, with each operator's rows ascending. The order to start from
// (regions.cc) is piecewise affine. That detours are shortest bottleneck paths, and mending, is ours.
//
// Cost: tries * (steps of a pull + operators); memory: tries of one detour * operators.

#include "stream/search.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <unordered_set>

#include "stream/regions.h"
#include "stream/replay.h"

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

/// A state on the way from the start of a detour.
struct Node {
  State state;
  std::vector<IterationId> steps{};  ///< From the parent.
  std::size_t parent = 0;
};

/// A node from which no move was tried yet. The largest is the one to go on with.
struct Open {
  std::size_t depth = 0;
  Bytes live = 0;
  std::size_t node = 0;

  bool operator<(const Open& other) const {
    if (depth != other.depth) return depth < other.depth;
    return live != other.live ? live > other.live : node > other.node;
  }
};

/// What may still be tried.
struct Effort {
  std::int64_t each = 0;  ///< By a detour.
  std::int64_t left = 0;  ///< In all.
  base::Deadline deadline{};

  [[nodiscard]] bool is_spent() const { return left <= 0 || deadline.is_over(); }
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

  /// The whole order, with the detour; nothing if none is found.
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
        if (!walk.pull(op, all_, limit_)) continue;
        walk.settle(all_, limit_);
        if (!seen.insert(hash_of(walk.state())).second) continue;
        nodes_.push_back({walk.state(), walk.steps(), parent});
        if (auto joined = join()) return joined;
        open.push({preference == Preference::deepest ? op : 0, walk.state().live(), nodes_.size() - 1});
      }
    }
    return std::nullopt;
  }

 private:
  /// From the last node on as in the order, if that meets the order behind the hill.
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

  /// An order that stays below the limit, if detours around all hills are found.
  std::optional<std::vector<IterationId>> run(Effort& effort) {
    while (const auto hill = find_hill()) {
      if (!pass(*hill, effort)) return std::nullopt;
    }
    return std::move(order_);
  }

 private:
  /// The first step over the limit, and what is live before each step up to there.
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

  /// Steps with less live before them than before all that follow up to the hill, nearest first.
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
    Bytes low = options.target;  // below this nothing was found, or is wanted
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
