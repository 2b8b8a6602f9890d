// A model has changed a little, so its plan should change a little, too. A finished plan has its order, its
// buffers and its peaks. Only offsets are chosen again, below a ceiling: the capacity of the memory, or its peak if
// there is none. All buffers that an earlier plan has placed are pinned to its offsets at once, and the packer
// places the others. If they do not fit, halves are tried, the larger buffers first. A buffer that does not even
// fit alone moves.
//
//     all wanted -> too high -> larger half  -> fits, pinned
//                               smaller half -> too high -> ... -> one buffer that moves
//
// Of two buffers whose old places are in conflict now, the larger one is tried first. Buffers of networks that run at
// the same time are packed on one clock (one_clock.cc).
//
// Cost: one packing if all can stay, and about log(buffers) for each that moves. They share the time limit.

#include "plan/nearness.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "pack/occupancy.h"
#include "pack/solve.h"
#include "plan/draft.h"
#include "plan/one_clock.h"
#include "stowage/error.h"

namespace stowage::plan {
namespace {

/// Of the time that is left, for each packing: most find a plan soon or never.
constexpr double share_of_packing = 1.0 / 32;

/// A buffer and the offset that it had.
struct Wish {
  std::size_t buffer = 0;  ///< Index in the problem.
  Bytes offset = 0;
};

class Keeper {
 public:
  /// `problem` has one memory, whose capacity is the ceiling, and `places` are below it.
  Keeper(Problem problem, std::vector<Place> places, const SolveOptions& options, base::Deadline deadline)
      : problem_(std::move(problem)),
        places_(std::move(places)),
        options_(options),
        deadline_(std::move(deadline)) {}

  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  /// Whether the deadline left wishes untried.
  [[nodiscard]] bool is_cut_short() const { return is_cut_short_; }

  Nearness keep(std::vector<Wish> wishes) {
    Nearness result;
    for (const Wish& wish : wishes) {
      ++result.buffers;
      result.bytes += problem_.buffers[wish.buffer].size;
    }
    std::vector<Wish> possible;
    std::ranges::copy_if(wishes, std::back_inserter(possible), [&](const Wish& it) { return may_stay(it); });
    for (const Wish& wish : possible) result.most_bytes_kept += problem_.buffers[wish.buffer].size;
    std::ranges::stable_sort(possible, std::ranges::greater{},
                             [&](const Wish& it) { return problem_.buffers[it.buffer].size; });
    while (!is_cut_short_) {
      const std::vector<Wish> compatible = take_compatible(possible);
      if (compatible.empty()) break;
      admit(compatible);
    }
    for (const Wish& wish : wishes) {
      if (!is_granted(wish)) continue;
      ++result.buffers_kept;
      result.bytes_kept += problem_.buffers[wish.buffer].size;
    }
    return result;
  }

 private:
  [[nodiscard]] bool is_granted(const Wish& wish) const { return places_[wish.buffer].offset == wish.offset; }

  /// Whether the buffer could have that offset if it were alone.
  [[nodiscard]] bool may_stay(const Wish& wish) const {
    const Buffer& buffer = problem_.buffers[wish.buffer];
    const Memory& memory = problem_.memories[0];
    if (buffer.pinned) return *buffer.pinned == wish.offset;
    return wish.offset >= 0 && wish.offset % buffer.alignment == 0 && wish.offset % memory.granule == 0 &&
           wish.offset <= *memory.capacity - buffer.size;
  }

  /// Takes the wishes that no pin and no wish before them is in conflict with.
  [[nodiscard]] std::vector<Wish> take_compatible(std::vector<Wish>& wishes) const {
    pack::Occupancy taken(problem_.buffers);
    for (const Buffer& buffer : problem_.buffers) {
      if (buffer.pinned) taken.reserve(buffer, *buffer.pinned);
    }
    std::vector<Wish> compatible;
    std::erase_if(wishes, [&](const Wish& wish) {
      const Buffer& buffer = problem_.buffers[wish.buffer];
      if (buffer.pinned || taken.lowest_fit(buffer, wish.offset) != wish.offset) return false;
      taken.reserve(buffer, wish.offset);
      compatible.push_back(wish);
      return true;
    });
    return compatible;
  }

  /// Pins those that can stay with all that are pinned already.
  void admit(std::span<const Wish> wishes) {
    if (wishes.empty()) return;
    pin(wishes);
    if (std::ranges::all_of(wishes, [&](const Wish& it) { return is_granted(it); })) return;
    is_cut_short_ = is_cut_short_ || deadline_.is_over();
    if (!is_cut_short_ && place_others()) return;
    for (const Wish& wish : wishes) problem_.buffers[wish.buffer].pinned.reset();
    if (is_cut_short_ || wishes.size() == 1) return;
    admit(wishes.first(wishes.size() / 2));
    admit(wishes.subspan(wishes.size() / 2));
  }

