/// Lives of buffers on several threads, streams or cores, where only some events are known to come before others.
///
/// Example: two streams that meet at the end. What lives on one may be live with anything on the other.
///
///     using namespace stowage;
///     // Events 0 -> 1 on one stream, 2 -> 3 on the other, and both before 4 -> 5.
///     const auto lives = PartialLives::of_events(6, {{0, 1}, {2, 3}, {1, 4}, {3, 4}, {4, 5}}, {{0, 1}, {2, 3}, {4, 5}});
///     const Problem problem{.buffers = {{.id = "a", .size = 32}, {.id = "b", .size = 64}, {.id = "c", .size = 16}},
///                           .memories = {{.name = "arena"}}};
///     const Solution solution = solve(problem, lives);
///     return peak_of(problem, solution, 0) == 96 && solution.lower_bound == 96 ? 0 : 1;
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stowage/problem.h"

namespace stowage {

/// A buffer is live from one event to another: it is over when `end` happens.
struct EventLife {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// The same by vector clocks: for each thread, how many of its events have happened.
struct ClockLife {
  std::vector<std::int64_t> begin{};
  std::vector<std::int64_t> end{};
};

/// Which buffers are over before others begin, whatever the timing. All others may be live at once.
class PartialLives {
 public:
  /// Events are numbers from 0; an edge leads from one to a later one. Throws Error if an event or its order is impossible,
  /// or the end of a life is not known to be later than its begin. Cost: events * edges / 64.
  [[nodiscard]] static PartialLives of_events(std::size_t events,
                                              const std::vector<std::pair<std::size_t, std::size_t>>& edges,
                                              const std::vector<EventLife>& lives);
  /// Throws Error if clocks have different threads, or a life does not end after it begins.
  [[nodiscard]] static PartialLives of_clocks(const std::vector<ClockLife>& lives);

  bool operator==(const PartialLives&) const = default;
  [[nodiscard]] std::size_t size() const { return before_.size(); }
  /// Whether one buffer is over before the other begins.
  [[nodiscard]] bool is_over_before(std::size_t a, std::size_t b) const { return before_[a][b]; }

  /// Keeps apart, in a problem whose buffers have no lives of their own, all pairs that may be live at once.
  void add_to(Problem& problem) const;

  /// The most bytes that may be live at once: no placement in one memory has a lower peak. Cost: a maximum flow through the
  /// pairs that are ordered. With more than 2000 buffers it is a bound that may be lower: some sets of buffers are tried.
  [[nodiscard]] Bytes most_at_once(std::span<const Buffer> buffers) const;

 private:
  explicit PartialLives(std::size_t count) : before_(count, std::vector<bool>(count)) {}

  std::vector<std::vector<bool>> before_;
};

/// Low peaks of a problem whose buffers live so, and within these little cost, whatever `options.objective` says. With one
/// memory, `lower_bound` is at least `most_at_once`, where the search ends. Throws as `solve` and `add_to`.
[[nodiscard]] Solution solve(Problem problem, const PartialLives& lives, const SolveOptions& options = {});

}  // namespace stowage
