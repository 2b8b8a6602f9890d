// The cheapest buffers to move away so that the live bytes stay within a capacity: positions with too many bytes ask for
// a part of them from the buffers that live there. A depth-first search takes the position that lacks most; one buffer
// after the other goes, and those tried before it stay. A branch ends where its bytes and a bound reach the best so far.
// The bound is the sum of what positions lack of which no two share a buffer that may go. The first best is greedy: at the
// worst position the buffer that covers most of what is lacking for its bytes.
//
// Exact where the search ends within its nodes (some 30 buffers at too full positions); otherwise the best found, with
// the bound at the root. Cost: nodes * positions * buffers that live at them.
//
// Source: none; the problem is a covering integer program over intervals.

#include "stowage/spill.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "pack/life.h"
#include "stowage/error.h"

namespace stowage {
namespace {

using Numbers = std::vector<std::size_t>;

/// Positions at which too many bytes are live; of neighbours with the same buffers one stands for all.
struct FullPosition {
  Position lower = 0;  ///< Up to the next position at which something changes.
  Position upper = 0;
  Bytes lack = 0;
  Numbers buffers{};           ///< That are live there, and may go.
  std::vector<Bytes> bytes{};  ///< Theirs there.
};

std::vector<FullPosition> full_positions(const Problem& problem, Bytes capacity) {
  std::set<Position> events;
  for (const Buffer& buffer : problem.buffers) {
    for (const Piece& piece : buffer.pieces) {
      if (!piece.is_ever_alive()) continue;
      events.insert(piece.life.lower);
      events.insert(piece.life.upper);
    }
  }
  const std::vector<Position> at(events.begin(), events.end());
  std::vector<FullPosition> spans(at.size());
  std::vector<Bytes> load(at.size(), 0);
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    std::map<std::size_t, Bytes> live;
    for (const Piece& piece : problem.buffers[b].pieces) {
      if (!piece.is_ever_alive()) continue;
      auto i = static_cast<std::size_t>(std::ranges::lower_bound(at, piece.life.lower) - at.begin());
      for (; i < at.size() && at[i] < piece.life.upper; ++i) live[i] += piece.size;
    }
    for (const auto& [i, bytes] : live) {
      load[i] += bytes;
      if (problem.buffers[b].pinned) continue;
      spans[i].buffers.push_back(b);
      spans[i].bytes.push_back(bytes);
    }
  }
  std::vector<FullPosition> full;
  for (std::size_t i = 0; i + 1 < at.size(); ++i) {
    if (load[i] <= capacity) continue;
    spans[i].lower = at[i];
    spans[i].upper = at[i + 1];
    spans[i].lack = load[i] - capacity;
    full.push_back(std::move(spans[i]));
  }
  return full;
}

class Search {
 public:
  Search(const Problem& problem, const std::vector<FullPosition>& positions)
      : problem_(problem), positions_(positions), state_(problem.buffers.size(), State::open) {
    for (const FullPosition& it : positions) lack_.push_back(it.lack);
    by_buffer_.resize(problem.buffers.size());
    for (std::size_t p = 0; p < positions.size(); ++p)
      for (std::size_t i = 0; i < positions[p].buffers.size(); ++i)
        by_buffer_[positions[p].buffers[i]].push_back({p, positions[p].bytes[i]});
  }

  /// The buffers that go; none if nothing is enough. `least` gets the bound.
  std::optional<Numbers> run(Bytes& least) {
    least = bound();
    if (least > largest_value) return std::nullopt;
    greedy();
    branch(0);
    if (nodes_ < most_nodes) least = best_bytes_;
    return best_;
  }

 private:
  enum class State : std::uint8_t { open, gone, stays };
  struct Share {
    std::size_t position;
    Bytes bytes;
  };
  static constexpr std::size_t most_nodes = 200'000;
  static constexpr Bytes impossible = largest_value + 1;

  [[nodiscard]] Bytes size_of(std::size_t b) const { return problem_.buffers[b].size; }

