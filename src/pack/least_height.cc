// Problems differ in which search solves them, and chance decides when. So exact runs many short,
// numbered searches: dives of the branch and bound in several orders of items and sections, each with its own
// random numbers. The number alone decides what a search does and how long. Even dives branch at the last
// failure. Now and then one is longer, since only a search that is exhausted proves a height impossible:
//
//     number       0        1        2        3        4      ...  8
//     first     largest  longest  longest  longest  longest   ...  largest
//
// Where alignments differ, half of the dives try the coarsest alignment first.
//
// A dive places single items, stacks of them, chains of stacks, or chains of like sizes, which differ by up to a
// quarter (groups.cc). Groups are fewer, but prove nothing. Each kind is the best for some lists, so each success
// gives its kind a larger share (dive_kinds.h). Chance draws other chains for every eight dives. The longer dives
// place single items, and all do where items have several parts.
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
// The length of a search is counted in nodes, so the clock decides only how far the search gets. With an effort, the
// work of a node is that of the nodes so far.

#include "pack/least_height.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/side_by_side.h"
#include "pack/model.h"
#include "pack/section_search.h"

namespace stowage::pack {
namespace {

constexpr std::int64_t nodes_of_a_dive = 2000;
constexpr std::int64_t nodes_for_an_item = 4;  ///< At least; a dive without a failure needs one.
constexpr std::uint64_t one_in = 16;           ///< One of so many dives is
constexpr std::int64_t longer = 4;             ///< so many times as long, one of so many of these again.
constexpr std::uint64_t dives_of_a_draw = 8;   ///< Of chains.
constexpr double tolerance = 0.25;             ///< Of like sizes.
constexpr std::size_t many_items = 500;        ///< With more, all dives branch at the last failure.
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

/// Nodes of the dive with that number, at most. Those of small problems are longer.
std::int64_t length_of(const Tables& tables, std::uint64_t number) {
  const auto items = static_cast<std::int64_t>(tables.model.items.size());
  std::int64_t length =
      std::max({nodes_of_a_dive, nodes_for_an_item * items, 1000 * nodes_of_a_dive / (items * items)});
  for (std::uint64_t n = number + 1; n % one_in == 0; n /= one_in) length *= longer;
  return length;
}

/// Runs the search with that number, for at most `length` nodes.
Found search(const Tables& tables, Bytes height, std::uint64_t number, std::int64_t length,
             std::uint64_t seed, const Stop& stop) {
  const std::uint64_t own_seed = seed * 0x9e3779b97f4a7c15U + number;
  auto values = number % 8 == 0 ? ValueOrder::largest_first : ValueOrder::longest_first;
  if (tables.has_alignments && number % 4 % 3 != 0) values = ValueOrder::coarsest_first;
  const bool has_many = tables.model.items.size() > many_items;
  const auto sections =
      number % 2 == 0 || has_many ? SectionOrder::last_failure : SectionOrder::fewest_choices;
  return search_sections(tables, height, {values, sections, own_seed, length}, stop);
}

/// The models that dives search, and what each dive places.
struct Models {
  const Tables& items;
  const GroupedTables* stacks;  ///< None if no items can be stacked.
  const DiveKinds& kinds;

  /// The longer dives place single items.
  [[nodiscard]] DiveKind kind_of(std::uint64_t number) const {
    return (number + 1) % one_in == 0 ? DiveKind::items : kinds.kind_of(number);
  }
};

/// Runs the searches [begin, end) for one height, on all threads.
class Batch {
 public:
  /// `node` is the work that a node is expected to take.
  Batch(const Models& models, Bytes height, double node, const Control& control)
      : models_(models), tables_(models.items), height_(height), node_(node), control_(control) {}

