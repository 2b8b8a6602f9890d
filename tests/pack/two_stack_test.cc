// Two stacks: every rule by itself, the document read literally, a naive twin, and lists of other tools.

#include "pack/patents/two_stack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "long_tests.h"
#include "oracle/naive_pack.h"
#include "oracle/random_problem.h"
#include "problems.h"
#include "stowage/error.h"
#include "stowage/import.h"
#include "stowage/planner.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

using testing::aligned;
using testing::problem_of;
using testing::whole;

using Offsets = std::vector<Bytes>;

Buffer of_kind(Buffer buffer, TensorKind kind) {
  buffer.kind = kind;
  return buffer;
}

Offsets offsets_in(const Solution& solution) {
  Offsets offsets;
  for (const Place& place : solution.places) {
    EXPECT_EQ(place.memory, 0U);
    offsets.push_back(place.offset);
  }
  return offsets;
}

/// By the pass of the document.
Offsets offsets_of(const Problem& problem) {
  validate(problem);
  EXPECT_EQ(obstacle_to("two-stack", problem), std::nullopt);
  const Offsets offsets =
      offsets_in({.places = pack::two_stack_pass(problem, pack::LessExtended::third, {}).places});
  const auto fault = oracle::fault_of(problem, offsets);
  EXPECT_FALSE(fault) << *fault;
  return offsets;
}

Offsets offsets_of(std::vector<Buffer> buffers) { return offsets_of(problem_of(std::move(buffers))); }

// The rules.

TEST(TwoStack, AChainAlternates) {
  // d is right of the origin; c lets it go, to the left; b lets c go, to the right; a lets b go.
  EXPECT_EQ(offsets_of({whole("a", 4, 0, 2), whole("b", 6, 1, 3), whole("c", 2, 2, 4), whole("d", 5, 3, 4)}),
            (Offsets{0, 4, 2, 4}));
}

TEST(TwoStack, ThePeakIsTheSumOfHowFarBothSidesReached) {
  const Problem problem = problem_of({whole("a", 9, 0, 2), whole("b", 1, 1, 3), whole("c", 2, 2, 4),  //
                                      whole("d", 7, 3, 4)});
  // d reaches 7 to the right at the end, a 9 to the left at the beginning.
  EXPECT_EQ(oracle::peak_of_offsets(problem, offsets_of(problem)), 16);
  EXPECT_EQ(offsets_of(problem), (Offsets{0, 9, 7, 9}));
}

TEST(TwoStack, FinalOutputsGoRightInRisingOrder) {
  EXPECT_EQ(offsets_of({whole("third", 2, 3, 4), of_kind(whole("second", 3, 1, 4), TensorKind::output),
                        whole("fourth", 4, 3, 4), of_kind(whole("first", 5, 0, 4), TensorKind::output)}),
            (Offsets{8, 5, 10, 0}));
}

TEST(TwoStack, AFinalOutputThatIsReadIsNoInput) {
  const auto with = [](TensorKind kind) {
    return offsets_of({of_kind(whole("x", 3, 0, 3), kind), whole("last", 2, 2, 3)});
  };
  EXPECT_EQ(with(TensorKind::output), (Offsets{0, 3}));
  EXPECT_EQ(with(TensorKind::temporary), (Offsets{0, 3}));
  // The same offsets, but not the same sides: another input shows it.
  const auto with_input = [](TensorKind kind) {
    return offsets_of({whole("x", 1, 0, 3), of_kind(whole("y", 3, 1, 3), kind), whole("last", 2, 2, 3)});
  };
  EXPECT_EQ(with_input(TensorKind::output), (Offsets{0, 1, 4}));
  EXPECT_EQ(with_input(TensorKind::temporary), (Offsets{3, 0, 4}));
}

TEST(TwoStack, InputsOfAStepGoLeftInRisingOrderOneAfterTheOther) {
  // b is reclaimed before a, so it has to lie on top.
  EXPECT_EQ(offsets_of({whole("b", 3, 2, 4), whole("a", 2, 1, 4), whole("last", 1, 3, 4)}),
            (Offsets{0, 3, 5}));
}

