// A placing is there, of other strategies or of the squeaky wheel (squeaky_wheel.cc), whichever is lower.
// Lower the cap by a part of what the placing is above the bound, throw out what sticks out, and let an ejection
// search (ejection_search.cc) find room below the cap. Then lower it again.
//
//     height |  placing ----+
//            |              | 1/8 of the gap
//            |              +---- cap ----+
//            |                            +---- cap ----+    smaller and smaller steps
//            |  bound ------------------------------------
//
// Groups of the buffers (groups.cc) come first: they are fewer, and each step moves more. Their placing, if it
// is the lowest, is where the searches for single buffers begin. That leaves cut-5000 at 13 instead of 20 percent
// above max load, and J at 0.7 instead of 1.4, with the same effort.
//
// Weights only rise: what was hard to place below one cap is hard below the next. An item's first weight is
//
//     sqrt(size * duration) / (slack + a little)     slack: the least free share of its life
//
// Two searches with random numbers of their own go side by side, in slices of equal work. After each slice the
// lower new placing becomes the start of both, so the number of threads decides how soon a placing is found, not
// which. A search that finds none for long starts from the best placing and lowers the cap less. More searches
// share the work and get less far; bench/ablations.py shows what the rules gain.
//
// Cost: a step sorts what an item meets. Collisions of buffers of many pieces are joined beforehand
// (collisions.cc). Where there are too many, and a step would look at more than 2^20 pairs of pieces, nothing is
// searched. Memory: linear, up to 2^21 listed neighbours and 2^22 collisions, and 8 MiB for meetings.
// Source: ours, after the ejection pools of vehicle routing (Nagata & Braysy, 2009).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/side_by_side.h"
#include "pack/bounds.h"
#include "pack/container.h"
#include "pack/ejection_search.h"
#include "pack/groups.h"
#include "pack/shares.h"
#include "pack/squeaky_wheel.h"
#include "pack/strategies.h"

namespace stowage::pack {
namespace {

constexpr std::size_t searches_at_once = 2;
constexpr Bytes first_part = 8;        ///< The cap is lowered by 1 / part of the gap.
constexpr double slack_of_all = 0.02;  ///< Added, so that items without slack have a weight.
constexpr Bytes finest_part = 64;
/// Neighbours that are looked at in a slice: few at first, twice as many after each slice in vain.
constexpr std::int64_t least_slice = 5'000;
constexpr std::int64_t most_slice = 500'000;
/// Work in vain until a search begins anew, for each pair of neighbours; it doubles up to eight times as much.
constexpr std::int64_t patience_per_pair = 2'000;
constexpr std::int64_t most_patience = 64'000'000;
constexpr std::int64_t more_patience = 8;
constexpr std::size_t most_pairs_of_blocks = std::size_t{1} << 20U;  ///< In one step.
constexpr std::int64_t work_of_loads = 300;      ///< For each buffer, in the units of deadlines, about,
constexpr std::int64_t work_of_chaining = 1500;  ///< and to make groups.
constexpr std::int64_t most_failures = 12;       ///< Of all searches in a row, until the end.
// Groups of buffers are tried unless there are almost as many of them, or too many buffers.
constexpr double most_of_groups = 0.9;
constexpr std::size_t most_grouped = 20'000;

/// The placing that is known, or else the lowest of all greedy passes; no places if it was too late.
Placing known_placing(const Problem& problem, const Control& control) {
  Placing best{.places = {control.known.begin(), control.known.end()}};
  if (!best.places.empty()) return best;
  for (const Greedy& greedy : greedies()) {
    if (!best.places.empty() && control.is_time_up()) break;
    Control own = control;
    own.ceiling = nullptr;  // a high placing will do
    control.spend(greedy.work * std::ssize(problem.buffers));
    Placing placing = place_greedily(greedy, problem, own);
    if (placing.places.empty()) continue;
    const bool is_lower =
        best.places.empty() || score_of(problem, placing.places) < score_of(problem, best.places);
    if (is_lower) best = std::move(placing);
  }
  return best;
}

/// Takes the placing of the squeaky wheel instead if it is lower.
void lower_by_passes(const Problem& problem, const Neighbours& neighbours, Bytes bound,
                     const Control& control, std::vector<Place>& places) {
  Control own = control;
  own.deadline = control.deadline.part(shares::squeaky_wheel);
  own.has_plan = true;  // `places`
  std::vector<Place> found = squeaky_wheel(problem, neighbours, bound, own);
  if (!found.empty() && score_of(problem, found) < score_of(problem, places)) places = std::move(found);
}

std::vector<Movable> movables_of(const Problem& problem, std::span<const Bytes> loads, Bytes cap) {
  std::vector<Movable> movables;
  movables.reserve(problem.buffers.size());
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    const Buffer& buffer = problem.buffers[b];
    const Lifetime life = life_of(buffer);
    const auto duration = static_cast<double>(life.upper - life.lower);
    const double slack = static_cast<double>(cap - loads[b]) / static_cast<double>(std::max<Bytes>(1, cap));
    const double area = std::sqrt(static_cast<double>(buffer.size) * duration);
    Movable movable{buffer.size, buffer.alignment, buffer.pinned, area / (slack + slack_of_all)};
    if (life.lower == life.upper && !movable.pin) movable.pin = 0;  // meets nothing
    movables.push_back(movable);
  }
  return movables;
}

/// One of the searches that go side by side.
class Descent {
 public:
  Descent(std::span<const Movable> movables, const Neighbours& neighbours, const Meetings* meetings,
          std::uint64_t seed)
      : patience_(std::min(most_patience, patience_per_pair * static_cast<std::int64_t>(neighbours.pairs()))),
        most_patience_(more_patience * patience_),
        search_(movables, clashes_among(neighbours), meetings, seed) {}

