// A layout is too high because of the rectangles that stick out, and of those alive at the same time
// that could make room. Only these are worth tuning; the others may be placed after them in any order.
//
//     address ^      +--+
//             |......|a |....+--+......  threshold      a, b: high, since a sticks out and b meets it
//             |  +---+--+--+ |c |                       c, d: medium, since c reaches the threshold
//             |  |    b    | |d +----+                  e: low, it meets d
//             +--+---------+-+--+ e  +--> time
//
// Overlaps are not tested pair by pair. The lives of the culprits are merged into disjoint spans, and each
// piece looks up whether it meets a span. Cost: n log n.
// Source: the document of docs/rectangle.md, claim 5, paragraphs 20, 125 and 152. "Time overlap" refers to
// pieces: a buffer does not meet another one in a gap of its life.

#include "pack/patents/rectangle_reorder.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "base/checked.h"

namespace stowage::pack {
namespace {

/// Disjoint stretches of time in rising order.
using Spans = std::vector<Lifetime>;

template <typename Belongs>
Spans lives_of(std::span<const Buffer> buffers, Belongs belongs) {
  Spans lives;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    if (!belongs(b)) continue;
    for (const Piece& piece : buffers[b].pieces) {
      if (piece.is_ever_alive()) lives.push_back(piece.life);
    }
  }
  std::sort(lives.begin(), lives.end(),
            [](const Lifetime& a, const Lifetime& b) { return a.lower < b.lower; });
  Spans spans;
  for (const Lifetime& life : lives) {
    if (!spans.empty() && life.lower <= spans.back().upper) {
      spans.back().upper = std::max(spans.back().upper, life.upper);
    } else {
      spans.push_back(life);
    }
  }
  return spans;
}

bool is_alive_during(const Buffer& buffer, const Spans& spans) {
  return std::any_of(buffer.pieces.begin(), buffer.pieces.end(), [&](const Piece& piece) {
    if (!piece.is_ever_alive()) return false;
    const auto next = std::upper_bound(spans.begin(), spans.end(), piece.life.lower,
                                       [](Position at, const Lifetime& span) { return at < span.upper; });
    return next != spans.end() && next->lower < piece.life.upper;
  });
}

}  // namespace

std::vector<Risk> classify(std::span<const Buffer> buffers, std::span<const Bytes> offsets, Bytes threshold) {
  std::vector<Risk> risks(buffers.size(), Risk::none);
  const auto raise = [&](Risk risk, const Spans& spans) {
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      if (risks[b] < risk && is_alive_during(buffers[b], spans)) risks[b] = risk;
    }
  };
  const auto top = [&](std::size_t b) { return offsets[b] + buffers[b].size; };
  raise(Risk::high, lives_of(buffers, [&](std::size_t b) { return top(b) > threshold; }));
  raise(Risk::medium, lives_of(buffers, [&](std::size_t b) { return top(b) == threshold; }));
  raise(Risk::low, lives_of(buffers, [&](std::size_t b) { return risks[b] >= Risk::medium; }));
  return risks;
}

// Groups for the tuner, and the merger of tuned rectangles.
//
// Rectangles that are alive together compete for the same addresses, so they are ordered together.
// Those that hardly meet can be tuned group by group, which is cheaper.
//
//     +------+   +--+         first group: a, b (b lies in a's time)
//     |  a   |   |d |         c shares one of its six positions with the group's span, less than half:
//     +-+--+-++--+--+-+       it opens the second group, which d joins
//       |b | |   c    |
//       +--+ +--------+
//
// A group is represented by its span of time only, so one sweep by start is enough. Cost: n log n.
// Source: the document of docs/rectangle.md, claim 6 and paragraphs 29, 127 and 157 (claim 6 and paragraph
// 127 mention the low ones, 153 to 160 the medium ones: medium is meant); the merger: claim 5, paragraphs 22
// and 154. The meaning of "divided by time overlap length" is open: the share of the shorter of both is ours.

