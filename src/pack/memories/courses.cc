// From courses to a problem on a longer clock. A copy takes a position of its own before the operator that
// needs it. Before an operator the spills come first, since they make room, then the fetches:
//
//     old positions     3            4                 5
//     new positions     3   4 spill  5 fetch   6       7      copies before the operator that was at 4
//
// A buffer that visits faster memories becomes several. One is at home, from its spill or its beginning to
// the last read or fetch there; each visit adds another. The memory of each is fixed, and all are packed
// anew. Cost: linear in accesses and positions, and one packing.

#include "pack/memories/courses.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/unique_names.h"
#include "pack/bounds.h"
#include "pack/memories/exact.h"
#include "pack/memories/memories.h"
#include "pack/memories/stretched.h"
#include "pack/occupancy.h"
#include "pack/placing.h"

namespace stowage::memories {
namespace {

/// Makes the new problem.
class Realiser {
 public:
  Realiser(const Problem& problem, std::span<const Place> places, std::span<const Movable> movables,
           std::span<const Course> courses)
      : problem_(problem),
        movables_(movables),
        courses_(courses),
        clock_(end_of(problem)),
        is_given_(problem.buffers.size()) {
    moved_.problem.memories = problem.memories;
    for (const Buffer& buffer : problem.buffers) ids_.reserve(buffer.id);
    for (std::size_t m = 0; m < movables.size(); ++m) schedule(m);
    clock_.finish();
    std::vector<std::optional<std::size_t>> movable_of(problem.buffers.size());
    for (std::size_t m = 0; m < movables.size(); ++m) {
      movable_of[movables[m].buffer] = m;
      is_given_[movables[m].buffer] = movables[m].is_given;
    }
    for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
      const auto movable = movable_of[b];
      if (!movable || courses[*movable].visits.empty()) {
        keep(b, movable ? courses[*movable].home : places[b].memory);
      } else {
        split(*movable);
      }
    }
    std::sort(moved_.copies.begin(), moved_.copies.end(),
              [](const Copied& a, const Copied& b) { return a.at < b.at; });
    moved_.positions = clock_.positions();
  }

  Moved result() { return std::move(moved_); }

 private:
  /// Finds the copies of a movable and their positions.
  void schedule(std::size_t m) {
    auto& numbers = numbers_.emplace_back();
    const auto& accesses = movables_[m].accesses;
    for (const Visit& visit : courses_[m].visits) {
      const bool is_first = visit.first_access == 0;
      numbers.push_back(is_first ? clock_.add_spill(accesses[visit.last_access] + 1)
                                 : clock_.add_fetch(accesses[visit.first_access]));
    }
  }

  /// Inputs and state exist before the copies that precede their position; results of operators do not.
  [[nodiscard]] Position start_of(std::size_t b, Position old) const {
    const TensorKind kind = problem_.buffers[b].kind;
    const bool is_produced =
        kind == TensorKind::temporary || kind == TensorKind::output || kind == TensorKind::scratch;
    return is_produced && !is_given_[b] ? clock_.of(old) : clock_.first_copy_before(old);
  }

  /// A later piece may continue bytes of an earlier one: no copy may come between them.
  void keep(std::size_t b, std::size_t memory) {
    Buffer buffer = problem_.buffers[b];
    const Position first = pack::life_of(buffer).lower;
    for (Piece& piece : buffer.pieces) {
      const auto [from, to] = piece.life;
      if (!piece.is_ever_alive()) {
        piece.life = {0, 0};
      } else {
        piece.life = {from == first ? start_of(b, from) : clock_.first_copy_before(from), clock_.upper(to)};
      }
    }
    add(std::move(buffer), b, memory);
  }

  std::size_t add(Buffer buffer, std::size_t origin, std::size_t memory) {
    buffer.memories = {memory};
    moved_.problem.buffers.push_back(std::move(buffer));
    moved_.origins.push_back(origin);
    return moved_.origins.size() - 1;
  }

  [[nodiscard]] std::string id_of_copy(const std::string& id, std::size_t memory) {
    return ids_.unique(id + "@" + problem_.memories[memory].name);
  }

