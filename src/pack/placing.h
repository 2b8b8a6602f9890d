#pragma once

#include <algorithm>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "pack/life.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

class Neighbours;

/// The input of a strategy besides the problem: the user's options, and when to stop.
struct Control {
  SolveOptions options{};
  base::Deadline deadline{};
  bool has_plan = false;     ///< A fallback plan exists or is being made: the deadline applies to all.
  bool is_fallback = false;  ///< The placing is the fallback of other strategies: soon counts more than low.
  const std::atomic<Bytes>* ceiling = nullptr;  ///< With one memory: only placings below it are useful.
  /// With one memory: the best placing of other strategies for the same problem. Empty: none.
  std::span<const Place> known{};
  /// With relations and one memory: no placing has a lower peak, as the caller knows.
  Bytes least_peak = 0;
  /// Rounds in which a strategy may lower its first placing, for callers to whom a placing is one of many. None: as many
  /// as help.
  std::optional<std::int64_t> rounds{};
  /// Of all buffers, with collisions joined, if there are some of many pieces: found once for all strategies; see best_of.
  const Neighbours* neighbours = nullptr;

  /// True if the user interrupts or the time is up: improving must end.
  [[nodiscard]] bool is_time_up() const { return deadline.is_over(); }
  /// True if a strategy must return without a placing. Without a fallback plan only the user can cause this.
  [[nodiscard]] bool is_too_late() const { return has_plan ? is_time_up() : deadline.is_stop_requested(); }
  /// Counts work; see base::Deadline.
  void spend(std::int64_t work) const { deadline.spend(work); }
  /// Whether another placing beats one with this peak, finished or not.
  [[nodiscard]] bool is_beaten(Bytes peak) const { return ceiling != nullptr && peak >= *ceiling; }
  /// Reports progress, from 0 to 1.
  void report(std::string_view what, double fraction) const;
};

/// After the effort, or else the time limit, that the options give; both begin now.
[[nodiscard]] base::Deadline deadline_of(const SolveOptions& options);

/// The number of threads that searches may use.
[[nodiscard]] std::size_t threads_of(const SolveOptions& options);

/// Polled periodically; true means abandon the computation.
using Stop = std::function<bool()>;

/// The result of a strategy: a place for every buffer, or none at all if it was too late or beaten.
struct Placing {
  std::vector<Place> places;
  std::optional<SlotPool> slots{};  ///< Of strategy `slots`.
  std::optional<Tuning> tuning{};   ///< Of strategy `rectangle`.
  bool cut_short = false;           ///< Stopped before it was done.
  bool is_least = false;            ///< An exhausted search proves that no placing has a lower peak.
  Bytes lower_bound = 0;            ///< Proven above max load by these positions:
  std::vector<Position> certificate{};
  std::int64_t cost_bound = 0;  ///< With several memories: proven for all assignments that fit.
};

/// The result of a strategy that was stopped before it had a placing, see Control::is_too_late.
[[nodiscard]] inline Placing no_placing() { return {.places = {}, .cut_short = true}; }

/// Reading the clock and drawing progress cost more than placing a buffer: both happen once in so many.
constexpr std::size_t buffers_between_looks = 256;

enum class Fit { lowest, tightest };

/// Places pinned buffers where they are pinned, then the others in the given order (a permutation of all
/// buffers), each among those placed before. Buffers that are never alive get offset 0. `what` is the
/// strategy's name, for progress. No places if it was too late, or beaten.
[[nodiscard]] Placing place_in_order(const Problem& problem, std::span<const std::size_t> order, Fit fit,
                                     const Control& control, std::string_view what);

/// The lowest placing of so many passes, of equal ones the first. `run` is asked for one after the other, with a
/// control that reports the progress of all. It ends with the first that is cut short.
[[nodiscard]] Placing lowest_of(const Problem& problem, const Control& control, std::string_view what,
                                int passes,
                                const std::function<Placing(int pass, const Control& control)>& run);

/// Why a strategy for one memory cannot serve a problem of several; none if it has one.
[[nodiscard]] std::optional<std::string> several_memories(const Problem& problem);

/// The least common multiple of all alignments; nothing if adding it to offsets could overflow. The problem
/// need not be valid.
[[nodiscard]] std::optional<Bytes> common_alignment(const Problem& problem);

/// Indices of the buffers, sorted by `before(i, j)`: true if i comes before j. Ties stay in the given order.
template <typename Before>
[[nodiscard]] std::vector<std::size_t> sorted_buffers(const Problem& problem, Before before) {
  std::vector<std::size_t> order(problem.buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

/// Sorted by start; of buffers that start together the larger first, then the one given first.
[[nodiscard]] std::vector<std::size_t> by_start(const Problem& problem);

/// The quality of a solution: less is better.
struct Score {
  Bytes excess = 0;            ///< Bytes beyond capacities, all memories together; 0: it fits.
  std::int64_t cost = 0;       ///< Sum of `cost_in` over buffers; constant with one memory.
  std::vector<Bytes> peaks{};  ///< The last memory, which is the slowest, first.

  auto operator<=>(const Score&) const = default;
};

/// A pool of slots counts with all its bytes.
[[nodiscard]] Score score_of(const Problem& problem, std::span<const Place> places,
                             const std::optional<SlotPool>& slots = {});

/// The cost of the buffer's traffic in a memory. A cost whose sum over all buffers could overflow is reduced
/// to the largest that cannot.
[[nodiscard]] std::int64_t cost_in(const Problem& problem, std::size_t buffer, std::size_t memory);

/// The capacity of a memory; without a limit `largest_value`.
[[nodiscard]] Bytes capacity_of(const Memory& memory);

/// Sum over memories of highest offset + size.
[[nodiscard]] Bytes total_peak(const Score& score);

}  // namespace stowage::pack
