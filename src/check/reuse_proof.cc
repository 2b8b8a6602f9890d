// Checks why no placement costs less, or none fits, by the problem alone.
//
// Each place costs what its memory is dearer than others. A set of buffers that was searched is searched here again, in the plainest way: always the buffer whose cheapest place
// costs most is next, and each of its places is tried. A branch ends where what is placed, and the cheapest place of each
// other buffer, cost as much as is claimed. Places are those where a buffer rests on another one or on an end of reserved
// bytes: any other placement can be pushed down to such places, and shares no more bytes then.
//
// Cliques are counted: what their buffers need above the room is shared, and each pair shares at most the smaller one.
//
// Cost: exponential in the buffers of a set, up to a number of steps; the square of those of a clique.

#include "check/reuse_proof.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "check/together.h"

namespace stowage::check {
namespace {

using Pair = std::pair<std::size_t, std::size_t>;

/// More than any sum of costs.
constexpr std::int64_t never = std::int64_t{1} << 50;
constexpr std::size_t most_places = 3000;

Pair ordered(std::size_t a, std::size_t b) { return {std::min(a, b), std::max(a, b)}; }

/// What groups have to do with each other.
class Facts {
 public:
  explicit Facts(const Problem& problem) : problem_(problem), together_(together_of(problem, {})) {
    for (const BufferPair& pair : problem.relations.exclusive)
      exclusive_.insert(ordered(pair.first, pair.second));
    for (const BufferPair& pair : problem.relations.apart)
      apart_.insert(ordered(group(pair.first), group(pair.second)));
    for (const ReuseCost& reuse : problem.relations.reuse_costs) {
      const Pair pair = ordered(group(reuse.pair.first), group(reuse.pair.second));
      if (pair.first != pair.second) costs_[pair] += reuse.cost;
    }
    for (std::size_t b = 0; b < problem.buffers.size(); ++b) members_[group(b)].push_back(b);
  }

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] std::size_t group(std::size_t b) const { return together_.group[b]; }
  [[nodiscard]] Bytes size(std::size_t b) const { return together_.size[b]; }
  [[nodiscard]] std::vector<std::size_t> memories(std::size_t b) const {
    return memories_of(problem_, together_, b);
  }

  /// Of two groups: they share no byte.
  [[nodiscard]] bool are_apart(std::size_t a, std::size_t b) const {
    if (apart_.contains(ordered(a, b))) return true;
    for (const std::size_t x : members_.at(a)) {
      for (const std::size_t y : members_.at(b)) {
        if (!exclusive_.contains(ordered(x, y)) && live_together(problem_, x, y)) return true;
      }
    }
    return false;
  }
  /// Of a group in a memory.
  [[nodiscard]] std::int64_t cost_in(std::size_t a, std::size_t memory) const {
    std::int64_t cost = 0;
    for (const std::size_t b : members_.at(a)) cost += extra_cost(problem_, b, memory);
    return cost;
  }
  [[nodiscard]] std::int64_t cost(std::size_t a, std::size_t b) const {
    const auto found = costs_.find(ordered(a, b));
    return found == costs_.end() ? 0 : found->second;
  }

  /// Whether the group may begin at this byte, as far as its own buffers say.
  [[nodiscard]] bool may_begin(std::size_t a, Bytes at) const {
    return std::ranges::all_of(members_.at(a), [&](std::size_t b) {
      const Buffer& buffer = problem_.buffers[b];
      const Bytes offset = at + together_.ahead[b];
      return offset % buffer.alignment == 0 && (!buffer.pinned || *buffer.pinned == offset);
    });
  }
  /// The multiple that alignments of the group have in common; none if it is too large to step through.
  [[nodiscard]] std::optional<Bytes> step(std::size_t a) const {
    Bytes step = 1;
    for (const std::size_t b : members_.at(a)) {
      step = std::lcm(step, problem_.buffers[b].alignment);
      if (step > 1'000'000) return std::nullopt;
    }
    return step;
  }
  [[nodiscard]] std::optional<Bytes> pin(std::size_t a) const {
    for (const std::size_t b : members_.at(a)) {
      if (problem_.buffers[b].pinned) return *problem_.buffers[b].pinned - together_.ahead[b];
    }
    return std::nullopt;
  }

  /// Free bytes of a memory before `end`, from and to.
  [[nodiscard]] std::vector<ByteRange> free_bytes(std::size_t m, Bytes end) const {
    std::vector<ByteRange> taken = problem_.memories[m].reserved;
    std::ranges::sort(taken, {}, &ByteRange::begin);
    std::vector<ByteRange> free;
    Bytes from = 0;
    for (const ByteRange& range : taken) {
      if (range.begin > from) free.push_back({from, range.begin});
      from = std::max(from, range.end);
    }
    if (from < end) free.push_back({from, end});
    return free;
  }