  void put(std::size_t b, State state) {
    if (state_[b] == State::gone)
      for (const Share& it : by_buffer_[b]) lack_[it.position] += it.bytes;
    state_[b] = state;
    if (state == State::gone)
      for (const Share& it : by_buffer_[b]) lack_[it.position] -= it.bytes;
  }

  /// Bytes that must still go: of positions without a common buffer, those that lack most first.
  [[nodiscard]] Bytes bound() const {
    Numbers order;
    for (std::size_t p = 0; p < lack_.size(); ++p)
      if (lack_[p] > 0) order.push_back(p);
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t p) { return lack_[p]; });
    std::vector<char> is_taken(state_.size(), 0);
    Bytes sum = 0;
    for (const std::size_t p : order) {
      Bytes there = 0;
      Bytes smallest_enough = impossible;
      Bytes most_of_others = 0;
      bool is_apart = true;
      for (std::size_t i = 0; i < positions_[p].buffers.size(); ++i) {
        const std::size_t b = positions_[p].buffers[i];
        if (state_[b] != State::open) continue;
        is_apart = is_apart && is_taken[b] == 0;
        there += positions_[p].bytes[i];
        if (positions_[p].bytes[i] >= lack_[p])
          smallest_enough = std::min(smallest_enough, size_of(b));
        else
          most_of_others += positions_[p].bytes[i];
      }
      if (there < lack_[p]) return impossible;
      if (!is_apart) continue;
      // Smaller buffers together, or one that is large enough alone.
      sum += most_of_others >= lack_[p] ? lack_[p] : std::max(lack_[p], smallest_enough);
      for (const std::size_t b : positions_[p].buffers)
        if (state_[b] == State::open) is_taken[b] = 1;
    }
    return sum;
  }

  [[nodiscard]] std::size_t worst() const {
    return static_cast<std::size_t>(std::ranges::max_element(lack_) - lack_.begin());
  }
  [[nodiscard]] bool is_done() const { return lack_.empty() || lack_[worst()] <= 0; }

  /// What the buffer covers of all that is lacking.
  [[nodiscard]] Bytes cover_of(std::size_t b) const {
    Bytes sum = 0;
    for (const Share& it : by_buffer_[b])
      sum = std::min(largest_value, sum + std::clamp<Bytes>(lack_[it.position], 0, it.bytes));
    return sum;
  }

  [[nodiscard]] Numbers candidates() const {
    Numbers found;
    for (const std::size_t b : positions_[worst()].buffers)
      if (state_[b] == State::open) found.push_back(b);
    std::ranges::stable_sort(found, std::ranges::greater{}, [&](std::size_t b) {
      return static_cast<double>(cover_of(b)) / static_cast<double>(std::max<Bytes>(size_of(b), 1));
    });
    return found;
  }

  void greedy() {
    Numbers chosen;
    while (!is_done()) {
      const Numbers found = candidates();
      if (found.empty()) break;
      chosen.push_back(found[0]);
      put(found[0], State::gone);
    }
    const bool is_enough = is_done();
    std::ranges::stable_sort(chosen, std::ranges::greater{}, [&](std::size_t b) { return size_of(b); });
    Numbers kept;
    for (const std::size_t b : chosen) {  // those that later ones made superfluous stay
      put(b, State::open);
      if (is_done()) continue;
      put(b, State::gone);
      kept.push_back(b);
    }
    Bytes bytes = 0;
    for (const std::size_t b : kept) bytes += size_of(b);
    for (const std::size_t b : kept) put(b, State::open);
    if (!is_enough) return;
    best_ = kept;
    best_bytes_ = bytes;
  }

  void branch(Bytes bytes) {
    if (++nodes_ >= most_nodes) return;
    if (is_done()) {
      if (bytes >= best_bytes_) return;
      best_bytes_ = bytes;
      best_.emplace();
      for (std::size_t b = 0; b < state_.size(); ++b)
        if (state_[b] == State::gone) best_->push_back(b);
      return;
    }
    const Bytes rest = bound();
    if (rest >= impossible || bytes + rest >= best_bytes_) return;
    const Numbers found = candidates();
    for (const std::size_t b : found) {
      put(b, State::gone);
      branch(bytes + size_of(b));
      put(b, State::stays);
    }
    for (const std::size_t b : found) put(b, State::open);
  }

  const Problem& problem_;
  const std::vector<FullPosition>& positions_;
  std::vector<State> state_;
  std::vector<Bytes> lack_{};                    ///< Per position; 0 or less: nothing.
  std::vector<std::vector<Share>> by_buffer_{};  ///< The positions at which a buffer lives.
  std::optional<Numbers> best_{};
  Bytes best_bytes_ = impossible;
  std::size_t nodes_ = 0;
};