TEST(TwoStack, TheCurrentLayerIsNotBuriedEvenIfTheBoundaryIsExtended) {
  // x is read by step 2 and lives long. On the right, on top of b, there is room; on the left it lets b go.
  EXPECT_EQ(offsets_of({whole("x", 3, 0, 3), whole("b", 1, 2, 4), whole("c", 1, 3, 5), whole("e", 6, 4, 5)}),
            (Offsets{0, 3, 2, 3}));
}

/// p, 5 bytes to the left and q, 3 to the right are what step 2 produces, and both lie on top then; on the
/// left 6 bytes were in use before, on the right 3. x is to be placed.
std::vector<Buffer> on_both_sides(Buffer x) {
  return {whole("p", 5, 2, 5), whole("q", 3, 2, 4), whole("d", 1, 3, 5), whole("e", 1, 4, 5), std::move(x)};
}

TEST(TwoStack, WhatOnlyTheNextStepReadsGoesWhereMoreIsReclaimed) {
  // On the right, and p goes; though on the left nothing would be extended.
  EXPECT_EQ(offsets_of(on_both_sides(whole("x", 1, 1, 3))), (Offsets{1, 6, 0, 6, 9}));
}

TEST(TwoStack, WhatLivesLongerGoesWhereLessIsExtended) {
  EXPECT_EQ(offsets_of(on_both_sides(whole("x", 1, 0, 3))), (Offsets{1, 6, 0, 6, 0}));
}

TEST(TwoStack, MoreMayBeReclaimedOnTheRight) {
  std::vector<Buffer> buffers = on_both_sides(whole("x", 1, 1, 3));
  buffers[0] = whole("p", 2, 2, 5);
  EXPECT_EQ(offsets_of(buffers), (Offsets{1, 3, 0, 3, 0}));
}

TEST(TwoStack, OfTwoExtensionsTheLesser) {
  // No step produces anything: no layer is ever reclaimed, only extensions count.
  EXPECT_EQ(offsets_of({whole("a", 4, 0, 4), whole("b", 2, 1, 4), whole("c", 1, 1, 3)}), (Offsets{2, 0, 6}));
  // d of 2 has come and gone on the left.
  EXPECT_EQ(offsets_of({whole("a", 4, 0, 6), whole("d", 2, 5, 6), whole("e", 1, 0, 3)}), (Offsets{0, 4, 4}));
}

TEST(TwoStack, TiesGoOntoWhatAnEarlierStepProduces) {
  EXPECT_EQ(offsets_of({whole("a", 2, 0, 4), whole("b", 2, 1, 4), whole("c", 2, 1, 4), whole("d", 2, 1, 4)}),
            (Offsets{2, 0, 4, 6}));
}

TEST(TwoStack, WhatIsReclaimedUnderTheTopGoesWithIt) {
  // a lies on c, on the left, when step 3 is through, which produces c. Both go after step 1, which produces
  // a: below everything there is room for z.
  EXPECT_EQ(offsets_of({whole("c", 2, 3, 7), whole("e", 3, 5, 7), whole("last", 1, 6, 7), whole("a", 3, 1, 5),
                        whole("y", 1, 0, 2), whole("z", 4, 0, 1)}),
            (Offsets{3, 0, 5, 0, 5, 1}));
}

TEST(TwoStack, WhatLivesAtOneStepGoesAfterItsInputsWhereLessIsExtended) {
  // The input x of the first step is not in the way of anything: left of the origin there is room.
  EXPECT_EQ(offsets_of({of_kind(whole("x", 3, 0, 1), TensorKind::input), whole("a", 4, 0, 2),
                        whole("b", 4, 1, 3), whole("c", 4, 2, 3)}),
            (Offsets{1, 4, 0, 4}));
  // The network is one step long.
  EXPECT_EQ(offsets_of({whole("y", 4, 0, 1), of_kind(whole("x", 3, 0, 1), TensorKind::input)}),
            (Offsets{3, 0}));
}