std::vector<std::vector<Rectangle>> groups_by_overlap(std::span<const Rectangle> rectangles, int percent) {
  std::vector<std::size_t> by_start(rectangles.size());
  std::iota(by_start.begin(), by_start.end(), std::size_t{0});
  std::stable_sort(by_start.begin(), by_start.end(), [&](std::size_t a, std::size_t b) {
    return rectangles[a].life.lower < rectangles[b].life.lower;
  });
  std::vector<std::size_t> group_of(rectangles.size(), 0);
  std::size_t groups = 0;
  Lifetime span{};
  for (const std::size_t r : by_start) {
    const Lifetime& life = rectangles[r].life;
    const Position shared = std::min(life.upper, span.upper) - std::max(life.lower, span.lower);
    const Position shorter = std::min(life.upper - life.lower, span.upper - span.lower);
    const bool joins =
        groups > 0 && shared > 0 &&
        static_cast<Large>(shared) * 100 >= static_cast<Large>(shorter) * static_cast<unsigned>(percent);
    if (joins) {
      span.upper = std::max(span.upper, life.upper);
    } else {
      span = life;
      ++groups;
    }
    group_of[r] = groups - 1;
  }
  std::vector<std::vector<Rectangle>> result(groups);
  for (std::size_t r = 0; r < rectangles.size(); ++r) result[group_of[r]].push_back(rectangles[r]);
  return result;
}

Order merged(const Order& high, const Order& medium, std::span<const std::size_t> previous,
             std::span<const Risk> risks) {
  Order order = high;
  order.insert(order.end(), medium.begin(), medium.end());
  for (const Risk risk : {Risk::low, Risk::none}) {
    for (const std::size_t b : previous) {
      if (risks[b] == risk) order.push_back(b);
    }
  }
  return order;
}

// An order determines a layout, and a layout determines an order: placed again by rising offset,
// bottom-aligned, no rectangle is higher than before. So the search may work on layouts instead of orders,
// and these may be unfinished. A roof is lowered, rectangles above it are pushed below it, and for a while
// rectangles overlap. Then colliding ones are moved, one at a time, to where it costs least.
//
//     roof lowered  --+---+--  2 is pushed down        1 is moved aside, where it
//                     | 2 |    and collides with 1     collides with no other
//                   +-+---+
//                   |  1  |       +-+---+                +---+ +-----+
//                   +-----+       |1|#2 |                | 2 | |  1  |
//     --------------------------------------------------------------------> time
//
// A collision of two costs a weight. If a rectangle cannot be moved without paying as much, the weights of
// its collisions grow: the search learns which pairs are hard and leaves every dead end eventually. Moves at
// equal cost are decided by a coin toss; of the colliding ones, one that was not moved for long comes next.
// When no rectangle collides, the layout is kept and the roof lowered further. If a budget of work brings no
// progress, the next roof is nearer to the kept layout.
//
// The cost of a rectangle at an offset is a step function: each neighbour adds its weight on one interval of
// offsets. One sweep over the sorted steps finds the cheapest offset. A rectangle is put only at an end of a
// step: next to a neighbour, at the floor or at the roof. Cost of a move: neighbours * log(neighbours).
// Memory: linear in buffers, and the lessons.
//
// Source: the document of docs/rectangle.md, paragraphs 155 and 167 to 168: "re-arranges the rectangles of
// each group, for a possibly better order", without details. The learning is guided local search (Voudouris &
// Tsang 1999; for packing Faroe, Pisinger & Zachariasen 2003). All numbers are integers, so that the result
// is equal on all machines.

namespace {

constexpr std::int64_t plain_burden = 5;
constexpr double heaviest_burden = 50;
constexpr std::int64_t steps_between_looks = 32;
constexpr std::size_t events_between_looks = 1 << 16;  // a step between many pieces has as many
constexpr std::size_t candidates = 4;
constexpr std::int64_t buffers_to_a_neighbour = 4;  ///< So many begin in the time of a neighbour.
constexpr Bytes most_retreat = 16;  ///< A step smaller than the first by this factor is not worth trying.

Bytes align_down(Bytes value, Bytes alignment) { return value / alignment * alignment; }

}  // namespace

Reorderer::Reorderer(std::span<const Buffer> buffers, const Neighbours& neighbours, Manner manner,
                     std::function<bool()> is_stopped)
    : buffers_(buffers),
      neighbours_(&neighbours),
      manner_(manner),
      is_stopped_(std::move(is_stopped)),
      random_(manner.seed),
      lessons_(buffers.size()),
      learned_(buffers.size(), 0),
      is_movable_(buffers.size(), 0),
      collisions_(buffers.size(), 0),
      place_among_colliding_(buffers.size(), 0),
      moved_at_(buffers.size(), 0) {
  Bytes largest = 1;
  for (const Buffer& buffer : buffers) largest = std::max(largest, buffer.size);
  for (const Buffer& buffer : buffers) {
    const double share = std::sqrt(static_cast<double>(buffer.size) / static_cast<double>(largest));
    burdens_.push_back(manner.minds_size ? 1 + static_cast<std::int64_t>(heaviest_burden * share)
                                         : plain_burden);
  }
}