  /// Goes on from that placing, below a lower cap.
  void start(std::span<const Bytes> offsets, Bytes peak, Bytes bound) {
    search_.begin(offsets, peak - std::max<Bytes>(1, (peak - bound) / part_));
    has_found_ = false;
    spent_ = 0;
  }

  void run(std::int64_t steps, std::int64_t work, const Stop& stop) {
    has_found_ = search_.run(steps, stop);
    spent_ += work;
  }

  [[nodiscard]] bool has_found() const { return has_found_; }
  [[nodiscard]] const std::vector<Bytes>& offsets() const { return search_.offsets(); }
  [[nodiscard]] bool has_failed() const { return spent_ >= patience_; }
  [[nodiscard]] std::int64_t work() const { return search_.work(); }

  /// Begins anew, with smaller steps and more patience.
  void start_anew(std::span<const Bytes> offsets, Bytes peak, Bytes bound) {
    part_ = std::min(finest_part, 2 * part_);
    patience_ = std::min(most_patience_, 2 * patience_);
    start(offsets, peak, bound);
  }

 private:
  Bytes part_ = first_part;
  std::int64_t patience_;
  const std::int64_t most_patience_;
  std::int64_t spent_ = 0;  ///< Work since its start.
  bool has_found_ = false;
  EjectionSearch search_;
};

class Descents {
 public:
  Descents(const Problem& problem, const Neighbours& neighbours, const std::vector<Place>& first, Bytes bound,
           const Control& control)
      : problem_(problem), bound_(bound), control_(control), neighbours_(neighbours) {
    for (const Place& place : first) best_.push_back(place.offset);
    peak_ = peak_of(best_);
  }

  /// Searches until the bound is reached, the time is up, or nothing more is found.
  void run() {
    if (is_done() || !begin()) return;
    const std::int64_t slices = control_.rounds.value_or(std::numeric_limits<std::int64_t>::max());
    std::int64_t failures = 0;
    std::int64_t work = least_slice;
    for (std::int64_t slice = 0; slice < slices && failures < most_failures && !is_done(); ++slice) {
      run_slice(work);
      const bool has_found = take_lowest();
      failures = has_found ? 0 : failures + start_failed_anew();
      work = has_found ? least_slice : std::min(2 * work, most_slice);
      control_.report("ejection", 0);
    }
  }

  [[nodiscard]] Bytes peak() const { return peak_; }
  [[nodiscard]] const std::vector<Bytes>& offsets() const { return best_; }

 private:
  /// Builds what all searches read, and the searches; false if the time is up, or steps would take too long.
  bool begin() {
    const auto loads = loads_during(problem_.buffers, control_);
    if (!loads) return false;
    if (control_.is_time_up()) return false;
    if (!neighbours_.are_joined() && pairs_of_blocks() > most_pairs_of_blocks) return false;
    meetings_ = Meetings::among(problem_.buffers, neighbours_);
    control_.spend(work_of_loads * std::ssize(problem_.buffers));
    movables_ = movables_of(problem_, *loads, bound_);
    for (std::size_t search = 0; search < searches_at_once; ++search) {
      const std::uint64_t seed = control_.options.seed * searches_at_once + search;
      descents_.push_back(
          std::make_unique<Descent>(movables_, neighbours_, meetings_ ? &*meetings_ : nullptr, seed));
      descents_.back()->start(best_, peak_, bound_);
    }
    return true;
  }

  /// Of the buffer with the most row blocks: its blocks and those of all neighbours.
  [[nodiscard]] std::size_t pairs_of_blocks() const {
    const auto count = [](const Buffer& buffer) { return buffer.pieces.size(); };
    const auto largest = std::ranges::max_element(problem_.buffers, {}, count);
    const auto index = static_cast<std::size_t>(largest - problem_.buffers.begin());
    std::size_t others = 0;
    neighbours_.for_each(index, [&](std::size_t other) { others += count(problem_.buffers[other]); });
    return count(*largest) * others;
  }

