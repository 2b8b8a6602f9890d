// Two memories: how much can the fast one of C bytes save at best? Forget addresses: it may hold any
// bytes of buffers, as long as no more than C are alive at any position. That is a flow of C units from the
// first position to the last. Each byte of the memory is a unit. It passes through a buffer from its lower to
// its upper and earns the buffer's saving per byte, or it idles and earns nothing:
//
//     C --> 0 ---idle---> 1 ---idle---> 2 ---idle---> 3 --> C
//           |             |             |             |
//           |             +---- b: size 4, saves 9 ---+
//           +-- a: size 6, saves 20 ----+
//
// The maximum-profit flow solves this relaxation exactly, hence bounds the real problem. A flow's prices
// (distances in the residual network) say how much a byte earns between two positions, y(t) >= 0. Every such
// y proves, by weak duality,
//
//     saved <= C * sum of y(t) + sum over buffers of max(0, saving - size * sum of y(t) over its life).
//
// This sum is computed in exact integers. So neither rounding (savings per byte are rounded) nor an early end
// (a budget of arcs) makes the bound wrong, only weaker; y = 0 is the trivial bound: everything in its
// cheapest memory.
//
// More memories, from cheap to dear c0 <= c1 <= ...: a buffer in memory m costs the dearest price less the
// steps c(k+1) - c(k) of all k >= m. So for each k the buffers in the first k+1 memories save a step, and
// they share these memories' capacities: one flow each, and the savings add up.
//
// Also relaxed: of several pieces of a buffer only the largest in bytes times positions counts; memories that
// a buffer may not live in still carry their part of the flow; pins are ignored. A buffer that no cheap
// memory may hold, or that is larger than it, saves nothing there.
// Cost: flows * (augmentations * n log n), within the budget. Source: the relaxation is ours; min-cost flow
// by successive shortest paths with potentials (Edmonds & Karp 1972).

#include "pack/memories/cost_bound.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "pack/memories/memories.h"

namespace stowage::memories {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t arcs_per_bound = 3000000;  ///< Arcs examined, over all flows.
constexpr std::int64_t work_of_arc = 15;          ///< In the units of deadlines, about.

/// A buffer that could use the memory, and its saving there.
struct Claim {
  Bytes size = 0;
  std::size_t lower = 0;  ///< Events, not positions.
  std::size_t upper = 0;
  std::int64_t saving = 0;
};

/// The flow through the events 0 to `events` - 1.
class Flow {
 public:
  Flow(std::span<const Claim> claims, std::size_t events, int shift) : distances_(events), arcs_of_(events) {
    for (std::size_t e = 0; e + 1 < events; ++e) add(e, e + 1, largest_value, 0);
    for (const Claim& claim : claims)
      add(claim.lower, claim.upper, claim.size,
          static_cast<std::int64_t>((static_cast<Wide>(claim.saving) << shift) / claim.size));
    // Longest paths from the first event; arcs lead upwards, so one pass is enough.
    potentials_.assign(events, 0);
    for (std::size_t e = 0; e < events; ++e) {
      for (const std::size_t a : arcs_of_[e]) {
        if (arcs_[a].room > 0)
          potentials_[arcs_[a].to] = std::max(potentials_[arcs_[a].to], potentials_[e] + arcs_[a].gain);
      }
    }
  }

  /// Sends units along the paths that gain most, as long as they gain and the budget lasts.
  void send(Bytes units, std::int64_t& budget, const base::Deadline& deadline) {
    while (units > 0 && potentials_.back() > 0) {
      const Bytes sent = augment(units);
      units -= sent;
      if (units == 0) return;  // these potentials are the prices
      budget -= std::ssize(arcs_);
      deadline.spend(work_of_arc * std::ssize(arcs_));
      if (budget < 0 || !find_paths(deadline)) return;
    }
  }

  /// The gain of a byte on its way to each event; never falling.
  [[nodiscard]] const std::vector<std::int64_t>& prices() const { return potentials_; }

 private:
  struct Arc {
    std::size_t to = 0;
    Bytes room = 0;
    std::int64_t gain = 0;
  };