TEST(TwoStack, WhatLivesAtOneStepBuriesNothing) {
  // The current layer of step 1, b, is on the right, and so is room for the scratch s on top of it.
  EXPECT_EQ(offsets_of({whole("a", 1, 0, 2), whole("b", 1, 1, 3), whole("c", 2, 2, 4), whole("d", 6, 3, 4),
                        whole("s", 2, 1, 2)}),
            (Offsets{1, 2, 0, 2, 3}));
}

TEST(TwoStack, OffsetsKeepTheirAlignment) {
  EXPECT_EQ(
      offsets_of({aligned(whole("a", 5, 0, 2), 4), aligned(whole("b", 5, 1, 3), 3), whole("c", 1, 2, 3)}),
      (Offsets{12, 6, 12}));
  EXPECT_EQ(offsets_of({whole("a", 1, 0, 3), aligned(whole("b", 2, 1, 3), 8), whole("c", 1, 2, 3)}),
            (Offsets{7, 0, 8}));
}

TEST(TwoStack, SeveralPiecesAreOneLife) {
  EXPECT_EQ(
      offsets_of({{.id = "a", .size = 4, .pieces = {{2, 2, {3, 4}}, {0, 2, {0, 1}}}}, whole("b", 3, 1, 3)}),
      (Offsets{3, 0}));
}

TEST(TwoStack, NeverAliveIsInNobodysWay) {
  EXPECT_EQ(offsets_of({whole("dead", 20, 9, 9),
                        whole("nothing", 0, 0, 12),
                        {.id = "without pieces", .size = 3},
                        whole("a", 4, 0, 2),
                        whole("b", 4, 1, 2)}),
            (Offsets{0, 0, 0, 0, 4}));
  EXPECT_TRUE(offsets_of(std::vector<Buffer>{}).empty());
}

// What it cannot serve.

TEST(TwoStack, Obstacles) {
  Problem problem = problem_of({whole("a", 4, 0, 2), whole("b", 4, 1, 3)});
  EXPECT_EQ(obstacle_to("two-stack", problem), std::nullopt);
  problem.buffers[1].pinned = 4;
  EXPECT_EQ(obstacle_to("two-stack", problem),
            "has no meaning for pinned buffers, as 'b': its line has a moving origin");
  EXPECT_THROW(static_cast<void>(solve(problem, {.strategy = "two-stack"})), UsageError);
  problem.buffers[1].pinned.reset();
  problem.memories.push_back({.name = "L3"});
  EXPECT_EQ(obstacle_to("two-stack", problem), "places buffers in one memory, 2 are given");
  problem.memories.pop_back();
  problem.buffers[0].alignment = Bytes{1} << 40;
  EXPECT_EQ(obstacle_to("two-stack", problem), std::nullopt);
  const char* const too_large = "needs a common multiple of all alignments, which is too large here";
  problem.buffers[1].alignment = 3 * 3 * 3 * 3 * 3 * 3 * 3 * 3 * 3 * 3 * 3 * 3 * 3;  // 2^61 / 2^40 is less
  EXPECT_EQ(obstacle_to("two-stack", problem), std::nullopt);
  problem.buffers[1].alignment *= 3;
  EXPECT_EQ(obstacle_to("two-stack", problem), too_large);
  problem.buffers[1].alignment = (Bytes{1} << 40) - 1;
  EXPECT_EQ(obstacle_to("two-stack", problem), too_large);
  const auto largest = [](Bytes size) {
    return problem_of({aligned(whole("a", size, 0, 1), largest_value / 2)});
  };
  EXPECT_EQ(obstacle_to("two-stack", largest(0)), std::nullopt);
  EXPECT_EQ(obstacle_to("two-stack", largest(1)), too_large);
}

