// Problems with relations and costs of reuse: equal to brute force on many small ones, checked by `faults_of`.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <numeric>
#include <optional>

#include "image_networks.h"
#include "long_tests.h"
#include "pack/relations/search.h"
#include "stowage/error.h"
#include "stowage/planner.h"
#include "stowage/problem.h"

namespace stowage {
namespace {

using testing::pick;
using testing::Random;

/// A buffer of all bytes live in [lower, upper).
Buffer live(std::string id, Bytes size, Position lower, Position upper) {
  return {.id = std::move(id), .size = size, .pieces = {{0, size, {lower, upper}}}};
}

BufferPair two_of(Random& random, std::size_t count) {
  const auto first = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(count) - 1));
  auto second = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(count) - 2));
  if (second >= first) ++second;
  return {first, second};
}

/// 2 to 5 buffers of up to 3 bytes in one to three memories of up to 7, or without a limit.
Problem random_problem(Random& random) {
  Problem problem;
  const auto one_in = [&](std::int64_t n) { return pick(random, 1, n) == 1; };
  const std::int64_t memories = one_in(20) ? 3 : pick(random, 1, 2);
  for (std::int64_t m = 0; m < memories; ++m) {
    Memory memory{.name = std::to_string(m), .capacity = pick(random, 2, memories == 1 ? 7 : 4)};
    if (one_in(3)) {
      const Bytes begin = pick(random, 0, *memory.capacity - 1);
      memory.reserved = {{begin, begin + 1}};
    }
    problem.memories.push_back(memory);
  }
  const std::int64_t count = pick(random, 2, memories == 3 ? 4 : 5);
  if (count <= 3 && one_in(5)) problem.memories.back().capacity.reset();
  for (std::int64_t b = 0; b < count; ++b) {
    const Position lower = pick(random, 0, 5);
    const Bytes size = one_in(25) ? 0 : pick(random, 1, 3);
    problem.buffers.push_back(live(std::to_string(b), size, lower, lower + pick(random, 1, 3)));
    Buffer& buffer = problem.buffers.back();
    while (buffer.pieces.size() < 3 && one_in(5)) {
      const Position end = buffer.pieces.back().life.upper;
      buffer.pieces.push_back({0, size, {end + 1, end + 2}});
    }
    if (memories >= 2 && one_in(2))
      buffer.memories = {static_cast<std::size_t>(pick(random, 0, memories - 1))};
    if (one_in(10)) buffer.pinned = pick(random, 0, 2);
    if (one_in(10) && !buffer.pinned) buffer.alignment = pick(random, 2, 4);
  }
  if (memories >= 2 && one_in(2)) {
    for (Memory& memory : problem.memories) memory.cost = pick(random, 0, 2);
    for (Buffer& buffer : problem.buffers) buffer.traffic = pick(random, 0, 2);
  }
  if (one_in(10)) {  // sizes and ends of memories that are no multiples of what all alignments are
    for (Buffer& buffer : problem.buffers) {
      buffer.alignment = 2;
      if (buffer.pinned) buffer.pinned = 2;
    }
  }
  const auto n = problem.buffers.size();
  Relations& relations = problem.relations;
  for (std::int64_t i = pick(random, 0, 6); i > 0; --i)
    relations.reuse_costs.push_back({two_of(random, n), pick(random, 0, 3)});
  for (std::int64_t i = pick(random, 0, 2); i > 0; --i) relations.apart.push_back(two_of(random, n));
  for (int i = 0; i < 2 && one_in(4); ++i) relations.exclusive.push_back(two_of(random, n));
  for (int i = 0; i < 2 && one_in(4); ++i) {
    const BufferPair two = two_of(random, n);
    relations.together.push_back({two.first, two.second, one_in(2) ? 0 : pick(random, -2, 3)});
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, random);
  for (std::size_t i = 0; i < 2 && one_in(6); ++i) {
    const std::int64_t gain = pick(random, 0, 2);
    relations.copies.push_back({order[i], {gain, gain + pick(random, 0, 2)}});
  }
  if (relations.empty()) relations.reuse_costs.push_back({two_of(random, n), 1});
  return problem;
}

/// In a memory without a limit, all fits before this.
Bytes room_of(const Problem& problem, std::size_t memory) {
  if (problem.memories[memory].capacity) return *problem.memories[memory].capacity;
  Bytes room = 0;
  for (const ByteRange& range : problem.memories[memory].reserved) room = std::max(room, range.end);
  for (const Buffer& buffer : problem.buffers) room += 2 * buffer.alignment + buffer.size;
  for (const Joint& joint : problem.relations.together) room += std::abs(joint.distance);
  for (const CopyGains& it : problem.relations.copies) {
    const Buffer& buffer = problem.buffers[it.buffer];
    room += std::ssize(it.gains) * (buffer.alignment + buffer.size);
  }
  return room;
}

