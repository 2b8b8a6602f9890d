#include "oracle/naive_pack.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace stowage::oracle {
namespace {

bool is_alive(const Piece& piece) { return piece.size > 0 && piece.life.lower < piece.life.upper; }

bool is_alive_at(const Piece& piece, Position at) {
  return is_alive(piece) && piece.life.lower <= at && at < piece.life.upper;
}

bool is_alive_at(const Buffer& buffer, Position at) {
  return std::any_of(buffer.pieces.begin(), buffer.pieces.end(),
                     [at](const Piece& piece) { return is_alive_at(piece, at); });
}

bool is_ever_alive(const Buffer& buffer) {
  return std::any_of(buffer.pieces.begin(), buffer.pieces.end(), is_alive);
}

bool share_time(const Lifetime& a, const Lifetime& b) { return a.lower < b.upper && b.lower < a.upper; }

/// Whether the piece, of a buffer at this offset, wants bytes that are taken.
bool collides(const Piece& piece, Bytes offset, const Taken& taken) {
  const Bytes begin = offset + piece.offset;
  const Bytes end = begin + piece.size;
  return is_alive(piece) && share_time(piece.life, taken.life) && begin < taken.end && taken.begin < end;
}

bool collides(const Buffer& buffer, Bytes offset, std::span<const Taken> taken) {
  for (const Taken& box : taken) {
    for (const Piece& piece : buffer.pieces) {
      if (collides(piece, offset, box)) return true;
    }
  }
  return false;
}

/// Crosses out every offset at which the buffer would want bytes of the box: those where the last
/// byte of a piece is not below the box and its first byte not above.
void cross_out(FreeOffsets& free, const Buffer& buffer, const Taken& box) {
  for (const Piece& piece : buffer.pieces) {
    if (!is_alive(piece) || !share_time(piece.life, box.life)) continue;
    const Bytes first = std::max<Bytes>(0, box.begin - piece.offset - piece.size + 1);
    const Bytes last = std::min<Bytes>(std::ssize(free) - 1, box.end - piece.offset - 1);
    if (first <= last) std::fill(free.begin() + first, free.begin() + last + 1, 0);
  }
}

Bytes top_of(std::span<const Taken> taken) {
  Bytes top = 0;
  for (const Taken& box : taken) top = std::max(top, box.end);
  return top;
}

/// Looks for a placing with at most a given peak by trying every aligned offset of every buffer: complete
/// by its nature, whatever pieces, alignments and pins there are. (The shorter way, all orders with
/// each buffer as low as it goes, is complete for single pieces only: there, taking the buffers of
/// an optimal placing from the lowest up, each can sink without meeting those that sank before it. A
/// buffer of several pieces that sinks can come to lie in the way of one that has sunk.) Buffers with the
/// fewest offsets left go first, and offsets that collide with a placed buffer are crossed out: that prunes,
/// but leaves no placing out.
class PlacingWithin {
 public:
  PlacingWithin(const Problem& problem, Bytes peak) : problem_(problem) {
    for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
      const Buffer& buffer = problem.buffers[b];
      if (!is_ever_alive(buffer)) continue;  // in nobody's way, and does fit at 0 or at its pin
      FreeOffsets free(static_cast<std::size_t>(std::max<Bytes>(0, peak - buffer.size + 1)), 0);
      for (Bytes offset = 0; offset + buffer.size <= peak; offset += buffer.alignment) {
        const bool allowed = !buffer.pinned || *buffer.pinned == offset;
        free[static_cast<std::size_t>(offset)] = allowed ? 1 : 0;
      }
      open_.push_back({b, std::move(free)});
    }
  }

  [[nodiscard]] bool exists() const { return exists(open_); }

 private:
  struct Open {
    std::size_t buffer;
    FreeOffsets free;

    [[nodiscard]] std::ptrdiff_t choices() const { return std::count(free.begin(), free.end(), 1); }
  };

  [[nodiscard]] bool exists(const std::vector<Open>& open) const {
    if (open.empty()) return true;
    const auto fewest = std::min_element(
        open.begin(), open.end(), [](const Open& a, const Open& b) { return a.choices() < b.choices(); });
    std::vector<Open> others = open;
    others.erase(others.begin() + (fewest - open.begin()));
    for (std::size_t offset = 0; offset < fewest->free.size(); ++offset) {
      if (fewest->free[offset] == 0) continue;
      if (exists(without_collisions(others, fewest->buffer, static_cast<Bytes>(offset)))) return true;
    }
    return false;
  }

