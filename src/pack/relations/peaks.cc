// Lower peaks: for one memory after the other, the last one first, the least capacity at which all still fits, at no more
// cost for any part. Between one that is too small and one that is large enough, the middle is tried; the placing so far is
// where each try begins.
//
// Where nothing but pairs that are apart matters, each part is lowered by a search of its own before (heights.cc).
//
// A capacity is too small for certain if a search of all placings says so, or live bytes do. If the search of the last one
// that failed was only cut short, the peak is not proven.
//
// Cost: log(peak / bytes of a cell) searches of the parts. It ends with the deadline.

#include <algorithm>
#include <numeric>
#include <utility>

#include "pack/relations/empty.h"
#include "pack/relations/search.h"

namespace stowage::pack::relations {
namespace {

enum class Try : std::uint8_t { fits, proven, open };

/// A memory of less capacity. What is reserved behind it counts no more.
void shrink(Memory& memory, Bytes capacity) {
  memory.capacity = capacity;
  std::erase_if(memory.reserved, [&](const ByteRange& range) { return range.begin >= capacity; });
  for (ByteRange& range : memory.reserved) range.end = std::min(range.end, capacity);
}

/// Whether all fits in the capacities, at these costs. Then `places` are such places.
Try try_capacities(const Problem& problem, std::span<const std::int64_t> costs, std::vector<Place>& places,
                   const Control& control) {
  const Arena arena(problem);
  if (arena.overload()) return Try::proven;
  if (arena.parts().size() != costs.size()) return Try::open;
  const std::vector<std::optional<Place>> start(places.begin(), places.end());
  const std::vector<Solved> solved = solve_parts(problem, arena, start, costs, control);
  std::vector<Cells> cells;
  bool fits = true;
  for (std::size_t p = 0; p < solved.size(); ++p) {
    if (solved[p].is_impossible || solved[p].bound > costs[p]) return Try::proven;
    fits = fits && solved[p].best.fits() && solved[p].best.cost <= costs[p];
    cells.push_back(solved[p].best.cells);
  }
  if (!fits) return Try::open;
  places = arena.places_of(cells);
  return Try::fits;
}

/// With one memory and nothing but pairs that are apart: lowers each part by searches of its own. Returns a capacity that is
/// too small.
Bytes lower_heights(const Problem& problem, std::vector<Place>& places, const Control& control) {
  constexpr Bytes none = -1;
  constexpr std::size_t few = 64;  // as many as a search of all placings takes
  constexpr double share_with_few = 0.3;
  if (problem.memories.size() > 1 || !problem.memories[0].reserved.empty()) return none;
  const Arena arena(problem);
  const std::vector<Part>& parts = arena.parts();
  if (!std::ranges::all_of(parts, is_only_apart)) return none;
  std::vector<Cells> cells = arena.cells_of(std::vector<std::optional<Place>>(places.begin(), places.end()));
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t p) { return parts[p].items.size(); });
  Cell bound = (control.least_peak + arena.unit() - 1) / arena.unit();
  for (std::size_t i = 0; i < order.size(); ++i) {
    Control own = control;
    const double share = parts[order[i]].items.size() <= few ? share_with_few : 1;
    own.deadline = control.deadline.part(share / static_cast<double>(order.size() - i));
    bound = lower_height(parts[order[i]], bound, cells[order[i]], own);
  }
  places = arena.places_of(cells);
  return std::max({none, (bound - 1) * arena.unit(), control.least_peak - 1});
}

}  // namespace

Peaks lower_peaks(const Problem& problem, std::span<const std::int64_t> costs, std::vector<Place>& places,
                  const Control& control) {
  Problem limited = problem;
  const EmptyBuffers empty(problem);
  Bytes too_small = lower_heights(problem, places, control);
  Peaks peaks;
  std::vector<Bytes> settled(problem.memories.size());
  for (std::size_t m = limited.memories.size(); m-- > 0;) {
    const Bytes floor = empty.least_peak(m, settled);
    Bytes high = std::max(peaks_of_bytes(problem, places)[m], floor);
    Bytes low = std::max(too_small, floor - 1);
    bool is_proven = true;
    while (low + 1 < high && !control.deadline.is_over()) {
      const Bytes middle = low + (high - low) / 2;
      Problem smaller = limited;
      shrink(smaller.memories[m], middle);
      Control part = control;
      constexpr double share = 0.2;
      part.deadline = control.deadline.part(share / static_cast<double>(m + 1));
      part.options.progress = nullptr;
      const Try result = try_capacities(smaller, costs, places, part);
      if (result == Try::fits) {
        high = std::max(peaks_of_bytes(problem, places)[m], floor);
      } else {
        low = middle;
        is_proven = result == Try::proven;
        if (is_proven && limited.memories.size() == 1) too_small = middle;
      }
    }
    peaks.are_least = peaks.are_least && is_proven && low + 1 >= high;
    settled[m] = high;
    shrink(limited.memories[m], high);
  }
  empty.place(settled, places);
  if (limited.memories.size() == 1) peaks.bound = std::max<Bytes>(too_small + 1, 0);
  return peaks;
}

}  // namespace stowage::pack::relations
