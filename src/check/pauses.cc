// Any `every` steps in a row, and the one behind them, have a pause in between: so a pause carries no less than the most of
// all such windows, of the fewest bytes that each reserves from a step to the next.
//
//     steps                 a    b    c    d    e
//     reserved in between     5    9    3    8          every 2: windows 5 9, 9 3 and 3 8, which carry 5, 3 and 3 at least
//
// Cost: n log n in pieces; for each buffer the square of its pieces that meet between two steps.

#include "check/pauses.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "check/clocks.h"
#include "check/names.h"

namespace stowage::check {
namespace {

/// A clock with pauses for one other clock.
class PauseCheck {
 public:
  PauseCheck(const Plan& plan, const model::ClockTree& tree, const Pausing& stated, Faults& faults)
      : plan_(plan),
        stated_(stated),
        faults_(faults),
        clock_(tree.fork_of(stated.clock)->clock),
        steps_(plan.clocks[clock_].steps),
        pauses_(tree.positions_of(stated.clock)) {
    for (Position at = stated.life.lower; at < stated.life.upper; ++at) {
      if (!std::holds_alternative<Pause>(steps_[static_cast<std::size_t>(at)])) own_.push_back(at);
    }
  }

  void check() {
    check_steps();
    check_distances();
    check_bytes();
  }

 private:
  void fault(FaultKind kind, const std::string& what) {
    faults_.push_back({kind, fmt::format("the pauses for clock {} {}", stated_.clock, what)});
  }

  /// They are steps of whole models, each of which runs once.
  void check_steps() {
    for (const Position at : own_) {
      const Step& step = steps_[static_cast<std::size_t>(at)];
      const auto* const run = std::get_if<Run>(&step);
      if (std::holds_alternative<Fork>(step) || (run != nullptr && run->path.size() > 2))
        return fault(FaultKind::order,
                     fmt::format("are between steps that may be any number of steps: step {} of clock {}", at,
                                 clock_));
    }
    const auto spans = spans_of(plan_);
    for (std::size_t m = 0; m < spans.size(); ++m) {
      if (!spans[m] || spans[m]->clock != clock_) continue;
      const Lifetime& life = spans[m]->life;
      const bool is_apart = life.upper <= stated_.life.lower || stated_.life.upper <= life.lower;
      const bool is_within = stated_.life.lower <= life.lower && life.upper <= stated_.life.upper;
      if (!is_apart && !is_within)
        fault(FaultKind::order,
              fmt::format("are said to be between some steps of {}, but not all", name_of_model(plan_, m)));
    }
  }

  void check_distances() {
    std::int64_t since = 0;
    std::set<Position> at_pauses(pauses_.begin(), pauses_.end());
    for (Position at = stated_.life.lower; at < stated_.life.upper; ++at) {
      if (at_pauses.contains(at)) since = 0;
      if (std::holds_alternative<Pause>(steps_[static_cast<std::size_t>(at)])) continue;
      if (++since <= stated_.every) continue;
      return fault(
          FaultKind::order,
          fmt::format("are said to be at most {} steps apart, but step {} of clock {} is the {}th in a row",
                      stated_.every, at, clock_, since));
    }
  }

  [[nodiscard]] bool counts(std::size_t buffer) const {
    return plan_.buffers[buffer].clock == clock_ &&
           plan_.memories[plan_.places[buffer].memory].memory.role == MemoryRole::working;
  }

  void check_bytes() {
    const Bytes carried = most_at_pauses();
    if (carried != stated_.carried)
      fault(FaultKind::claim,
            fmt::format("are said to carry {} bytes at most, but carry {}", stated_.carried, carried));
    const Bytes least = own_.size() < 2 ? 0 : least_of_all();
    if (stated_.least_carried > least)
      fault(FaultKind::claim,
            fmt::format("are said to carry at least {} bytes wherever they are, but only {} can be proven",
                        stated_.least_carried, least));
  }

  /// By how much the bytes of the pieces change from number to number; lives are numbers.
  [[nodiscard]] static Bytes most(const std::map<Position, Bytes>& changes, std::span<const Position> at) {
    Bytes sum = 0;
    Bytes found = 0;
    auto next = changes.begin();
    for (const Position position : at) {
      for (; next != changes.end() && next->first <= position; ++next) sum += next->second;
      found = std::max(found, sum);
    }
    return found;
  }

  [[nodiscard]] Bytes most_at_pauses() const {
    std::map<Position, Bytes> changes;
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (!counts(b)) continue;
      for (const Piece& piece : plan_.buffers[b].pieces) {
        changes[piece.life.lower] += piece.size;
        changes[piece.life.upper] -= piece.size;
      }
    }
    return most(changes, pauses_);
  }

  /// The number of the first step of `own_` at or behind a position.
  [[nodiscard]] std::size_t number_from(Position at) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(own_, at) - own_.begin());
  }

  /// The bytes that buffers reserve at a step of `own_` and at the next.
  [[nodiscard]] std::vector<Bytes> reserved_in_between() const {
    std::vector<Bytes> reserved(own_.size() - 1, 0);
    std::vector<Bytes> changes(own_.size() + 1, 0);
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (!counts(b)) continue;
      std::map<std::size_t, std::vector<const Piece*>> ending;  // by the number of the step behind their end
      for (const Piece& piece : plan_.buffers[b].pieces) {
        if (!piece.is_ever_alive()) continue;
        const std::size_t begin = number_from(piece.life.lower);
        const std::size_t end = number_from(piece.life.upper);
        if (end > begin + 1) {
          changes[begin] += piece.size;
          changes[end - 1] -= piece.size;
        }
        if (end > begin && end < own_.size()) ending[end].push_back(&piece);
      }
      for (const Piece& piece : plan_.buffers[b].pieces) {
        const std::size_t begin = number_from(piece.life.lower);
        const auto before = ending.find(begin);
        if (!piece.is_ever_alive() || before == ending.end() || number_from(piece.life.upper) == begin)
          continue;
        for (const Piece* const other : before->second)
          reserved[begin - 1] +=
              std::max<Bytes>(0, std::min(piece.offset + piece.size, other->offset + other->size) -
                                     std::max(piece.offset, other->offset));
      }
    }
    Bytes sum = 0;
    for (std::size_t i = 0; i < reserved.size(); ++i) reserved[i] += sum += changes[i];
    return reserved;
  }

  [[nodiscard]] Bytes least_of_all() const {
    const std::vector<Bytes> reserved = reserved_in_between();
    const std::size_t window =
        static_cast<std::size_t>(std::min<std::int64_t>(stated_.every, std::ssize(reserved)));
    std::multiset<Bytes> within(reserved.begin(), reserved.begin() + static_cast<std::ptrdiff_t>(window));
    Bytes least = *within.begin();
    for (std::size_t i = window; i < reserved.size(); ++i) {
      within.insert(reserved[i]);
      within.erase(within.find(reserved[i - window]));
      least = std::max(least, *within.begin());
    }
    return least;
  }

  const Plan& plan_;
  const Pausing& stated_;
  Faults& faults_;
  std::size_t clock_;
  const std::vector<Step>& steps_;
  std::span<const Position> pauses_;
  std::vector<Position> own_{};  ///< Where the steps of the models are.
};

}  // namespace

Faults check_pauses(const Plan& plan) {
  Faults faults;
  if (plan.pauses.empty()) return faults;
  const model::ClockTree tree(plan.clocks);
  for (const Pausing& stated : plan.pauses) PauseCheck(plan, tree, stated, faults).check();
  return faults;
}

}  // namespace stowage::check