 private:
  const Problem& problem_;
  Together together_;
  std::set<Pair> exclusive_;  ///< Buffers.
  std::set<Pair> apart_;
  std::map<Pair, std::int64_t> costs_;
  std::map<std::size_t, std::vector<std::size_t>> members_;
};

/// Groups of a list of buffers, each once; none if a buffer does not exist.
std::optional<std::vector<std::size_t>> groups_of(const Facts& facts,
                                                  const std::vector<std::size_t>& buffers) {
  std::set<std::size_t> groups;
  for (const std::size_t b : buffers) {
    if (b >= facts.problem().buffers.size()) return std::nullopt;
    if (facts.size(b) > 0) groups.insert(facts.group(b));
  }
  return std::vector<std::size_t>(groups.begin(), groups.end());
}

/// Whether a group without bytes has an offset. It takes no room, so others are not in its way.
bool has_offset(const Facts& facts, std::size_t group) {
  const std::optional<Bytes> pin = facts.pin(group);
  if (!pin) return true;
  const auto has_room = [&](std::size_t m) {
    return facts.problem().memories[m].capacity.value_or(*pin) >= *pin;
  };
  return facts.may_begin(group, *pin) && std::ranges::any_of(facts.memories(group), has_room);
}

Bytes reserved_end(const Memory& memory) {
  Bytes end = 0;
  for (const ByteRange& range : memory.reserved) end = std::max(end, range.end);
  return end;
}

/// All placements of some groups.
class Exhaust {
 public:
  Exhaust(const Facts& facts, std::vector<std::size_t> groups, std::int64_t steps)
      : facts_(facts), groups_(std::move(groups)), left_(steps) {}

  /// Whether each placement costs so much at least.
  ProofCheck costs_at_least(std::int64_t claim) {
    if (!find_places()) return {.is_open = true};
    claim_ = claim;
    is_placed_.assign(groups_.size(), false);
    const bool is_right = try_all(0, groups_.size());
    if (left_ < 0) return {.is_open = true};
    return {.is_wrong = !is_right, .cost = claim};
  }

 private:
  /// Of a group: where it may begin, and what it costs there with those that are placed.
  struct Spot {
    std::size_t memory = 0;
    Bytes begin = 0;
    std::int64_t cost = 0;
  };

  bool find_places() {
    spots_.resize(groups_.size());
    relation_.assign(groups_.size(), std::vector<std::int64_t>(groups_.size()));
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      for (std::size_t j = 0; j < groups_.size(); ++j) {
        if (i == j) continue;
        relation_[i][j] =
            facts_.are_apart(groups_[i], groups_[j]) ? never : facts_.cost(groups_[i], groups_[j]);
      }
    }
    for (std::size_t m = 0; m < facts_.problem().memories.size(); ++m) {
      const auto memory_end = end_of(m);
      if (!memory_end) return false;
      const std::vector<ByteRange> free = facts_.free_bytes(m, *memory_end);
      std::set<Bytes> ends;  // and begins of free bytes
      std::vector<Bytes> open;
      const auto add = [&](Bytes end) {
        if (ends.insert(end).second) open.push_back(end);
      };
      for (const ByteRange& range : free) add(range.begin);
      std::vector<std::set<Bytes>> begins(groups_.size());
      std::vector<bool> may_be;
      for (const std::size_t group : groups_)
        may_be.push_back(std::ranges::count(facts_.memories(group), m) > 0);
      while (!open.empty()) {
        const Bytes end = open.back();
        open.pop_back();
        for (std::size_t i = 0; i < groups_.size(); ++i) {
          if (!may_be[i]) continue;
          const auto begin = next_begin(groups_[i], end, free);
          if (!begin) return false;
          if (*begin < 0 || !begins[i].insert(*begin).second) continue;
          add(*begin + facts_.size(groups_[i]));
          if (ends.size() > most_places) return false;
        }
      }
      for (std::size_t i = 0; i < groups_.size(); ++i)
        for (const Bytes begin : begins[i]) spots_[i].push_back({m, begin, facts_.cost_in(groups_[i], m)});
    }
    return true;
  }