  [[nodiscard]] std::vector<Open> without_collisions(std::vector<Open> open, std::size_t placed,
                                                     Bytes offset) const {
    std::vector<Taken> taken;
    reserve(taken, problem_.buffers[placed], offset);
    for (Open& other : open) {
      for (const Taken& box : taken) cross_out(other.free, problem_.buffers[other.buffer], box);
    }
    return open;
  }

  const Problem& problem_;
  std::vector<Open> open_;
};

/// What a strategy looks at: the greater first key goes first, of equal ones the greater second
/// key, and then the buffer that was given first.
using Key = std::pair<std::int64_t, std::int64_t>;

std::vector<std::size_t> greatest_first(const std::vector<Key>& keys) {
  std::vector<std::size_t> order;
  std::vector<char> chosen(keys.size(), 0);
  while (order.size() < keys.size()) {
    std::optional<std::size_t> next;
    for (std::size_t b = 0; b < keys.size(); ++b) {
      if (chosen[b] == 0 && (!next || keys[b] > keys[*next])) next = b;
    }
    chosen[*next] = 1;
    order.push_back(*next);
  }
  return order;
}

Position start_of(const Buffer& buffer) {
  std::optional<Position> start;
  for (const Piece& piece : buffer.pieces) {
    if (is_alive(piece)) start = std::min(start.value_or(piece.life.lower), piece.life.lower);
  }
  return start.value_or(0);
}

Position end_of(const Buffer& buffer) {
  Position end = 0;
  for (const Piece& piece : buffer.pieces) {
    if (is_alive(piece)) end = std::max(end, piece.life.upper);
  }
  return end;
}

std::int64_t area_of(const Buffer& buffer) {
  std::int64_t area = 0;
  for (const Piece& piece : buffer.pieces) area += piece.size * (piece.life.upper - piece.life.lower);
  return area;
}

template <typename KeyOf>
std::vector<std::size_t> order_by(const Problem& problem, KeyOf key_of) {
  std::vector<Key> keys;
  for (const Buffer& buffer : problem.buffers) keys.push_back(key_of(buffer));
  return greatest_first(keys);
}

/// Walks through all positions, the broadest first, and at each through the buffers alive there.
std::vector<std::size_t> order_by_breadth(const Problem& problem) {
  Position end = 0;
  for (const Buffer& buffer : problem.buffers) end = std::max(end, end_of(buffer));
  std::vector<Key> breadths;
  for (Position at = 0; at < end; ++at) breadths.emplace_back(load_at(problem.buffers, at), 0);
  const auto by_size = order_by(problem, [](const Buffer& buffer) { return Key{buffer.size, 0}; });

  std::vector<std::size_t> order;
  std::vector<char> chosen(problem.buffers.size(), 0);
  const auto choose = [&](std::size_t b) {
    if (chosen[b] == 0) order.push_back(b);
    chosen[b] = 1;
  };
  for (const std::size_t at : greatest_first(breadths)) {
    for (const std::size_t b : by_size) {
      if (is_alive_at(problem.buffers[b], static_cast<Position>(at))) choose(b);
    }
  }
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) choose(b);  // those that are never alive
  return order;
}

bool takes_the_tightest_gap(std::string_view strategy) {
  return strategy == "greedy-by-size" || strategy == "greedy-by-breadth" || strategy == "best-fit-by-start";
}

}  // namespace

std::optional<std::string> fault_of(const Problem& problem, std::span<const Bytes> offsets) {
  if (offsets.size() != problem.buffers.size()) return "not one offset per buffer";
  std::vector<std::vector<Taken>> taken_by(offsets.size());
  for (std::size_t b = 0; b < offsets.size(); ++b) {
    const Buffer& buffer = problem.buffers[b];
    if (offsets[b] < 0) return buffer.id + " is below the memory";
    if (offsets[b] % buffer.alignment != 0) return buffer.id + " is not aligned";
    if (buffer.pinned && *buffer.pinned != offsets[b]) return buffer.id + " is not where it is pinned";
    reserve(taken_by[b], buffer, offsets[b]);
    for (std::size_t other = 0; other < b; ++other) {
      if (collides(buffer, offsets[b], taken_by[other]))
        return problem.buffers[other].id + " collides with " + buffer.id;
    }
  }
  return std::nullopt;
}

Bytes peak_of_offsets(const Problem& problem, std::span<const Bytes> offsets) {
  Bytes peak = 0;
  for (std::size_t b = 0; b < offsets.size(); ++b)
    peak = std::max(peak, offsets[b] + problem.buffers[b].size);
  return peak;
}

Bytes load_at(std::span<const Buffer> buffers, Position at) {
  Bytes load = 0;
  for (const Buffer& buffer : buffers) {
    for (const Piece& piece : buffer.pieces) {
      if (is_alive_at(piece, at)) load += piece.size;
    }
  }
  return load;
}

