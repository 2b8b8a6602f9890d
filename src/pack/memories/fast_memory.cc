// What stays have taken of the fast memory. Positions are in buckets of 32. Each has its highest load and a list of what is
// alive there, so a long stay is put and taken in a few steps, and room for it is found in a few.
//
// Offsets are multiples of a unit: the alignment, or more in a large memory. For a stay, a bit for each says whether it may
// begin there. Each stay that is there at a time with it clears a run of bits; the shortest run that is left is the tightest
// place:
//
//     unit     0 1 2 3 4 5 6 7 8
//     taken    # # # . . # . # #      a stay of one unit goes to 6
//
// Cost: to put and take: positions of the stay, and for each bucket what is alive there; to fit: also the units.

#include "pack/memories/fast_memory.h"

#include <algorithm>
#include <bit>

namespace stowage::memories {
namespace {

constexpr Bytes most_units = 1 << 16;  // offsets that are told apart; more are rounded up
constexpr std::size_t bits = 64;

}  // namespace

FastMemory::FastMemory(const Needs& needs, Bytes capacity, bool has_offsets)
    : needs_(needs),
      capacity_(capacity),
      has_offsets_(has_offsets),
      load_(static_cast<std::size_t>(needs.end), 0),
      most_load_(load_.size() / bucket + 1, 0),
      alive_(most_load_.size()),
      begins_(load_.size()) {
  for (const ByteRange& range : needs.reserved) {
    for (Bytes& load : load_) load += range.end - range.begin;
    for (Bytes& most : most_load_) most += range.end - range.begin;
    if (!has_offsets || load_.empty()) continue;
    const Taken taken{range.begin, range.end, {0, needs.end}, std::nullopt};
    for (auto& alive : alive_) alive.push_back(taken);
    begins_[0].push_back(taken);
  }
}

bool FastMemory::has_room(Position lower, Position upper, Bytes size) const {
  const Bytes most = capacity_ - size;
  auto p = static_cast<std::size_t>(lower);
  const auto end = static_cast<std::size_t>(upper);
  while (p < end) {
    if (p % bucket == 0 && p + bucket <= end) {
      if (most_load_[p / bucket] > most) return false;
      p += bucket;
    } else if (load_[p++] > most) {
      return false;
    }
  }
  return true;
}

bool FastMemory::has_room(const Need& need, std::size_t touch) const {
  const Touch& it = need.touches[touch];
  if (need.pieces.empty()) return has_room(it.first, it.last + 1, need.size);
  return std::ranges::all_of(need.pieces, [&](const Piece& piece) {
    return has_room(piece.life.lower, piece.life.upper, piece.size);
  });
}

std::optional<Bytes> FastMemory::fit(const Need& need, const FastStay& stay) {
  if (!has_offsets_) return 0;
  if (need.size > capacity_) return std::nullopt;
  const Bytes unit = need.alignment * (1 + capacity_ / need.alignment / most_units);
  const Bytes last = (capacity_ - need.size) / unit;
  is_free_.assign(static_cast<std::size_t>(last) / bits + 1, ~std::uint64_t{0});
  for_each_piece(need, stay, [&](const Piece& piece) {
    const auto forbid = [&](const Taken& it) {
      const Bytes low = it.begin - piece.offset - piece.size;  // below and from the other on it is free
      const Bytes high = it.end - piece.offset;
      if (high > 0) forbid_units(low < 0 ? 0 : low / unit + 1, std::min(last, (high - 1) / unit));
    };
    const auto lower = static_cast<std::size_t>(piece.life.lower);
    for (const Taken& it : alive_[lower / bucket]) {
      if (it.life.lower <= piece.life.lower && piece.life.lower < it.life.upper) forbid(it);
    }
    for (std::size_t p = lower + 1; p < static_cast<std::size_t>(piece.life.upper); ++p) {
      for (const Taken& it : begins_[p]) forbid(it);
    }
    work_ += 100 + piece.life.upper - piece.life.lower;
  });
  const auto best = tightest(last);
  return best ? std::optional(*best * unit) : std::nullopt;
}

void FastMemory::put(std::size_t n, const FastStay& stay) {
  for_each_taken(n, stay, [&](const Taken& taken) {
    const Bytes size = taken.end - taken.begin;
    add_load(taken.life, size);
    for_each_bucket(taken.life, [&](std::size_t b) { alive_[b].push_back(taken); });
    if (has_offsets_) begins_[static_cast<std::size_t>(taken.life.lower)].push_back(taken);
    work_ += 100 + (taken.life.upper - taken.life.lower) / 2;
  });
}

void FastMemory::take(std::size_t n, const FastStay& stay) {
  for_each_taken(n, stay, [&](const Taken& taken) {
    const Bytes size = taken.end - taken.begin;
    add_load(taken.life, -size);
    for_each_bucket(taken.life, [&](std::size_t b) { erase(taken, alive_[b]); });
    if (has_offsets_) erase(taken, begins_[static_cast<std::size_t>(taken.life.lower)]);
    work_ += 150 + 2 * (taken.life.upper - taken.life.lower);
  });
}

void FastMemory::forbid_units(Bytes first, Bytes last) {
  if (first > last) return;
  work_ += 3;
  const auto f = static_cast<std::size_t>(first);
  const auto l = static_cast<std::size_t>(last);
  for (std::size_t w = f / bits; w <= l / bits; ++w) {
    std::uint64_t mask = ~std::uint64_t{0};
    if (w == f / bits) mask &= ~std::uint64_t{0} << f % bits;
    if (w == l / bits) mask &= ~std::uint64_t{0} >> (bits - 1 - l % bits);
    is_free_[w] &= ~mask;
  }
}

/// The first unit of the shortest run of free ones.
std::optional<Bytes> FastMemory::tightest(Bytes last) const {
  std::optional<Bytes> best;
  Bytes least_room = largest_value;
  const auto next = [&](Bytes from, bool wanted) {  // the first unit from there on that is free, or not
    while (from <= last) {
      const auto at = static_cast<std::size_t>(from);
      std::uint64_t word = is_free_[at / bits];
      if (!wanted) word = ~word;
      word >>= at % bits;
      if (word != 0) return std::min(last + 1, from + std::countr_zero(word));
      from += static_cast<Bytes>(bits - at % bits);
    }
    return last + 1;
  };
  for (Bytes begin = next(0, true); begin <= last;) {
    const Bytes end = next(begin, false);
    if (end - begin < least_room) {
      best = begin;
      least_room = end - begin;
    }
    begin = next(end, true);
  }
  return best;
}

void FastMemory::add_load(const Lifetime& life, Bytes size) {
  for_each_bucket(life, [&](std::size_t b) {
    const auto lower = std::max(static_cast<std::size_t>(life.lower), b * bucket);
    const auto upper = std::min(static_cast<std::size_t>(life.upper), (b + 1) * bucket);
    for (std::size_t p = lower; p < upper; ++p) load_[p] += size;
    if (upper - lower == bucket) {
      most_load_[b] += size;
    } else {
      const auto begin = load_.begin() + static_cast<std::ptrdiff_t>(b * bucket);
      most_load_[b] = *std::max_element(begin, std::min(begin + bucket, load_.end()));
    }
  });
}

void FastMemory::erase(const Taken& taken, std::vector<Taken>& all) {
  const auto it = std::find(all.begin(), all.end(), taken);
  *it = all.back();
  all.pop_back();
}

}  // namespace stowage::memories
