// A buffer belongs to a pool if it lies in one of its slots from its first position to its last. All
// other buffers must keep clear of all pools. Of those in a pool, no two may be in a slot at a time,
// including gaps in their live ranges. So it takes two searches for overlaps: pools with other buffers, and
// slots.
//
//     slot 1  |   b   | d |          b and d belong to the pool: a slot each at any time
//     slot 0  | a |xxxxxxxx          x is over the border of two slots: it is found to overlap the pool
//
// The possible pool of a buffer is looked up by address among the pools that are live when it begins.
// Cost: n log n.

#include "check/slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/checked.h"
#include "check/names.h"

namespace stowage::check {
namespace {

bool holds(const Lifetime& outer, const Lifetime& inner) {
  return outer.lower <= inner.lower && inner.upper <= outer.upper;
}

/// One box for each buffer of the clock, with all of its bytes from its first position to its last.
std::vector<base::Box> whole_boxes(const Plan& plan, std::size_t clock, std::span<const base::Box> boxes) {
  std::vector<base::Box> whole;
  std::unordered_map<std::size_t, std::size_t> index_of;
  for (const base::Box& box : boxes) {
    if (box.life.lower >= box.life.upper || box.begin >= box.end) continue;
    if (box.holder >= plan.buffers.size() || plan.buffers[box.holder].clock != clock) continue;
    const auto [entry, is_new] = index_of.emplace(box.holder, whole.size());
    const Bytes offset = plan.places[box.holder].offset;
    if (is_new) whole.push_back({box.life, offset, offset + plan.buffers[box.holder].size, box.holder});
    Lifetime& life = whole[entry->second].life;
    life = {std::min(life.lower, box.life.lower), std::max(life.upper, box.life.upper)};
  }
  std::sort(whole.begin(), whole.end(),
            [](const base::Box& a, const base::Box& b) { return a.life.lower < b.life.lower; });
  return whole;
}

/// The pools that are live at a position, which only rises. No two of them overlap.
class PoolsInTime {
 public:
  PoolsInTime(const Plan& plan, std::span<const std::size_t> pools)
      : plan_(plan), by_begin_(pools.begin(), pools.end()) {
    std::sort(by_begin_.begin(), by_begin_.end(), [&](std::size_t a, std::size_t b) {
      return plan_.slots[a].life.lower < plan_.slots[b].life.lower;
    });
  }

  /// The slot that contains the box during all of its time; none if no slot does.
  std::optional<base::Box> slot_for(const base::Box& box) {
    go_to(box.life.lower);
    const auto above = by_address_.upper_bound(box.begin);
    if (above == by_address_.begin()) return std::nullopt;
    const SlotPool& pool = plan_.slots[std::prev(above)->second];
    const Bytes begin = box.begin - (box.begin - pool.place.offset) % pool.size;
    const base::Box slot{box.life, begin, begin + pool.size, box.holder};
    if (slot.end > pool.end() || box.end > slot.end || !holds(pool.life, box.life)) return std::nullopt;
    return slot;
  }

 private:
  void go_to(Position at) {
    for (; next_ < by_begin_.size() && plan_.slots[by_begin_[next_]].life.lower <= at; ++next_) {
      const SlotPool& pool = plan_.slots[by_begin_[next_]];
      if (pool.life.upper <= at) continue;
      by_address_[pool.place.offset] = by_begin_[next_];
      ends_.emplace(pool.life.upper, pool.place.offset);
    }
    for (; !ends_.empty() && ends_.begin()->first <= at; ends_.erase(ends_.begin())) {
      const auto pool = by_address_.find(ends_.begin()->second);
      if (pool != by_address_.end() && plan_.slots[pool->second].life.upper <= at) by_address_.erase(pool);
    }
  }

  const Plan& plan_;
  std::vector<std::size_t> by_begin_;
  std::size_t next_ = 0;
  std::map<Bytes, std::size_t> by_address_;    ///< Offsets to pools.
  std::set<std::pair<Position, Bytes>> ends_;  ///< Their ends and offsets.
};

void add_overlap(const Plan& plan, std::size_t clock, std::span<const base::Box> boxes, std::string_view what,
                 Faults& faults) {
  const auto overlap = base::find_overlap(boxes);
  if (!overlap) return;
  const base::Box& first = boxes[overlap->first];
  const base::Box& second = boxes[overlap->second];
  faults.push_back(
      {FaultKind::overlap, fmt::format("{} (bytes {} to {}) and {} (bytes {} to {}) {} at position {}{}",
                                       name_of_holder(plan, first.holder), first.begin, first.end,
                                       name_of_holder(plan, second.holder), second.begin, second.end, what,
                                       overlap->at, of_clock(clock))});
}

}  // namespace

void check_slots_form(const Plan& plan, Faults& faults) {
  for (std::size_t p = 0; p < plan.slots.size(); ++p) {
    const SlotPool& pool = plan.slots[p];
    const auto fault = [&](const std::string& what) {
      faults.push_back({FaultKind::format, fmt::format("pool of slots {}{}", p, what)});
    };
    if (pool.clock >= plan.clocks.size())
      fault(fmt::format(" is of clock {}, there are {}", pool.clock, plan.clocks.size()));
    if (pool.place.memory >= plan.memories.size())
      fault(fmt::format(" is in memory {}, which does not exist", pool.place.memory));
    if (pool.size < 1 || pool.count < 1)
      fault(fmt::format(" has {} slots of {} bytes, expected at least one of each", pool.count, pool.size));
    const auto bytes = base::checked_multiply(pool.size, pool.count);
    const auto end = bytes ? base::checked_add(pool.place.offset, *bytes) : std::nullopt;
    if (pool.place.offset < 0 || !end || *end > largest_value)
      fault(fmt::format(" is at offset {} and ends beyond all addresses", pool.place.offset));
    if (pool.life.lower < 0 || pool.life.lower >= pool.life.upper)
      fault(fmt::format(" is there from {} to {}", pool.life.lower, pool.life.upper));
  }
}

base::Box box_of_pool(const Plan& plan, std::size_t pool) {
  const SlotPool& it = plan.slots[pool];
  return {it.life, it.place.offset, it.end(), plan.buffers.size() + pool};
}

std::string name_of_holder(const Plan& plan, std::size_t holder) {
  if (holder < plan.buffers.size()) return name_of_buffer(plan, holder);
  return fmt::format("pool of slots {}", holder - plan.buffers.size());
}

void check_slots(const Plan& plan, std::size_t clock, std::span<const std::size_t> pools,
                 std::span<const base::Box> boxes, Faults& faults) {
  if (pools.empty()) return;
  std::vector<base::Box> apart;
  for (const std::size_t pool : pools) apart.push_back(box_of_pool(plan, pool));
  if (base::find_overlap(apart)) return add_overlap(plan, clock, apart, "overlap", faults);
  PoolsInTime there(plan, pools);
  std::vector<base::Box> slots;
  std::unordered_set<std::size_t> pooled;
  for (const base::Box& box : whole_boxes(plan, clock, boxes)) {
    const auto slot = there.slot_for(box);
    if (!slot) continue;
    slots.push_back(*slot);
    pooled.insert(box.holder);
  }
  for (const base::Box& box : boxes) {
    if (!pooled.contains(box.holder)) apart.push_back(box);
  }
  add_overlap(plan, clock, apart, "overlap outside of a single slot", faults);
  add_overlap(plan, clock, slots, "hold the same slot", faults);
}

}  // namespace stowage::check