  /// Of a memory without a limit, behind all that is reserved or pinned as much as all groups need: what is pushed down
  /// ends before. None if an alignment is too large.
  [[nodiscard]] std::optional<Bytes> end_of(std::size_t m) const {
    const Memory& memory = facts_.problem().memories[m];
    if (memory.capacity) return memory.capacity;
    Bytes end = reserved_end(memory);
    Bytes all = 0;
    for (const std::size_t group : groups_) {
      const auto step = facts_.step(group);
      if (!step) return std::nullopt;
      end = std::max(end, facts_.pin(group).value_or(0) + facts_.size(group));
      all += *step + facts_.size(group);
    }
    return end + all;
  }

  /// The first byte from `from` on where a group may begin; -1: there is none; nothing: that takes too long to say.
  [[nodiscard]] std::optional<Bytes> next_begin(std::size_t group, Bytes from,
                                                const std::vector<ByteRange>& free) const {
    const auto step = facts_.step(group);
    if (!step) return std::nullopt;
    const Bytes size = facts_.size(group);
    for (const ByteRange& range : free) {
      const Bytes begin = std::max(from, range.begin);
      if (const auto pin = facts_.pin(group)) {
        if (facts_.may_begin(group, *pin) && *pin >= begin && *pin + size <= range.end) return *pin;
        continue;
      }
      for (Bytes at = begin; at < begin + *step && at + size <= range.end; ++at) {
        if (facts_.may_begin(group, at)) return at;
      }
    }
    return -1;
  }

  /// False if some placement of the rest costs less in all.
  bool try_all(std::int64_t cost, std::size_t rest) {
    if (rest == 0) return cost >= claim_;
    std::int64_t least_in_all = cost;
    std::size_t next = groups_.size();
    std::int64_t dearest = -1;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (is_placed_[i]) continue;
      std::int64_t least = never;
      for (const Spot& spot : spots_[i]) least = std::min(least, spot.cost);
      if (least >= never) return true;
      least_in_all += least;
      if (least > dearest) {
        dearest = least;
        next = i;
      }
      left_ -= static_cast<std::int64_t>(spots_[i].size()) / 16 + 1;
    }
    if (least_in_all >= claim_) return true;
    if (left_ < 0) return true;
    is_placed_[next] = true;
    bool is_right = true;
    const std::vector<Spot> own = spots_[next];
    for (const Spot& spot : own) {
      if (spot.cost >= never || cost + spot.cost >= claim_) continue;
      add(next, spot, 1);
      is_right = try_all(cost + spot.cost, rest - 1);
      add(next, spot, -1);
      if (!is_right || left_ < 0) break;
    }
    is_placed_[next] = false;
    return is_right;
  }

  void add(std::size_t placed, const Spot& at, std::int64_t sign) {
    const Bytes end = at.begin + facts_.size(groups_[placed]);
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const std::int64_t cost = relation_[placed][i];
      if (is_placed_[i] || cost == 0) continue;
      const Bytes size = facts_.size(groups_[i]);
      for (Spot& spot : spots_[i]) {
        if (spot.memory == at.memory && spot.begin < end && at.begin < spot.begin + size)
          spot.cost += sign * cost;
      }
    }
  }

  const Facts& facts_;
  std::vector<std::size_t> groups_;
  std::int64_t left_ = 0;  ///< Steps.
  std::int64_t claim_ = 0;
  std::vector<std::vector<Spot>> spots_;
  std::vector<std::vector<std::int64_t>> relation_;
  std::vector<bool> is_placed_;
};

