// A buffer need not stay in one memory for its whole life. If it is written to fast memory and read at
// once, but then not for long, it can be spilled to slow memory and come back (or not) for the next read. A
// course describes this: a home, and visits to faster memories, each for some consecutive accesses.
//
//     accesses      w   r           r r r       r
//     fast         [=====]         [=====]                  visits: w r, and r r r
//     slow               [==============================]   home: from the spill to the last use
//                       ^ spill    ^ fetch
//
// An access costs the price of the memory that serves it, a copy that of both memories. A value is written
// once, so the copy at home stays good during visits, and returning home costs nothing. Hence
//   a visit from the first access on    is made there, and costs a spill after its last access,
//   any other                           costs a fetch before its first access.
// The home is kept from the write, or the spill, to the last access or fetch that needs it; if the buffer is
// needed beyond its last access (an output), to its end. Copies have positions of their own between two
// operators: first all spills, then all fetches, each kind in the order of the movables. All other buffers
// keep their memories.
//
// Search: start with the solution's courses, which have no visits. Over and over, make the change that saves
// most, one of
//   another home, a visit more, a visit less,
//   a change without room together with one that makes room: of another buffer in that memory, which costs
//   less to send away than the first saves,
// as long as the result can be placed (courses.cc) and the budget of placings lasts. Small problems then try
// all combinations of all courses, the cheapest first. They give up a combination if no cheaper result is
// possible or an operator has more live bytes than a memory holds.
// Exact: `is_exhaustive` means that all combinations were examined. Each cheaper one failed because of too
// many bytes, or because the packers found no place. Sets of up to 14 buffers in a memory are searched
// (packability, exact.h); for these the failure is proven too, up to the budget of that search.
// Cost: budgets of placings, each about n log n.
// Source: ours.

#include "pack/memories/moves.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

#include "pack/memories/course_options.h"
#include "pack/memories/memories.h"
#include "pack/placing.h"

namespace stowage::memories {
namespace {

constexpr Position longest_clock = 1000000;
constexpr std::size_t placing_budget = 50000;  ///< Buffers placed by the search from change to change.
constexpr std::size_t most_placings = 400;
constexpr std::size_t most_courses = 2000;   ///< Of a movable, for the search of all combinations.
constexpr std::int64_t most_pairs = 200000;  ///< Of changes, one of which may make room for the other.
constexpr std::size_t most_movables = 10;    ///< For the search of all combinations.
constexpr std::int64_t most_combinations = 200000;
constexpr std::size_t most_exhaustive_placings = 3000;

/// Live bytes per memory at the operators.
class Loads {
 public:
  Loads(const Problem& problem, Position end)
      : loads_(problem.memories.size(), std::vector<Bytes>(static_cast<std::size_t>(end))) {
    for (const Memory& memory : problem.memories) capacities_.push_back(pack::capacity_of(memory));
  }

  void add(const Stay& stay, Bytes bytes) {
    for (Position at = stay.life.lower; at < stay.life.upper; ++at)
      loads_[stay.memory][static_cast<std::size_t>(at)] += bytes;
  }

  void add(std::span<const Stay> stays, Bytes bytes) {
    for (const Stay& stay : stays) add(stay, bytes);
  }

  /// The first memory and position that cannot take so many more bytes.
  [[nodiscard]] std::optional<std::pair<std::size_t, Position>> obstacle_to(std::span<const Stay> stays,
                                                                            Bytes bytes) const {
    for (const Stay& stay : stays) {
      for (Position at = stay.life.lower; at < stay.life.upper; ++at) {
        if (loads_[stay.memory][static_cast<std::size_t>(at)] + bytes > capacities_[stay.memory])
          return std::pair{stay.memory, at};
      }
    }
    return std::nullopt;
  }

 private:
  std::vector<std::vector<Bytes>> loads_;
  std::vector<Bytes> capacities_;
};

bool is_there(const Option& option, std::size_t memory, Position at) {
  return std::any_of(option.stays.begin(), option.stays.end(), [&](const Stay& stay) {
    return stay.memory == memory && stay.life.lower <= at && at < stay.life.upper;
  });
}

class Mover {
 public:
  Mover(const Problem& problem, const Solution& solution, std::span<const Movable> movables,
        const pack::Control& control)
      : problem_(problem),
        solution_(solution),
        movables_(movables),
        choices_(problem),
        control_(control),
        loads_(problem, std::min(end_of(problem), longest_clock)) {
    control_.has_plan = true;
    for (const Movable& movable : movables)
      plan_.courses.push_back({solution.places[movable.buffer].memory, {}});
    plan_.moved = unmoved();
    plan_.cost = plan_.moved.solution.cost;
  }

