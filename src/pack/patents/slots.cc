// The temporaries of a network share a pool of equal slots, each as large as the largest temporary.
// Then any free slot takes any buffer, and planning only counts: the fewest slots needed are the most buffers
// alive at once. Buffers take slots in the order in which they come to life, each the lowest free one
// (colouring intervals, which needs no more colours than intervals meet at a point).
//
//     address ^
//             |  | x | state |y|         outside of the pool: inputs, outputs, pins, state
//     slot 2  |  | c     ....|
//     slot 1  |  |   b   | d |           b, c, d, e: whatever their sizes, one slot each
//     slot 0  |  | a |  e    |
//             +--+-----------+---> time
//
// Cost: n log n.
// Source: the document of docs/slots.md.
//
// Where the document is open:
// - The pool is for temporaries (the only subject of the document's claim) and for scratch, which is one.
//   Inputs, outputs, state, weights and instructions are outside of it. So are pinned buffers, since a pin
//   need not be the address of a slot. A list does not tell kinds: all of its buffers are temporaries.
// - The pool exists all the time and takes all of its bytes, used or not: they count in the peak.
// - Pinned buffers go where they are pinned. Then the pool goes as low as it fits, as if it were one buffer
//   that is always alive, and then each of the others as low as it goes.
// - Several pieces: a slot is held from the first position of a buffer to its last.
// - Alignment: the pool's base and the size of a slot are multiples of all alignments.

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "pack/occupancy.h"
#include "pack/strategies.h"

namespace stowage::pack {
namespace {

bool is_pooled(const Buffer& buffer, const Lifetime& life) {
  const bool is_temporary = buffer.kind == TensorKind::temporary || buffer.kind == TensorKind::scratch;
  return is_temporary && !buffer.pinned && life.lower < life.upper;
}

struct Pool {
  Bytes slot = 0;  ///< Bytes of each; aligned for every buffer of the problem.
  std::int64_t count = 0;
  std::vector<std::optional<std::int64_t>> slots{};  ///< Per buffer; none: not in the pool.
  Lifetime life{};                                   ///< From the first position of the problem to its last.
};

using SlotRelease = std::pair<Position, std::int64_t>;  ///< When a slot becomes free, and its number.
template <typename T>
using LeastFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;

/// Gives every buffer of the pool the lowest free slot.
Pool pool_of(const Problem& problem, Bytes alignment) {
  Pool pool{.slots = std::vector<std::optional<std::int64_t>>(problem.buffers.size())};
  LeastFirst<SlotRelease> taken;
  LeastFirst<std::int64_t> free;
  Bytes largest = 0;
  for (const std::size_t b : by_start(problem)) {
    const Lifetime life = life_of(problem.buffers[b]);
    if (life.lower < life.upper) {
      pool.life.lower = pool.life.upper == 0 ? life.lower : std::min(pool.life.lower, life.lower);
      pool.life.upper = std::max(pool.life.upper, life.upper);
    }
    if (!is_pooled(problem.buffers[b], life)) continue;
    for (; !taken.empty() && taken.top().first <= life.lower; taken.pop()) free.push(taken.top().second);
    if (free.empty()) free.push(pool.count++);
    pool.slots[b] = free.top();
    taken.emplace(life.upper, free.top());
    free.pop();
    largest = std::max(largest, problem.buffers[b].size);
  }
  pool.slot = base::align_up(largest, alignment);
  return pool;
}

/// Whether the addresses certainly suffice for so many slots, with all other buffers stacked on top.
template <typename IsOutside>
bool have_addresses(const Problem& problem, Bytes alignment, std::int64_t count, Bytes slot,
                    IsOutside is_outside) {
  auto total = base::checked_multiply(slot, count);
  const auto add = [&](Bytes part) { total = total ? base::checked_add(*total, part) : std::nullopt; };
  add(alignment);
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    const Buffer& buffer = problem.buffers[b];
    if (!is_outside(b)) continue;
    for (const Bytes part : {buffer.size, buffer.alignment, buffer.pinned.value_or(0)}) add(part);
  }
  return total && *total <= largest_value;
}

/// The whole pool as one buffer that is always alive.
Buffer block_of(const Pool& pool, Bytes alignment) {
  const Bytes size = pool.slot * pool.count;
  return {.size = size, .alignment = alignment, .pieces = {{0, size, pool.life}}};
}

}  // namespace

Placing slots(const Problem& problem, const Control& control) {
  control.report("slots", 0);
  if (control.is_too_late()) return no_placing();
  const Bytes alignment = common_alignment(problem).value();
  const Pool pool = pool_of(problem, alignment);
  if (control.is_too_late()) return no_placing();
  if (control.is_beaten(pool.slot * pool.count)) return {};
  Problem outside{.memories = problem.memories};  // the pool, then the buffers outside of it
  outside.buffers.push_back(block_of(pool, alignment));
  std::vector<std::size_t> order{0};
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    if (pool.slots[b]) continue;
    order.push_back(outside.buffers.size());
    outside.buffers.push_back(problem.buffers[b]);
  }
  Control own = control;
  own.neighbours = nullptr;  // they are those of the whole problem
  const Placing placed = place_in_order(outside, order, Fit::lowest, own, "slots");
  if (placed.places.empty()) return {.places = {}, .cut_short = placed.cut_short};
  Placing placing{std::vector<Place>(problem.buffers.size())};
  if (pool.count > 0)
    placing.slots = {.place = placed.places[0], .size = pool.slot, .count = pool.count, .life = pool.life};
  std::size_t next = 1;
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    if (pool.slots[b]) {
      placing.places[b].offset = placed.places[0].offset + pool.slot * *pool.slots[b];
    } else {
      placing.places[b] = placed.places[next++];
    }
  }
  return placing;
}

std::optional<std::string> obstacle_to_slots(const Problem& problem) {
  if (auto obstacle = several_memories(problem)) return obstacle;
  const auto alignment = common_alignment(problem);
  if (!alignment) return "needs a common multiple of all alignments, which is too large here";
  Bytes largest = 0;
  for (const Buffer& buffer : problem.buffers) largest = std::max(largest, buffer.size);
  const auto anywhere = [](std::size_t) { return true; };  // no more slots than buffers
  const Bytes slot = base::align_up(largest, *alignment);
  if (have_addresses(problem, *alignment, std::ssize(problem.buffers), slot, anywhere)) return std::nullopt;
  const Pool pool = pool_of(problem, *alignment);
  const auto is_outside = [&](std::size_t b) { return !pool.slots[b]; };
  if (have_addresses(problem, *alignment, pool.count, pool.slot, is_outside)) return std::nullopt;
  return base::concat("needs ", pool.count, " slots of ", pool.slot,
                      " bytes each, which is more than there are addresses");
}

}  // namespace stowage::pack