TEST(TwoStack, TheLargestAlignmentsThatAreServedDoNotOverflow) {
  const Bytes largest = largest_value / 4;
  const Problem problem =
      problem_of({aligned(whole("a", 1, 0, 2), largest), aligned(whole("b", 1, 1, 2), 1)});
  EXPECT_EQ(offsets_of(problem), (Offsets{0, largest}));
}

// The document, read literally, for networks in which every step has one output that somebody reads.

struct Literal {
  Offsets offsets{};
  bool is_sound = true;  ///< The current layer was always the largest that had memory.
};

/// Claims 1 to 5 and 7: of the tops the larger is the current layer, its inputs go to the other side, it is
/// reclaimed.
Literal literally(const Problem& problem) {
  struct Layer {
    std::size_t id;
    Bytes begin;
    Bytes end;
  };
  std::vector<Layer> left;
  std::vector<Layer> right;
  Bytes min_l_boundary = -1;
  Bytes max_r_boundary = 0;
  Offsets positions(problem.buffers.size(), 0);
  const auto life = [&](std::size_t id) { return problem.buffers[id].pieces[0].life; };
  const auto put = [&](std::size_t id, bool is_left) {
    const Bytes size = problem.buffers[id].size;
    const Bytes edge =
        is_left ? (left.empty() ? 0 : left.back().begin) : (right.empty() ? 0 : right.back().end);
    const Layer layer = is_left ? Layer{id, edge - size, edge} : Layer{id, edge, edge + size};
    (is_left ? left : right).push_back(layer);
    min_l_boundary = std::min(min_l_boundary, layer.begin - 1);
    max_r_boundary = std::max(max_r_boundary, layer.end);
    positions[id] = layer.begin;
  };
  Literal result;
  put(problem.buffers.size() - 1, false);
  std::vector<bool> has_memory(problem.buffers.size(), false);
  while (!left.empty() || !right.empty()) {
    const bool is_left = right.empty() || (!left.empty() && left.back().id > right.back().id);
    const std::size_t current = (is_left ? left : right).back().id;
    for (const auto* side : {&left, &right}) {
      for (const Layer& layer : *side) result.is_sound = result.is_sound && layer.id <= current;
    }
    (is_left ? left : right).pop_back();  // its inputs go to the other side anyway
    for (std::size_t id = 0; id < current; ++id) {
      if (life(id).upper != life(current).lower + 1 || has_memory[id]) continue;
      has_memory[id] = true;
      put(id, !is_left);
    }
  }
  for (Bytes& position : positions) position -= min_l_boundary + 1;
  EXPECT_EQ(max_r_boundary - min_l_boundary - 1, oracle::peak_of_offsets(problem, positions));
  result.offsets = positions;
  return result;
}

/// Step i writes buffer i, which some later step reads last.
Problem random_network(std::uint64_t seed) {
  oracle::Random random(seed);
  const Position steps = random.between(1, 12);
  const int percent_chain = static_cast<int>(random.between(0, 90));
  Problem problem = problem_of({});
  for (Position step = 0; step < steps; ++step) {
    const bool is_last = step + 1 == steps;
    const Position reader =
        is_last || random.chance(percent_chain) ? step + 1 : random.between(step + 1, steps - 1);
    problem.buffers.push_back(
        whole("b" + std::to_string(step), random.between(1, 9), step, is_last ? steps : reader + 1));
  }
  return problem;
}

TEST(TwoStack, WhereTheDocumentIsSoundItIsAsThere) {
  std::size_t sound = 0;
  std::size_t overlapping = 0;
  for (std::uint64_t seed = 0; seed < 3000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = random_network(seed);
    const Literal literal = literally(problem);
    const Offsets offsets = offsets_of(problem);
    if (!literal.is_sound) {
      overlapping += oracle::fault_of(problem, literal.offsets) ? 1 : 0;
      continue;
    }
    ++sound;
    EXPECT_EQ(offsets, literal.offsets);
  }
  EXPECT_GT(sound, 1000U);
  EXPECT_GT(overlapping, 50U);
}