  void split(std::size_t m) {
    const Movable& movable = movables_[m];
    const Course& course = courses_[m];
    const Buffer& old = problem_.buffers[movable.buffer];
    const Lifetime life = pack::life_of(old);
    const Position last = movable.accesses.back();
    const Position start = start_of(movable.buffer, life.lower);
    Lifetime at_home{start, start};
    std::size_t next = 0;  // the access after the last visit
    for (std::size_t v = 0; v < course.visits.size(); ++v) {
      const Position copy = copy_at(m, v);
      if (course.visits[v].first_access == 0) at_home.lower = copy;
      at_home.upper = copy + 1;
      next = course.visits[v].last_access + 1;
    }
    const bool ends_at_home = next < movable.accesses.size() || life.upper > last + 1;
    if (ends_at_home) at_home.upper = clock_.upper(life.upper);
    const std::size_t home = add(part(old, old.id, at_home), movable.buffer, course.home);
    for (std::size_t v = 0; v < course.visits.size(); ++v) {
      const Visit& visit = course.visits[v];
      const Position copy = copy_at(m, v);
      const bool is_first = visit.first_access == 0;
      const Lifetime away = is_first ? Lifetime{start, copy + 1}
                                     : Lifetime{copy, clock_.of(movable.accesses[visit.last_access]) + 1};
      const std::size_t there =
          add(part(old, id_of_copy(old.id, visit.memory), away), movable.buffer, visit.memory);
      moved_.copies.push_back({m, is_first ? there : home, is_first ? home : there, copy});
    }
    count_traffic(m, home);
  }

  static Buffer part(const Buffer& old, std::string id, const Lifetime& life) {
    Buffer buffer = old;
    buffer.id = std::move(id);
    buffer.pieces = {{0, old.size, life}};
    return buffer;
  }

  [[nodiscard]] Position copy_at(std::size_t m, std::size_t v) const {
    const Visit& visit = courses_[m].visits[v];
    const auto& accesses = movables_[m].accesses;
    if (visit.first_access == 0) return clock_.spill(accesses[visit.last_access] + 1, numbers_[m][v]);
    return clock_.fetch(accesses[visit.first_access], numbers_[m][v]);
  }

  /// A visit's copy is read or written once at one end; the buffers of home and visits are adjacent.
  void count_traffic(std::size_t m, std::size_t home) {
    const Movable& movable = movables_[m];
    auto& buffers = moved_.problem.buffers;
    const auto paid = [&](std::size_t first, std::size_t last) {
      const auto free = static_cast<std::size_t>(movable.is_given && first == 0);
      return static_cast<Bytes>(last + 1 - first - free);
    };
    Bytes left = paid(0, movable.accesses.size() - 1);
    const auto& visits = courses_[m].visits;
    for (std::size_t v = 0; v < visits.size(); ++v) {
      const Bytes there = paid(visits[v].first_access, visits[v].last_access);
      buffers[home + 1 + v].traffic = movable.bytes * (there + 1);
      left -= there;
    }
    buffers[home].traffic = movable.bytes * (left + std::ssize(visits));
  }

  const Problem& problem_;
  std::span<const Movable> movables_;
  std::span<const Course> courses_;
  Stretched clock_;
  std::vector<bool> is_given_;                     ///< Per buffer.
  std::vector<std::vector<std::size_t>> numbers_;  ///< Per movable and visit.
  base::UniqueNames ids_;
  Moved moved_;
};

/// Buffers that were in this memory stay where they were, if possible. The others go where they fit, the
/// largest first.
std::optional<std::vector<Bytes>> kept_offsets(const Moved& moved, std::span<const std::size_t> set,
                                               std::span<const Place> places, Bytes capacity) {
  const auto& buffers = moved.problem.buffers;
  pack::Occupancy occupancy(buffers);
  std::vector<std::size_t> order(set.begin(), set.end());
  const auto was_there = [&](std::size_t b) {
    return places[moved.origins[b]].memory == buffers[b].memories.front();
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (was_there(a) != was_there(b)) return was_there(a);
    if (was_there(a)) return places[moved.origins[a]].offset < places[moved.origins[b]].offset;
    return buffers[a].size > buffers[b].size;
  });
  std::vector<Bytes> offsets(buffers.size());
  const auto put = [&](std::size_t b, Bytes offset) {
    offsets[b] = offset;
    occupancy.reserve(buffers[b], offset);
  };
  for (const std::size_t b : set) {
    if (buffers[b].pinned) put(b, *buffers[b].pinned);
  }
  for (const std::size_t b : order) {
    if (!buffers[b].pinned) {
      const Lifetime life = pack::life_of(buffers[b]);
      put(b, life.lower < life.upper ? occupancy.lowest_fit(buffers[b]) : 0);
    }
    if (offsets[b] + buffers[b].size > capacity) return std::nullopt;
  }
  std::vector<Bytes> of_set;
  for (const std::size_t b : set) of_set.push_back(offsets[b]);
  return of_set;
}

