// A cut (cuts.cc) gives the fewest bytes that can be live when an operator x runs, over all sets
// executed before it. Different operators may need incompatible sets. So ask more: how few, if y has run
// before x? And if it has not?
//
//     x after y needs more than P         every order within P has x before y
//     x before y needs more than P        every order within P has y before x
//     neither may be                      no order is within P: P + 1 is a bound
//
// The conclusion for one pair affects all: sets have to respect it, so fewer remain, cuts become larger, and
// more conclusions follow, until nothing new does.
//
//     sets of a b c       {}  a  b  c  ab  ac  bc  abc
//     with a before c     {}  a  b     ab  ac      abc
//
// A cut is found by sending a flow. Forcing y to one side costs the flow that can be sent on top, from y to
// the sink or from the source to y (base/max_flow.h), which takes a few paths. Most pairs need none: the set
// of a cut is a witness that all its operators may come before x, and all others after. It is also a witness
// for every other operator that can run next, and, after that has run, for the one after it.
//
// From the peak of a known order, P falls step by step: conclusions for a larger P hold for a smaller, and
// most witnesses remain valid. In a chain of operators the first decides for the others (cuts.h).
// Cost: in practice some dozen cuts per operator; a bit for each pair, twice, and one per operator and
// witness. Source: deriving order from too little remaining room is an idea of job shop scheduling (Carlier,
// Pinson, "An algorithm for solving the job-shop problem", 1989); deriving it from minimum cuts is ours.

#include "schedule/pairs.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include "schedule/cuts.h"

namespace stowage::schedule {
namespace {

constexpr std::size_t most_operators = 4096;
constexpr Bytes parts = 8;  ///< P falls by this part of the open range.
constexpr std::size_t most_bytes_of_witnesses = std::size_t{1} << 27;

/// Operands by operator.
struct Operands {
  explicit Operands(const Storage& storage) : added(storage.own), overwrites(storage.operators()) {
    for (Bytes& bytes : added) bytes += storage.always;
    for (const Value& value : storage.values) {
      if (value.writer) added[*value.writer] += value.size;
    }
    for (const Overwrite& overwrite : storage.overwrites)
      overwrites[overwrite.op].push_back(&overwrite.values);
  }

  std::vector<Bytes> added;  ///< Bytes that a step adds to the live bytes at its begin.
  std::vector<std::vector<const std::vector<std::size_t>*>> overwrites;
};

/// Derives the order of pairs for all orders within a capacity.
class Pairs {
 public:
  Pairs(const Storage& storage, std::int64_t most_work, Budget& budget)
      : storage_(storage),
        operands_(storage),
        chains_(storage),
        budget_(budget),
        end_(budget.spent() + most_work),
        operators_(storage.operators()) {}

  enum class Verdict : std::uint8_t { refuted, open, undecided };

  /// `precedence` holds for all orders within the capacity and receives the conclusions.
  Verdict follow(Bytes capacity, Precedence& precedence) {
    capacity_ = capacity;
    for (bool is_new = true; is_new;) {
      is_new = false;
      begin_round(precedence);
      PairCut cut(storage_, chains_, precedence, direct_);
      for (const std::size_t op : sorted_) {
        if (is_over()) return Verdict::undecided;
        if (!contains(chains_.heads, op) || !is_open(op)) continue;
        examine(op, precedence, cut);
        if (!operators_[op].may_run) return Verdict::refuted;
        is_new = is_new || is_open(op);
        if (!require(op, precedence)) return Verdict::refuted;
      }
    }
    return Verdict::open;
  }

 private:
  /// The open questions of an operator's step.
  struct Operator {
    bool may_run = false;
    Set before;                                            ///< Of these, whether they may run before it;
    Set after;                                             ///< of these, whether they may not.
    std::vector<std::pair<std::size_t, Bytes>> witnesses;  ///< Those that were new, with its load then.
  };

  [[nodiscard]] bool is_over() const {
    return budget_.is_over() || budget_.spent() >= end_ ||
           witnesses_.size() * chains_.heads.size() * sizeof(Set::value_type) > most_bytes_of_witnesses;
  }

  [[nodiscard]] static bool is_empty(const Set& set) {
    return std::ranges::all_of(set, [](std::uint64_t word) { return word == 0; });
  }

