// Where a clock pauses so that another one may run. What runs there has a block of bytes, at one place. Pieces that a pause
// carries are not in it, and since each has one place, they are not in it at any other time either. So the block needs
// room beside all pieces that are live at one time and that any pause carries:
//
//     pauses           p           q
//     a         |---------------|              p carries it: it is kept from its begin to its end
//     b               |----|                   between p and q: it may lie in the block
//     c                   |-----------|        q carries it
//
// A piece that an earlier pause than p carries is carried by p as well, if it lives on. So what is kept between two pauses
// depends on these two alone, and choosing is a shortest path over pauses, in which not the sum counts, but the most. Of
// all such paths one with the fewest pauses is taken, which leaves the packer the most freedom.
//
// A pause is a position of its own. What is carried lives there, too; what ends with the step before it does not:
//
//     positions     0 1 2 3     a  |--|       ->      0 1 (2) 3 4     a  |--|
//                               b  |-----|                            b  |--------|
//
// Cost: steps times the square of `every`, and for each step the lengths of pieces near it; else linear in pieces and views,
// and the square of the pieces of one buffer that meet between two steps.

#include "plan/pauses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

constexpr double most_work = 3e8;  // of choosing, in additions

/// Bytes that are kept between two pauses, or between one and the begin or the end.
class Kept {
 public:
  Kept(std::span<const LivePiece> pieces, std::size_t steps, std::size_t window)
      : steps_(steps), window_(window), load_(steps, 0), ending_(steps + 1), kept_(steps * window, 0) {
    for (const LivePiece& piece : pieces) {
      for (std::size_t t = piece.first; t < piece.end; ++t) load_[t] += piece.bytes;
      if (piece.first < piece.end) ending_[std::min(piece.over, steps)].push_back(&piece);
    }
    for (std::size_t from = 0; from < steps; ++from) fill(from);
  }

  /// After `from` steps and after `to` steps, which are `window` more at most.
  [[nodiscard]] Bytes between(std::size_t from, std::size_t to) const {
    return kept_[from * window_ + (to - from - 1)];
  }

 private:
  /// Leaves out what begins behind the first pause and is over before the second.
  void fill(std::size_t from) {
    std::vector<Bytes> kept;  // by step from `from` on
    for (std::size_t to = from + 1; to <= std::min(steps_, from + window_); ++to) {
      kept.push_back(load_[to - 1]);
      const auto leave_out = [&](std::size_t over) {
        for (const LivePiece* const piece : ending_[over]) {
          for (std::size_t t = piece->first; piece->first >= from && t < std::min(piece->end, to); ++t)
            kept[t - from] -= piece->bytes;
        }
      };
      leave_out(to - 1);
      if (to == steps_) leave_out(steps_);
      kept_[from * window_ + (to - from - 1)] = *std::ranges::max_element(kept);
    }
  }

  std::size_t steps_;
  std::size_t window_;
  std::vector<Bytes> load_;
  std::vector<std::vector<const LivePiece*>> ending_;  ///< By `over`.
  std::vector<Bytes> kept_;
};

/// What a pause after each step but the last carries.
std::vector<Bytes> carried_after(std::span<const LivePiece> pieces, std::size_t steps) {
  std::vector<Bytes> changes(steps + 1, 0);
  for (const LivePiece& piece : pieces) {
    changes[piece.first] += piece.bytes;
    changes[std::clamp(piece.over, piece.first, steps)] -= piece.bytes;
  }
  std::vector<Bytes> carried;
  Bytes sum = 0;
  for (std::size_t i = 0; i + 1 < steps; ++i) carried.push_back(sum += changes[i]);
  return carried;
}

}  // namespace

