// Lower the cap by a part of what a placing is above the bound, throw out what sticks out, and let an ejection
// search (ejection_search.cc) find room below the cap. Then lower it again.
//
//     height |  placing ----+
//            |              | 1/8 of the gap
//            |              +---- cap ----+
//            |                            +---- cap ----+    smaller and smaller steps
//            |  bound ------------------------------------
//
// Where that is asked for, all items of a new placing drop as low as they can, the lowest first.
//
// Weights only rise: what was hard to place below one cap is hard below the next.
//
// Two searches with random numbers of their own go side by side, in slices of equal work. After each slice the
// lower new placing becomes the start of both, so the number of threads decides how soon a placing is found, not
// which. A search that finds none for long starts from the best placing and lowers the cap less. More searches
// share the work and get less far; bench/ablations.py shows what the rules gain.
//
// Cost: a step sorts what an item meets, or looks at all that are placed (meetings.h).
// Source: ours, after the ejection pools of vehicle routing (Nagata & Braysy, 2009).

#include "pack/descents.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/side_by_side.h"

namespace stowage::pack {
namespace {

constexpr std::size_t searches_at_once = 2;
constexpr Bytes finest_part = 64;
/// Neighbours that are looked at in a slice: few at first, twice as many after each slice in vain.
constexpr std::int64_t least_slice = 5'000;
constexpr std::int64_t most_slice = 500'000;
/// Work in vain until a search begins anew, at most; it doubles up to eight times as much.
constexpr std::int64_t most_patience = 64'000'000;
constexpr std::int64_t more_patience = 8;
constexpr int most_drops = 2;  ///< Of all items, in a new placing.

}  // namespace

/// One of the searches that go side by side.
class Descents::Descent {
 public:
  Descent(const DescentItems& items, std::uint64_t seed)
      : part_(items.first_part),
        patience_(std::min(most_patience, items.patience_per_pair * items.pairs)),
        most_patience_(more_patience * patience_),
        search_(items.movables, items.clashes(), items.meetings, seed) {}

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

  void drop() {
    for (int i = 0; i < most_drops; ++i) search_.compact();
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
  Bytes part_;  ///< The cap is lowered by 1 / part of the gap.
  std::int64_t patience_;
  const std::int64_t most_patience_;
  std::int64_t spent_ = 0;  ///< Work since its start.
  bool has_found_ = false;
  EjectionSearch search_;
};

Descents::Descents(DescentItems items, std::vector<Bytes> offsets, Bytes bound, const Control& control,
                   std::string_view what)
    : items_(std::move(items)), bound_(bound), control_(control), what_(what), best_(std::move(offsets)) {
  peak_ = peak_of(best_);
  for (std::size_t search = 0; search < searches_at_once; ++search) {
    const std::uint64_t seed = control_.options.seed * searches_at_once + search;
    descents_.push_back(std::make_unique<Descent>(items_, seed));
    descents_.back()->start(best_, peak_, bound_);
  }
}

Descents::~Descents() = default;

void Descents::run() {
  const std::int64_t slices = control_.rounds.value_or(std::numeric_limits<std::int64_t>::max());
  std::int64_t failures = 0;
  std::int64_t work = least_slice;
  for (std::int64_t slice = 0; slice < slices && failures < items_.most_failures && !is_done(); ++slice) {
    run_slice(work);
    const bool has_found = take_lowest();
    failures = has_found ? 0 : failures + start_failed_anew();
    work = has_found ? least_slice : std::min(2 * work, most_slice);
    control_.report(what_, 0);
  }
}

bool Descents::is_done() const {
  return peak_ <= bound_ || control_.is_beaten(bound_) || control_.is_time_up();
}

/// Work counts the neighbours of an average item, once for each step.
void Descents::run_slice(std::int64_t work) {
  const std::int64_t met = std::max<std::int64_t>(1, 2 * items_.pairs / std::ssize(items_.movables));
  const std::int64_t steps = std::max<std::int64_t>(16, work / met);
  std::int64_t before = 0;
  for (const auto& descent : descents_) before += descent->work();
  const Stop stop = [&] { return control_.is_time_up(); };
  base::run_side_by_side(0, descents_.size(), threads_of(control_.options), [&](std::size_t d, std::size_t) {
    descents_[d]->run(steps, work, stop);
    return true;
  });
  for (const auto& descent : descents_) control_.spend(descent->work());
  control_.spend(-before);
}

/// False if no search has found a placing. Otherwise all go on from the lowest.
bool Descents::take_lowest() {
  const Bytes before = peak_;
  for (const auto& descent : descents_) {
    if (!descent->has_found()) continue;
    if (items_.drops) descent->drop();
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
std::int64_t Descents::start_failed_anew() {
  std::int64_t failed = 0;
  for (const auto& descent : descents_) {
    if (!descent->has_failed()) continue;
    descent->start_anew(best_, peak_, bound_);
    ++failed;
  }
  return failed;
}

Bytes Descents::peak_of(std::span<const Bytes> offsets) const {
  Bytes peak = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i)
    peak = std::max(peak, offsets[i] + items_.movables[i].size);
  return peak;
}

}  // namespace stowage::pack