  MovePlan run() {
    if (end_of(problem_) > longest_clock || solution_.outcome != Outcome::fits) return std::move(plan_);
    begin();
    placings_left_ =
        std::min(most_placings, placing_budget / std::max<std::size_t>(1, problem_.buffers.size()) + 1);
    while (improve()) {
    }
    if (mobiles_.size() <= most_movables) look_at_all();
    if (has_moved_) lower_peaks(plan_.moved.problem, plan_.moved.solution.places, control_);
    plan_.moved.solution.strategy = solution_.strategy;
    return std::move(plan_);
  }

 private:
  struct Mobile {
    std::size_t movable = 0;
    Bytes size = 0;
    Options options;
    Option now{};  ///< Its option in `plan_`.
  };

  struct Change {
    std::int64_t saved = 0;
    std::size_t mobile = 0;
    Option option{};
  };

  Moved unmoved() const {
    Moved moved{.problem = problem_, .solution = solution_};
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b) {
      moved.problem.buffers[b].memories = {solution_.places[b].memory};
      moved.origins.push_back(b);
    }
    const Position end = std::min(end_of(problem_), longest_clock);
    for (Position at = 0; at <= end; ++at) moved.positions.push_back(at);
    moved.solution.cost = pack::score_of(problem_, solution_.places).cost;
    return moved;
  }

  /// Counts all live bytes and finds the buffers that can move.
  void begin() {
    std::vector<bool> is_mobile(problem_.buffers.size());
    for (std::size_t m = 0; m < movables_.size(); ++m) {
      const std::size_t b = movables_[m].buffer;
      Options options(problem_, choices_, movables_[m]);
      if (!options.can_move()) continue;
      is_mobile[b] = true;
      Option now = options.of(plan_.courses[m]);
      loads_.add(now.stays, problem_.buffers[b].size);
      mobiles_.push_back({m, problem_.buffers[b].size, options, std::move(now)});
    }
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b) {
      if (is_mobile[b]) continue;
      for (const Piece& piece : problem_.buffers[b].pieces) {
        if (piece.is_ever_alive()) loads_.add({solution_.places[b].memory, piece.life}, piece.size);
      }
    }
  }

  /// Makes the changes that save most; false if none is possible.
  bool improve() {
    std::vector<Change> all;
    for (std::size_t i = 0; i < mobiles_.size(); ++i) {
      for (Option& option : mobiles_[i].options.changes(mobiles_[i].now.course)) {
        const std::int64_t saved = mobiles_[i].now.cost - option.cost;
        if (saved > 0) all.push_back({saved, i, std::move(option)});
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Change& a, const Change& b) { return a.saved > b.saved; });
    std::vector<bool> has_changed(mobiles_.size());
    bool is_any = false;
    for (const Change& change : all) {
      if (has_changed[change.mobile]) continue;  // its changes are outdated
      if (control_.is_time_up() || placings_left_ == 0) return false;
      const auto changed = make(change);
      for (const std::size_t i : changed) has_changed[i] = true;
      is_any = is_any || !changed.empty();
    }
    return is_any;
  }

  /// Returns the buffers that it changed; none if there is no room or no place.
  std::vector<std::size_t> make(const Change& change) {
    Mobile& mobile = mobiles_[change.mobile];
    loads_.add(mobile.now.stays, -mobile.size);
    const auto obstacle = loads_.obstacle_to(change.option.stays, mobile.size);
    loads_.add(mobile.now.stays, mobile.size);
    if (obstacle) return make_with_another(change, obstacle->first, obstacle->second);
    return settle({&change}) ? std::vector{change.mobile} : std::vector<std::size_t>{};
  }

  /// Sends away another buffer that is in the way, at a lower cost than the change saves.
  std::vector<std::size_t> make_with_another(const Change& change, std::size_t memory, Position at) {
    for (std::size_t other = 0; other < mobiles_.size(); ++other) {
      if (other == change.mobile || !is_there(mobiles_[other].now, memory, at)) continue;
      for (Option& option : mobiles_[other].options.changes(mobiles_[other].now.course)) {
        const std::int64_t saved = mobiles_[other].now.cost - option.cost;
        if (saved + change.saved <= 0 || is_there(option, memory, at)) continue;
        if (placings_left_ == 0 || pairs_left_-- <= 0) return {};
        const Change instead{saved, other, std::move(option)};
        if (have_room(change, instead) && settle({&change, &instead})) return {change.mobile, other};
      }
    }
    return {};
  }

