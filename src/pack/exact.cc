// Place everything below a height, or prove that it is impossible. The problem splits into regions
// (model.cc). Each region has its own searches for the least height (least_height.cc), all of them branch and
// bound (section_search.cc). The highest region decides the peak, so it gets the next round; the others need not
// be lower than it.
//
//     height ^            +--+
//            |  +--+      |  |        the second region is worked on until it is as low
//            |  |  |+----+|  |        as the first, or cannot be
//            |  |  ||    ||  |
//            +--+--++----++--+--> regions
//
// If the first round does not reach the bound, the bound itself may be too low: bounds.cc searches for a
// higher one that the checker can verify. Only `auto` learns of optimality beyond that bound (it stops).
// Plans do not claim it, since an exhausted search leaves no evidence to check.
//
// Cost: as much work as the time limit allows. Memory: a table of pairs that meet, which limits the size.

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/text.h"
#include "pack/bounds.h"
#include "pack/least_height.h"
#include "pack/model.h"
#include "pack/strategies.h"

namespace stowage::pack {
namespace {

/// Pairs of pieces that meet, and sections times pieces: the tables of the searches grow too large beyond
/// these.
constexpr std::size_t most_pairs = std::size_t{1} << 20U;
constexpr std::size_t most_entries = std::size_t{1} << 21U;
/// The same limit where buffers have gaps, pins or mixed alignments: each node then costs O(items).
constexpr std::size_t most_entries_with_holes = std::size_t{1} << 16U;

constexpr std::int64_t rounds_before_doubt = 1;
constexpr std::int64_t most_rounds = std::numeric_limits<std::int64_t>::max();

/// The size of the tables of the whole problem.
struct Extent {
  std::size_t pairs = 0;    ///< Of pieces that are alive together.
  std::size_t entries = 0;  ///< Sections (see model.cc) per piece, summed.
};

/// Counts without a model, which would take longer to make.
Extent extent_of(std::span<const Buffer> buffers) {
  std::vector<Position> starts;
  std::vector<Position> ends;
  for (const Buffer& buffer : buffers) {
    for (const Piece& piece : buffer.pieces) {
      if (!piece.is_ever_alive()) continue;
      starts.push_back(piece.life.lower);
      ends.push_back(piece.life.upper);
    }
  }
  std::sort(starts.begin(), starts.end());
  std::sort(ends.begin(), ends.end());
  Extent extent;
  std::size_t section = 0;
  std::size_t alive = 0;
  bool has_new = false;
  for (std::size_t started = 0, ended = 0; ended < ends.size();) {
    if (started < starts.size() && starts[started] < ends[ended]) {
      extent.pairs += alive++;
      extent.entries -= section;  // it gets more back when it ends
      has_new = true;
      ++started;
    } else {
      if (has_new) ++section;
      has_new = false;
      --alive;
      extent.entries += section;
      ++ended;
    }
  }
  return extent;
}

/// Whether the model is certainly simple: see SectionModel::is_simple. Returns false in some cases that are
/// simple, such as pieces that are never alive or that rounding up makes whole.
bool is_simple(std::span<const Buffer> buffers) {
  Bytes sizes = 0;
  std::set<Bytes> alignments;
  for (const Buffer& buffer : buffers) {
    if (life_of(buffer) == Lifetime{}) continue;
    const bool is_whole = buffer.pieces.size() == 1 && buffer.pieces[0].size == buffer.size;
    if (!is_whole || buffer.pinned) return false;
    sizes = std::gcd(sizes, buffer.size);
    alignments.insert(buffer.alignment);
  }
  return alignments.size() <= 1 || std::all_of(alignments.begin(), alignments.end(),
                                               [&](Bytes alignment) { return sizes % alignment == 0; });
}

/// All regions, each with its search. The highest gets the next round, since it alone decides the peak.
class Searches {
 public:
  Searches(const std::vector<Subproblem>& regions, Bytes enough, const Control& control)
      : regions_(regions), enough_(enough), control_(control) {
    const Stop stop = [&] { return control.is_too_late(); };
    for (std::size_t r = 0; r < regions.size() && !stop(); ++r) {
      tables_.push_back(std::make_unique<Tables>(regions[r].model, stop));
      control.spend(tables_.back()->work);
      searches_.emplace_back(*tables_[r], std::max(enough - regions[r].base, regions[r].model.bound()),
                             control);
    }
  }