Order Reorderer::lowered(std::span<const std::size_t> group, const Container& container, Bytes threshold) {
  start(group, container);
  const auto top_of_group = [&] {
    Bytes top = 0;
    for (const std::size_t b : group) top = std::max(top, offsets_[b] + buffers_[b].size);
    return top;
  };
  const auto first_step = [&](Bytes top) { return std::max<Bytes>((top - threshold) / manner_.divisor, 1); };
  std::vector<Bytes> kept = offsets_;
  Bytes top = top_of_group();
  Bytes step = first_step(top);
  while (top > threshold && !is_stopped_()) {
    push_below(group, top - step);
    if (settle(top - step)) {
      kept = offsets_;
      top = top_of_group();
      step = first_step(top);
    } else {
      if (step == 1 || step < first_step(top) / most_retreat) break;
      step /= 2;  // the unfinished layout stays: a higher roof may be all it needs
    }
  }
  Order order(group.begin(), group.end());
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return kept[a] < kept[b]; });
  return order;
}

void Reorderer::start(std::span<const std::size_t> group, const Container& container) {
  work_ += std::ssize(buffers_) / buffers_to_a_neighbour;
  offsets_ = container.offsets();
  is_held_.resize(buffers_.size());
  for (std::size_t b = 0; b < buffers_.size(); ++b) is_held_[b] = container.holds(b) ? 1 : 0;
  std::fill(is_movable_.begin(), is_movable_.end(), 0);
  for (const std::size_t b : group) is_movable_[b] = 1;
  std::fill(collisions_.begin(), collisions_.end(), 0);
  colliding_.clear();
}

void Reorderer::push_below(std::span<const std::size_t> group, Bytes roof) {
  for (const std::size_t b : group) {
    if (offsets_[b] + buffers_[b].size <= roof) continue;
    move(b, align_down(roof - buffers_[b].size, buffers_[b].alignment));
  }
}

/// Moves colliding rectangles until none is left; false if that fails.
bool Reorderer::settle(Bytes roof) {
  std::size_t fewest = colliding_.size();
  std::int64_t limit = work_ + manner_.budget;
  while (!colliding_.empty()) {
    if (work_ > limit || has_to_stop()) return false;
    ++steps_;
    improve(pick(), roof);
    if (colliding_.size() < fewest) {
      fewest = colliding_.size();
      limit = work_ + manner_.budget;
    }
  }
  return true;
}

/// Looks at the clock now and then.
bool Reorderer::has_to_stop() {
  if (steps_ % steps_between_looks != 0 && events_since_look_ < events_between_looks) return false;
  events_since_look_ = 0;
  return is_stopped_();
}

/// Draws a few colliding rectangles and returns the one not moved for the longest time.
std::size_t Reorderer::pick() {
  std::size_t best = colliding_[draw(colliding_.size())];
  for (std::size_t i = 1; i < candidates; ++i) {
    const std::size_t other = colliding_[draw(colliding_.size())];
    if (moved_at_[other] < moved_at_[best]) best = other;
  }
  moved_at_[best] = steps_;
  return best;
}

void Reorderer::improve(std::size_t buffer, Bytes roof) {
  const std::int64_t here = gather_events(buffer);
  const Spot spot = cheapest_spot(buffer, roof, here);
  if (spot.cost < here || (spot.cost == here && draw(2) == 0)) {
    move(buffer, spot.offset);
  } else {
    learn(buffer);
  }
}

/// Collects the offsets where the cost of the buffer changes, and returns its present cost.
std::int64_t Reorderer::gather_events(std::size_t buffer) {
  for (const Lesson& lesson : lessons_[buffer]) learned_[lesson.other] = lesson.weight;
  events_.clear();
  std::int64_t here = 0;
  neighbours_->for_each(buffer, [&](std::size_t other) {
    if (is_held_[other] == 0) {
      ++work_;
      return;
    }
    std::int64_t collisions = 0;  // those of pieces are many
    const std::int64_t weight = std::min(burdens_[buffer], burdens_[other]) + learned_[other];
    neighbours_->for_each_collision(buffer, other, offsets_[other], [&](const Interval& at) {
      events_.push_back({at.begin + 1, weight});
      events_.push_back({at.end, -weight});
      if (at.begin < offsets_[buffer] && offsets_[buffer] < at.end) here += weight;
      ++collisions;
    });
    work_ += std::max<std::int64_t>(1, collisions);
  });
  for (const Lesson& lesson : lessons_[buffer]) learned_[lesson.other] = 0;
  events_since_look_ += events_.size();
  std::sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return a.at < b.at; });
  return here;
}