Bytes max_load(std::span<const Buffer> buffers) {
  Bytes most = 0;
  for (const Buffer& buffer : buffers) {
    for (const Piece& piece : buffer.pieces) most = std::max(most, load_at(buffers, piece.life.lower));
  }
  return most;
}

Bytes optimal_peak(const Problem& problem) {
  Bytes peak = oracle::max_load(problem.buffers);
  for (const Buffer& buffer : problem.buffers) {
    peak = std::max(peak, buffer.pinned.value_or(0) + buffer.size);
  }
  while (!PlacingWithin(problem, peak).exists()) ++peak;
  return peak;
}

void reserve(std::vector<Taken>& taken, const Buffer& buffer, Bytes offset) {
  for (const Piece& piece : buffer.pieces) {
    if (is_alive(piece))
      taken.push_back({piece.life, offset + piece.offset, offset + piece.offset + piece.size});
  }
}

FreeOffsets free_one_by_one(std::span<const Taken> taken, const Buffer& buffer) {
  FreeOffsets free;
  for (Bytes offset = 0; offset <= top_of(taken); ++offset) {
    free.push_back(collides(buffer, offset, taken) ? 0 : 1);
  }
  return free;
}

FreeOffsets free_by_crossing_out(std::span<const Taken> taken, const Buffer& buffer) {
  FreeOffsets free(static_cast<std::size_t>(top_of(taken)) + 1, 1);
  for (const Taken& box : taken) cross_out(free, buffer, box);
  return free;
}

Bytes lowest_fit(const FreeOffsets& free, Bytes alignment) {
  Bytes offset = 0;
  while (offset < std::ssize(free) && free[static_cast<std::size_t>(offset)] == 0) offset += alignment;
  return offset;
}

Bytes tightest_fit(const FreeOffsets& free, Bytes alignment) {
  std::optional<Bytes> best;
  Bytes least_room = 0;
  Bytes gap = 0;  // where the run of free offsets that we are in begins
  for (Bytes at = 0; at < std::ssize(free); ++at) {
    if (free[static_cast<std::size_t>(at)] != 0) continue;
    const Bytes last = at - 1;  // in that run, which is empty when it is below `gap`
    Bytes offset = gap;
    while (offset % alignment != 0) ++offset;
    if (offset <= last && (!best || last - gap < least_room)) {
      best = offset;
      least_room = last - gap;
    }
    gap = at + 1;
  }
  if (best) return *best;
  while (gap % alignment != 0) ++gap;
  return gap;
}

std::vector<std::size_t> order_of(const Problem& problem, std::string_view strategy) {
  if (strategy == "greedy-by-size") {
    return order_by(problem, [](const Buffer& buffer) { return Key{buffer.size, 0}; });
  }
  if (strategy == "greedy-by-breadth") return order_by_breadth(problem);
  if (strategy == "greedy-by-area") {
    return order_by(problem, [](const Buffer& buffer) { return Key{area_of(buffer), 0}; });
  }
  if (strategy == "greedy-by-duration") {
    return order_by(problem, [](const Buffer& buffer) {
      return Key{is_ever_alive(buffer) ? end_of(buffer) - start_of(buffer) : 0, buffer.size};
    });
  }
  if (strategy == "first-fit-by-start" || strategy == "best-fit-by-start") {
    return order_by(problem, [](const Buffer& buffer) { return Key{-start_of(buffer), buffer.size}; });
  }
  throw std::logic_error("the oracle does not know strategy " + std::string(strategy));
}

std::vector<Bytes> place(const Problem& problem, std::string_view strategy, Method method) {
  std::vector<Bytes> offsets(problem.buffers.size(), 0);
  std::vector<Taken> taken;
  for (std::size_t b = 0; b < offsets.size(); ++b) {
    const Buffer& buffer = problem.buffers[b];
    if (!buffer.pinned) continue;
    offsets[b] = *buffer.pinned;
    reserve(taken, buffer, offsets[b]);
  }
  for (const std::size_t b : order_of(problem, strategy)) {
    const Buffer& buffer = problem.buffers[b];
    if (buffer.pinned || !is_ever_alive(buffer)) continue;
    const FreeOffsets free =
        method == Method::one_by_one ? free_one_by_one(taken, buffer) : free_by_crossing_out(taken, buffer);
    offsets[b] = takes_the_tightest_gap(strategy) ? tightest_fit(free, buffer.alignment)
                                                  : lowest_fit(free, buffer.alignment);
    reserve(taken, buffer, offsets[b]);
  }
  return offsets;
}

}  // namespace stowage::oracle