TEST(TwoStack, WhereTheDocumentOverlapsItDoesNot) {
  // Step 5 reads b0, which comes to lie on b4. b0 has no inputs: read literally it is reclaimed as
  // soon as it is the top, and b1 and b2, which step 3 reads, get its bytes though it is alive with them.
  const Problem problem =
      problem_of({whole("b0", 1, 0, 6), whole("b1", 1, 1, 4), whole("b2", 1, 2, 4), whole("b3", 1, 3, 5),
                  whole("b4", 1, 4, 8), whole("b5", 1, 5, 7), whole("b6", 1, 6, 8), whole("b7", 1, 7, 8)});
  const Literal literal = literally(problem);
  EXPECT_FALSE(literal.is_sound);
  EXPECT_EQ(oracle::fault_of(problem, literal.offsets), "b0 collides with b2");
  EXPECT_EQ(offsets_of(problem), (Offsets{2, 1, 0, 4, 3, 4, 2, 4}));
}

// The naive twin: every position in falling order, every stack looked at from its top.

struct NaiveSide {
  struct Layer {
    Bytes bottom;
    Bytes top;
    Position lower;
  };
  bool is_left;
  std::vector<Layer> layers{};
  Bytes reach = 0;

  [[nodiscard]] Bytes top() const { return layers.empty() ? 0 : layers.back().top; }

  [[nodiscard]] Bytes end_of(const Buffer& buffer) const {
    Bytes end = top() + buffer.size;
    while ((is_left ? end : end - buffer.size) % buffer.alignment != 0) ++end;
    return end;
  }

  [[nodiscard]] Bytes extension(const Buffer& buffer) const {
    return std::max<Bytes>(end_of(buffer) - reach, 0);
  }

  [[nodiscard]] Bytes reclaimable(Position step) const {
    Bytes bytes = 0;
    for (auto layer = layers.rbegin(); layer != layers.rend() && layer->lower >= step; ++layer)
      bytes += layer->top - layer->bottom;
    return bytes;
  }

  Bytes put(const Buffer& buffer, Position lower) {
    const Bytes end = end_of(buffer);
    layers.push_back({top(), end, lower});
    reach = std::max(reach, end);
    return is_left ? -end : end - buffer.size;
  }

  void reclaim(Position step) {
    while (!layers.empty() && layers.back().lower >= step) layers.pop_back();
  }
};

struct NaiveLine {
  int place_of_claim_8 = 3;
  NaiveSide left{true};
  NaiveSide right{false};

  [[nodiscard]] bool goes_left(const Buffer& buffer, Position lower, Position step) const {
    const Bytes gain_on_the_left = right.reclaimable(step);  // what can go if it is put there
    const Bytes gain_on_the_right = left.reclaimable(step);
    const Bytes on_the_left = left.extension(buffer);
    const Bytes on_the_right = right.extension(buffer);
    if (place_of_claim_8 == 1 && on_the_left != on_the_right) return on_the_left < on_the_right;
    if (lower < step && (gain_on_the_left == 0) != (gain_on_the_right == 0)) return gain_on_the_left > 0;
    if (place_of_claim_8 == 2 && on_the_left != on_the_right) return on_the_left < on_the_right;
    if (lower == step - 1 && gain_on_the_left != gain_on_the_right)
      return gain_on_the_left > gain_on_the_right;
    if (on_the_left != on_the_right) return on_the_left < on_the_right;
    if (left.layers.empty() || right.layers.empty()) return left.layers.empty() && !right.layers.empty();
    return left.layers.back().lower < right.layers.back().lower;
  }
};

Lifetime naive_life(const Buffer& buffer) {
  std::optional<Lifetime> life;
  for (const Piece& piece : buffer.pieces) {
    if (piece.size == 0 || piece.life.lower == piece.life.upper) continue;
    if (!life) life = piece.life;
    life->lower = std::min(life->lower, piece.life.lower);
    life->upper = std::max(life->upper, piece.life.upper);
  }
  return life.value_or(Lifetime{});
}