/// From the first to the last full position at which the buffer lives.
Spill spill_of(const Problem& problem, std::size_t b, const std::vector<FullPosition>& positions) {
  const Lifetime life = pack::life_of(problem.buffers[b]);
  Spill spill{.buffer = b, .lower = life.upper, .upper = life.lower};
  for (const FullPosition& it : positions) {
    if (std::ranges::find(it.buffers, b) == it.buffers.end()) continue;
    spill.lower = std::min(spill.lower, it.lower);
    spill.upper = std::max(spill.upper, it.upper);
  }
  spill.is_whole = spill.lower <= life.lower && spill.upper >= life.upper;
  return spill;
}

Spill whole_spill(const Problem& problem, std::size_t b) {
  const Lifetime life = pack::life_of(problem.buffers[b]);
  return {.buffer = b, .lower = life.lower, .upper = life.upper, .is_whole = true};
}

}  // namespace

Problem without_spilled(const Problem& problem, const std::vector<Spill>& spills) {
  Problem rest = problem;
  for (const Spill& spill : spills) {
    std::vector<Piece> pieces;
    for (const Piece& piece : problem.buffers[spill.buffer].pieces) {
      Piece before = piece;
      Piece after = piece;
      before.life.upper = std::min(piece.life.upper, spill.lower);
      after.life.lower = std::max(piece.life.lower, spill.upper);
      for (const Piece& part : {before, after})
        if (part.is_ever_alive()) pieces.push_back(part);
    }
    if (pieces.empty()) rest.buffers[spill.buffer].size = 0;  // a peak counts buffers that are never live
    rest.buffers[spill.buffer].pieces = std::move(pieces);
  }
  return rest;
}

SpillAdvice least_spill(const Problem& problem, const SolveOptions& options) {
  if (problem.memories.size() != 1 || !problem.memories[0].capacity)
    throw UsageError("spills are for one memory with a capacity");
  for (const Buffer& buffer : problem.buffers)
    if (buffer.clock != 0) throw UsageError("spills are for buffers of one clock");
  SpillAdvice advice;
  const Bytes capacity = *problem.memories[0].capacity;
  // Gaps and alignments cost some bytes: if no offsets are found, the buffers go for all of their lives, and then more go.
  Bytes within = capacity;
  for (Bytes less = std::max<Bytes>(capacity / 64, 1);; less *= 2) {
    const std::vector<FullPosition> positions = full_positions(problem, within);
    Bytes least = 0;
    const std::optional<Numbers> gone = Search(problem, positions).run(least);
    if (!gone) return within == capacity ? SpillAdvice{} : advice;
    if (within == capacity) advice.least = least;
    advice.spills.clear();
    advice.bytes = 0;
    for (const std::size_t b : *gone) {
      advice.spills.push_back(spill_of(problem, b, positions));
      advice.bytes += problem.buffers[b].size;
    }
    std::ranges::sort(advice.spills, {}, &Spill::buffer);
    for (const bool is_whole : {false, true}) {
      if (is_whole) {
        for (Spill& it : advice.spills) it = whole_spill(problem, it.buffer);
      }
      advice.fits = solve(without_spilled(problem, advice.spills), options).outcome == Outcome::fits;
      if (advice.fits) return advice;
    }
    if (within == 0 || options.stop.stop_requested()) return advice;
    within = std::max<Bytes>(capacity - less, 0);
  }
}

}  // namespace stowage
