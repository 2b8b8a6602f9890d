// Where a clock pauses so that another one may run. Between two steps the bytes are carried that a buffer reserves at both:
//
//     step          0    1    2    3    4    5
//     carried          5    9    3    8    4          every 2 steps: after steps 1, 3 and 5, most 5
//
// Each window of `every` places to pause has a pause. So no choice carries less than the most of all windows, of the fewest
// that each carries somewhere. Pauses at all places that carry no more than that do; of these as few as possible are taken,
// which leaves the packer the most freedom.
//
// A pause is a position of its own. What is carried lives there, too; what ends with the step before it does not:
//
//     positions     0 1 2 3     a  |--|       ->      0 1 (2) 3 4     a  |--|
//                               b  |-----|                            b  |--------|
//
// Cost: linear in steps, pieces and views; the square of the pieces of one buffer that meet between two steps.

#include "plan/pauses.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "base/text.h"
#include "stowage/error.h"

namespace stowage::plan {

namespace {

/// The most of all windows, of the least in each.
Bytes least_most(std::span<const Bytes> carried, std::size_t window) {
  if (carried.size() <= window) return *std::ranges::min_element(carried);
  Bytes most = 0;
  std::deque<std::size_t> rising;  // places of the window that no later one undercuts
  for (std::size_t i = 0; i < carried.size(); ++i) {
    while (!rising.empty() && carried[rising.back()] >= carried[i]) rising.pop_back();
    rising.push_back(i);
    if (rising.front() + window <= i) rising.pop_front();
    if (i + 1 >= window) most = std::max(most, carried[rising.front()]);
  }
  return most;
}

}  // namespace

ChosenPauses choose_pauses(std::span<const Bytes> carried, std::int64_t every) {
  const std::size_t window = static_cast<std::size_t>(std::min<std::int64_t>(every, std::ssize(carried) + 1));
  const Bytes most = least_most(carried, window);
  struct Way {
    std::size_t at = 0;  // the steps before the pause; 0: the begin
    std::size_t pauses = 0;
    Bytes sum = 0;
    std::size_t before = 0;
  };
  const auto is_better = [](const Way& a, const Way& b) {
    return std::tie(a.pauses, a.sum) < std::tie(b.pauses, b.sum);
  };
  std::vector<Way> ways(carried.size() + 2);  // by steps before it; the last is the end
  std::deque<std::size_t> reaching{0};        // ways that may go on, best first, none before a better one
  const std::size_t end = carried.size() + 1;
  for (std::size_t at = 1; at <= end; ++at) {
    while (reaching.front() + window < at) reaching.pop_front();
    if (at < end && carried[at - 1] > most) continue;
    // Where so many steps run that the begin is near enough, there is a pause all the same.
    if (at == end && reaching.front() == 0) reaching.pop_front();
    const Way& from = ways[reaching.front()];
    const Bytes bytes = at < end ? carried[at - 1] : 0;
    ways[at] = {at, from.pauses + 1, from.sum + bytes, from.at};
    while (!reaching.empty() && !is_better(ways[reaching.back()], ways[at])) reaching.pop_back();
    reaching.push_back(at);
  }
  ChosenPauses chosen{.carried = most};
  for (std::size_t at = ways[end].before; at != 0; at = ways[at].before) chosen.after.push_back(at);
  std::ranges::reverse(chosen.after);
  return chosen;
}

namespace {

/// The steps of one clock, and how they move.
class ClockOfPauses {
 public:
  ClockOfPauses(const share::Timeline& timeline, std::size_t clock,
                std::span<const share::NamedGraph> networks, Plan& plan)
      : timeline_(timeline),
        clock_(clock),
        networks_(networks),
        plan_(plan),
        steps_(plan.clocks[clock].steps) {
    for (const share::Paused& it : timeline.paused()) {
      if (it.between.clock == clock) paused_.push_back(&it);
    }
  }