  /// Whether both changes have room once the present options of both buffers are removed.
  [[nodiscard]] bool have_room(const Change& first, const Change& second) {
    const Mobile& a = mobiles_[first.mobile];
    const Mobile& b = mobiles_[second.mobile];
    loads_.add(a.now.stays, -a.size);
    loads_.add(b.now.stays, -b.size);
    bool have = !loads_.obstacle_to(first.option.stays, a.size);
    loads_.add(first.option.stays, a.size);
    have = have && !loads_.obstacle_to(second.option.stays, b.size);
    loads_.add(first.option.stays, -a.size);
    loads_.add(a.now.stays, a.size);
    loads_.add(b.now.stays, b.size);
    return have;
  }

  /// Places everything with these changes; keeps them if that succeeds and costs less.
  bool settle(std::initializer_list<const Change*> changes) {
    std::vector<Course> courses = plan_.courses;
    for (const Change* const change : changes)
      courses[mobiles_[change->mobile].movable] = change->option.course;
    --placings_left_;
    if (!keep_if_better(std::move(courses))) return false;
    for (const Change* const change : changes) {
      Mobile& mobile = mobiles_[change->mobile];
      loads_.add(mobile.now.stays, -mobile.size);
      loads_.add(change->option.stays, mobile.size);
      mobile.now = change->option;
    }
    return true;
  }

  bool keep_if_better(std::vector<Course> courses) {
    auto moved = realised(problem_, solution_.places, movables_, courses, control_);
    if (!moved || moved->solution.cost >= plan_.cost) return false;
    plan_.cost = moved->solution.cost;
    plan_.courses = std::move(courses);
    plan_.moved = std::move(*moved);
    has_moved_ = true;
    return true;
  }

  /// Tries all combinations, if they are few.
  void look_at_all() {
    std::int64_t fixed = plan_.cost;
    for (const Mobile& mobile : mobiles_) {
      all_options_.push_back(mobile.options.all(most_courses));
      if (all_options_.back().size() > most_courses) return;
      fixed -= mobile.now.cost;
    }
    for (const Mobile& mobile : mobiles_) loads_.add(mobile.now.stays, -mobile.size);
    rest_.assign(mobiles_.size() + 1, 0);
    for (std::size_t i = mobiles_.size(); i-- > 0;) rest_[i] = rest_[i + 1] + all_options_[i].front().cost;
    placings_left_ = most_exhaustive_placings;
    tried_ = plan_.courses;
    combine(0, fixed);
    plan_.is_exhaustive = placings_left_ > 0 && combinations_left_ > 0;
  }

  void combine(std::size_t i, std::int64_t cost) {
    if (i == mobiles_.size()) {
      --placings_left_;
      (void)keep_if_better(tried_);
      return;
    }
    for (const Option& option : all_options_[i]) {
      if (cost + option.cost + rest_[i + 1] >= plan_.cost) return;  // and so do all that follow
      if (placings_left_ == 0 || combinations_left_ <= 0) return;
      if (--combinations_left_ % 256 == 0 && control_.is_time_up()) combinations_left_ = 0;
      if (loads_.obstacle_to(option.stays, mobiles_[i].size)) continue;
      tried_[mobiles_[i].movable] = option.course;
      loads_.add(option.stays, mobiles_[i].size);
      combine(i + 1, cost + option.cost);
      loads_.add(option.stays, -mobiles_[i].size);
    }
  }

  const Problem& problem_;
  const Solution& solution_;
  std::span<const Movable> movables_;
  Choices choices_;
  pack::Control control_;
  Loads loads_;
  MovePlan plan_;
  std::vector<Mobile> mobiles_;  ///< The buffers that can move.
  bool has_moved_ = false;
  std::size_t placings_left_ = 0;
  std::int64_t pairs_left_ = most_pairs;
  std::int64_t combinations_left_ = most_combinations;
  std::vector<std::vector<Option>> all_options_;  ///< Per mobile; for all combinations.
  std::vector<std::int64_t> rest_;                ///< The least cost of mobiles from the i-th on.
  std::vector<Course> tried_;
};

}  // namespace

MovePlan choose_moves(const Problem& problem, const Solution& solution, std::span<const Movable> movables,
                      const pack::Control& control) {
  return Mover(problem, solution, movables, control).run();
}

}  // namespace stowage::memories
