#include "oracle/random_problem.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "oracle/naive_pack.h"

namespace stowage::oracle {
namespace {

Bytes random_alignment(Random& random, Bytes largest) {
  constexpr std::array<Bytes, 5> alignments{1, 2, 3, 4, 8};
  const auto allowed = std::upper_bound(alignments.begin(), alignments.end(), largest) - alignments.begin();
  return alignments[static_cast<std::size_t>(random.between(0, std::max<std::int64_t>(allowed, 1) - 1))];
}

Lifetime random_life(Random& random, const ProblemShape& shape) {
  const Position length = random.between(1, std::min(shape.longest_life, shape.positions));
  const Position lower = random.between(0, shape.positions - length);
  return {lower, lower + length};
}

/// All of the buffer before and after a gap, a window of it in between, which may be empty.
std::vector<Piece> pieces_around_a_gap(Random& random, Bytes size, const Lifetime& life) {
  const Position gap = random.between(life.lower, life.upper);
  const Position resumed = random.between(gap, life.upper);
  const Bytes window = random.between(0, size);
  const Bytes window_size = random.chance(50) ? 0 : random.between(0, size - window);
  return {
      {0, size, {life.lower, gap}}, {window, window_size, {gap, resumed}}, {0, size, {resumed, life.upper}}};
}

/// Rows one after the other, each alive at its own time; bytes between them are never needed.
std::vector<Piece> pieces_as_slots(Random& random, Bytes size, const ProblemShape& shape) {
  std::vector<Piece> pieces;
  for (Bytes offset = 0; offset < size && pieces.size() < 3;) {
    if (random.chance(20)) ++offset;
    const Bytes slot = random.between(0, size - offset);
    pieces.push_back({offset, slot, random_life(random, shape)});
    offset += slot;
  }
  return pieces;
}

/// A ring or a shift: parts of the buffer that take turns, wherever they lie.
std::vector<Piece> pieces_in_turn(Random& random, Bytes size, const Lifetime& life) {
  std::vector<Piece> pieces;
  for (Position at = life.lower; at < life.upper && pieces.size() < 4;) {
    const Position next = random.between(at + 1, life.upper);
    const Bytes offset = random.between(0, size);
    pieces.push_back({offset, random.between(0, size - offset), {at, next}});
    at = next;
  }
  return pieces;
}

std::vector<Piece> several_pieces(Random& random, Bytes size, const ProblemShape& shape) {
  std::vector<Piece> pieces;
  switch (random.between(0, 2)) {
    case 0:
      pieces = pieces_around_a_gap(random, size, random_life(random, shape));
      break;
    case 1:
      pieces = pieces_as_slots(random, size, shape);
      break;
    default:
      pieces = pieces_in_turn(random, size, random_life(random, shape));
      break;
  }
  if (random.chance(30)) std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

void make_never_alive(Random& random, Buffer& buffer) {
  switch (random.between(0, 2)) {
    case 0:
      buffer.pieces.clear();
      break;
    case 1:
      for (Piece& piece : buffer.pieces) piece.life.upper = piece.life.lower;
      break;
    default:
      buffer.size = 0;
      for (Piece& piece : buffer.pieces) piece.offset = piece.size = 0;
      break;
  }
}

Buffer random_buffer(Random& random, const ProblemShape& shape) {
  Buffer buffer;
  buffer.size = random.between(random.chance(5) ? 0 : 1, shape.largest_size);
  buffer.alignment = random_alignment(random, shape.largest_alignment);
  if (random.chance(shape.percent_with_pieces)) {
    buffer.pieces = several_pieces(random, buffer.size, shape);
  } else {
    buffer.pieces = {{0, buffer.size, random_life(random, shape)}};
  }
  if (random.chance(shape.percent_never_alive)) make_never_alive(random, buffer);
  return buffer;
}

/// Makes ties: as large as `last`, alive at the same time, or both.
void resemble(Random& random, Buffer& buffer, const Buffer& last) {
  const auto choice = random.between(0, 2);
  if (choice == 0) {
    buffer.size = last.size;
    buffer.pieces = last.pieces;
  } else if (buffer.pieces.size() == 1 && last.pieces.size() == 1) {
    if (choice == 1) buffer.pieces[0].life = last.pieces[0].life;
    if (choice == 2) buffer.size = buffer.pieces[0].size = last.size;
    buffer.pieces[0].offset = 0;
    buffer.pieces[0].size = buffer.size;
  }
}

/// Pins the buffer somewhere among or just above those that are pinned, unless it would collide.
void try_to_pin(Random& random, Buffer& buffer, const ProblemShape& shape, std::vector<Taken>& pinned) {
  Bytes top = shape.largest_size;
  for (const Taken& box : pinned) top = std::max(top, box.end);
  const Bytes offset = random.between(0, top / buffer.alignment) * buffer.alignment;
  const FreeOffsets free = free_by_crossing_out(pinned, buffer);
  if (offset < std::ssize(free) && free[static_cast<std::size_t>(offset)] == 0) return;
  buffer.pinned = offset;
  reserve(pinned, buffer, offset);
}

}  // namespace

std::int64_t Random::between(std::int64_t lowest, std::int64_t highest) {
  const auto choices = static_cast<std::uint64_t>(highest - lowest) + 1;
  return lowest + static_cast<std::int64_t>(engine_() % choices);
}

Problem random_problem(std::uint64_t seed, const ProblemShape& shape) {
  Random random(seed);
  Problem problem;
  problem.memories = {{.name = "arena"}};
  std::vector<Taken> pinned;
  for (std::size_t b = 0; b < shape.buffers; ++b) {
    Buffer buffer = random_buffer(random, shape);
    if (b > 0 && random.chance(shape.percent_like_the_last)) {
      resemble(random, buffer, problem.buffers[b - 1]);
    }
    buffer.id = "b" + std::to_string(b);
    if (random.chance(shape.percent_pinned)) try_to_pin(random, buffer, shape, pinned);
    problem.buffers.push_back(std::move(buffer));
  }
  return problem;
}

Problem random_mixed_problem(std::uint64_t seed, ProblemShape shape) {
  shape.largest_alignment = seed % 3 == 0 ? 4 : 1;
  shape.percent_with_pieces = seed % 4 == 1 ? 40 : 0;
  shape.percent_pinned = seed % 5 == 2 ? 20 : 0;
  shape.percent_never_alive = seed % 7 == 3 ? 15 : 0;
  return random_problem(seed, shape);
}

Problem random_problem(std::uint64_t seed) {
  Random random(~seed);
  ProblemShape shape;
  shape.buffers = static_cast<std::size_t>(random.between(0, 7));
  shape.positions = random.between(1, 10);
  shape.longest_life = random.between(1, 10);
  shape.largest_size = random.between(1, 10);
  shape.largest_alignment = random.chance(50) ? 1 : random.between(1, 8);
  shape.percent_with_pieces = random.chance(40) ? 0 : 60;
  shape.percent_pinned = random.chance(60) ? 0 : 30;
  shape.percent_never_alive = random.chance(70) ? 0 : 15;
  shape.percent_like_the_last = random.chance(50) ? 0 : 40;
  return random_problem(seed, shape);
}

}  // namespace stowage::oracle