/// Finds offsets by exact search, if the set is small enough.
std::optional<std::vector<Bytes>> searched_offsets(const Problem& problem, std::span<const std::size_t> set,
                                                   Bytes capacity) {
  std::vector<const Buffer*> buffers;
  for (const std::size_t b : set) {
    if (!is_whole(problem.buffers[b])) return std::nullopt;
    buffers.push_back(&problem.buffers[b]);
  }
  if (buffers.size() > most_exact_buffers) return std::nullopt;
  std::int64_t budget = 20000;
  Packability found = packability(buffers, capacity, budget);
  if (found.answer != Answer::yes) return std::nullopt;
  return std::move(found.offsets);
}

bool place(Moved& moved, std::span<const Place> places, const pack::Control& control) {
  const Problem& problem = moved.problem;
  moved.solution.places.resize(problem.buffers.size());
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    std::vector<std::size_t> set;
    std::vector<Buffer> buffers;
    for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
      if (problem.buffers[b].memories.front() != m) continue;
      set.push_back(b);
      buffers.push_back(problem.buffers[b]);
    }
    const Bytes capacity = pack::capacity_of(problem.memories[m]);
    if (pack::lower_bound_of(buffers) > capacity) return false;
    auto offsets = kept_offsets(moved, set, places, capacity);
    if (!offsets) offsets = pack_within(problem, set, capacity, control);
    if (!offsets) offsets = searched_offsets(problem, set, capacity);
    if (!offsets) return false;
    for (std::size_t i = 0; i < set.size(); ++i) moved.solution.places[set[i]] = {m, (*offsets)[i]};
  }
  return true;
}

}  // namespace

std::int64_t price(const Problem& problem, const Movable& movable, std::size_t memory) {
  return movable.bytes * problem.memories[memory].cost;
}

std::int64_t cost_of(const Problem& problem, const Movable& movable, const Course& course) {
  const std::int64_t at_home = price(problem, movable, course.home);
  const auto paid = std::ssize(movable.accesses) - (movable.is_given ? 1 : 0);
  std::int64_t cost = paid * at_home;
  for (const Visit& visit : course.visits) {
    const std::int64_t away = price(problem, movable, visit.memory);
    const auto free = static_cast<std::size_t>(movable.is_given && visit.first_access == 0);
    const auto served = static_cast<std::int64_t>(visit.last_access + 1 - visit.first_access - free);
    cost += served * (away - at_home) + away + at_home;
  }
  return cost;
}

Position end_of(const Problem& problem) {
  Position end = 0;
  for (const Buffer& buffer : problem.buffers) end = std::max(end, pack::life_of(buffer).upper);
  return end;
}

std::optional<Moved> realised(const Problem& problem, std::span<const Place> places,
                              std::span<const Movable> movables, std::span<const Course> courses,
                              const pack::Control& control) {
  Moved moved = Realiser(problem, places, movables, courses).result();
  if (!place(moved, places, control)) return std::nullopt;
  moved.solution.cost = pack::score_of(moved.problem, moved.solution.places).cost;
  for (const Bytes bound : pack::lower_bounds_of(moved.problem, moved.solution))
    moved.solution.lower_bound += bound;
  return moved;
}

}  // namespace stowage::memories