bool is_final(const Buffer& buffer, const Lifetime& life, Position end) {
  if (life.upper != end) return false;
  if (buffer.kind == TensorKind::output) return true;
  return life.lower == end - 1 && buffer.kind != TensorKind::input;
}

Offsets naive_two_stack(const Problem& problem, int place_of_claim_8 = 3) {
  const std::size_t count = problem.buffers.size();
  std::vector<Lifetime> lives;
  Position end = 0;
  Bytes common = 1;
  for (const Buffer& buffer : problem.buffers) {
    lives.push_back(naive_life(buffer));
    end = std::max(end, lives.back().upper);
    const Bytes before = common;
    while (common % buffer.alignment != 0) common += before;
  }
  NaiveLine line{place_of_claim_8};
  Offsets positions(count, 0);
  std::vector<bool> has_memory(count, false);
  const auto in_order_of_ids = [&](Position step, const auto& give) {
    for (Position lower = 0; lower <= step; ++lower) {
      for (std::size_t b = 0; b < count; ++b) {
        const bool is_its_turn = lives[b].lower == lower && lives[b].upper == step + 1 && !has_memory[b];
        if (is_its_turn) give(b);
      }
    }
  };
  for (Position step = end - 1; step >= 0; --step) {
    in_order_of_ids(step, [&](std::size_t b) {
      if (!is_final(problem.buffers[b], lives[b], end)) return;
      has_memory[b] = true;
      positions[b] = line.right.put(problem.buffers[b], lives[b].lower);
    });
    in_order_of_ids(step, [&](std::size_t b) {
      has_memory[b] = true;
      const bool is_left = line.goes_left(problem.buffers[b], lives[b].lower, step);
      positions[b] = (is_left ? line.left : line.right).put(problem.buffers[b], lives[b].lower);
    });
    line.left.reclaim(step);
    line.right.reclaim(step);
  }
  EXPECT_TRUE(line.left.layers.empty() && line.right.layers.empty());
  Bytes origin = 0;
  while (origin < line.left.reach) origin += common;
  for (std::size_t b = 0; b < count; ++b) {
    if (lives[b] != Lifetime{}) positions[b] += origin;
  }
  return positions;
}

/// Without pins, and some of the buffers outputs and inputs.
Problem served(Problem problem, std::uint64_t seed) {
  oracle::Random random(seed);
  for (Buffer& buffer : problem.buffers) {
    buffer.pinned.reset();
    if (random.chance(20)) buffer.kind = TensorKind::output;
    if (random.chance(10)) buffer.kind = TensorKind::input;
  }
  return problem;
}

TEST(TwoStack, RandomProblemsLikeItsNaiveTwin) {
  for (std::uint64_t seed = 0; seed < 5000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = served(oracle::random_problem(seed), seed);
    EXPECT_EQ(offsets_of(problem), naive_two_stack(problem));
  }
}

TEST(TwoStack, MediumProblemsLikeItsNaiveTwin) {
  for (std::uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    oracle::Random random(seed);
    const oracle::ProblemShape shape{.buffers = static_cast<std::size_t>(random.between(10, 100)),
                                     .positions = random.between(3, 60),
                                     .longest_life = random.between(2, 30),
                                     .largest_size = random.between(2, 20),
                                     .largest_alignment = random.chance(50) ? 1 : 8,
                                     .percent_with_pieces = random.chance(50) ? 0 : 30,
                                     .percent_never_alive = 5,
                                     .percent_like_the_last = 20};
    const Problem problem = served(oracle::random_problem(seed, shape), seed);
    EXPECT_EQ(offsets_of(problem), naive_two_stack(problem));
  }
}