  void run() {
    if (paused_.empty()) return;
    number_steps();
    const std::vector<Bytes> carried = carried_after_each();
    for (const share::Paused* const it : paused_) {
      expect_pausing(*it);
      const std::size_t first = number_at_[index(it->between.begin)];
      const std::size_t count = number_at_[index(it->between.end)] - first;
      const std::span<const Bytes> own = std::span(carried).subspan(first, count - 1);
      chosen_.push_back(choose_pauses(own, it->every));
      for (std::size_t& after : chosen_.back().after) after += first;
    }
    lay_out();
    move_pieces();
    move_views();
    for (std::size_t i = 0; i < paused_.size(); ++i) {
      const share::Stage& between = paused_[i]->between;
      plan_.pauses.push_back({paused_[i]->clock,
                              paused_[i]->every,
                              {lower(between.begin), upper(between.end)},
                              chosen_[i].carried,
                              chosen_[i].carried});
    }
    steps_ = std::move(moved_steps_);
  }

 private:
  static std::size_t index(Position at) { return static_cast<std::size_t>(at); }

  /// Steps that the models run, without pauses, which have no place yet.
  void number_steps() {
    for (std::size_t at = 0; at < steps_.size(); ++at) {
      number_at_.push_back(step_.size());
      if (!std::holds_alternative<Pause>(steps_[at])) step_.push_back(static_cast<Position>(at));
    }
    number_at_.push_back(step_.size());
  }

  void expect_pausing(const share::Paused& it) const {
    std::string names;
    for (std::size_t m = 0; m < networks_.size(); ++m) {
      const share::Stage& stage = timeline_.stage_of(m);
      if (stage.clock == clock_ && it.between.begin <= stage.begin && stage.end <= it.between.end)
        names += (names.empty() ? "" : " and ") + base::quoted(networks_[m].name);
    }
    std::size_t steps = 0;
    for (Position at = it.between.begin; at < it.between.end; ++at) {
      const Step& step = steps_[index(at)];
      if (!std::holds_alternative<Pause>(step)) ++steps;
      const auto* const run = std::get_if<Run>(&step);
      if (run != nullptr && run->path.size() > 2)
        throw UsageError(
            fmt::format("--run: nothing can run between steps of {}: operators with bodies may repeat theirs "
                        "any number of times",
                        names));
    }
    if (steps < 2)
      throw UsageError(fmt::format(
          "--run: nothing can run between steps of {}, expected 2 steps at least, found {}", names, steps));
  }

  /// The number of the first step at or behind a position.
  [[nodiscard]] std::size_t number_from(Position at) const {
    return number_at_[std::min(index(at), steps_.size())];
  }

  /// Per buffer, by the number of the step before: its pieces that end there or begin behind it.
  using Meeting = std::map<std::size_t, std::vector<const Piece*>>;

  /// Pairs of pieces of a buffer of which one ends where the other begins, and the common bytes.
  template <typename Visit>
  void for_each_meeting(const Buffer& buffer, const Visit& visit) const {
    if (buffer.pieces.size() < 2) return;
    Meeting beginning;
    for (const Piece& piece : buffer.pieces) {
      const std::size_t number = number_from(piece.life.lower);
      if (number > 0 && piece.is_ever_alive()) beginning[number - 1].push_back(&piece);
    }
    for (const Piece& piece : buffer.pieces) {
      if (!piece.is_ever_alive()) continue;
      const std::size_t end = number_from(piece.life.upper);
      const auto next = end > 0 ? beginning.find(end - 1) : beginning.end();
      if (next == beginning.end()) continue;
      for (const Piece* const other : next->second) {
        const Bytes common = std::min(piece.offset + piece.size, other->offset + other->size) -
                             std::max(piece.offset, other->offset);
        if (common > 0 && other != &piece) visit(piece, end - 1, common);
      }
    }
  }

  /// The bytes that are reserved at a step and at the next one.
  [[nodiscard]] std::vector<Bytes> carried_after_each() const {
    std::vector<Bytes> changes(step_.size() + 1, 0);
    for (const Buffer& buffer : plan_.buffers) {
      if (buffer.clock != clock_) continue;
      for (const Piece& piece : buffer.pieces) {
        const std::size_t first = number_from(piece.life.lower);
        const std::size_t end = number_from(piece.life.upper);
        if (!piece.is_ever_alive() || end <= first + 1) continue;
        changes[first] += piece.size;
        changes[end - 1] -= piece.size;
      }
      for_each_meeting(buffer, [&](const Piece&, std::size_t after, Bytes common) {
        changes[after] += common;
        changes[after + 1] -= common;
      });
    }
    std::vector<Bytes> carried;
    Bytes sum = 0;
    for (const Bytes change : changes) carried.push_back(sum += change);
    return carried;
  }