  /// Adds an arc and, at the next index, its reverse.
  void add(std::size_t from, std::size_t to, Bytes room, std::int64_t gain) {
    arcs_of_[from].push_back(arcs_.size());
    arcs_.push_back({to, room, gain});
    arcs_of_[to].push_back(arcs_.size());
    arcs_.push_back({from, 0, -gain});
  }

  /// The loss of taking the arc instead of the best path to its end; not negative if the arc has room.
  [[nodiscard]] std::int64_t missed(std::size_t from, const Arc& arc) const {
    return potentials_[from] + arc.gain > potentials_[arc.to]
               ? 0
               : potentials_[arc.to] - potentials_[from] - arc.gain;
  }

  /// Dijkstra over these losses; afterwards the potentials are the longest distances. If the time is up, they do
  /// not change.
  bool find_paths(const base::Deadline& deadline) {
    using Entry = std::pair<std::int64_t, std::size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    std::fill(distances_.begin(), distances_.end(), std::numeric_limits<std::int64_t>::max());
    distances_[0] = 0;
    queue.emplace(0, 0);
    for (std::size_t popped = 0; !queue.empty(); ++popped) {
      if (popped % pack::buffers_between_looks == 0 && deadline.is_over()) return false;
      const auto [distance, event] = queue.top();
      queue.pop();
      if (distance > distances_[event]) continue;
      for (const std::size_t a : arcs_of_[event]) {
        const Arc& arc = arcs_[a];
        const std::int64_t there = distance + missed(event, arc);
        if (arc.room == 0 || there >= distances_[arc.to]) continue;
        distances_[arc.to] = there;
        queue.emplace(there, arc.to);
      }
    }
    for (std::size_t e = 0; e < potentials_.size(); ++e) potentials_[e] -= distances_[e];
    return true;
  }

  /// Sends as much as possible along one path without loss; such a path exists.
  Bytes augment(Bytes most) {
    std::vector<std::optional<std::size_t>> via(potentials_.size());
    std::vector<std::size_t> open{0};
    while (!open.empty() && !via.back()) {
      const std::size_t event = open.back();
      open.pop_back();
      for (const std::size_t a : arcs_of_[event]) {
        const Arc& arc = arcs_[a];
        if (arc.room == 0 || arc.to == 0 || via[arc.to] || missed(event, arc) > 0) continue;
        via[arc.to] = a;
        open.push_back(arc.to);
      }
    }
    const auto on_path = [&](auto&& visit) {
      for (std::size_t event = via.size() - 1; event != 0; event = arcs_[*via[event] ^ 1].to)
        visit(*via[event]);
    };
    on_path([&](std::size_t a) { most = std::min(most, arcs_[a].room); });
    on_path([&](std::size_t a) {
      arcs_[a].room -= most;
      arcs_[a ^ 1].room += most;
    });
    return most;
  }