  /// The answer of the lowest number that has one.
  Found run(std::size_t begin, std::size_t end) {
    if (control_.deadline.counts_work()) end = end_of_work(begin, end);
    works_.assign(end - begin, 0);
    const std::size_t threads = threads_of(control_.options);
    std::vector<ChainsOfAThread> chains(threads);
    base::run_side_by_side(begin, end, threads, [&](std::size_t number, std::size_t thread) {
      if (number >= decided_by_ || control_.is_time_up()) return false;
      const Stop stop = [&] { return decided_by_ < number || control_.is_time_up(); };
      Found found = run_search(number, chains[thread], stop);
      works_[number - begin] = found.work;
      put(std::move(found), number);
      return true;
    });
    if (control_.deadline.counts_work()) count_work(begin, end);
    return std::move(best_);
  }

  /// The work of its searches, where work is counted, and the nodes that they could have taken.
  [[nodiscard]] std::int64_t work() const { return work_; }
  [[nodiscard]] std::int64_t nodes() const { return nodes_; }

  /// Of the search that answered.
  [[nodiscard]] DiveKind kind_of_answer() const { return models_.kind_of(decided_by_); }

 private:
  /// A draw of chains, which lasts for several dives.
  struct Chains {
    std::uint64_t draw = 0;
    std::unique_ptr<GroupedTables> tables{};
  };
  struct ChainsOfAThread {
    Chains equal{};
    Chains like{};
  };

  [[nodiscard]] Found run_search(std::size_t number, ChainsOfAThread& chains, const Stop& stop) const {
    const GroupedTables* grouped = grouped_for(number, chains, stop);
    if (stop()) return {};  // the tables may be incomplete
    Found found = search(grouped == nullptr ? tables_ : grouped->tables(), height_, number,
                         length_within_work(number), control_.options.seed, stop);
    if (grouped == nullptr) return found;
    if (grouped != models_.stacks)  // the dives of a draw share its tables
      found.work += grouped->tables().work / static_cast<std::int64_t>(dives_of_a_draw);
    if (found.answer == Answer::yes) found.offsets = grouped->groups().offsets_of_members(found.offsets);
    if (found.answer == Answer::no) found.answer = Answer::unknown;  // single items may still fit
    return found;
  }

  /// The groups for the search with that number; none if it places single items.
  [[nodiscard]] const GroupedTables* grouped_for(std::size_t number, ChainsOfAThread& known,
                                                 const Stop& stop) const {
    const DiveKind kind = models_.kind_of(number);
    if (kind == DiveKind::stacks) return models_.stacks;
    if (kind == DiveKind::items) return nullptr;
    Chains& chains = kind == DiveKind::chains ? known.equal : known.like;
    const std::uint64_t draw = number / dives_of_a_draw;
    if (!chains.tables || chains.draw != draw) {
      const std::uint64_t seed = (control_.options.seed + 1) * 0x9e3779b97f4a7c15U + draw;
      const double unlike = kind == DiveKind::chains ? 0 : tolerance;
      chains = {draw, std::make_unique<GroupedTables>(chains_of(tables_.model, seed, unlike), stop)};
    }
    return chains.tables.get();
  }

  /// The number up to which the work that is left allows searches. The last one may be shorter than it would be.
  [[nodiscard]] std::size_t end_of_work(std::size_t begin, std::size_t end) {
    double nodes = control_.deadline.left().count() * 1e9 / node_;
    for (std::size_t number = begin; number < end; ++number) {
      const auto length = static_cast<double>(length_of(tables_, number));
      if (length > nodes) {
        cut_ = number;
        length_of_cut_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(nodes));
        return number + 1;
      }
      nodes -= length;
    }
    return end;
  }

  [[nodiscard]] std::int64_t length_within_work(std::size_t number) const {
    return number == cut_ ? length_of_cut_ : length_of(tables_, number);
  }

  /// Searches behind the answer do not count, though they may have run on other threads.
  void count_work(std::size_t begin, std::size_t end) {
    for (std::size_t number = begin; number < end && number <= decided_by_; ++number) {
      nodes_ += length_within_work(number);
      work_ += works_[number - begin];
    }
    control_.spend(work_);
  }

  void put(Found found, std::size_t number) {
    if (found.answer == Answer::unknown) return;
    const std::lock_guard lock(mutex_);
    if (decided_by_ < number) return;
    decided_by_ = number;
    best_ = std::move(found);
  }