  /// Puts the pauses between the steps.
  void lay_out() {
    std::vector<std::vector<std::size_t>> before(
        step_.size());  // for each step, clocks that may run before it
    for (std::size_t i = 0; i < paused_.size(); ++i) {
      for (const std::size_t after : chosen_[i].after) before[after].push_back(paused_[i]->clock);
    }
    for (std::size_t number = 0; number < step_.size(); ++number) {
      for (const std::size_t clock : before[number]) {
        hulls_.try_emplace(clock, Lifetime{std::ssize(moved_steps_), 0}).first->second.upper =
            std::ssize(moved_steps_) + 1;
        moved_steps_.emplace_back(Pause{clock});
      }
      moved_.push_back(std::ssize(moved_steps_));
      moved_steps_.push_back(steps_[index(step_[number])]);
    }
  }

  /// Where what begins at a position begins now.
  [[nodiscard]] Position lower(Position at) const {
    if (at >= std::ssize(steps_)) return at - std::ssize(steps_) + std::ssize(moved_steps_);
    const std::size_t number = number_from(at);
    return number < moved_.size() ? moved_[number] : std::ssize(moved_steps_);
  }

  /// Where what ends at a position ends now: with the step before it.
  [[nodiscard]] Position upper(Position at) const {
    if (at > std::ssize(steps_)) return at - std::ssize(steps_) + std::ssize(moved_steps_);
    const std::size_t number = number_from(at);
    return number > 0 ? moved_[number - 1] + 1 : 0;
  }

  [[nodiscard]] Lifetime moved(const Lifetime& life) const {
    const Position begin = lower(life.lower);
    if (life.lower >= life.upper) return {begin, begin};
    return {begin, std::max(upper(life.upper), begin + 1)};
  }

  void move_pieces() {
    for (Buffer& buffer : plan_.buffers) {
      if (buffer.clock != clock_) continue;
      std::set<const Piece*> goes_on;  // bytes of it are carried to the next piece
      for_each_meeting(buffer, [&](const Piece& piece, std::size_t, Bytes) { goes_on.insert(&piece); });
      for (Piece& piece : buffer.pieces) {
        const std::size_t next = number_from(piece.life.upper);
        const bool is_carried = goes_on.contains(&piece) && next < moved_.size();
        piece.life = moved(piece.life);
        if (is_carried) piece.life.upper = moved_[next];
      }
    }
  }

  /// What a clock that runs at pauses sees of this one is there from the first to the last.
  void move_views() {
    for (PlannedTensor& tensor : plan_.tensors) {
      for (View& view : tensor.views) {
        if (plan_.buffers[view.buffer].clock != clock_) continue;
        const Lifetime old = view.life;
        view.life = moved(old);
        for (const share::Paused* const it : paused_) {
          if (!timeline_.is_within(timeline_.stage_of(tensor.model).clock, *it)) continue;
          const Position at = it->between.begin - 1;  // where its only pause was
          if (old.lower == at) view.life.lower = hulls_.at(it->clock).lower;
          if (old.upper == at + 1) view.life.upper = hulls_.at(it->clock).upper;
        }
      }
    }
  }

  const share::Timeline& timeline_;
  std::size_t clock_;
  std::span<const share::NamedGraph> networks_;
  Plan& plan_;
  std::vector<Step>& steps_;
  std::vector<const share::Paused*> paused_{};
  std::vector<std::size_t> number_at_{};  ///< Per position: the number of the first step there or behind.
  std::vector<Position> step_{};          ///< By number.
  std::vector<ChosenPauses> chosen_{};    ///< Of `paused_`, in numbers of steps of this clock.
  std::vector<Step> moved_steps_{};
  std::vector<Position> moved_{};            ///< By number: where the step is now.
  std::map<std::size_t, Lifetime> hulls_{};  ///< From the first to the last pause, per clock that runs there.
};

}  // namespace

void insert_pauses(const share::Timeline& timeline, std::span<const share::NamedGraph> networks, Plan& plan) {
  for (std::size_t clock = 0; clock < plan.clocks.size(); ++clock)
    ClockOfPauses(timeline, clock, networks, plan).run();
}

}  // namespace stowage::plan