/// The cheapest offset other than the present one, drawn among equals; the present one if no other exists.
Reorderer::Spot Reorderer::cheapest_spot(std::size_t buffer, Bytes roof, std::int64_t here) {
  const Bytes alignment = buffers_[buffer].alignment;
  const Bytes highest = roof - buffers_[buffer].size;
  Spot best{offsets_[buffer], here + 1};
  std::size_t equals = 0;
  const auto consider = [&](Bytes offset, std::int64_t cost) {
    if (offset == offsets_[buffer] || cost > best.cost) return;
    equals = cost < best.cost ? 1 : equals + 1;
    if (cost < best.cost || draw(equals) == 0) best = {offset, cost};
  };
  std::int64_t cost = 0;
  Bytes begin = 0;  // of the step whose cost is known
  for (std::size_t e = 0; e <= events_.size(); ++e) {
    const Bytes end = e < events_.size() ? std::min(events_[e].at - 1, highest) : highest;
    if (begin <= end && cost <= best.cost) {
      const Bytes lowest = base::align_up(begin, alignment);
      if (lowest <= end) {
        consider(lowest, cost);
        if (align_down(end, alignment) != lowest) consider(align_down(end, alignment), cost);
      }
    }
    if (e == events_.size() || events_[e].at > highest) break;
    cost += events_[e].change;
    begin = std::max(begin, events_[e].at);
  }
  return best;
}

bool Reorderer::collide(std::size_t buffer, Bytes offset, std::size_t other) const {
  bool collide = false;
  neighbours_->for_each_collision(buffer, other, offsets_[other], [&](const Interval& at) {
    collide = collide || (at.begin < offset && offset < at.end);
  });
  return collide;
}

void Reorderer::move(std::size_t buffer, Bytes offset) {
  if (offset == offsets_[buffer]) return;
  neighbours_->for_each(buffer, [&](std::size_t other) {
    ++work_;
    if (is_held_[other] == 0) return;
    const int before = collide(buffer, offsets_[buffer], other) ? 1 : 0;
    const int after = collide(buffer, offset, other) ? 1 : 0;
    if (before == after) return;
    count(buffer, after - before);
    count(other, after - before);
  });
  offsets_[buffer] = offset;
}

/// Updates the number of collisions and the list of colliding rectangles.
void Reorderer::count(std::size_t buffer, int change) {
  if (is_movable_[buffer] == 0) return;
  const bool was_colliding = collisions_[buffer] > 0;
  collisions_[buffer] += change;
  if (!was_colliding) {
    place_among_colliding_[buffer] = colliding_.size();
    colliding_.push_back(buffer);
  } else if (collisions_[buffer] == 0) {
    const std::size_t last = colliding_.back();
    colliding_[place_among_colliding_[buffer]] = last;
    place_among_colliding_[last] = place_among_colliding_[buffer];
    colliding_.pop_back();
  }
}

void Reorderer::learn(std::size_t buffer) {
  const auto raise = [&](std::size_t whose, std::size_t other) {
    auto& lessons = lessons_[whose];
    const auto known = std::find_if(lessons.begin(), lessons.end(),
                                    [&](const Lesson& lesson) { return lesson.other == other; });
    if (known != lessons.end()) {
      ++known->weight;
    } else {
      lessons.push_back({other, 1});
    }
  };
  neighbours_->for_each(buffer, [&](std::size_t other) {
    if (is_held_[other] == 0 || !collide(buffer, offsets_[buffer], other)) return;
    raise(buffer, other);
    raise(other, buffer);
  });
}

/// A number from 0 to below - 1: splitmix64 (Steele, Lea & Flood 2014).
std::size_t Reorderer::draw(std::size_t below) {
  random_ += 0x9e3779b97f4a7c15U;
  std::uint64_t mixed = random_;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
  return static_cast<std::size_t>((mixed ^ (mixed >> 31U)) % below);
}

}  // namespace stowage::pack