  std::vector<std::int64_t> potentials_;
  std::vector<std::int64_t> distances_;
  std::vector<Arc> arcs_;
  std::vector<std::vector<std::size_t>> arcs_of_;
};

std::int64_t sum_of_savings(std::span<const Claim> claims) {
  std::int64_t sum = 0;
  for (const Claim& claim : claims) sum += claim.saving;
  return sum;
}

/// The largest saving that the prices, in units of 2^-shift, allow, rounded up.
std::int64_t proven(std::span<const Claim> claims, Bytes capacity, std::span<const std::int64_t> prices,
                    int shift) {
  Wide most = static_cast<Wide>(capacity) * (prices.back() - prices.front());
  for (const Claim& claim : claims) {
    const Wide own = (static_cast<Wide>(claim.saving) << shift) -
                     static_cast<Wide>(claim.size) * (prices[claim.upper] - prices[claim.lower]);
    most += std::max<Wide>(0, own);
  }
  const Wide rounded = (most + (Wide{1} << shift) - 1) >> shift;
  return static_cast<std::int64_t>(std::min<Wide>(rounded, sum_of_savings(claims)));
}

/// The most that claims can save in a memory of that capacity.
std::int64_t most_saved(std::span<const Claim> claims, std::size_t events, Bytes capacity,
                        std::int64_t& budget, const base::Deadline& deadline) {
  const std::int64_t all = sum_of_savings(claims);
  Bytes size = 0;
  for (const Claim& claim : claims) size += claim.size;
  if (claims.empty() || size <= capacity || deadline.is_over()) return all;
  // Distances stay below 2^61: no path gains more than all claims together.
  const int shift = std::clamp(60 - static_cast<int>(std::bit_width(static_cast<std::uint64_t>(all))), 0, 20);
  Flow flow(claims, events, shift);
  flow.send(capacity, budget, deadline);
  return proven(claims, capacity, flow.prices(), shift);
}

class Bound {
 public:
  explicit Bound(const Problem& problem)
      : problem_(problem), choices_(problem), memories_(problem.memories.size()) {
    std::iota(memories_.begin(), memories_.end(), std::size_t{0});
    std::stable_sort(memories_.begin(), memories_.end(), [&](std::size_t m, std::size_t n) {
      return problem.memories[m].cost < problem.memories[n].cost;
    });
    for (const Buffer& buffer : problem.buffers) spans_.push_back(span_of(buffer));
    for (const Piece& piece : spans_) {
      if (!piece.is_ever_alive()) continue;
      events_.push_back(piece.life.lower);
      events_.push_back(piece.life.upper);
    }
    std::sort(events_.begin(), events_.end());
    events_.erase(std::unique(events_.begin(), events_.end()), events_.end());
  }

  std::int64_t run(const base::Deadline& deadline) {
    std::int64_t bound = 0;
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b) bound += choices_.costs[b][memories_.back()];
    std::int64_t budget = arcs_per_bound;
    for (std::size_t k = 0; k + 1 < memories_.size(); ++k) bound -= saved_by(k, budget, deadline);
    return bound;
  }

 private:
  /// The largest piece of the buffer in bytes times positions.
  static Piece span_of(const Buffer& buffer) {
    Piece span;
    const auto area = [](const Piece& piece) {
      return static_cast<Wide>(piece.size) * (piece.life.upper - piece.life.lower);
    };
    for (const Piece& piece : buffer.pieces) {
      if (piece.is_ever_alive() && area(piece) > area(span)) span = piece;
    }
    return span;
  }

  /// The most that the first k + 1 memories can save of the price step after them.
  std::int64_t saved_by(std::size_t k, std::int64_t& budget, const base::Deadline& deadline) const {
    std::vector<Claim> claims;
    std::int64_t saved = 0;
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b) {
      const std::int64_t saving = choices_.costs[b][memories_[k + 1]] - choices_.costs[b][memories_[k]];
      if (saving == 0 || !may_be_among(b, k)) continue;
      if (spans_[b].is_ever_alive()) {
        claims.push_back(
            {spans_[b].size, event_of(spans_[b].life.lower), event_of(spans_[b].life.upper), saving});
      } else {
        saved += saving;
      }
    }
    Bytes capacity = 0;
    for (std::size_t i = 0; i <= k; ++i)
      capacity = std::min(largest_value, capacity + choices_.capacities[memories_[i]]);
    return saved + most_saved(claims, events_.size(), capacity, budget, deadline);
  }

  [[nodiscard]] bool may_be_among(std::size_t b, std::size_t k) const {
    const auto& allowed = choices_.allowed[b];
    return std::any_of(memories_.begin(), memories_.begin() + static_cast<std::ptrdiff_t>(k) + 1,
                       [&](std::size_t m) {
                         return std::find(allowed.begin(), allowed.end(), m) != allowed.end() &&
                                holds(choices_, m, problem_.buffers[b]);
                       });
  }

  [[nodiscard]] std::size_t event_of(Position at) const {
    return static_cast<std::size_t>(std::lower_bound(events_.begin(), events_.end(), at) - events_.begin());
  }

  const Problem& problem_;
  Choices choices_;
  std::vector<std::size_t> memories_;  ///< The cheapest first.
  std::vector<Piece> spans_;           ///< Per buffer.
  std::vector<Position> events_;
};

}  // namespace

std::int64_t cost_bound(const Problem& problem, const base::Deadline& deadline) {
  return Bound(problem).run(deadline);
}

}  // namespace stowage::memories
