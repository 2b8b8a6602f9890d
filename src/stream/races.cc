// Operators that are alike, with as many iterations, reads and bytes, are most often branches of the same
// kind. Those of which one needs another cannot race, so later ones behind an earlier one are left out:
//
//     x --> a --> c          a, b and c alike: a and b race
//      \--> b
//
// bound.cc says what a race proves. A group that is no real set of branches proves less, never something wrong.
//
// Cost: operators * (their needs + groups).

#include "stream/races.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace stowage::stream {
namespace {

constexpr std::size_t most_to_race = 4000;
constexpr std::size_t most_in_a_group = 24;

/// Bytes written, iterations, and granules read.
using Likeness = std::tuple<Bytes, std::int64_t, std::size_t>;

Likeness likeness_of(const RowProgram& program, std::size_t op) {
  std::size_t reads = 0;
  Bytes bytes = 0;
  for (std::int64_t index = 0; index < program.count(op); ++index) {
    const Iteration& iteration = program.instances[program.at(op, index)];
    reads += iteration.reads.size();
    bytes += iteration.bytes_written;
  }
  return {bytes, program.count(op), reads};
}

/// The operators that each operator waits for.
std::vector<std::set<std::size_t>> waits_of(const RowProgram& program) {
  std::vector<std::set<std::size_t>> waits(program.operators());
  for (const Iteration& iteration : program.instances) {
    for (const Dependence& need : iteration.needs) waits[iteration.op].insert(need.op);
  }
  return waits;
}

/// Those of the group of which none needs another, the earlier first.
std::vector<std::size_t> independent(const std::vector<std::size_t>& group,
                                     const std::vector<std::set<std::size_t>>& waits) {
  std::vector<bool> is_behind(waits.size(), false);  // one that was kept
  std::vector<std::size_t> kept;
  auto next = group.begin();
  for (std::size_t op = 0; op < waits.size(); ++op) {
    is_behind[op] = std::ranges::any_of(waits[op], [&](std::size_t it) { return is_behind[it]; });
    if (next == group.end() || *next != op) continue;
    ++next;
    if (is_behind[op]) continue;
    kept.push_back(op);
    is_behind[op] = true;
  }
  return kept;
}

/// So many of them, evenly spaced.
std::vector<std::size_t> some_of(const std::vector<std::size_t>& group, std::size_t most) {
  if (group.size() <= most) return group;
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(group[i * group.size() / most]);
  return some;
}

}  // namespace

std::vector<std::vector<std::size_t>> races_of(const RowProgram& program) {
  if (program.operators() > most_to_race) return {};
  std::map<Likeness, std::vector<std::size_t>, std::greater<>> alike;
  for (std::size_t op = 0; op < program.operators(); ++op) {
    if (program.count(op) > 1) alike[likeness_of(program, op)].push_back(op);
  }
  const auto waits = waits_of(program);
  std::vector<std::vector<std::size_t>> races;
  for (const auto& [likeness, group] : alike) {
    auto kept = some_of(independent(group, waits), most_in_a_group);
    if (kept.size() > 1) races.push_back(std::move(kept));
  }
  return races;
}

}  // namespace stowage::stream
