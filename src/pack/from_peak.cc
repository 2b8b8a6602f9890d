// Idea. Large real problems have one sharp peak and slack everywhere else. The buffers alive at the peak can
// be stacked there without waste; the only questions are in which order, and what fits next to them.
//
//     address ^        +--d--+
//             |     +--+--c--+------+         a to d: alive at the peak, stacked first
//             |  +--+------b--------+--+      then to the right by where lives begin,
//             |  | 2 | +--a--+  1 |  3 |      then to the left by where they end
//             +--+---+-+--|--+----+----+--> time
//                        peak
//
// A pass places every buffer that finds room below a cap, at first the lower bound. The others are left over,
// often one to a dozen of ten thousand. They form the pool of an ejection search that starts from the pass:
// it puts one after the other where the buffers it throws out weigh least. The weight decides:
//
//     sqrt(size * duration) / (slack + a little)      slack: the least free share of its life, cap less load
//
// so buffers alive at the peak stay, since they fit nowhere else, and a buffer thrown out finds a place in a
// few dozen steps. Without slack in the weight the pool never empties.
//
// The ten manners are five orders of the stack, each with the lowest or the tightest place. No single one
// wins. If none reaches the bound, the cap rises half the way to the best placing known, and so on. On S_1
// (28 526 buffers, 2576 alive at the peak) the first pass leaves 2 buffers, and 24 steps place them.
//
// Parts of time with no buffer alive between them are placed one after the other. Each first tries the manner
// that worked for the part before.
//
// Cost: n log n per pass (occupancy.cc), and per ejection step the buffers alive at the same time. Memory is
// linear: the neighbours of a buffer are looked up (Neighbours).
// Source: ours, after the ejection pools of vehicle routing (Nagata & Braysy, 2009).

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "base/checked.h"
#include "pack/bounds.h"
#include "pack/container.h"
#include "pack/ejection_search.h"
#include "pack/strategies.h"

namespace stowage::pack {
namespace {

enum class StackOrder { by_begin, by_end, by_size, by_duration, by_area };

struct Manner {
  StackOrder stack = StackOrder::by_size;
  Fit fit = Fit::lowest;
};

/// The manners that reach the bound most often come first.
constexpr std::array<Manner, 10> manners{{
    {StackOrder::by_size, Fit::lowest},
    {StackOrder::by_begin, Fit::tightest},
    {StackOrder::by_duration, Fit::tightest},
    {StackOrder::by_begin, Fit::lowest},
    {StackOrder::by_duration, Fit::lowest},
    {StackOrder::by_end, Fit::tightest},
    {StackOrder::by_size, Fit::tightest},
    {StackOrder::by_end, Fit::lowest},
    {StackOrder::by_area, Fit::tightest},
    {StackOrder::by_area, Fit::lowest},
}};
constexpr std::size_t few = 1000;            ///< Buffers. With fewer, only passes run: `exact` does the rest.
constexpr std::size_t most_left_over = 300;  ///< With more, the pool would grow.
constexpr std::int64_t steps_of_cap = 600;
constexpr double finest_cap = 0.0005;  ///< Caps closer than this part of the bound count as equal.
constexpr double least_slack = 1e-4;
constexpr std::int64_t work_of_placing = 600;  ///< For each buffer of a pass, in the units of deadlines.

/// Offsets below a cap; none for buffers left over.
struct Pass {
  std::vector<std::optional<Bytes>> offsets;
  std::vector<std::size_t> left_over{};
};

enum class SweepExtent { first_pass, all };

class Sweep {
 public:
  /// Nothing below `enough` is possible or useful.
  Sweep(std::span<const Buffer> buffers, Bytes enough, std::size_t first_manner, const Control& control)
      : buffers_(buffers), control_(control), bound_(enough), first_manner_(first_manner) {
    lives_.reserve(buffers_.size());
    for (const Buffer& buffer : buffers_) lives_.push_back(life_of(buffer));
    Bytes most = -1;
    for (const Load& load : load_profile(buffers_)) {
      if (load.bytes <= most) continue;
      most = load.bytes;
      peak_ = load.at;
    }
  }

  Placing run(SweepExtent extent) { return extent == SweepExtent::all ? run_all() : run_once(); }

  /// The manner of the best placing.
  [[nodiscard]] std::size_t best_manner() const { return best_manner_; }

 private:
  Placing run_all() {
    Bytes low = bound_;  // the cap that is tried next
    while (!has_the_best() && !try_cap(low)) {
      if (has_to_end() || control_.options.rounds == 0 || buffers_.size() < few) break;
      if (static_cast<double>(best_peak_ - low) < finest_cap * static_cast<double>(bound_) + 1) break;
      low += std::max<Bytes>(1, (best_peak_ - low) / 2);
    }
    Placing placing;
    placing.cut_short = !has_the_best() && !control_.is_beaten(bound_) && is_out_of_time();
    placing.places = std::move(best_);
    return placing;
  }