/// Where buffers that lie together with one begin beside it; itself, too.
std::map<std::size_t, Bytes> group_of(const Problem& problem, std::size_t b) {
  std::map<std::size_t, Bytes> group{{b, 0}};
  for (std::size_t before = 0; before != group.size();) {
    before = group.size();
    for (const Joint& joint : problem.relations.together) {
      if (group.contains(joint.first)) group.emplace(joint.second, group[joint.first] + joint.distance);
      if (group.contains(joint.second)) group.emplace(joint.first, group[joint.second] - joint.distance);
    }
  }
  return group;
}

/// Bytes of all that lie together with a buffer: where they begin beside it, and how many.
struct Extent {
  Bytes begin = 0;
  Bytes size = 0;
};
Extent extent_of(const Problem& problem, const std::vector<std::int64_t>& copies, std::size_t b) {
  Bytes begin = 0;
  Bytes end = 0;
  for (const auto& [i, at] : group_of(problem, b)) {
    const Buffer& buffer = problem.buffers[i];
    const Bytes stride = (buffer.size + buffer.alignment - 1) / buffer.alignment * buffer.alignment;
    begin = std::min(begin, at);
    end = std::max(end, at + stride * (copies.empty() ? 0 : copies[i] - 1) + buffer.size);
  }
  return {begin, end - begin};
}

/// What the rules ask of buffers with so many copies, found once for many placings.
struct Rules {
  const Problem& problem;
  std::vector<Extent> extents{};
  std::vector<std::size_t> groups{};  ///< The first buffer that lies together with each.

  [[nodiscard]] bool are_together(std::size_t a, std::size_t b) const { return groups[a] == groups[b]; }
};
Rules rules_of(const Problem& problem, const std::vector<std::int64_t>& copies) {
  Rules rules{.problem = problem};
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    rules.extents.push_back(extent_of(problem, copies, b));
    rules.groups.push_back(group_of(problem, b).begin()->first);
  }
  return rules;
}

bool share_bytes(const Rules& rules, const Solution& it, std::size_t a, std::size_t b) {
  const Extent& first = rules.extents[a];
  const Extent& second = rules.extents[b];
  const Bytes first_begin = it.places[a].offset + first.begin;
  const Bytes second_begin = it.places[b].offset + second.begin;
  return it.places[a].memory == it.places[b].memory && first.size > 0 && second.size > 0 &&
         first_begin < second_begin + second.size && second_begin < first_begin + first.size;
}

/// Whether a buffer shares no byte with one before it that is live at the same time.
bool can_be(const Rules& rules, const Solution& it, std::size_t b) {
  const Problem& problem = rules.problem;
  for (std::size_t a = 0; a < b; ++a) {
    const auto& exclusive = problem.relations.exclusive;
    const bool is_exclusive =
        std::ranges::count(exclusive, BufferPair{a, b}) + std::ranges::count(exclusive, BufferPair{b, a}) > 0;
    if (is_exclusive || !share_bytes(rules, it, a, b) || rules.are_together(a, b)) continue;
    for (const Piece& mine : problem.buffers[b].pieces) {
      for (const Piece& other : problem.buffers[a].pieces) {
        if (mine.life.lower < other.life.upper && other.life.lower < mine.life.upper) return false;
      }
    }
  }
  return true;
}

/// All rules for places, beside `faults_of`.
bool is_legal(const Rules& rules, const Solution& it) {
  const Problem& problem = rules.problem;
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    const Buffer& buffer = problem.buffers[b];
    const auto [memory, offset] = it.places[b];
    if (memory >= problem.memories.size() || offset < 0) return false;
    const Extent& extent = rules.extents[b];
    const Bytes begin = offset + extent.begin;
    const Bytes end = begin + extent.size;
    if (!buffer.memories.empty() && std::ranges::count(buffer.memories, memory) == 0) return false;
    if (offset % buffer.alignment != 0 || (buffer.pinned && offset != *buffer.pinned)) return false;
    if (begin < 0 || (problem.memories[memory].capacity && end > *problem.memories[memory].capacity))
      return false;
    for (const ByteRange& range : problem.memories[memory].reserved)
      if (extent.size > 0 && begin < range.end && range.begin < end) return false;
    if (!can_be(rules, it, b)) return false;
  }
  for (const Joint& joint : problem.relations.together) {
    const Place& first = it.places[joint.first];
    if (it.places[joint.second] != Place{first.memory, first.offset + joint.distance}) return false;
  }
  return std::ranges::none_of(problem.relations.apart, [&](const BufferPair& pair) {
    return share_bytes(rules, it, pair.first, pair.second) && !rules.are_together(pair.first, pair.second);
  });
}

