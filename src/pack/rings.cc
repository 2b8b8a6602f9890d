// A network by rows makes runs of equal buffers that come and go in turn: the rows of one tensor. Placed
// row by row, a run is torn apart, and large buffers find no room between its rows. So each run moves as one: it
// is a ring of as many slots as the run has buffers alive at once, and buffer i lies in slot i modulo that.
//
//     address ^  slot 2    +--c--+     +--f--+        a to f: a run with three alive at once
//             |  slot 1  +--b--+     +--e--+
//             |  slot 0 +--a--+    +--d--+
//             +----------------------------------> time
//
// A ring reserves a slot only while a buffer is in it, so that another ring can follow through the slots that
// become free. There are dozens of times fewer rings than buffers. A squeaky wheel (squeaky_wheel.cc) places
// them in many orders; then every buffer takes the offset of its slot.
//
// On encoders this is often within half a percent of max load, where strategies that place every row alone
// are a quarter above it. On convolutions it is higher than these: their rows fit each other only if they
// are free.
//
// Cost: linear for the rings, then that of the squeaky wheel for them. Memory: linear.
// Source: ours.

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "pack/bounds.h"
#include "pack/container.h"
#include "pack/squeaky_wheel.h"
#include "pack/strategies.h"

namespace stowage::pack {
namespace {

constexpr std::size_t fewer = 2;  ///< It suits problems with so many times fewer rings than buffers.

/// Buffers [first, end) of a problem: one, or a run.
struct Run {
  std::size_t first = 0;
  std::size_t end = 0;
  std::size_t slots = 1;  ///< The most of them that are alive at once.
};

/// Whether b can follow a in a run.
bool follows(const Buffer& b, const Buffer& a) {
  const auto is_whole = [](const Buffer& it) {
    return it.pieces.size() == 1 && it.pieces[0].size == it.size && it.pieces[0].is_ever_alive() &&
           !it.pinned;
  };
  if (!is_whole(a) || !is_whole(b) || a.size != b.size || a.alignment != b.alignment) return false;
  const Lifetime& one = a.pieces[0].life;
  const Lifetime& next = b.pieces[0].life;
  return one.lower <= next.lower && one.upper <= next.upper;
}

std::size_t slots_of(std::span<const Buffer> run) {
  std::size_t slots = 1;
  for (std::size_t b = 0, oldest = 0; b < run.size(); ++b) {
    while (run[oldest].pieces[0].life.upper <= run[b].pieces[0].life.lower) ++oldest;
    slots = std::max(slots, b + 1 - oldest);
  }
  return slots;
}

std::vector<Run> runs_of(std::span<const Buffer> buffers) {
  std::vector<Run> runs;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    if (b > 0 && follows(buffers[b], buffers[b - 1]))
      runs.back().end = b + 1;
    else
      runs.push_back({b, b + 1});
  }
  for (Run& run : runs) {
    const std::size_t length = run.end - run.first;
    if (length > 1) run.slots = slots_of(buffers.subspan(run.first, length));
  }
  return runs;
}

/// A problem whose buffers are rings. Its sizes do not overflow: at most all buffers of a run are alive at once.
class Rings {
 public:
  explicit Rings(const Problem& problem) : buffers_(problem.buffers), runs_(runs_of(problem.buffers)) {
    problem_.memories = problem.memories;
    for (const Run& run : runs_)
      problem_.buffers.push_back(run.end - run.first > 1 ? ring_of(run) : buffers_[run.first]);
  }

  [[nodiscard]] const Problem& problem() const { return problem_; }

  /// Of all buffers, from those of the rings.
  [[nodiscard]] std::vector<Place> unrolled(std::span<const Place> places) const {
    std::vector<Place> all;
    all.reserve(buffers_.size());
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      for (std::size_t b = runs_[r].first; b < runs_[r].end; ++b)
        all.push_back({places[r].memory, places[r].offset + offset_in(runs_[r], b)});
    }
    return all;
  }

 private:
  [[nodiscard]] Bytes offset_in(const Run& run, std::size_t b) const {
    const Bytes stride = base::align_up(buffers_[b].size, buffers_[b].alignment);
    return static_cast<Bytes>((b - run.first) % run.slots) * stride;
  }

  [[nodiscard]] Buffer ring_of(const Run& run) const {
    Buffer ring = buffers_[run.first];
    ring.pieces.clear();
    for (std::size_t b = run.first; b < run.end; ++b) {
      ring.pieces.push_back({offset_in(run, b), buffers_[b].size, buffers_[b].pieces[0].life});
      ring.size = std::max(ring.size, ring.pieces.back().offset + buffers_[b].size);
    }
    return ring;
  }

  std::span<const Buffer> buffers_;
  std::vector<Run> runs_;
  Problem problem_{};
};

}  // namespace

Placing rings(const Problem& problem, const Control& control) {
  control.report("rings", 0);
  if (control.is_too_late()) return no_placing();
  const Rings made(problem);
  const Neighbours neighbours(made.problem().buffers);
  control.spend(neighbours.work());
  if (control.is_too_late()) return no_placing();
  Control own = control;
  own.known = {};
  own.neighbours = &neighbours;
  const Bytes bound = lower_bound_of(made.problem().buffers);
  const std::vector<Place> found = squeaky_wheel(made.problem(), neighbours, bound, own);
  const bool is_missing = found.empty() && !problem.buffers.empty();
  if (is_missing) return {.places = {}, .cut_short = !control.is_beaten(bound)};
  return {.places = made.unrolled(found), .cut_short = control.is_time_up()};
}

bool has_runs(const Problem& problem) {
  const std::vector<Buffer>& buffers = problem.buffers;
  std::size_t runs = 0;
  for (std::size_t b = 0; b < buffers.size(); ++b)
    runs += b == 0 || !follows(buffers[b], buffers[b - 1]) ? 1 : 0;
  return fewer * runs <= buffers.size();
}

}  // namespace stowage::pack