ChosenPauses choose_pauses(std::span<const LivePiece> pieces, std::size_t steps, std::int64_t every) {
  const auto affordable = static_cast<std::size_t>(std::sqrt(most_work / static_cast<double>(steps)));
  const std::size_t window =
      std::min({static_cast<std::size_t>(every), steps, std::max<std::size_t>(affordable, 1)});
  const Kept kept(pieces, steps, window);
  const std::vector<Bytes> carried = carried_after(pieces, steps);
  /// From the begin to a pause, or to the end.
  struct Way {
    Bytes kept = largest_value;
    std::size_t pauses = 0;
    Bytes sum = 0;
    std::size_t before = 0;
  };
  std::vector<Way> ways(steps + 1);  // by the steps before it
  const auto find_ways = [&](Bytes most, const auto& is_better) {
    ways[0] = {.kept = 0};
    for (std::size_t to = 1; to <= steps; ++to) {
      ways[to] = {};
      const Bytes own = to < steps ? carried[to - 1] : 0;
      for (std::size_t from = to > window ? to - window : 0; from < to; ++from) {
        if ((from == 0 && to == steps) || ways[from].kept > most) continue;  // a pause at least
        const Way& before = ways[from];
        const Way way{std::max(before.kept, kept.between(from, to)), before.pauses + 1, before.sum + own,
                      from};
        if (way.kept <= most && (ways[to].kept > most || is_better(way, ways[to]))) ways[to] = way;
      }
    }
  };
  find_ways(largest_value - 1, [](const Way& a, const Way& b) { return a.kept < b.kept; });
  const Bytes least = ways[steps].kept;
  find_ways(least,
            [](const Way& a, const Way& b) { return std::tie(a.pauses, a.sum) < std::tie(b.pauses, b.sum); });
  ChosenPauses chosen{.kept = least};
  for (std::size_t at = ways[steps].before; at != 0; at = ways[at].before) chosen.after.push_back(at);
  std::ranges::reverse(chosen.after);
  return chosen;
}

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
    for (const share::Paused* const it : paused_) choose(*it);
    lay_out();
    move_pieces();
    move_views();
    for (std::size_t i = 0; i < paused_.size(); ++i) {
      const share::Stage& between = paused_[i]->between;
      stated_[i].life = {lower(between.begin), upper(between.end)};
      plan_.pauses.push_back(stated_[i]);
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

  void choose(const share::Paused& it) {
    expect_pausing(it);
    const std::size_t first = number_at_[index(it.between.begin)];
    const std::size_t steps = number_at_[index(it.between.end)] - first;
    std::vector<LivePiece> pieces = pieces_of(first, steps);
    chosen_.push_back(choose_pauses(pieces, steps, it.every).after);
    Pausing& stated = stated_.emplace_back(Pausing{.clock = it.clock, .every = it.every});
    const std::vector<Bytes> carried = carried_after(pieces, steps);
    for (std::size_t& after : chosen_.back()) {
      stated.carried = std::max(stated.carried, carried[after - 1]);
      after += first;
    }
    for (LivePiece& piece : pieces)
      piece.over = std::min(piece.over, piece.end - 1);  // of others, not all may meet
    const std::size_t window =
        static_cast<std::size_t>(std::min<std::int64_t>(it.every, std::ssize(carried)));
    stated.least_carried = least_most(carried_after(pieces, steps), window);
  }

  /// Pieces of the buffers during so many steps of this clock, numbered from the first of these.
  [[nodiscard]] std::vector<LivePiece> pieces_of(std::size_t first, std::size_t steps) const {
    std::vector<LivePiece> pieces;
    const auto number = [&](std::size_t of_clock) {
      return std::clamp(of_clock, first, first + steps) - first;
    };
    for (const Buffer& buffer : plan_.buffers) {
      if (buffer.clock != clock_) continue;
      const std::set<const Piece*> going_on = pieces_going_on(buffer);
      for (const Piece& piece : buffer.pieces) {
        if (!piece.is_ever_alive()) continue;
        const std::size_t end = number_from(piece.life.upper);
        const LivePiece it{
            number(number_from(piece.life.lower)), number(end),
            number(going_on.contains(&piece) || end > first + steps ? end
                                                                    : std::max<std::size_t>(end, 1) - 1),
            piece.size};
        if (it.first < it.end) pieces.push_back(it);
      }
    }
    return pieces;
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

  /// Pieces that end where another of the buffer begins, with bytes in common: a pause in between carries these.
  [[nodiscard]] std::set<const Piece*> pieces_going_on(const Buffer& buffer) const {
    std::set<const Piece*> going_on;
    if (buffer.pieces.size() < 2) return going_on;
    std::map<std::size_t, std::vector<const Piece*>> beginning;  // by the number of their first step
    for (const Piece& piece : buffer.pieces) {
      if (piece.is_ever_alive()) beginning[number_from(piece.life.lower)].push_back(&piece);
    }
    for (const Piece& piece : buffer.pieces) {
      const auto next = beginning.find(number_from(piece.life.upper));
      if (!piece.is_ever_alive() || next == beginning.end()) continue;
      const bool is_met = std::ranges::any_of(next->second, [&](const Piece* other) {
        return other != &piece && piece.offset < other->offset + other->size &&
               other->offset < piece.offset + piece.size;
      });
      if (is_met) going_on.insert(&piece);
    }
    return going_on;
  }

  /// Puts the pauses between the steps.
  void lay_out() {
    std::vector<std::vector<std::size_t>> before(
        step_.size());  // for each step, clocks that may run before it
    for (std::size_t i = 0; i < paused_.size(); ++i) {
      for (const std::size_t after : chosen_[i]) before[after].push_back(paused_[i]->clock);
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
      const std::set<const Piece*> going_on = pieces_going_on(buffer);
      for (Piece& piece : buffer.pieces) {
        const std::size_t next = number_from(piece.life.upper);
        const bool is_carried = going_on.contains(&piece) && next < moved_.size();
        piece.life = moved(piece.life);
        if (is_carried) piece.life.upper = moved_[next];
      }
    }
  }

  /// A view ends where its tensor is written over. Up to there its bytes are needed, if they are reserved.
  void reach_next_step(const PlannedTensor& tensor, Position old_upper, View& view) const {
    const std::size_t next = number_from(old_upper);
    if (view.rows || view.ring || view.block || next >= moved_.size()) return;
    Bytes reserved = 0;
    for (const Piece& piece : plan_.buffers[view.buffer].pieces) {
      if (piece.life.lower > view.life.upper || piece.life.upper < moved_[next]) continue;
      reserved += std::max<Bytes>(0, std::min(piece.offset + piece.size, view.offset + tensor.tensor.bytes) -
                                         std::max(piece.offset, view.offset));
    }
    if (reserved >= tensor.tensor.bytes) view.life.upper = std::max(view.life.upper, moved_[next]);
  }

  /// What a clock that runs at pauses sees of this one is there from the first to the last.
  void move_views() {
    for (PlannedTensor& tensor : plan_.tensors) {
      for (View& view : tensor.views) {
        if (plan_.buffers[view.buffer].clock != clock_) continue;
        const Lifetime old = view.life;
        view.life = moved(old);
        if (old.lower < old.upper) reach_next_step(tensor, old.upper, view);
        for (const share::Paused* const it : paused_) {
          if (!timeline_.is_within(timeline_.stage_of(tensor.model).clock, *it)) continue;
          const Position at = it->between.begin - 1;  // where its only pause was
          if (old.lower == at && at > 0) view.life.lower = hulls_.at(it->clock).lower;
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
  std::vector<std::vector<std::size_t>> chosen_{};  ///< Of `paused_`, in numbers of steps of this clock.
  std::vector<Pausing> stated_{};                   ///< The same.
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