/// What the cliques prove; none if one of them is wrong.
std::optional<std::int64_t> value_of_cliques(const Facts& facts, const ReuseProof& proof,
                                             std::set<Pair>& used) {
  if (proof.unit < 1) return std::nullopt;
  std::map<Pair, std::int64_t> charged;
  std::int64_t sum = 0;
  for (const ChargedClique& clique : proof.cliques) {
    const auto groups = groups_of(facts, clique.buffers);
    if (!groups || clique.charge < 0) return std::nullopt;
    std::set<std::size_t> memories;
    Bytes needed = 0;
    for (const std::size_t group : *groups) {
      needed += facts.size(group);
      for (const std::size_t m : facts.memories(group)) memories.insert(m);
    }
    Bytes room = 0;
    for (const std::size_t m : memories) {
      const auto& capacity = facts.problem().memories[m].capacity;
      // Without a limit there is room for all: such a clique shows nothing.
      const Bytes end = capacity.value_or(needed + reserved_end(facts.problem().memories[m]));
      for (const ByteRange& range : facts.free_bytes(m, end)) room += range.end - range.begin;
    }
    const std::int64_t excess =
        std::max<Bytes>(needed - room, 0) / proof.unit;  // units that are shared at least
    const auto gained = base::checked_multiply(excess, clique.charge);
    const auto with = gained ? base::checked_add(sum, *gained) : std::nullopt;
    if (!with) return std::nullopt;
    sum = *with;
    for (std::size_t i = 0; i < groups->size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const std::size_t a = (*groups)[i];
        const std::size_t b = (*groups)[j];
        if (facts.are_apart(a, b)) continue;
        if (facts.cost(a, b) == 0) return std::nullopt;
        const Bytes most = (std::min(facts.size(a), facts.size(b)) + proof.unit - 1) / proof.unit;
        const auto charge = base::checked_multiply(std::min<std::int64_t>(most, excess), clique.charge);
        const auto all = charge ? base::checked_add(charged[ordered(a, b)], *charge) : std::nullopt;
        if (!all) return std::nullopt;
        charged[ordered(a, b)] = *all;
      }
    }
  }
  for (const auto& [pair, charge] : charged) {
    if (!used.insert(pair).second) return std::nullopt;
    const auto cost = base::checked_multiply(facts.cost(pair.first, pair.second), ReuseProof::parts);
    if (!cost) return std::nullopt;
    sum -= std::max<std::int64_t>(charge - *cost, 0);
  }
  return sum <= 0 ? 0 : (sum - 1) / ReuseProof::parts + 1;
}

}  // namespace

bool live_together(const Problem& problem, std::size_t a, std::size_t b) {
  for (const Piece& first : problem.buffers[a].pieces) {
    for (const Piece& second : problem.buffers[b].pieces) {
      if (std::max(first.life.lower, second.life.lower) < std::min(first.life.upper, second.life.upper))
        return true;
    }
  }
  return false;
}

ProofCheck check_cost(const Problem& problem, const ReuseProof& proof, std::int64_t steps) {
  if (proof.searched.empty() && proof.cliques.empty()) return {};
  const Facts facts(problem);
  std::set<Pair> used;
  std::set<std::size_t> in_memories;  // groups whose costs of memories are counted
  ProofCheck all;
  for (const SearchedCost& searched : proof.searched) {
    const auto groups = groups_of(facts, searched.buffers);
    if (!groups || searched.cost < 0 || searched.cost >= never) return {.is_wrong = true};
    for (std::size_t i = 0; i < groups->size(); ++i) {
      const std::vector<std::size_t> memories = facts.memories((*groups)[i]);
      const bool has_cost =
          std::ranges::any_of(memories, [&](std::size_t m) { return facts.cost_in((*groups)[i], m) > 0; });
      if (has_cost && !in_memories.insert((*groups)[i]).second) return {.is_wrong = true};
      for (std::size_t j = 0; j < i; ++j) {
        const Pair pair = ordered((*groups)[i], (*groups)[j]);
        if (facts.cost(pair.first, pair.second) > 0 && !used.insert(pair).second) return {.is_wrong = true};
      }
    }
    const ProofCheck one = Exhaust(facts, *groups, steps).costs_at_least(searched.cost);
    if (one.is_wrong) return one;
    all.is_open = all.is_open || one.is_open;
    all.cost += searched.cost;
  }
  const auto cliques = value_of_cliques(facts, proof, used);
  if (!cliques) return {.is_wrong = true};
  all.cost += *cliques;
  for (const CopyGains& copies : problem.relations.copies)
    all.cost -= copies.gains.empty() ? 0 : copies.gains.back();
  return all;
}

ProofCheck check_no_fit(const Problem& problem, const ReuseProof& proof, std::int64_t steps) {
  if (proof.too_many.empty()) return {};
  const Facts facts(problem);
  const auto groups = groups_of(facts, proof.too_many);
  if (!groups) return {.is_wrong = true};
  for (const std::size_t b : proof.too_many) {
    if (facts.size(b) == 0 && !has_offset(facts, facts.group(b))) return {};
  }
  return Exhaust(facts, *groups, steps).costs_at_least(never);
}

}  // namespace stowage::check

namespace stowage {

std::optional<std::int64_t> proven_cost(const Problem& problem, const ReuseProof& proof, std::int64_t steps) {
  const check::ProofCheck it = check::check_cost(problem, proof, steps);
  if (it.is_wrong || it.is_open || (proof.searched.empty() && proof.cliques.empty())) return std::nullopt;
  return it.cost;
}

bool is_proof_of_no_fit(const Problem& problem, const ReuseProof& proof, std::int64_t steps) {
  const check::ProofCheck it = check::check_no_fit(problem, proof, steps);
  return !proof.too_many.empty() && !it.is_wrong && !it.is_open;
}

}  // namespace stowage