  /// Runs the first pass alone; it succeeds if every buffer fits below the bound.
  Placing run_once() {
    const std::optional<Pass> pass = place(manners[first_manner_], bound_, 0);
    if (pass) keep(*pass, first_manner_);
    const bool is_cut = !pass && !control_.is_beaten(bound_) && is_out_of_time();
    return {.places = std::move(best_), .cut_short = is_cut};
  }

  [[nodiscard]] bool has_the_best() const { return !best_.empty() && best_peak_ <= bound_; }

  /// Time-out ends improvement; the first placing ends only when it is too late.
  [[nodiscard]] bool is_out_of_time() const {
    return best_.empty() ? control_.is_too_late() : control_.is_time_up();
  }
  [[nodiscard]] bool has_to_end() const { return control_.is_beaten(bound_) || is_out_of_time(); }

  /// Whether some manner places everything below the cap.
  bool try_cap(Bytes cap) {
    for (std::size_t tried = 0; tried < manners.size(); ++tried) {
      const std::size_t m = (first_manner_ + tried) % manners.size();
      control_.report("from-peak", static_cast<double>(tried) / manners.size());
      std::optional<Pass> pass = place(manners[m], cap, buffers_.size());
      if (!pass) return false;
      const bool is_promising = !pass->left_over.empty() && pass->left_over.size() <= most_left_over;
      if (is_promising && buffers_.size() >= few) eject(*pass, cap);
      if (!put_on_top(*pass)) return false;
      keep(*pass, m);
      if (best_peak_ <= cap) return best_peak_ <= bound_;
    }
    return false;
  }

  [[nodiscard]] std::vector<std::size_t> order_of(StackOrder stack) const {
    using Key = std::tuple<int, double, double, std::size_t>;
    std::vector<Key> keys;
    keys.reserve(buffers_.size());
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      const auto size = static_cast<double>(buffers_[b].size);
      const auto lower = static_cast<double>(lives_[b].lower);
      const auto upper = static_cast<double>(lives_[b].upper);
      if (buffers_[b].pinned) {
        keys.emplace_back(0, 0, 0, b);
      } else if (lives_[b].lower > peak_) {
        keys.emplace_back(2, lower, -size, b);
      } else if (lives_[b].upper <= peak_) {
        keys.emplace_back(3, -upper, -size, b);
      } else {
        keys.emplace_back(1, stack_key(stack, size, lower, upper), -size, b);
      }
    }
    std::sort(keys.begin(), keys.end());
    std::vector<std::size_t> order;
    order.reserve(keys.size());
    for (const Key& key : keys) order.push_back(std::get<3>(key));
    return order;
  }

  [[nodiscard]] static double stack_key(StackOrder stack, double size, double lower, double upper) {
    switch (stack) {
      case StackOrder::by_begin:
        return lower;
      case StackOrder::by_end:
        return -upper;
      case StackOrder::by_size:
        return -size;
      case StackOrder::by_duration:
        return lower - upper;
      case StackOrder::by_area:
        return size * (lower - upper);
    }
    return 0;
  }

  /// Nothing if it has to end, or if more than `most` buffers would be left over.
  std::optional<Pass> place(const Manner& manner, Bytes cap, std::size_t most) {
    if (has_to_end()) return std::nullopt;
    control_.spend(work_of_placing * std::ssize(buffers_));
    Pass pass{.offsets = std::vector<std::optional<Bytes>>(buffers_.size())};
    const std::vector<std::size_t> order = order_of(manner.stack);
    Container container(buffers_, control_.neighbours);
    for (std::size_t done = 0; done < order.size(); ++done) {
      if (done % buffers_between_looks == 0 && has_to_end()) return std::nullopt;
      const std::size_t b = order[done];
      const Buffer& buffer = buffers_[b];
      const bool is_alive = lives_[b].lower < lives_[b].upper;
      std::optional<Bytes> offset = buffer.pinned;
      if (!is_alive && !offset) offset = 0;
      if (!offset) offset = fit(container, b, manner.fit, cap);
      if (*offset + buffer.size > cap && is_alive && !buffer.pinned) {
        if (pass.left_over.size() == most) return std::nullopt;
        pass.left_over.push_back(b);
        continue;
      }
      pass.offsets[b] = offset;
      container.put(b, *offset);
    }
    return pass;
  }

  [[nodiscard]] Bytes fit(Container& container, std::size_t b, Fit fit, Bytes cap) const {
    if (fit == Fit::tightest) {
      const Bytes offset = container.tightest_fit(b);
      if (offset + buffers_[b].size <= cap) return offset;
    }
    return container.lowest_fit(b);
  }

