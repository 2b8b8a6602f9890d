// The courses a buffer can take: a home, and visits to faster memories, each for some consecutive accesses. A
// visit that begins with the write ends with a spill, unless the buffer is not needed any more; any other
// visit begins with a fetch. So the value is written once, and a copy at home stays good. A visit for one
// read costs more than it saves; `can_visit` excludes it where it says so. Cost: exponential in accesses for
// all courses, up to a limit; quadratic for the changes of one.

#include "pack/memories/course_options.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "pack/memories/exact.h"

namespace stowage::memories {
namespace {

/// The memories of a movable, per interval of operators.
std::vector<Stay> stays_of(const Movable& movable, const Lifetime& life, const Course& course) {
  const auto& accesses = movable.accesses;
  Lifetime home = life;
  std::vector<Stay> stays;
  for (const Visit& visit : course.visits) {
    const Position last = accesses[visit.last_access] + 1;
    if (visit.first_access == 0) {
      stays.push_back({visit.memory, {life.lower, last}});
      home.lower = last;
    } else {
      stays.push_back({visit.memory, {accesses[visit.first_access], last}});
      const bool is_needed_later = visit.last_access + 1 < accesses.size() || life.upper > last;
      if (!is_needed_later) home.upper = std::max(home.lower, accesses[visit.first_access]);
    }
  }
  stays.push_back({course.home, home});
  return stays;
}

}  // namespace

bool Options::can_move() const {
  const auto& accesses = movable_.accesses;
  if (buffer().pinned || buffer().pieces.size() != 1 || !is_whole(buffer()) || accesses.empty()) return false;
  const Lifetime& life = buffer().pieces[0].life;
  const bool is_inside = accesses.front() == life.lower && accesses.back() < life.upper &&
                         std::is_sorted(accesses.begin(), accesses.end());
  const std::int64_t paid = std::ssize(accesses) - (movable_.is_given ? 1 : 0);
  const auto traffic = base::checked_multiply(movable_.bytes, paid);
  if (!is_inside || !traffic || *traffic != buffer().traffic) return false;
  // At most twice as many copies as accesses, and each has two prices.
  const std::int64_t most = largest_value / (8 * std::ssize(problem_.buffers) * (paid + 1));
  return std::all_of(problem_.memories.begin(), problem_.memories.end(), [&](const Memory& memory) {
    const auto cost = base::checked_multiply(movable_.bytes, memory.cost);
    return cost && *cost <= most;
  });
}

Option Options::of(Course course) const {
  const std::int64_t cost = cost_of(problem_, movable_, course);
  std::vector<Stay> stays = stays_of(movable_, buffer().pieces[0].life, course);
  return {cost, std::move(course), std::move(stays)};
}

/// Whether a copy can come before an access.
bool Options::may_part(std::size_t access) const {
  const auto& accesses = movable_.accesses;
  return access == 0 || access == accesses.size() || accesses[access - 1] < accesses[access];
}

/// Whether these accesses can be a visit of their own.
bool Options::can_visit(std::size_t first, std::size_t last) const {
  const bool is_all = first == 0 && last + 1 == movable_.accesses.size();
  const bool is_handing_over = movable_.is_given && last == 0;
  return !is_all && !is_handing_over && may_part(first) && may_part(last + 1);
}

std::vector<std::size_t> Options::homes() const {
  std::vector<std::size_t> memories = choices_.allowed[movable_.buffer];
  std::erase_if(memories, [&](std::size_t m) { return !holds(choices_, m, buffer()); });
  return memories;
}

/// The memories for visits: operators use the fastest copy, and a visit must cost less.
std::vector<std::size_t> Options::faster(std::size_t home) const {
  std::vector<std::size_t> memories = homes();
  std::erase_if(memories, [&](std::size_t m) {
    return m >= home || problem_.memories[m].cost >= problem_.memories[home].cost;
  });
  return memories;
}

/// Adds all courses that continue this one from an access on.
void Options::extend(const Course& course, std::size_t access, std::size_t most,
                     std::vector<Option>& options) const {
  if (options.size() > most) return;
  const std::size_t count = movable_.accesses.size();
  if (access == count) {
    options.push_back(of(course));
    return;
  }
  extend(course, access + 1, most, options);
  for (const std::size_t f : faster(course.home)) {
    for (std::size_t last = access; last < count; ++last) {
      if (!can_visit(access, last)) continue;
      Course longer = course;
      longer.visits.push_back({f, access, last});
      extend(longer, last + 1, most, options);
    }
  }
}

std::vector<Option> Options::all(std::size_t most) const {
  std::vector<Option> options;
  for (const std::size_t home : homes()) extend({home, {}}, 0, most, options);
  std::stable_sort(options.begin(), options.end(),
                   [](const Option& a, const Option& b) { return a.cost < b.cost; });
  return options;
}

std::vector<Option> Options::changes(const Course& course) const {
  std::vector<Option> options;
  for (const std::size_t home : homes()) {
    const bool is_home = home == course.home;
    if (!is_home || !course.visits.empty()) options.push_back(of({home, {}}));
    add_visits({home, is_home ? course.visits : std::vector<Visit>{}}, options);
  }
  for (std::size_t v = 0; v < course.visits.size() && course.visits.size() > 1; ++v) {
    Course shorter = course;
    shorter.visits.erase(shorter.visits.begin() + static_cast<std::ptrdiff_t>(v));
    options.push_back(of(std::move(shorter)));
  }
  return options;
}

/// Adds every course with one visit more.
void Options::add_visits(const Course& course, std::vector<Option>& options) const {
  const auto is_free = [&](std::size_t access) {
    return std::none_of(course.visits.begin(), course.visits.end(), [&](const Visit& visit) {
      return visit.first_access <= access && access <= visit.last_access;
    });
  };
  for (const std::size_t f : faster(course.home)) {
    for (std::size_t first = 0; first < movable_.accesses.size(); ++first) {
      for (std::size_t last = first; last < movable_.accesses.size() && is_free(last); ++last) {
        if (!can_visit(first, last)) continue;
        Course longer = course;
        const auto after = std::find_if(longer.visits.begin(), longer.visits.end(),
                                        [&](const Visit& visit) { return visit.first_access > last; });
        longer.visits.insert(after, Visit{f, first, last});
        options.push_back(of(std::move(longer)));
      }
    }
  }
}

}  // namespace stowage::memories
