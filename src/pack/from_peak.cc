// Large real problems have one sharp peak and slack everywhere else. The buffers alive at the peak can
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
// wins, and two are tried side by side. If none reaches the bound, the cap rises half the way to the best
// placing known, and so on. On S_1 (28 526 buffers, 2576 alive at the peak) the second manner leaves 2
// buffers, and 40 steps place them. Where more than ten are left over, hardly any step helps: of the
// eighteen placings that ejection made below a cap, on S_1, pangu_2.6B and perturbed copies of both,
// seventeen had at most eight.
//
// Parts of time with no buffer alive between them are placed apart, in waves: each but the last has at
// least as many buffers as all before it, or 1024 parts, which go side by side. A part need not be lower
// than one of a wave before, and first tries the manner and the cap that worked for the last of these. So
// the number of threads decides how soon a placing is found, not which.
//
// Cost: n log n per pass (occupancy.cc), and per ejection step the buffers alive at the same time. Memory is
// linear: the neighbours of a buffer are looked up (Neighbours).
// Source: ours, after the ejection pools of vehicle routing (Nagata & Braysy, 2009).

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <utility>
#include <vector>

#include "base/side_by_side.h"
#include "pack/bounds.h"
#include "pack/from_peak_pass.h"
#include "pack/strategies.h"