  [[nodiscard]] bool is_done() const {
    return peak_ <= bound_ || control_.is_beaten(bound_) || control_.is_time_up();
  }

  /// Work counts the neighbours of an average buffer, once for each step.
  void run_slice(std::int64_t work) {
    const auto pairs = static_cast<std::int64_t>(neighbours_.pairs());
    const std::int64_t met = std::max<std::int64_t>(1, 2 * pairs / std::ssize(problem_.buffers));
    const std::int64_t steps = std::max<std::int64_t>(16, work / met);
    std::int64_t before = 0;
    for (const auto& descent : descents_) before += descent->work();
    const Stop stop = [&] { return control_.is_time_up(); };
    base::run_side_by_side(0, descents_.size(), threads_of(control_.options),
                           [&](std::size_t d, std::size_t) {
                             descents_[d]->run(steps, work, stop);
                             return true;
                           });
    for (const auto& descent : descents_) control_.spend(descent->work());
    control_.spend(-before);
  }

  /// False if no search has found a placing. Otherwise all go on from the lowest.
  bool take_lowest() {
    const Bytes before = peak_;
    for (const auto& descent : descents_) {
      if (!descent->has_found()) continue;
      const Bytes peak = peak_of(descent->offsets());
      if (peak >= peak_) continue;
      peak_ = peak;
      best_ = descent->offsets();
    }
    if (peak_ == before) return false;
    for (const auto& descent : descents_) descent->start(best_, peak_, bound_);
    return true;
  }

  /// How many have failed.
  std::int64_t start_failed_anew() {
    std::int64_t failed = 0;
    for (const auto& descent : descents_) {
      if (!descent->has_failed()) continue;
      descent->start_anew(best_, peak_, bound_);
      ++failed;
    }
    return failed;
  }

  [[nodiscard]] Bytes peak_of(std::span<const Bytes> offsets) const {
    Bytes peak = 0;
    for (std::size_t b = 0; b < offsets.size(); ++b)
      peak = std::max(peak, offsets[b] + problem_.buffers[b].size);
    return peak;
  }

  const Problem& problem_;
  const Bytes bound_;
  const Control& control_;
  const Neighbours& neighbours_;
  std::optional<Meetings> meetings_;
  std::vector<Movable> movables_;  ///< All buffers, as searches see them.
  std::vector<std::unique_ptr<Descent>> descents_;
  std::vector<Bytes> best_;
  Bytes peak_ = 0;
};

/// Lowers a placing by passes and by searches.
void lower(const Problem& problem, Bytes bound, const Control& control, std::vector<Place>& places) {
  std::optional<Neighbours> own;
  if (control.neighbours == nullptr) {
    own.emplace(problem.buffers);
    control.spend(own->work());
  }
  const Neighbours& neighbours = own ? *own : *control.neighbours;
  lower_by_passes(problem, neighbours, bound, control, places);
  Descents descents(problem, neighbours, places, bound, control);
  descents.run();
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) places[b].offset = descents.offsets()[b];
}

/// Takes a placing of groups of the buffers instead if it is lower.
void lower_by_groups(const Problem& problem, Bytes bound, const Control& control,
                     std::vector<Place>& places) {
  if (problem.buffers.size() > most_grouped) return;
  const GroupedList groups = chains_of(problem, control.options.seed);
  control.spend(work_of_chaining * std::ssize(problem.buffers));
  const auto count = static_cast<double>(groups.problem.buffers.size());
  if (count > most_of_groups * static_cast<double>(problem.buffers.size())) return;
  Control own = control;
  own.deadline = control.deadline.part(shares::groups);
  own.has_plan = true;  // `places`
  own.known = {};
  own.neighbours = nullptr;
  Placing placing = known_placing(groups.problem, own);
  if (placing.places.empty()) return;
  const Bytes own_bound = std::max(bound, lower_bound_of(groups.problem.buffers));
  if (total_peak(score_of(groups.problem, placing.places)) > own_bound)
    lower(groups.problem, own_bound, own, placing.places);
  std::vector<Place> found = groups.places_of_members(placing.places);
  if (score_of(problem, found) < score_of(problem, places)) places = std::move(found);
}

}  // namespace

Placing ejection(const Problem& problem, const Control& control) {
  if (control.is_too_late()) return no_placing();
  const Bytes bound = lower_bound_of(problem.buffers);
  Placing placing = known_placing(problem, control);
  if (problem.buffers.empty()) return placing;
  if (placing.places.empty()) return no_placing();
  const auto is_high = [&] { return total_peak(score_of(problem, placing.places)) > bound; };
  if (is_high() && !control.is_time_up()) lower_by_groups(problem, bound, control, placing.places);
  if (is_high() && !control.is_time_up()) lower(problem, bound, control, placing.places);
  placing.cut_short = is_high() && control.is_time_up();
  return placing;
}

}  // namespace stowage::pack