  const Models& models_;
  const Tables& tables_;  ///< Of single items; the lengths of all dives are counted by it.
  const Bytes height_;
  const double node_;
  const Control& control_;
  std::vector<std::int64_t> works_{};  ///< Of each search.
  std::int64_t work_ = 0;
  std::int64_t nodes_ = 0;
  std::optional<std::size_t> cut_{};  ///< The search for which too little work is left.
  std::int64_t length_of_cut_ = 0;
  std::atomic<std::size_t> decided_by_ = ~std::size_t{0};
  std::mutex mutex_;
  Found best_;
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
  if (low_ >= height_ || control.known.empty()) return;
  // Items in every section lie at the bottom (model.cc). The others, lowest first, are no higher than they were.
  const auto offset = [&](auto i) { return control.known[items[i].buffer].offset; };
  keep(first_fit(tables_, stop, [&](auto a, auto b) { return offset(a) < offset(b); }));
}

void LeastHeight::keep(std::vector<Bytes> offsets) {
  Bytes height = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i)
    height = std::max(height, offsets[i] + tables_.model.items[i].size);
  if (!offsets_.empty() && height >= height_) return;
  offsets_ = std::move(offsets);
  height_ = height;
}

/// None where items have several parts: groups of the others seldom fit between these.
void LeastHeight::make_groups() {
  const auto is_whole = [](const Item& item) { return item.parts.size() == 1; };
  if (!std::ranges::all_of(tables_.model.items, is_whole)) return;
  const auto is_fewer = [&](const Groups& groups) {
    return groups.model.items.size() < tables_.model.items.size();
  };
  const bool has_chains = is_fewer(chains_of(tables_.model, 0));
  Groups stacks = stacks_of(tables_.model);
  const Stop stop = [&] { return control_.is_too_late(); };
  if (is_fewer(stacks)) stacks_ = std::make_unique<GroupedTables>(std::move(stacks), stop);
  if (stop()) stacks_.reset();
  kinds_ = DiveKinds(stacks_ != nullptr, has_chains);
}

bool LeastHeight::advance() {
  const std::int64_t last_round = most_doublings - doublings_before;
  const std::int64_t rounds = std::min(control_.rounds.value_or(last_round), last_round);
  if (round_ > rounds) return false;
  if (round_ == 0) make_groups();
  halve(std::uint64_t{1} << (doublings_before + round_));
  ++round_;
  return true;
}

/// Tries heights between the bound and the best.
void LeastHeight::halve(std::uint64_t searches) {
  Bytes height = low_;
  Bytes unknown = low_;  // nothing was found below it
  const Models models{tables_, stacks_.get(), kinds_};
  while (height < height_ && !control_.is_time_up()) {
    const std::uint64_t fewer = round_ < patient_rounds ? less_elsewhere : less_later;
    const std::uint64_t count =
        height == low_ ? searches : std::max<std::uint64_t>(kinds_.count(), searches / fewer);
    const double node = nodes_ > 0 ? static_cast<double>(work_) / static_cast<double>(nodes_)
                                   : static_cast<double>(work_of_node(tables_));
    Batch batch(models, height, std::max(node, 1.0), control_);
    Found found = batch.run(static_cast<std::size_t>(asked_), static_cast<std::size_t>(asked_ + count));
    work_ += batch.work();
    nodes_ += batch.nodes();
    if (found.answer == Answer::yes) {
      kinds_.add_success(batch.kind_of_answer());
      keep(std::move(found.offsets));
    } else {
      unknown = height + 1;
      if (found.answer == Answer::no) low_ = height + 1;
    }
    if (control_.rounds == 0) break;
    const Bytes fine = unknown == low_ ? 0 : low_ / finest;
    if (height_ - unknown <= fine) break;
    height = unknown + (height_ - unknown) / 2;
    control_.report("exact", 0);
  }
  asked_ += searches;
}

}  // namespace stowage::pack
