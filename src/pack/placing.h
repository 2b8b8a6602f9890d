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
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// What a strategy is told: what the user asked for, and when to stop.
struct Control {
  SolveOptions options{};
  base::Deadline deadline{};
  bool has_plan = false;  ///< There is a plan, or it is due: the clock may end what has no placing yet.
  const std::atomic<Bytes>* ceiling = nullptr;  ///< Of one memory: only placings below it are of use.

  /// Improving is to end: the user interrupts, or the time is up.
  [[nodiscard]] bool is_time_up() const { return deadline.is_over(); }
  /// Who has no placing yet is to return without one: the same, but without a plan only for the user.
  [[nodiscard]] bool is_too_late() const { return has_plan ? is_time_up() : deadline.is_stop_requested(); }
  /// Whether a placing of that peak, or one that is not finished and as high already, is beaten by another.
  [[nodiscard]] bool is_beaten(Bytes peak) const { return ceiling != nullptr && peak >= *ceiling; }
  /// Tells how far the strategy is, from 0 to 1.
  void report(std::string_view what, double fraction) const;
};

/// How many threads searches may use.
[[nodiscard]] std::size_t threads_of(const SolveOptions& options);

/// Whether what is being done is of no use any more; asked now and then.
using Stop = std::function<bool()>;

/// What a strategy returns: a place for every buffer, or none at all if it was too late for one, or beaten.
struct Placing {
  std::vector<Place> places;
  std::optional<SlotPool> slots{};  ///< Of strategy `slots`.
  bool cut_short = false;           ///< Told to stop before it was done.
  bool is_least = false;            ///< An exhausted search says that no placing has a lower peak.
  Bytes lower_bound = 0;            ///< Proven beyond what loads show, by these positions:
  std::vector<Position> certificate{};
  std::int64_t cost_bound = 0;  ///< Of several memories: proven of all choices of them that fit.
};

/// Of a strategy that was told to stop before it had a placing, see Control::is_too_late.
[[nodiscard]] inline Placing no_placing() { return {.places = {}, .cut_short = true}; }

/// Asking the clock and drawing progress cost more than placing a buffer: only once in so many.
constexpr std::size_t buffers_between_looks = 256;

enum class Fit { lowest, tightest };

/// Places pinned buffers where they are pinned, then the others in the given order (a permutation
/// of all buffers), each where it fits among those placed before. Buffers that are never alive get
/// offset 0. `what` is the strategy's name, for progress. No places if it was too late, or beaten.
[[nodiscard]] Placing place_in_order(const Problem& problem, std::span<const std::size_t> order, Fit fit,
                                     const Control& control, std::string_view what);

/// From the first byte needed to the last: [least lower, greatest upper) of the pieces that have
/// bytes and are ever alive; [0, 0) when none is.
[[nodiscard]] Lifetime life_of(const Buffer& buffer);

/// What keeps a strategy that knows one memory from serving a problem of several; none if there is one.
[[nodiscard]] std::optional<std::string> several_memories(const Problem& problem);

/// The least common multiple of all alignments; nothing if it is too large to be added to offsets. The
/// problem need not be valid.
[[nodiscard]] std::optional<Bytes> common_alignment(const Problem& problem);

/// Indices of the buffers sorted so that `before(i, j)` holds for i in front of j; where it decides
/// nothing they stay in the given order.
template <typename Before>
[[nodiscard]] std::vector<std::size_t> sorted_buffers(const Problem& problem, Before before) {
  std::vector<std::size_t> order(problem.buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

/// In the order in which they come to life; of those that start together the larger first, then
/// the one given first.
[[nodiscard]] std::vector<std::size_t> by_start(const Problem& problem);

/// How good a solution is: the lesser is to be preferred.
struct Score {
  Bytes excess = 0;            ///< By how much memories are beyond their capacities, in all; 0: it fits.
  std::int64_t cost = 0;       ///< Sum of `cost_in` over buffers; the same for all where there is one memory.
  std::vector<Bytes> peaks{};  ///< The last memory, which is the slowest, first.

  auto operator<=>(const Score&) const = default;
};

/// The pool of slots counts with all of its bytes, if there is one.
[[nodiscard]] Score score_of(const Problem& problem, std::span<const Place> places,
                             const std::optional<SlotPool>& slots = {});

/// What the buffer's traffic costs in a memory. A cost so large that the sum over all buffers could
/// overflow counts as the largest that cannot.
[[nodiscard]] std::int64_t cost_in(const Problem& problem, std::size_t buffer, std::size_t memory);

/// What a memory holds at most; without a limit `largest_value`.
[[nodiscard]] Bytes capacity_of(const Memory& memory);

/// Sum over memories of highest offset + size.
[[nodiscard]] Bytes total_peak(const Score& score);

}  // namespace stowage::pack
