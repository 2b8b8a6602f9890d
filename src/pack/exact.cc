// Idea. Place everything below a height, or prove that it is impossible. The problem splits into regions
// (model.cc). Each region has its own searches for the least height (LeastHeight, below): branch and bound
// (section_search.cc) and ejection (ejection_search.cc). The highest region decides the peak, so it gets the
// next round; the others need not be lower than it.
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

#include "pack/exact.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "pack/bounds.h"
#include "pack/ejection_search.h"
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
  return fmt::format("takes up to {} pairs of buffers that are alive at once, there are {}", most_pairs,
                     extent.pairs);
}

// Idea. Problems differ in which search solves them, and chance decides when. So exact runs many short,
// numbered searches: dives of the branch and bound in several orders of items and sections, each with its own
// random numbers, and ejection searches. The number alone decides what a search does and how long. Even dives
// branch at the last failure; long dives are all odd:
//
//     number       0        1        2         3        4      ...  8
//     search    largest  longest  ejection  longest  longest   ...  largest
//
// Where alignments differ, half of the dives try the coarsest alignment first.
//
// Each thread takes the next number; the lowest number with an answer wins. So the number of threads decides
// how soon the plan is found, not which.
//
// Heights are tried in rounds. A round first tries the bound and then halves the range between it and the
// lowest known placing, with a small part of the searches each. The next round has twice as many searches.
// The first round has sixteen, since halving takes a dozen heights and most problems need only the bound.
// When hundreds of searches have not reached the bound, the other heights get a larger part. A `no` of the
// branch and bound is proven and raises the bound permanently.
//
//     bound |--?-------------?-------?---!-----------| first fit
//              1             2       4   3 (found)
//
// Work is counted in nodes and steps, so the clock decides only how far the search gets.

namespace {

constexpr std::int64_t nodes_of_a_dive = 2000;
constexpr std::int64_t steps_of_ejection = 500;
constexpr std::uint64_t one_in = 16;  ///< One of so many searches is an ejection; one of so many dives is
constexpr std::int64_t longer = 4;    ///< so many times as long, and one of so many of these is longer again.
constexpr std::int64_t most_doublings = 17;
constexpr std::int64_t doublings_before = 4;  ///< Doublings of one search in the first round.
constexpr std::uint64_t less_elsewhere = 32;  ///< Heights above the bound get so many times fewer searches;
constexpr std::int64_t patient_rounds = 5;    ///< if the bound is not reached in so many rounds, only
constexpr std::uint64_t less_later = 8;       ///< so many times.
constexpr Bytes finest = 2000;                ///< Heights closer than one part in so many count as equal.

/// Places items in an order of keys, each as low as it goes. The result is incomplete if cancelled.
template <typename Before>
std::vector<Bytes> first_fit(const Tables& tables, const Stop& stop, Before before) {
  const std::vector<Item>& items = tables.model.items;
  std::vector<Bytes> offsets(items.size(), 0);
  std::vector<char> is_placed(items.size(), 0);
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    if (!items[i].pin) order.push_back(i);
    if (!items[i].pin) continue;
    offsets[i] = *items[i].pin;
    is_placed[i] = 1;
  }
  std::stable_sort(order.begin(), order.end(), before);
  std::vector<std::pair<Bytes, Bytes>> taken;
  for (const std::uint32_t i : order) {
    if (stop()) break;
    taken.clear();
    for (const ForbiddenOffsets& clash : tables.clashes[i]) {
      if (is_placed[clash.other] != 0)
        taken.emplace_back(offsets[clash.other] + clash.low, offsets[clash.other] + clash.high);
    }
    std::sort(taken.begin(), taken.end());
    for (const auto& [low, high] : taken) {
      if (low >= offsets[i]) break;
      if (high > offsets[i]) offsets[i] = base::align_up(high, items[i].alignment);
    }
    is_placed[i] = 1;
  }
  return offsets;
}

/// The length of the search with that number, as a multiple of the shortest of its kind.
std::int64_t length_of(std::uint64_t number) {
  std::int64_t length = 1;
  for (std::uint64_t n = number + 1; n % one_in == 0; n /= one_in) length *= longer;
  return length;
}