  /// Places the buffers that are not pinned; false if they do not fit.
  bool place_others() {
    SolveOptions options = options_;
    if (obstacle_to(options.strategy, problem_))
      options.strategy = SolveOptions().strategy;  // it knows no pins
    Solution solution = pack::solve(problem_, options, deadline_.part(share_of_packing));
    if (solution.outcome != Outcome::fits) return false;
    places_ = std::move(solution.places);
    return true;
  }

  void pin(std::span<const Wish> wishes) {
    for (const Wish& wish : wishes) problem_.buffers[wish.buffer].pinned = wish.offset;
  }

  Problem problem_;
  std::vector<Place> places_;
  const SolveOptions& options_;
  base::Deadline deadline_;
  bool is_cut_short_ = false;
};

using OldPlaces = std::map<std::pair<std::string_view, std::string_view>, Bytes>;  ///< By memory and buffer.

OldPlaces old_places(std::span<const NearPlace> near) {
  OldPlaces old;
  for (const NearPlace& place : near) old[{place.memory, place.buffer}] = place.offset;
  return old;
}

/// On one clock.
std::vector<Buffer> buffers_in(const Plan& plan, std::size_t memory) {
  std::vector<Buffer> buffers;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.places[b].memory != memory) continue;
    buffers.push_back(plan.buffers[b]);
    buffers.back().memories.clear();
  }
  if (plan.clocks.size() == 1) return buffers;
  auto together = on_one_clock(buffers, plan.clocks);
  if (!together) throw UsageError("--near: too many buffers of models that run at the same time");
  return std::move(*together);
}

/// The places of a memory's buffers, near to the old ones.
Nearness bring_memory_near(Plan& plan, std::size_t memory, const OldPlaces& old, const SolveOptions& options,
                           const base::Deadline& deadline) {
  const PlannedMemory& planned = plan.memories[memory];
  Problem problem{.buffers = buffers_in(plan, memory), .memories = {planned.memory}};
  problem.memories[0].capacity = std::max(planned.peak, planned.memory.capacity.value_or(0));
  std::vector<std::size_t> own;
  std::vector<Place> places;
  std::vector<Wish> wishes;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.places[b].memory != memory) continue;
    if (const auto wish = old.find({planned.memory.name, plan.buffers[b].id}); wish != old.end())
      wishes.push_back({own.size(), wish->second});
    own.push_back(b);
    places.push_back({0, plan.places[b].offset});
  }
  Keeper keeper(std::move(problem), std::move(places), options, deadline);
  const Nearness result = keeper.keep(std::move(wishes));
  plan.interrupted = plan.interrupted || keeper.is_cut_short();
  for (std::size_t i = 0; i < own.size(); ++i) plan.places[own[i]].offset = keeper.places()[i].offset;
  return result;
}

}  // namespace

void expect_options_of_nearness(const PlanOptions& options) {
  if (options.near.empty()) return;
  if (options.solve.strategy == "slots")
    throw NotApplicable("slots", "chooses offsets in pools of equal slots: it cannot keep others");
  if (options.stream && options.stream->recompute_from)
    throw UsageError("--near and a range of --recompute cannot be combined");
}

Nearness bring_near(Plan& plan, const PlanOptions& options, const base::Deadline& deadline) {
  plan.slots.clear();  // of a plan by `auto`; the places are as good without their pools
  const OldPlaces old = old_places(options.near);
  Nearness sum;
  for (std::size_t m = 0; m < plan.memories.size(); ++m) {
    if (plan.memories[m].memory.role != MemoryRole::working) continue;
    const Nearness part = bring_memory_near(plan, m, old, options.solve, deadline);
    sum.buffers += part.buffers;
    sum.buffers_kept += part.buffers_kept;
    sum.bytes += part.bytes;
    sum.bytes_kept += part.bytes_kept;
    sum.most_bytes_kept += part.most_bytes_kept;
  }
  renew_peaks(plan);
  return sum;
}

KeptPlaces kept_places(const Plan& plan, std::span<const NearPlace> near) {
  const OldPlaces old = old_places(near);
  KeptPlaces kept;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const auto place = old.find({plan.memories[plan.places[b].memory].memory.name, plan.buffers[b].id});
    kept.push_back(place != old.end() && place->second == plan.places[b].offset);
  }
  return kept;
}

void count_kept(const Plan& plan, std::span<const NearPlace> near, Nearness& nearness) {
  const KeptPlaces kept = kept_places(plan, near);
  nearness.buffers_kept = nearness.bytes_kept = 0;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    if (!kept[b] || plan.memories[plan.places[b].memory].memory.role != MemoryRole::working) continue;
    ++nearness.buffers_kept;
    nearness.bytes_kept += plan.buffers[b].size;
  }
}

}  // namespace stowage::plan

std::vector<stowage::NearPlace> stowage::places_in(const Plan& plan) {
  std::vector<NearPlace> places;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const Place& place = plan.places[b];
    places.push_back({plan.memories[place.memory].memory.name, plan.buffers[b].id, place.offset});
  }
  return places;
}
