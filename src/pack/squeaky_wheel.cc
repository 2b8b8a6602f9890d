// A network by rows makes thousands of small buffers that come and go in turn, some for three steps, some
// for a thousand. Those that live long go first; in a class of about equal lives the order is that of time, so
// that rows which follow each other lie one behind the other:
//
//     address ^  +-------------+-------------+     long lives, from the fullest position to both sides
//             |  +--+--+--+--+--+--+--+--+--+      then shorter ones: each in the tightest gap
//             |  ++++ ++++  ++++ ++++ ++++ ++      then the shortest
//             +-----------^----------------------> time
//                    fullest position
//
// A pass takes as long as a greedy one and is often the lowest of all. What still ends near the top squeaks: in
// the next pass it counts as longer-lived by a class, so that it is placed earlier. Passes go on until nothing
// gets lower for long. Then they begin anew with narrower classes: which of them keep the large buffers of an
// encoder apart from its rows depends on where classes end.
//
// Few buffers squeak in a pass: those above a cap just below the lowest peak so far. Then passes are alike, and
// what was learnt stays true.
//
// Cost: a sort and a greedy pass each time. Source: ours, after squeaky wheel optimization (Joslin & Clements,
// 1999).

#include "pack/squeaky_wheel.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include "pack/bounds.h"

namespace stowage::pack {
namespace {

/// Lives of a class differ by less than this factor.
constexpr std::array<double, 2> widths{1.5, 1.25};
constexpr int patience = 30;                      ///< Passes of one width in vain.
constexpr std::int64_t work_to_sort_class = 150;  ///< To sort it, in the units of deadlines, about.
constexpr Bytes part_that_squeaks = 50;           ///< The cap is so much of the gap below the lowest peak.

class SqueakyWheel {
 public:
  SqueakyWheel(const Problem& problem, const Neighbours& neighbours, Bytes enough, const Control& control)
      : buffers_(problem.buffers),
        neighbours_(neighbours),
        enough_(enough),
        control_(control),
        fullest_(fullest(buffers_).at) {
    lives_.reserve(buffers_.size());
    for (const Buffer& buffer : buffers_) lives_.push_back(life_of(buffer));
  }

  std::vector<Place> run() {
    for (const double width : widths) {
      if (!run(width)) break;
    }
    std::vector<Place> places;
    for (const Bytes offset : best_) places.push_back({.offset = offset});
    return places;
  }

 private:
  /// False if nothing lower is possible or useful, or if time is up.
  bool run(double width) {
    sort_into_classes(width);
    const std::int64_t more = control_.rounds.value_or(std::numeric_limits<std::int64_t>::max());
    int in_vain = 0;
    for (std::int64_t pass = 0; pass <= more && in_vain < patience; ++pass, ++in_vain) {
      if (!place()) return false;
      if (best_.empty() || peak_ < best_peak_) {
        best_ = offsets_;
        best_peak_ = peak_;
        in_vain = -1;
      }
      if (best_peak_ <= enough_) return false;
      raise_what_squeaks();
    }
    return true;
  }

  void sort_into_classes(double width) {
    classes_.assign(buffers_.size(), 0);
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      const auto duration = static_cast<double>(lives_[b].upper - lives_[b].lower);
      for (double end = width; end <= duration; end *= width) ++classes_[b];
    }
  }

  /// The longest lives first. In a class: what is alive at the fullest position, what comes after it, before it.
  [[nodiscard]] std::vector<std::size_t> order() const {
    using Key = std::tuple<int, int, Position, Bytes, std::size_t>;
    std::vector<Key> keys;
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      const Lifetime& life = lives_[b];
      if (life.lower == life.upper || buffers_[b].pinned) continue;
      const int side = life.lower > fullest_ ? 1 : life.upper <= fullest_ ? 2 : 0;
      keys.emplace_back(-classes_[b], side, side == 2 ? -life.upper : life.lower, -buffers_[b].size, b);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<std::size_t> order;
    for (const Key& key : keys) order.push_back(std::get<4>(key));
    return order;
  }

  /// False if the time is up.
  bool place() {
    control_.spend(work_to_sort_class * std::ssize(buffers_));
    Container container(buffers_, &neighbours_);
    peak_ = 0;
    for (const Buffer& buffer : buffers_) {
      if (buffer.pinned) peak_ = std::max(peak_, *buffer.pinned + buffer.size);
    }
    std::size_t done = 0;
    for (const std::size_t b : order()) {
      if (done++ % buffers_between_looks == 0) {
        control_.spend(container.take_work());
        if (has_to_end()) return false;
      }
      peak_ = std::max(peak_, container.put_tightest(b));
    }
    control_.spend(container.take_work());
    offsets_ = container.offsets();
    return true;
  }

  /// The first pass is worth more than the deadline, unless there is a fallback plan.
  [[nodiscard]] bool has_to_end() const {
    if (control_.is_beaten(enough_)) return true;
    return best_.empty() ? control_.is_too_late() : control_.is_time_up();
  }

  void raise_what_squeaks() {
    const Bytes cap = best_peak_ - (best_peak_ - enough_) / part_that_squeaks - 1;
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      if (offsets_[b] + buffers_[b].size > cap) ++classes_[b];
    }
  }

  std::span<const Buffer> buffers_;
  const Neighbours& neighbours_;
  const Bytes enough_;
  const Control& control_;
  const Position fullest_;  ///< Where the most bytes are live.
  std::vector<Lifetime> lives_;
  std::vector<int> classes_;    ///< Of each buffer; higher ones are placed first.
  std::vector<Bytes> offsets_;  ///< Of the last pass.
  Bytes peak_ = 0;
  std::vector<Bytes> best_;
  Bytes best_peak_ = 0;
};

}  // namespace

std::vector<Place> squeaky_wheel(const Problem& problem, const Neighbours& neighbours, Bytes enough,
                                 const Control& control) {
  return SqueakyWheel(problem, neighbours, enough, control).run();
}

}  // namespace stowage::pack