/// Runs the search with that number. Small problems get long dives, which may exhaust them.
Found search(const Tables& tables, Bytes height, std::uint64_t number, std::uint64_t seed, const Stop& stop) {
  const std::uint64_t own_seed = seed * 0x9e3779b97f4a7c15U + number;
  if (number % one_in == 2) {
    const std::int64_t steps = steps_of_ejection * length_of(number / one_in);
    return search_by_ejection(tables, height, {own_seed, steps}, stop);
  }
  auto values = number % 8 == 0 ? ValueOrder::largest_first : ValueOrder::longest_first;
  if (tables.has_alignments && number % 4 % 3 != 0) values = ValueOrder::coarsest_first;
  const auto sections = number % 2 == 0 ? SectionOrder::last_failure : SectionOrder::fewest_choices;
  const auto items = static_cast<std::int64_t>(tables.model.items.size());
  const std::int64_t nodes = std::max(nodes_of_a_dive, 1000 * nodes_of_a_dive / (items * items));
  return search_sections(tables, height, {values, sections, own_seed, nodes * length_of(number)}, stop);
}

/// Runs the searches [begin, end) for one height, on all threads.
class Batch {
 public:
  Batch(const Tables& tables, Bytes height, const Control& control)
      : tables_(tables), height_(height), control_(control) {}

  Found run(std::uint64_t begin, std::uint64_t end) {
    next_ = begin;
    const std::size_t threads = threads_of(control_.options);
    {
      std::vector<std::jthread> helpers;
      for (std::size_t t = 1; t < std::min<std::uint64_t>(threads, end - begin); ++t)
        helpers.emplace_back([this, end] { work(end); });
      work(end);
    }
    if (error_) std::rethrow_exception(error_);
    return std::move(best_);
  }

 private:
  void work(std::uint64_t end) {
    try {
      for (std::uint64_t number = next_++; number < end && number < decided_by_ && !control_.is_time_up();
           number = next_++) {
        const Stop stop = [&] { return decided_by_ < number || control_.is_time_up(); };
        put(search(tables_, height_, number, control_.options.seed, stop), number);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
      decided_by_ = 0;
    }
  }

  void put(Found found, std::uint64_t number) {
    if (found.answer == Answer::unknown) return;
    const std::lock_guard lock(mutex_);
    if (decided_by_ < number) return;
    decided_by_ = number;
    best_ = std::move(found);
  }

  const Tables& tables_;
  const Bytes height_;
  const Control& control_;
  std::atomic<std::uint64_t> next_ = 0;
  std::atomic<std::uint64_t> decided_by_ = ~std::uint64_t{0};
  std::mutex mutex_;
  Found best_;
  std::exception_ptr error_;
};

}  // namespace

LeastHeight::LeastHeight(const Tables& tables, Bytes enough, const Control& control)
    : tables_(tables), control_(control), low_(enough) {
  const std::vector<Item>& items = tables_.model.items;
  const Stop stop = [&] { return control_.is_too_late(); };
  keep(first_fit(tables_, stop, [&](auto a, auto b) { return items[a].size > items[b].size; }));
  const auto area = [&](auto i) {
    return static_cast<double>(items[i].size) * static_cast<double>(tables_.widths[i]);
  };
  if (low_ < height_) keep(first_fit(tables_, stop, [&](auto a, auto b) { return area(a) > area(b); }));
}

void LeastHeight::keep(std::vector<Bytes> offsets) {
  Bytes height = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i)
    height = std::max(height, offsets[i] + tables_.model.items[i].size);
  if (!offsets_.empty() && height >= height_) return;
  offsets_ = std::move(offsets);
  height_ = height;
}

bool LeastHeight::advance() {
  const std::int64_t last_round = most_doublings - doublings_before;
  const std::int64_t rounds = std::min(control_.options.rounds.value_or(last_round), last_round);
  if (round_ > rounds) return false;
  halve(std::uint64_t{1} << (doublings_before + round_));
  ++round_;
  return true;
}

/// Tries heights between the bound and the best.
void LeastHeight::halve(std::uint64_t searches) {
  Bytes height = low_;
  Bytes unknown = low_;  // nothing was found below it
  while (height < height_ && !control_.is_time_up()) {
    const std::uint64_t fewer = round_ < patient_rounds ? less_elsewhere : less_later;
    const std::uint64_t count = height == low_ ? searches : std::max<std::uint64_t>(1, searches / fewer);
    Found found = Batch(tables_, height, control_).run(asked_, asked_ + count);
    if (found.answer == Answer::yes) {
      keep(std::move(found.offsets));
    } else {
      unknown = height + 1;
      if (found.answer == Answer::no) low_ = height + 1;
    }
    if (control_.options.rounds == 0) break;
    const Bytes fine = unknown == low_ ? 0 : low_ / finest;
    if (height_ - unknown <= fine) break;
    height = unknown + (height_ - unknown) / 2;
    control_.report("exact", 0);
  }
  asked_ += searches;
}

}  // namespace stowage::pack