  [[nodiscard]] bool is_open(std::size_t op) const {
    const Operator& it = operators_[op];
    return !it.may_run || !is_empty(it.before) || !is_empty(it.after);
  }

  /// Operators, each after its predecessors.
  [[nodiscard]] static std::vector<std::size_t> sorted(const Precedence& precedence) {
    std::vector<std::pair<std::size_t, std::size_t>> keys;
    for (std::size_t op = 0; op < precedence.operators(); ++op) {
      std::size_t depth = 0;
      for (const std::uint64_t word : precedence.before(op))
        depth += static_cast<std::size_t>(std::popcount(word));
      keys.emplace_back(depth, op);
    }
    std::ranges::sort(keys);
    std::vector<std::size_t> operators;
    for (const auto& [depth, op] : keys) operators.push_back(op);
    return operators;
  }

  /// Starts with the witnesses that respect the conclusions so far.
  void begin_round(const Precedence& precedence) {
    direct_ = precedence.direct();
    sorted_ = sorted(precedence);
    std::vector<bool> is_valid;
    for (const Set& executed : witnesses_) is_valid.push_back(respects(executed));
    for (std::size_t op = 0; op < operators_.size(); ++op) {
      Operator& it = operators_[op];
      it.may_run = false;
      it.before = precedence.undecided(op);
      for (std::size_t w = 0; w < chains_.heads.size(); ++w) it.before[w] &= chains_.heads[w];
      it.after = it.before;
      for (const auto& [witness, load] : it.witnesses) {
        if (load <= capacity_ && is_valid[witness] && is_within(precedence.before(op), witnesses_[witness]))
          (void)is_news(it, witnesses_[witness]);
      }
    }
  }

  [[nodiscard]] bool respects(const Set& executed) const {
    bool is_closed = true;
    for_each(executed, [&](std::size_t op) {
      for (const std::size_t earlier : direct_[op]) is_closed = is_closed && contains(executed, earlier);
    });
    return is_closed;
  }

  /// Records that the operator may run when these have; returns whether that was new.
  [[nodiscard]] static bool is_news(Operator& op, const Set& executed) {
    bool is_new = !std::exchange(op.may_run, true);
    for (std::size_t w = 0; w < executed.size(); ++w) {
      is_new = is_new || (op.before[w] & executed[w]) != 0 || (op.after[w] & ~executed[w]) != 0;
      op.before[w] &= ~executed[w];
      op.after[w] &= executed[w];
    }
    return is_new;
  }

  void examine(std::size_t op, const Precedence& precedence, PairCut& cut) {
    std::vector<const std::vector<std::size_t>*> choices = operands_.overwrites[op];
    if (choices.empty()) choices.push_back(nullptr);
    for (const auto* const overwritten : choices) {
      const Bytes room = capacity_ - operands_.added[op];
      spend();
      const Bytes least = room < 0 ? 0 : cut.least_alive(op, overwritten, room + 1);
      if (least > room || room < 0) continue;
      const Bytes more = room - least + 1;  // would be too much
      tell(op, cut.fewest(), precedence);
      tell(op, cut.most(), precedence);
      const std::vector<Bytes> sent = cut.sent();
      // A set with an operator has all its predecessors as well, so the latest are tried first.
      for (const std::size_t other : std::views::reverse(sorted_)) {
        if (!contains(operators_[op].before, other)) continue;
        spend();
        if (cut.with(other, more) < more) tell(op, cut.most(), precedence);
        cut.go_back_to(sent);
      }
      for (const std::size_t other : sorted_) {
        if (!contains(operators_[op].after, other)) continue;
        spend();
        if (cut.without(other, more) < more) tell(op, cut.fewest(), precedence);
        cut.go_back_to(sent);
      }
    }
  }

  void spend() { budget_.spend(static_cast<std::int64_t>(storage_.operators() + storage_.values.size())); }

  /// Shows a witness for one operator to all that could run in its place, and continues with the operators
  /// after it.
  void tell(std::size_t op, Set executed, const Precedence& precedence) {
    constexpr int longest = 6;
    for (int i = 0; i < longest; ++i) {
      const Bytes live = live_after(executed);
      bool is_new = false;
      for (std::size_t other = 0; other < operators_.size(); ++other) {
        if (contains(executed, other) || !is_ready(other, executed, precedence)) continue;
        const Bytes load = live + operands_.added[other] - most_overwritten(other, executed);
        if (load > capacity_ || !is_news(operators_[other], executed)) continue;
        operators_[other].witnesses.emplace_back(witnesses_.size(), load);
        is_new = true;
      }
      if (is_new) witnesses_.push_back(executed);
      insert(executed, op);
      const auto next = next_after(op, executed, precedence);
      if (!next) return;
      op = *next;
    }
  }