  /// Tries to find room for the buffers left over.
  void eject(Pass& pass, Bytes cap) {
    if (!loads_) loads_ = loads_during(buffers_, control_);
    if (!loads_) return;
    if (control_.neighbours == nullptr && !own_neighbours_) own_neighbours_.emplace(buffers_);
    const Neighbours& neighbours = own_neighbours_ ? *own_neighbours_ : *control_.neighbours;
    if (control_.is_time_up()) return;
    std::vector<Movable> movables;
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      const Buffer& buffer = buffers_[b];
      const double area =
          static_cast<double>(buffer.size) * static_cast<double>(lives_[b].upper - lives_[b].lower);
      const double slack = static_cast<double>(cap - (*loads_)[b]) / static_cast<double>(cap);
      movables.push_back({buffer.size, buffer.alignment, buffer.pinned,
                          std::sqrt(area) / (slack + least_slack), pass.offsets[b]});
    }
    EjectionSearch search(movables, clashes_among(neighbours), nullptr, control_.options.seed);
    search.begin(cap);
    const bool has_found = search.run(steps_of_cap, [&] { return control_.is_time_up(); });
    control_.spend(search.work());
    if (!has_found) return;
    for (std::size_t b = 0; b < buffers_.size(); ++b) pass.offsets[b] = search.offsets()[b];
    pass.left_over.clear();
  }

  /// Puts the buffers left over at their lowest fit. False if it has to end.
  [[nodiscard]] bool put_on_top(Pass& pass) const {
    if (pass.left_over.empty()) return true;
    control_.spend(work_of_placing * std::ssize(buffers_));
    Container container(buffers_, control_.neighbours);
    std::size_t done = 0;
    const auto ends = [&] { return done++ % buffers_between_looks == 0 && has_to_end(); };
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      if (ends()) return false;
      if (pass.offsets[b]) container.put(b, *pass.offsets[b]);
    }
    for (const std::size_t b : pass.left_over) {
      if (ends()) return false;
      pass.offsets[b] = container.lowest_fit(b);
      container.put(b, *pass.offsets[b]);
    }
    return true;
  }

  /// Keeps the placing if it is the best.
  void keep(const Pass& pass, std::size_t manner) {
    Bytes top = 0;
    for (std::size_t b = 0; b < buffers_.size(); ++b)
      top = std::max(top, *pass.offsets[b] + buffers_[b].size);
    if (!best_.empty() && top >= best_peak_) return;
    best_peak_ = top;
    best_manner_ = manner;
    best_.assign(buffers_.size(), {});
    for (std::size_t b = 0; b < buffers_.size(); ++b) best_[b].offset = *pass.offsets[b];
  }

  std::span<const Buffer> buffers_;
  const Control& control_;
  const Bytes bound_;
  const std::size_t first_manner_;
  Position peak_ = 0;  ///< Where the most bytes are live.
  std::vector<Lifetime> lives_;
  std::optional<std::vector<Bytes>> loads_;
  std::optional<Neighbours> own_neighbours_;  ///< Unless those of all strategies are there.
  std::vector<Place> best_;
  Bytes best_peak_ = 0;
  std::size_t best_manner_ = 0;
};

/// Buffers that can be placed alone: no other buffer is alive when they are.
struct Stretch {
  std::vector<std::size_t> indices;
};

/// In the order of time.
std::vector<Stretch> split(const Problem& problem) {
  std::vector<Stretch> parts;
  Position end = 0;
  for (const std::size_t b : by_start(problem)) {
    const Lifetime life = life_of(problem.buffers[b]);
    if (parts.empty() || life.lower >= end) parts.emplace_back();
    parts.back().indices.push_back(b);
    end = std::max(end, life.upper);
  }
  return parts;
}

/// Copies of the buffers, without names.
std::vector<Buffer> buffers_of(const Problem& problem, const Stretch& part) {
  std::vector<Buffer> buffers;
  for (const std::size_t b : part.indices) {
    const Buffer& buffer = problem.buffers[b];
    buffers.push_back({.size = buffer.size,
                       .alignment = buffer.alignment,
                       .pieces = buffer.pieces,
                       .pinned = buffer.pinned});
  }
  return buffers;
}

/// Runs a search for each stretch of the problem.
Placing run_in_stretches(const Problem& problem, const Control& control, SweepExtent extent) {
  if (control.is_too_late()) return no_placing();
  Bytes enough = lower_bound_of(problem.buffers);
  if (control.is_too_late()) return no_placing();
  const std::vector<Stretch> parts = split(problem);
  Placing placing{std::vector<Place>(problem.buffers.size())};
  std::size_t manner = 0;  // the manner of the last part often works for the next
  for (const Stretch& part : parts) {
    if (control.is_beaten(enough)) return {};
    if (control.is_too_late()) return no_placing();
    const bool is_all = parts.size() == 1;
    const std::vector<Buffer> copies = is_all ? std::vector<Buffer>() : buffers_of(problem, part);
    const std::span<const Buffer> buffers = is_all ? std::span(problem.buffers) : copies;
    Sweep search(buffers, enough, manner, control);
    Placing found = search.run(extent);
    if (found.places.empty() || is_all) return found;
    manner = search.best_manner();
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      placing.places[part.indices[i]] = found.places[i];
      enough = std::max(enough, found.places[i].offset + buffers[i].size);
    }
    placing.cut_short = placing.cut_short || found.cut_short;
  }
  return placing;
}

}  // namespace

Placing from_peak(const Problem& problem, const Control& control) {
  return run_in_stretches(problem, control, SweepExtent::all);
}

Placing from_peak_once(const Problem& problem, const Control& control) {
  return run_in_stretches(problem, control, SweepExtent::first_pass);
}

}  // namespace stowage::pack