TEST(TwoStack, IsTheLowestOfThreeOrdersOfTheRules) {
  std::size_t lower = 0;
  for (std::uint64_t seed = 0; seed < 2000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = served(
        seed % 2 == 0 ? oracle::random_problem(seed)
                      : oracle::random_problem(seed, {.buffers = 30, .positions = 20, .longest_life = 8}),
        seed);
    Offsets expected = naive_two_stack(problem);
    for (const int place : {1, 2}) {
      const Offsets other = naive_two_stack(problem, place);
      if (oracle::peak_of_offsets(problem, other) >= oracle::peak_of_offsets(problem, expected)) continue;
      expected = other;
      ++lower;
    }
    EXPECT_EQ(testing::offsets_of(solve(problem, {.strategy = "two-stack"}).places), expected);
  }
  EXPECT_GT(lower, 100U);
}

// Larger ones.

TEST(TwoStack, StoppedItLeavesThePlanToFreeList) {
  std::stop_source source;
  source.request_stop();
  const SolveOptions options{.strategy = "two-stack", .stop = source.get_token()};
  const Solution stopped = solve(problem_of({whole("a", 4, 0, 2), whole("b", 5, 3, 4)}), options);
  EXPECT_EQ(stopped.strategy, "free-list");
  EXPECT_EQ(offsets_in(stopped), (Offsets{0, 0}));
  EXPECT_FALSE(stopped.interrupted);  // at the bound, nothing is lost
  std::size_t above_bound = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Problem problem =
        served(oracle::random_problem(seed, {.buffers = 30, .positions = 20, .longest_life = 8}), seed);
    const Solution other = solve(problem, options);
    const bool is_above = oracle::peak_of_offsets(problem, offsets_in(other)) > other.lower_bound;
    EXPECT_EQ(other.interrupted, is_above) << seed;
    above_bound += is_above ? 1 : 0;
  }
  EXPECT_GT(above_bound, 5U);
}

TEST(TwoStack, StoppedBeforeAndMidwayItStillPlacesEverything) {
  const Problem problem = served(oracle::random_problem(3, {.buffers = 950,
                                                            .positions = 250,
                                                            .longest_life = 60,
                                                            .largest_size = 40,
                                                            .largest_alignment = 8,
                                                            .percent_with_pieces = 20,
                                                            .percent_never_alive = 2}),
                                 3);
  const Offsets uncut = offsets_in(solve(problem, {.strategy = "two-stack"}));
  for (const double until : {-1.0, 0.0, 0.05, 0.1}) {
    std::stop_source source;
    if (until < 0) source.request_stop();
    const auto stop = [&](std::string_view what, double fraction) {
      if (!source.stop_requested()) {
        EXPECT_EQ(what, "two-stack");  // then the fallback ends in any case
      }
      EXPECT_LE(fraction, 1);
      if (fraction > until) source.request_stop();
    };
    const Solution solution =
        solve(problem, {.strategy = "two-stack", .stop = source.get_token(), .progress = stop});
    EXPECT_TRUE(solution.interrupted);
    const Offsets offsets = offsets_in(solution);
    EXPECT_NE(offsets, uncut);
    const auto fault = oracle::fault_of(problem, offsets);
    EXPECT_FALSE(fault) << *fault;
  }
}

TEST(TwoStack, AMillionBuffers) {
  oracle::Random random(1);
  Problem problem = problem_of({});
  const std::size_t buffers = testing::cases_of(1000000);
  for (std::size_t b = 0; b < buffers; ++b) {
    const Position lower = random.between(0, 1000000);
    problem.buffers.push_back(
        whole("b" + std::to_string(b), random.between(1, 5000), lower, lower + random.between(1, 3000)));
  }
  EXPECT_EQ(solve(problem, {.strategy = "two-stack"}).places.size(), problem.buffers.size());
}

TEST(TwoStack, ListsOfOtherTools) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "packing";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "there is no folder " << folder;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".csv") continue;
    SCOPED_TRACE(entry.path().filename());
    const PlanResult result = make_plan(read_input(entry.path()), {.solve = {.strategy = "two-stack"}});
    EXPECT_TRUE(result.faults.empty()) << result.faults.front().what;
  }
}

}  // namespace
}  // namespace stowage