  void run(std::int64_t rounds) {
    for (std::int64_t round = 0; round < rounds && !is_least() && !control_.is_time_up(); ++round) {
      const std::size_t r = highest();
      searches_[r].ask_for_no_less_than(enough_ - regions_[r].base);
      if (!searches_[r].advance()) break;
      enough_ = std::max(enough_, regions_[r].base + searches_[r].low());
    }
  }

  void ask_for_no_less_than(Bytes enough) { enough_ = std::max(enough_, enough); }

  /// Whether no lower peak is possible.
  [[nodiscard]] bool is_least() const { return peak() <= enough_; }
  [[nodiscard]] Bytes peak() const { return regions_.empty() ? 0 : top(highest()); }
  [[nodiscard]] const std::vector<Bytes>& offsets(std::size_t r) const { return searches_[r].offsets(); }

 private:
  [[nodiscard]] Bytes top(std::size_t r) const { return regions_[r].base + searches_[r].height(); }
  [[nodiscard]] std::size_t highest() const {
    std::size_t highest = 0;
    for (std::size_t r = 1; r < regions_.size(); ++r) {
      if (top(r) > top(highest)) highest = r;
    }
    return highest;
  }

  const std::vector<Subproblem>& regions_;
  Bytes enough_;  ///< A lower bound for the peak of every placing.
  const Control& control_;
  std::vector<std::unique_ptr<Tables>> tables_;
  std::vector<LeastHeight> searches_;
};

}  // namespace

Placing exact(const Problem& problem, const Control& control) {
  control.report("exact", 0);
  if (control.is_too_late()) return no_placing();
  std::vector<Bytes> offsets;
  offsets.reserve(problem.buffers.size());
  for (const Buffer& buffer : problem.buffers) offsets.push_back(buffer.pinned.value_or(0));
  const Stop stop = [&] { return control.is_too_late(); };
  SectionModel model = model_of(problem.buffers);
  if (stop()) return no_placing();
  const Bytes unit = model.unit;
  const std::vector<Subproblem> regions = regions_of(std::move(model), offsets, stop);
  const Bytes bound = lower_bound_of(problem.buffers);
  Searches searches(regions, bound / unit, control);
  if (stop()) return no_placing();  // the tables may be incomplete
  searches.run(rounds_before_doubt);
  Placing placing{std::vector<Place>(problem.buffers.size())};
  placing.lower_bound = bound;
  if (searches.peak() * unit > bound) {
    Certificate certificate = certify(problem, bound, searches.peak() * unit, control);
    searches.ask_for_no_less_than(certificate.bound / unit);
    placing.lower_bound = certificate.bound;
    placing.certificate = std::move(certificate.positions);
    searches.run(most_rounds);
  }
  for (std::size_t r = 0; r < regions.size(); ++r) {
    const std::vector<Bytes>& found = searches.offsets(r);
    for (std::size_t i = 0; i < found.size(); ++i)
      offsets[regions[r].model.items[i].buffer] = (regions[r].base + found[i]) * unit;
  }
  for (std::size_t b = 0; b < offsets.size(); ++b) placing.places[b].offset = offsets[b];
  placing.is_least = searches.is_least();
  placing.cut_short = !placing.is_least && control.is_time_up();
  return placing;
}

std::optional<std::string> obstacle_to_exact(const Problem& problem) {
  if (auto obstacle = several_memories(problem)) return obstacle;
  const Extent extent = extent_of(problem.buffers);
  const std::size_t entries = is_simple(problem.buffers) ? most_entries : most_entries_with_holes;
  if (extent.pairs <= most_pairs && extent.entries <= entries) return std::nullopt;
  return base::concat("takes up to ", most_pairs, " pairs of buffers that are alive at once, there are ",
                      extent.pairs);
}

}  // namespace stowage::pack