namespace stowage::pack {
namespace {

/// The manners that reach the bound most often come first.
constexpr std::array<PassManner, 10> manners{{
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
constexpr std::size_t passes_at_once = 2;
constexpr std::size_t most_parts = 1024;  ///< Of a wave: each has a control of its own.
constexpr std::size_t few = 1000;         ///< Buffers. With fewer, one cap is tried: `exact` does the rest.
constexpr double finest_cap = 0.01;       ///< Caps closer than this part of the bound count as equal.

/// For one of several that run side by side, with that part of the work that is left.
Control apart(const Control& control, double part) {
  Control own = control;
  if (own.deadline.counts_work()) own.deadline = control.deadline.apart().part(part);
  return own;
}

/// Counts what was spent apart.
void spend_together(const Control& control, std::span<const Control> apart) {
  const auto before = control.deadline.now();
  for (const Control& own : apart) control.spend((own.deadline.now() - before).count());
}

/// What worked: a manner, by its index, and a cap.
struct Trial {
  std::size_t manner = 0;
  Bytes cap = 0;
};

/// Tries cap after cap for buffers of which some are always alive.
class Caps {
 public:
  /// Nothing below `enough` is possible or useful. The cap of the first trial is at most that.
  Caps(std::span<const Buffer> buffers, Bytes enough, const Trial& first, const Control& control)
      : input_(buffers, control.neighbours), control_(control), enough_(enough), first_(first) {}

  void run() {
    Bytes low = first_.cap;  // the cap that is tried next
    while (!has_the_best() && !try_cap(low)) {
      if (has_to_end() || control_.rounds == 0 || input_.buffers().size() < few) break;
      if (static_cast<double>(top_ - low) < finest_cap * static_cast<double>(enough_) + 1) break;
      low += std::max<Bytes>(1, (top_ - low) / 2);
    }
  }

  /// By buffer; none if it was too late or beaten.
  [[nodiscard]] const std::vector<Bytes>& offsets() const { return offsets_; }
  [[nodiscard]] Bytes top() const { return top_; }
  /// Of the lowest placing.
  [[nodiscard]] const Trial& best() const { return best_; }
  [[nodiscard]] bool was_cut() const {
    return !has_the_best() && !control_.is_beaten(enough_) && (was_cut_ || is_out_of_time());
  }

 private:
  [[nodiscard]] bool has_the_best() const { return !offsets_.empty() && top_ <= enough_; }

  /// Time-out ends improvement; the first placing ends only when it is too late.
  [[nodiscard]] bool is_out_of_time() const {
    return offsets_.empty() ? control_.is_too_late() : control_.is_time_up();
  }
  [[nodiscard]] bool has_to_end() const { return control_.is_beaten(enough_) || is_out_of_time(); }

  /// Tries all manners until one places everything below the cap. True if that is low enough.
  bool try_cap(Bytes cap) {
    for (std::size_t tried = 0; tried < manners.size(); tried += passes_at_once) {
      control_.report("from-peak", static_cast<double>(tried) / manners.size());
      if (run_passes(tried, cap)) return has_the_best();
      if (has_to_end()) return false;
    }
    return false;
  }

  /// Runs the next manners side by side. True if one of them places everything below the cap: the first that
  /// does counts, and none after it.
  bool run_passes(std::size_t tried, Bytes cap) {
    std::array<PassFromPeak, passes_at_once> found;
    std::vector<Control> controls;
    for (std::size_t pass = 0; pass < passes_at_once; ++pass)
      controls.push_back(apart(control_, 1.0 / passes_at_once));
    std::array<std::atomic<bool>, passes_at_once> are_done{};
    const bool is_first = offsets_.empty();
    const auto run_pass = [&](std::size_t pass, std::size_t) {
      const Control& own = controls[pass];
      const Stop ends = [&] {
        const bool is_over = is_first && pass == 0 ? own.is_too_late() : own.is_time_up();
        return is_over || own.is_beaten(enough_) || (pass > 0 && are_done[pass - 1]);
      };
      found[pass] = pass_from_peak(input_, manners[manner_at(tried + pass)], cap, own, ends);
      const std::vector<Bytes>& offsets = found[pass].offsets;
      are_done[pass] = !offsets.empty() && top_of(offsets) <= std::max(cap, enough_);
      return !are_done[pass];
    };
    base::run_side_by_side(0, passes_at_once, threads_of(control_.options), run_pass);
    const auto done = std::find(are_done.begin(), are_done.end(), true);
    const auto end = static_cast<std::size_t>(done - are_done.begin()) + (done != are_done.end() ? 1 : 0);
    spend_together(control_, std::span(controls).first(end));
    for (std::size_t pass = 0; pass < end; ++pass) {
      if (found[pass].has_ejected) count_ejection();
      keep(std::move(found[pass].offsets), {manner_at(tried + pass), cap});
    }
    return done != are_done.end();
  }

  /// Passes share what ejection needs, whichever of them finds it. So it counts here, once.
  void count_ejection() {
    if (!std::exchange(has_ejected_, true)) control_.spend(input_.work_of_ejection());
  }

  [[nodiscard]] std::size_t manner_at(std::size_t tried) const {
    return (first_.manner + tried) % manners.size();
  }

  [[nodiscard]] Bytes top_of(std::span<const Bytes> offsets) const {
    Bytes top = 0;
    for (std::size_t b = 0; b < offsets.size(); ++b)
      top = std::max(top, offsets[b] + input_.buffers()[b].size);
    return top;
  }

  void keep(std::vector<Bytes> offsets, const Trial& trial) {
    if (offsets.empty()) was_cut_ = true;
    if (offsets.empty()) return;
    const Bytes top = top_of(offsets);
    if (!offsets_.empty() && top >= top_) return;
    offsets_ = std::move(offsets);
    top_ = top;
    best_ = trial;
  }

  const PassInput input_;
  const Control& control_;
  const Bytes enough_;
  const Trial first_;
  std::vector<Bytes> offsets_;
  Bytes top_ = 0;
  Trial best_;
  bool was_cut_ = false;
  bool has_ejected_ = false;
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

/// Places stretches of a list, wave by wave.
class Stretches {
 public:
  Stretches(const Problem& problem, std::vector<Stretch> parts, Bytes enough, const Control& control)
      : problem_(problem), parts_(std::move(parts)), enough_(enough), control_(control), trial_{0, enough} {
    placing_.places.resize(problem.buffers.size());
  }

  /// No places if it was too late or beaten.
  Placing run() {
    std::size_t done = 0;  // buffers
    for (std::size_t begin = 0; begin < parts_.size();) {
      std::size_t end = begin;
      std::size_t wave = 0;  // buffers
      for (; end < parts_.size() && (end == begin || (wave < done && end < begin + most_parts)); ++end)
        wave += parts_[end].indices.size();
      if (!run_wave(begin, end, wave)) return control_.is_beaten(enough_) ? Placing() : no_placing();
      done += wave;
      begin = end;
    }
    return std::move(placing_);
  }

 private:
  /// The result of one stretch; its offsets are in the placing.
  struct Part {
    bool has_places = false;
    bool was_cut = false;
    Bytes top = 0;
    Trial trial{};
  };

  /// Places the parts [begin, end), which have so many buffers; false if it has to end.
  bool run_wave(std::size_t begin, std::size_t end, std::size_t buffers) {
    std::vector<Control> controls;
    for (std::size_t p = begin; p < end; ++p) {
      const auto count = static_cast<double>(parts_[p].indices.size());
      controls.push_back(apart(control_, count / static_cast<double>(buffers)));
      if (end - begin > 1) controls.back().options.threads = 1;
      if (p > begin) controls.back().options.progress = {};  // only the first is on the caller's thread
      controls.back().neighbours = nullptr;                  // those known are of the whole list
    }
    std::vector<Part> found(end - begin);
    base::run_side_by_side(begin, end, threads_of(control_.options), [&](std::size_t p, std::size_t) {
      found[p - begin] = run_part(parts_[p], controls[p - begin]);
      return found[p - begin].has_places;
    });
    // On one thread those behind the first that has none did not begin.
    const auto none = std::ranges::find(found, false, &Part::has_places);
    const auto begun = std::min(found.size(), static_cast<std::size_t>(none - found.begin()) + 1);
    spend_together(control_, std::span(controls).first(begun));
    if (none != found.end()) return false;
    for (const Part& part : found) {
      enough_ = std::max(enough_, part.top);
      trial_ = part.trial;
      placing_.cut_short = placing_.cut_short || part.was_cut;
    }
    return true;
  }

  Part run_part(const Stretch& part, const Control& control) {
    if (control.is_beaten(enough_) || control.is_too_late()) return {};
    const std::vector<Buffer> buffers = buffers_of(problem_, part);
    Caps caps(buffers, enough_, trial_, control);
    caps.run();
    if (caps.offsets().empty()) return {};
    for (std::size_t i = 0; i < buffers.size(); ++i)
      placing_.places[part.indices[i]].offset = caps.offsets()[i];
    return {.has_places = true, .was_cut = caps.was_cut(), .top = caps.top(), .trial = caps.best()};
  }

  const Problem& problem_;
  const std::vector<Stretch> parts_;
  Bytes enough_;  ///< Nothing lower is possible or useful.
  const Control& control_;
  Trial trial_;  ///< Of the last part.
  Placing placing_;
};

}  // namespace

Placing from_peak(const Problem& problem, const Control& control) {
  if (control.is_too_late()) return no_placing();
  const Bytes enough = lower_bound_of(problem.buffers);
  if (control.is_beaten(enough)) return {};
  if (control.is_too_late()) return no_placing();
  std::vector<Stretch> parts = split(problem);
  if (parts.size() != 1) return Stretches(problem, std::move(parts), enough, control).run();
  Caps caps(problem.buffers, enough, {0, enough}, control);
  caps.run();
  Placing placing{.places = {}, .cut_short = caps.was_cut()};
  for (const Bytes offset : caps.offsets()) placing.places.push_back({.offset = offset});
  return placing;
}

}  // namespace stowage::pack