  [[nodiscard]] bool is_ready(std::size_t op, const Set& executed, const Precedence& precedence) const {
    return std::ranges::all_of(direct_[op], [&](std::size_t it) { return contains(executed, it); }) &&
           is_within(precedence.before(op), executed);
  }

  [[nodiscard]] static bool is_within(std::span<const std::uint64_t> set, const Set& other) {
    for (std::size_t w = 0; w < other.size(); ++w) {
      if ((set[w] & ~other[w]) != 0) return false;
    }
    return true;
  }

  /// An operator that became ready by this one and runs within the capacity.
  [[nodiscard]] std::optional<std::size_t> next_after(std::size_t op, const Set& executed,
                                                      const Precedence& precedence) const {
    const Bytes live = live_after(executed);
    for (std::size_t next = 0; next < operators_.size(); ++next) {
      if (contains(executed, next) || !contains(precedence.after(op), next)) continue;
      if (is_ready(next, executed, precedence) &&
          live + operands_.added[next] - most_overwritten(next, executed) <= capacity_)
        return next;
    }
    return std::nullopt;
  }

  [[nodiscard]] Bytes live_after(const Set& executed) const {
    Bytes live = 0;
    for (const Value& value : storage_.values) {
      if (value.writer && !contains(executed, *value.writer)) continue;
      const bool is_read_later =
          std::ranges::any_of(value.readers, [&](std::size_t reader) { return !contains(executed, reader); });
      if (value.kept || is_read_later) live += value.size;
    }
    return live;
  }

  /// The bytes that the operator may write over if these have run.
  [[nodiscard]] Bytes most_overwritten(std::size_t op, const Set& executed) const {
    Bytes most = 0;
    for (const auto* const overwritten : operands_.overwrites[op]) {
      Bytes bytes = 0;
      for (const std::size_t v : *overwritten) {
        const bool is_last_reader = std::ranges::all_of(storage_.values[v].readers, [&](std::size_t reader) {
          return reader == op || contains(executed, reader);
        });
        if (is_last_reader) bytes += storage_.values[v].size;
      }
      most = std::max(most, bytes);
    }
    return most;
  }

  /// Excludes every order of a pair without a witness.
  bool require(std::size_t op, Precedence& precedence) {
    bool is_possible = true;
    for_each(operators_[op].before,
             [&](std::size_t other) { is_possible = is_possible && precedence.require(op, other); });
    for_each(operators_[op].after,
             [&](std::size_t other) { is_possible = is_possible && precedence.require(other, op); });
    return is_possible;
  }

  const Storage& storage_;
  const Operands operands_;
  const Chains chains_;
  Budget& budget_;
  const std::int64_t end_;  ///< Work at which the search ends.
  Bytes capacity_ = 0;
  std::vector<std::vector<std::size_t>> direct_;
  std::vector<std::size_t> sorted_;
  std::vector<Set> witnesses_;  ///< Sets of executed operators.
  std::vector<Operator> operators_;
};

}  // namespace

Bytes bound_by_pairs(const Storage& storage, Bytes bound, Bytes peak, const PairOptions& options,
                     Budget& budget) {
  if (storage.operators() > most_operators) return bound;
  const Bytes unit = options.unit;
  Pairs pairs(storage, options.most_work, budget);
  Precedence known(storage);  // in all orders below the peak
  while (bound < peak) {
    const Bytes capacity = peak - std::max<Bytes>((peak - bound) / unit / parts, 1) * unit;
    Precedence precedence = known;
    switch (pairs.follow(capacity, precedence)) {
      case Pairs::Verdict::refuted:
        bound = capacity + unit;
        break;
      case Pairs::Verdict::open:
        peak = capacity;
        known = std::move(precedence);
        break;
      case Pairs::Verdict::undecided:
        return bound;
    }
  }
  return bound;
}

}  // namespace stowage::schedule