std::int64_t cost_of(const Rules& rules, const Solution& it) {
  const Problem& problem = rules.problem;
  std::int64_t cost = 0;
  for (const ReuseCost& reuse : problem.relations.reuse_costs) {
    const auto [a, b] = reuse.pair;
    if (share_bytes(rules, it, a, b) && !rules.are_together(a, b)) cost += reuse.cost;
  }
  return cost;
}

/// What memories cost more than the cheapest one that each buffer may be in.
std::int64_t memory_cost_of(const Problem& problem, const Solution& it) {
  std::int64_t cost = 0;
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    const Buffer& buffer = problem.buffers[b];
    if (buffer.size == 0) continue;
    std::int64_t least = 100;
    for (std::size_t m = 0; m < problem.memories.size(); ++m) {
      if (buffer.memories.empty() || buffer.memories[0] == m)
        least = std::min(least, problem.memories[m].cost);
    }
    cost += buffer.traffic * (problem.memories[it.places[b].memory].cost - least);
  }
  return cost;
}

/// The best of all places and copies that are legal.
struct Best {
  /// Cost less gain, and peaks of the last memory first.
  std::pair<std::int64_t, std::vector<Bytes>> cost_then_peak{};
  std::pair<std::vector<Bytes>, std::int64_t> peak_then_cost{};

  [[nodiscard]] std::int64_t net() const { return cost_then_peak.first; }
};

std::vector<Bytes> peaks_of(const Problem& problem, const Solution& solution) {
  std::vector<Bytes> peaks;
  for (std::size_t m = problem.memories.size(); m-- > 0;) peaks.push_back(peak_of(problem, solution, m));
  return peaks;
}

std::optional<Best> brute_force(const Problem& problem) {
  std::optional<Best> best;
  Solution solution;
  const std::size_t count = problem.buffers.size();
  solution.places.resize(count);
  solution.copies.assign(count, 1);
  Rules rules{.problem = problem};
  const auto judge = [&] {
    solution.reuse_cost = cost_of(rules, solution);
    solution.reuse_cost_bound = -10;
    solution.memory_cost = memory_cost_of(problem, solution);
    const std::int64_t net = counted_cost(solution);
    const std::vector<Bytes> peaks = peaks_of(problem, solution);
    const std::pair cost_first(net, peaks);
    const std::pair peak_first(peaks, net);
    // What is no better in any order changes nothing, legal or not.
    if (best && cost_first >= best->cost_then_peak && peak_first >= best->peak_then_cost) return;
    const bool legal = is_legal(rules, solution);
    EXPECT_EQ(faults_of(problem, solution).empty(), legal);
    if (!legal) return;
    if (!best) best = Best{cost_first, peak_first};
    best->cost_then_peak = std::min(best->cost_then_peak, cost_first);
    best->peak_then_cost = std::min(best->peak_then_cost, peak_first);
  };
  const std::function<void(std::size_t)> place = [&](std::size_t b) {
    if (b == count) return judge();
    for (std::size_t m = 0; m < problem.memories.size(); ++m) {
      for (Bytes offset = 0; offset + problem.buffers[b].size <= room_of(problem, m); ++offset) {
        solution.places[b] = {m, offset};
        if (can_be(rules, solution, b)) place(b + 1);
      }
    }
  };
  const std::function<void(std::size_t)> copy = [&](std::size_t l) {
    if (l == problem.relations.copies.size()) {
      const Rules of_these = rules_of(problem, solution.copies);
      rules.extents = of_these.extents;
      rules.groups = of_these.groups;
      return place(0);
    }
    copy(l + 1);
    const CopyGains& list = problem.relations.copies[l];
    for (std::size_t i = 0; i < list.gains.size(); ++i) {
      solution.copies[list.buffer] = static_cast<std::int64_t>(i) + 2;
      solution.gain += list.gains[i];
      copy(l + 1);
      solution.gain -= list.gains[i];
    }
    solution.copies[list.buffer] = 1;
  };
  copy(0);
  return best;
}

/// With a capacity for each memory, as arenas need.
Problem limited(Problem problem) {
  for (std::size_t m = 0; m < problem.memories.size(); ++m)
    problem.memories[m].capacity = room_of(problem, m);
  return problem;
}

std::int64_t bound_by_cliques(const Problem& problem) {
  std::int64_t bound = 0;
  const pack::relations::Arena arena(limited(problem));
  for (const auto& part : arena.parts())
    bound +=
        pack::relations::clique_bound(part, base::Deadline::after_work(std::chrono::milliseconds(1))).bound;
  return bound;
}

bool is_valid(const Problem& problem) {
  try {
    validate(problem);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Proofs that claim more than is true, or that are about others, are rejected.
void expect_rejected(const Problem& problem, const Solution& solution, std::int64_t least,
                     std::uint64_t number) {
  std::int64_t gains = 0;
  for (const CopyGains& list : problem.relations.copies) gains += list.gains.back();
  const auto claims = [&](const ReuseProof& proof) { return proven_cost(problem, proof); };
  for (std::size_t i = 0; i < solution.reuse_proof.searched.size(); ++i) {
    ReuseProof more = solution.reuse_proof;
    more.searched[i].cost += least + gains + 1;
    EXPECT_FALSE(claims(more)) << number;
    ReuseProof fewer = solution.reuse_proof;
    fewer.searched[i].buffers.resize(1);
    if (solution.memory_cost == 0) {  // else one may be enough
      EXPECT_FALSE(claims(fewer)) << number;
    }
    ReuseProof twice = solution.reuse_proof;
    twice.searched.push_back(twice.searched[i]);
    EXPECT_FALSE(claims(twice)) << number;
    ReuseProof unknown = solution.reuse_proof;
    unknown.searched[i].buffers.push_back(problem.buffers.size());
    EXPECT_FALSE(claims(unknown)) << number;
  }
}

/// Clique proofs are too rare in answers of small problems: here each is asked for.
void check_cliques(const Problem& problem, std::int64_t least, std::uint64_t number, std::uint64_t& proven) {
  const pack::relations::Arena arena(limited(problem));
  ReuseProof proof{.unit = arena.unit()};
  std::int64_t bound = 0;
  for (std::size_t p = 0; p < arena.parts().size(); ++p) {
    const auto it = pack::relations::clique_bound(arena.parts()[p],
                                                  base::Deadline::after_work(std::chrono::milliseconds(1)));
    bound += it.bound;
    for (const auto& charge : it.charges) {
      proof.cliques.push_back({.charge = charge.per_cell});
      for (const std::size_t item : charge.items)
        proof.cliques.back().buffers.push_back(arena.buffers()[p][item]);
    }
  }
  if (proof.cliques.empty() || bound == 0) return;
  const auto shown = proven_cost(problem, proof);
  ASSERT_TRUE(shown) << number;
  std::int64_t gains = 0;
  for (const CopyGains& list : problem.relations.copies) gains += list.gains.back();
  EXPECT_LE(*shown, least) << number;
  EXPECT_GE(*shown + gains, 0) << number;
  proven += *shown + gains > 0 ? 1U : 0U;
  ReuseProof bad = proof;
  bad.cliques[0].charge = -1;
  EXPECT_FALSE(proven_cost(problem, bad)) << number;
  bad = proof;
  bad.unit = 0;
  EXPECT_FALSE(proven_cost(problem, bad)) << number;
  bad = proof;
  for (ChargedClique& clique : bad.cliques) clique.charge *= 1000;
  const auto inflated = proven_cost(problem, bad);  // pairs are charged above their cost, which does not help
  EXPECT_TRUE(!inflated || *inflated <= least) << number;
}

/// Places moved by a byte or to another memory, claims of another cost, and proofs of what is not so.
void check_mutants(const Problem& problem, const Solution& solution, Random& random, std::uint64_t number) {
  if (solution.overload) {
    Solution bad = solution;
    bad.overload->room = bad.overload->needed;
    EXPECT_FALSE(faults_of(problem, bad).empty()) << number;
    bad.overload = solution.overload;
    bad.overload->needed += 100;
    EXPECT_FALSE(faults_of(problem, bad).empty()) << number;
  }
  if (solution.outcome != Outcome::fits) return;
  const Rules rules = rules_of(problem, solution.copies);
  for (int i = 0; i < 4; ++i) {
    Solution other = solution;
    const auto b = static_cast<std::size_t>(pick(random, 0, std::ssize(problem.buffers) - 1));
    Place& place = other.places[b];
    place.offset += pick(random, -1, 1);
    if (pick(random, 0, 3) == 0)
      place.memory = static_cast<std::size_t>(pick(random, 0, std::ssize(problem.memories) - 1));
    other.reuse_cost = cost_of(rules, other);
    other.memory_cost = memory_cost_of(problem, other);
    other.reuse_cost_bound = -10;
    EXPECT_EQ(faults_of(problem, other).empty(), is_legal(rules, other)) << number;
    ++other.reuse_cost;
    EXPECT_FALSE(faults_of(problem, other).empty()) << number;
    --other.reuse_cost;
    ++other.memory_cost;
    EXPECT_FALSE(faults_of(problem, other).empty()) << number;
  }
}

/// Fewer buffers of a proof, which fit; and the same buffers where there is room.
void check_no_fit(const Problem& problem, const ReuseProof& proof, std::uint64_t number) {
  Problem wide = problem;
  for (Memory& memory : wide.memories) {
    if (memory.capacity) *memory.capacity += 100;
  }
  for (Buffer& buffer : wide.buffers) buffer.pinned.reset();
  EXPECT_FALSE(is_proof_of_no_fit(wide, proof)) << number;
  if (!problem.relations.together.empty()) return;
  for (std::size_t left_out = 0; left_out < proof.too_many.size(); ++left_out) {
    ReuseProof fewer{.too_many = proof.too_many};
    fewer.too_many.erase(fewer.too_many.begin() + static_cast<std::ptrdiff_t>(left_out));
    Problem some = problem;
    for (std::size_t b = 0; b < some.buffers.size(); ++b) {
      if (std::ranges::count(fewer.too_many, b) > 0) continue;
      some.buffers[b].size = 0;
      for (Piece& piece : some.buffers[b].pieces) piece.size = 0;
    }
    some.relations.copies.clear();
    if (brute_force(some)) {
      EXPECT_FALSE(is_proof_of_no_fit(problem, fewer)) << number;
    }
  }
}

/// A solution that is solved again without a search stays as it is.
void check_again(const Problem& problem, const Solution& solution, Objective objective,
                 std::uint64_t number) {
  const std::vector<std::optional<Place>> start(solution.places.begin(), solution.places.end());
  const Solution again = solve(problem, {.effort = 0, .objective = objective, .start = start});
  ASSERT_EQ(again.outcome, Outcome::fits) << number;
  EXPECT_EQ(faults_of(problem, again), std::vector<std::string>()) << number;
  for (std::size_t b = 0; b < start.size(); ++b) {
    if (extent_of(problem, {}, b).size > 0) {
      EXPECT_EQ(again.places[b], solution.places[b]) << number;
    }
  }
}

TEST(Relations, EqualBruteForce) {
  Random random(1);
  std::uint64_t compared = 0;
  std::uint64_t impossible = 0;
  std::uint64_t impossible_by_search = 0;
  std::uint64_t costly = 0;
  std::uint64_t bounded = 0;
  std::uint64_t proven = 0;
  std::uint64_t by_cliques = 0;
  const std::uint64_t cases = testing::cases_of(testing::has_time() ? 100000 : 800);
  while (compared < cases) {
    const Problem problem = random_problem(random);
    if (!is_valid(problem)) continue;
    ++compared;
    const auto best = brute_force(problem);
    const auto objective = static_cast<Objective>(compared % 3);
    const Solution solution = solve(problem, {.effort = 50, .seed = compared, .objective = objective});
    for (const std::string& fault : faults_of(problem, solution)) ADD_FAILURE() << compared << ": " << fault;
    ASSERT_EQ(solution.outcome == Outcome::fits, best.has_value()) << compared;
    check_mutants(problem, solution, random, compared);
    if (!best) {
      ++impossible;
      if (!solution.cannot_fit || solution.overload) continue;
      EXPECT_TRUE(is_proof_of_no_fit(problem, solution.reuse_proof)) << compared;
      check_no_fit(problem, solution.reuse_proof, compared);
      ++impossible_by_search;
      continue;
    }
    ASSERT_FALSE(solution.cannot_fit) << compared;
    EXPECT_FALSE(is_proof_of_no_fit(problem, {.too_many = {0, 1}})) << compared;
    const std::int64_t net = counted_cost(solution);
    ASSERT_LE(solution.reuse_cost_bound, best->net()) << compared;
    if (problem.memories.size() == 1) {
      ASSERT_LE(solution.lower_bound, best->peak_then_cost.first[0]) << compared;
    }
    if (objective != Objective::peak_then_cost) {
      ASSERT_EQ(net, best->net()) << compared;
    }
    if (objective == Objective::cost_then_peak && problem.relations.copies.empty()) {
      ASSERT_EQ(std::pair(net, peaks_of(problem, solution)), best->cost_then_peak) << compared;
    }
    if (objective == Objective::peak_then_cost && problem.relations.copies.empty()) {
      ASSERT_EQ(std::pair(peaks_of(problem, solution), net), best->peak_then_cost) << compared;
    }
    if (const auto shown = proven_cost(problem, solution.reuse_proof)) {
      EXPECT_LE(*shown, best->net()) << compared;
      if (problem.relations.copies.empty() && solution.reuse_proof.cliques.empty()) {
        EXPECT_EQ(*shown, solution.reuse_cost_bound) << compared;
      }
      ++proven;
    } else {
      EXPECT_TRUE(solution.reuse_proof.searched.empty()) << compared;
    }
    expect_rejected(problem, solution, best->net(), compared);
    if (problem.relations.copies.empty()) check_again(problem, solution, objective, compared);
    costly += best->net() > 0 ? 1U : 0U;
    const auto bound = bound_by_cliques(problem);
    ASSERT_LE(bound, best->net() + (solution.copies.empty() ? 0 : 10)) << compared;
    bounded += bound > 0 ? 1U : 0U;
    check_cliques(problem, best->net(), compared, by_cliques);
  }
  EXPECT_GT(impossible * 20, cases);
  EXPECT_GT(impossible_by_search * 50, cases);
  EXPECT_GT(costly * 40, cases);
  EXPECT_GT(bounded * 50, cases);
  EXPECT_GT(proven * 50, cases);
  EXPECT_GT(by_cliques * 50, cases);
}

/// Three buffers one after the other in 4 bytes. The first two cost nothing together, so each pair with a cost is apart.
Problem chain() {
  Problem problem{.buffers = {live("a", 2, 0, 1), live("b", 2, 1, 2), live("c", 2, 2, 3)},
                  .memories = {{.name = "vec", .capacity = 4}}};
  problem.relations.reuse_costs = {{{0, 2}, 5}, {{1, 2}, 2}};
  return problem;
}

TEST(Relations, TakesTheCheapestReuse) {
  const Problem problem = chain();
  const Solution solution = solve(problem);
  EXPECT_EQ(solution.reuse_cost, 0);
  EXPECT_EQ(solution.places[0].offset, solution.places[1].offset);
  EXPECT_NE(solution.places[0].offset, solution.places[2].offset);
  Problem apart = problem;
  apart.relations.apart = {{0, 1}};
  const Solution costly = solve(apart);
  EXPECT_EQ(costly.reuse_cost, 2);
  EXPECT_EQ(costly.reuse_cost_bound, 2);
  EXPECT_EQ(costly.places[1].offset, costly.places[2].offset);
}

/// Two memories with room for one buffer each time, of which the second is dear.
TEST(Relations, WeighsReuseAgainstADearMemory) {
  Problem problem{.buffers = {live("a", 4, 0, 1), live("b", 4, 1, 2), live("c", 4, 2, 3)},
                  .memories = {{.name = "near", .capacity = 4}, {.name = "far", .capacity = 4, .cost = 3}}};
  for (Buffer& buffer : problem.buffers) buffer.traffic = 2;
  problem.relations.reuse_costs = {{{0, 1}, 3}, {{1, 2}, 5}, {{0, 2}, 1}};
  const Solution solution = solve(problem);  // b alone is far: 4, and a beside c: 1
  EXPECT_EQ(solution.places[1].memory, 1U);
  EXPECT_EQ(solution.reuse_cost, 1);
  EXPECT_EQ(solution.memory_cost, 4);
  EXPECT_EQ(solution.reuse_cost_bound, 5);
  EXPECT_EQ(faults_of(problem, solution), std::vector<std::string>());
  EXPECT_EQ(proven_cost(problem, solution.reuse_proof), 5);
  ReuseProof twice = solution.reuse_proof;  // costs of the memory alone
  twice.searched = {{{0}, 0}, {{0}, 0}};
  EXPECT_EQ(proven_cost(problem, twice), std::nullopt);
  problem.memories[1].cost = 9;
  const Solution near = solve(problem);
  EXPECT_EQ(near.memory_cost, 0);
  EXPECT_EQ(near.reuse_cost, 9);
  problem.buffers[0].traffic = std::int64_t{1} << 40;
  EXPECT_THROW(static_cast<void>(solve(problem)), Error);
}

/// A buffer of no bytes, which makes the place of another longer, ends where the peak does.
TEST(Relations, LowersPeaksBesideABufferOfNoBytesAtADistance) {
  Problem problem{.buffers = {live("a", 2, 1, 3), live("b", 3, 0, 1), live("c", 0, 5, 8)},
                  .memories = {{.name = "near", .capacity = 4}, {.name = "far", .capacity = 3}}};
  problem.buffers[0].memories = {1};
  problem.relations.together = {{0, 2, 3}};
  const Solution solution = solve(problem, {.objective = Objective::peak_then_cost});
  EXPECT_EQ(peaks_of(problem, solution), (std::vector<Bytes>{3, 0}));
}

TEST(Relations, SaysWhichBuffersAreTooMany) {
  Problem problem = chain();
  problem.memories[0].reserved = {{0, 3}};
  problem.buffers[1].size = 1;
  problem.buffers[1].pieces[0].size = 1;
  const Solution solution = solve(problem);
  EXPECT_EQ(solution.outcome, Outcome::exceeds_capacity);
  EXPECT_TRUE(solution.cannot_fit);
  ASSERT_TRUE(solution.overload);
  EXPECT_EQ(solution.overload->needed, 2);
  EXPECT_EQ(solution.overload->room, 1);
  EXPECT_TRUE(faults_of(problem, solution).empty());
}

TEST(Relations, ARangeWithoutAnAlignedOffsetIsNone) {
  Problem problem{.buffers = {live("a", 4, 0, 1)}, .memories = {{.name = "vec", .capacity = 7}}};
  problem.buffers[0].alignment = 4;
  problem.memories[0].reserved = {{0, 1}};
  const Solution solution = solve(problem);
  EXPECT_EQ(solution.outcome, Outcome::exceeds_capacity);
  EXPECT_TRUE(solution.cannot_fit);
}

TEST(Relations, AreForAutoAlone) {
  EXPECT_TRUE(obstacle_to("free-list", chain()));
  EXPECT_FALSE(obstacle_to("auto", chain()));
  EXPECT_THROW(static_cast<void>(solve(chain(), {.strategy = "free-list"})), UsageError);
}

TEST(Relations, AreNotForPlans) {
  EXPECT_THROW(static_cast<void>(make_plan({.content = chain()})), UsageError);
  PlanOptions options;
  options.memories = {{.name = "arena", .capacity = 64, .reserved = {{0, 8}}}};
  Problem plain = chain();
  plain.relations = {};
  EXPECT_THROW(static_cast<void>(make_plan({.content = plain}, options)), UsageError);
}

TEST(Relations, ContradictionsAreRejected) {
  const auto rejects = [](const std::function<void(Problem&)>& change) {
    Problem problem = chain();
    change(problem);
    return !is_valid(problem);
  };
  EXPECT_TRUE(rejects([](Problem& it) { it.relations.apart = {{0, 3}}; }));
  EXPECT_TRUE(rejects([](Problem& it) { it.relations.exclusive = {{1, 1}}; }));
  EXPECT_TRUE(rejects([](Problem& it) { it.relations.reuse_costs[0].cost = -1; }));
  EXPECT_TRUE(rejects([](Problem& it) { it.relations.reuse_costs[0].cost = largest_value; }));
  EXPECT_TRUE(rejects([](Problem& it) { it.memories[0].reserved = {{2, 5}}; }));
  EXPECT_TRUE(rejects([](Problem& it) { it.memories[0].reserved = {{0, 2}, {1, 3}}; }));
  EXPECT_TRUE(rejects([](Problem& it) { it.buffers[0].pieces[0].size = 1; }));
  EXPECT_TRUE(rejects([](Problem& it) {
    it.relations.together = {{0, 1}, {1, 2}};
    it.relations.apart = {{0, 2}};
  }));
  EXPECT_TRUE(rejects([](Problem& it) {
    it.relations.together = {{0, 1}};
    it.buffers[0].pinned = 0;
    it.buffers[1].pinned = 2;
  }));
}

TEST(Relations, CheckerFindsWhatIsWrong) {
  Problem problem = chain();
  problem.relations.apart = {{0, 1}};
  problem.relations.together = {{1, 2}};
  problem.relations.reuse_costs.pop_back();
  problem.buffers.push_back(live("d", 1, 0, 1));
  problem.memories[0].capacity = 6;
  problem.memories[0].reserved = {{5, 6}};
  const Solution good = solve(problem);
  ASSERT_EQ(faults_of(problem, good), std::vector<std::string>());
  const auto finds = [&](const std::function<void(Solution&)>& change) {
    Solution bad = good;
    change(bad);
    return !faults_of(problem, bad).empty();
  };
  EXPECT_TRUE(finds([](Solution& it) { it.places.pop_back(); }));
  EXPECT_TRUE(finds([](Solution& it) { it.places[0] = it.places[1]; }));
  EXPECT_TRUE(finds([](Solution& it) { it.places[3] = it.places[0]; }));
  EXPECT_TRUE(finds([](Solution& it) { it.places[3] = {0, 5}; }));
  EXPECT_TRUE(finds([](Solution& it) { it.places[3] = {0, 6}; }));
  EXPECT_TRUE(finds([](Solution& it) { it.places[3] = {1, 0}; }));
  EXPECT_TRUE(finds([](Solution& it) { ++it.places[1].offset; }));
  EXPECT_TRUE(finds([](Solution& it) { it.reuse_cost = 1; }));
  EXPECT_TRUE(finds([](Solution& it) { it.reuse_cost_bound = 1; }));
  EXPECT_TRUE(finds([](Solution& it) { it.cannot_fit = true; }));
  EXPECT_TRUE(finds([](Solution& it) { it.overload = Overload{0, 0, 7, 5}; }));
}

/// It has an offset that no search can lower.
TEST(Relations, LowerPeaksBelowAPinnedBufferOfNoBytes) {
  Problem problem{.buffers = {live("a", 1, 0, 1), live("b", 0, 0, 1)}, .memories = {{.name = "vec"}}};
  problem.buffers[1].pinned = 4;
  problem.relations.reuse_costs = {{{0, 1}, 1}};
  const Solution solution = solve(problem, {.effort = 10, .objective = Objective::cost_then_peak});
  EXPECT_EQ(solution.places[0].offset, 0);
  EXPECT_EQ(faults_of(problem, solution), std::vector<std::string>());
}

/// Costs forbid no place. So buffers fit with them in the bytes that they need without: as packed, or one after the other,
/// which goes with other relations.
TEST(Relations, CliquesShowNothingBesideAMemoryWithoutALimit) {
  Problem problem{.buffers = {live("a", 3, 1, 3), live("b", 3, 1, 2)},
                  .memories = {{.name = "one", .capacity = 4}, {.name = "all"}}};
  problem.relations.reuse_costs = {{{0, 1}, 3}};
  EXPECT_EQ(proven_cost(problem, {.cliques = {{{0, 1}, ReuseProof::parts}}}), 0);
}

TEST(Relations, BuffersOfNoBytesRaiseThePeakThatMattersLeast) {
  const auto with = [](std::vector<std::size_t> memories) {
    Problem problem{.memories = {{.name = "first", .capacity = 8}, {.name = "last", .capacity = 8}}};
    problem.buffers = {{.id = "a", .size = 4, .pieces = {{0, 4, {0, 1}}}, .memories = {1}},
                       {.id = "none", .size = 0, .pinned = 4, .memories = std::move(memories)},
                       {.id = "b", .size = 1, .pieces = {{0, 1, {0, 1}}}}};
    problem.relations.apart = {{0, 2}};
    const Solution solution = solve(problem, {.effort = 20, .objective = Objective::cost_then_peak});
    EXPECT_TRUE(solution.is_least_peak);
    EXPECT_EQ(faults_of(problem, solution), std::vector<std::string>());
    return std::pair(peak_of(problem, solution, 0), peak_of(problem, solution, 1));
  };
  EXPECT_EQ(with({0, 1}), std::pair(Bytes{1}, Bytes{4}));  // where a ends
  EXPECT_EQ(with({0}), std::pair(Bytes{4}, Bytes{4}));
}

TEST(Relations, CostsLeaveRoomForAll) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Random random(seed);
    Problem problem{.memories = {{.name = "vec"}}};
    for (int b = 0; b < 100; ++b) {
      const Position lower = pick(random, 0, 99);
      problem.buffers.push_back(
          live(std::to_string(b), pick(random, 1, 16), lower, lower + pick(random, 1, 10)));
    }
    const Solution packed = solve(problem, {.effort = 0});
    problem.memories[0].capacity = peak_of(problem, packed, 0);
    for (int i = 0; i < 4000; ++i) problem.relations.reuse_costs.push_back({two_of(random, 100), 1});
    const Solution tight = solve(problem, {.effort = 1});
    EXPECT_EQ(tight.outcome, Outcome::fits) << seed;
    EXPECT_EQ(faults_of(problem, tight), std::vector<std::string>()) << seed;
    *problem.memories[0].capacity += *problem.memories[0].capacity / 4;
    problem.memories[0].reserved = {{0, 3}};
    problem.relations.apart = {{0, 1}};
    const Solution apart = solve(problem, {.effort = 1});
    EXPECT_EQ(apart.outcome, Outcome::fits) << seed;
    EXPECT_EQ(faults_of(problem, apart), std::vector<std::string>()) << seed;
  }
}

/// Threads have runs of their own, which begin with one placing.
TEST(Relations, ThreadsFindAPlacing) {
  if (!testing::has_time()) GTEST_SKIP() << "takes seconds";
  Random random(5);
  Problem problem{.memories = {{.name = "vec", .capacity = 96}}};
  for (int b = 0; b < 80; ++b) {
    const Position lower = pick(random, 0, 60);
    problem.buffers.push_back(
        live(std::to_string(b), pick(random, 2, 9), lower, lower + pick(random, 1, 12)));
  }
  for (int i = 0; i < 400; ++i) problem.relations.reuse_costs.push_back({two_of(random, 80), 1});
  const Solution solution = solve(problem, {.time_limit = std::chrono::milliseconds(2200), .threads = 2});
  EXPECT_EQ(solution.outcome, Outcome::fits);
  EXPECT_EQ(faults_of(problem, solution), std::vector<std::string>());
}

}  // namespace
}  // namespace stowage
