// To decide whether everything fits below a height, fill memory from the bottom. Every section
// (model.cc) has a floor; everything below it is decided. What comes next in a section? Either one of the
// items that would rest exactly on its floor, or none of them, and some bytes above the floor are wasted. The
// choices are exhaustive and exclusive, so no placing is visited twice (except for holes that alignments
// leave, which may be filled before or after), and any section may be branched at.
//
//     height  ^...........................        sections 3 and 4 are a valley: in section 3 either
//             |        +--+                       x or y rests on the floor, or bytes are wasted
//     floors  |--+  +--+  |
//             |  +--+     +-----+
//             +--1--2--3--4--5--6--> sections
//
// The skyline (skyline.cc) maintains the floors; per item the lowest offset it could still have; per section
// the slack: height less floor less all items to come. Rules:
// - A floor rises to where the next item of the section may begin. The lost bytes reduce the slack; without
//   slack the branch fails. Most branches end this way.
// - Waste raises the floor to the least of: where an item begins that could not rest on it, and where one
//   that could would lie on another item, which must lie next to the section. That other item need not fit
//   into the slack.
// - Of equal items the first comes first.
// - Branch where the choices are fewest, in a valley (walls or edges on both sides: an item that rests there
//   leaves no hole below it), times a random factor in [1, 2]. The factor makes each dive different.
// - Or branch in the valley below the last section that lost too much. This finds the cause of a failure at
//   once, and not again and again below unrelated choices. Some problems are solved ten times as fast, some
//   not in the same time: half of the shortest dives do it.
// - Order of the choices: the longest, or the largest, first; or those that leave no hole, of these the
//   coarsest alignment first, which has the fewest places. Waste last.
// Why no placing is missed. If a placing exists, take one with the least sum of offsets. In it every item
// rests: one step of its alignment lower it would meet the ground or another item. The search never excludes
// it. The next item of a section either rests at its lowest remaining offset, and is a choice, or is higher,
// on an item not yet placed or on a block of the section. So a dive that answers no within its node limit has
// proven it.
//
// Pieces, alignment and pins need no special code. An item has an interval of bytes in each of its sections.
// If it leaves a hole below it, its bytes there are a block that hangs above the floor. The bytes of a pinned
// item are such blocks from the start.
//
// bench/journal.md shows the gain of the rules: without the random factor, or outside of valleys, few of
// minimalloc's instances are solved. It also lists what did not pay: failed states in a table, and testing
// which sums of sizes fill a hole.
//
// Cost per node: the items that meet the placed one, the entries of sections whose floor rises, and a scan of
// all sections to choose one, of all items before bytes are wasted.
// Source: ours; sections and floors are in minimalloc (Moffitt, 2023), branching at a position that is to be
// filled in perfect packing (Lesh et al., 2004).

#include "pack/section_search.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/checked.h"
#include "pack/random.h"
#include "pack/skyline.h"

namespace stowage::pack {
namespace {

constexpr Bytes never = Skyline::never;
/// Work, about, in the units of deadlines.
constexpr std::int64_t work_of_each_node = 300;
constexpr std::int64_t work_of_look = 1;

class SectionSearch {
 public:
  SectionSearch(const Tables& tables, Bytes height, const Dive& dive, const Stop& stop)
      : tables_(tables),
        items_(tables.model.items),
        dive_(dive),
        stop_(stop),
        random_(dive.seed),
        skyline_(tables, height) {}

  Found run() {
    Found found;
    found.answer = skyline_.begin() ? explore() : Answer::no;
    if (found.answer == Answer::yes) found.offsets = skyline_.offsets();
    found.work = work_of_each_node * nodes_ + work_of_look * (looks_ + skyline_.looks());
    return found;
  }

 private:
  /// Adjacent sections that are open and have the same floor.
  struct Run {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };

  struct Branch {
    std::uint32_t section = 0;
    double score = std::numeric_limits<double>::max();
  };

  Answer explore() {
    if (skyline_.left() == 0) return Answer::yes;
    if (++nodes_ > dive_.nodes || (nodes_ % stop_every_ == 0 && stop_())) return Answer::unknown;
    const std::uint32_t section = select();
    const std::size_t first = stack_.size();
    list_choices(section);
    const std::size_t last = stack_.size();
    const std::size_t before = skyline_.mark();
    Answer answer = Answer::no;
    for (std::size_t c = first; c < last && answer == Answer::no; ++c) {
      answer = skyline_.place(stack_[c]) ? explore() : Answer::no;
      if (answer == Answer::yes) return answer;
      skyline_.undo_to(before);
    }
    if (answer == Answer::no && skyline_.slack(section) > 0) {
      const Bytes least = after_waste(section);
      if (least < never) answer = skyline_.waste(section, least) ? explore() : Answer::no;
      if (answer == Answer::yes) return answer;
      skyline_.undo_to(before);
    }
    stack_.resize(first);
    return answer;
  }

  /// The section to branch at: in the valley below the last failure, or the one with fewest choices in all
  /// valleys.
  [[nodiscard]] std::uint32_t select() {
    const std::uint32_t failure = skyline_.last_failure();
    if (dive_.sections == SectionOrder::last_failure && skyline_.is_open(failure))
      return branch_in(valley_below(failure)).section;
    Branch best;
    looks_ += tables_.model.sections;
    for (std::uint32_t s = 0; s < tables_.model.sections; ++s) {
      if (!skyline_.is_open(s)) continue;
      const Run run = run_around(s);
      s = run.end - 1;
      if (has_lower_left(run) || has_lower_right(run)) continue;
      const Branch branch = branch_in(run);
      if (branch.score < best.score) best = branch;
    }
    return best.section;
  }

  [[nodiscard]] Branch branch_in(const Run& run) {
    Branch best;
    looks_ += 4 * (run.end - run.begin);  // with a random number each
    for (std::uint32_t s = run.begin; s < run.end; ++s) {
      const auto ways = static_cast<double>(skyline_.choices(s) + (skyline_.slack(s) > 0 ? 1 : 0));
      const double score = ways * (1 + random_.fraction());
      if (score < best.score) best = {s, score};
    }
    return best;
  }

  [[nodiscard]] Run run_around(std::uint32_t section) const {
    const auto is_in = [&](std::uint32_t s) {
      return skyline_.is_open(s) && skyline_.floor(s) == skyline_.floor(section);
    };
    Run run{section, section + 1};
    while (run.begin > 0 && is_in(run.begin - 1)) --run.begin;
    while (run.end < tables_.model.sections && is_in(run.end)) ++run.end;
    return run;
  }

  /// The section to the left is neither a wall nor the edge.
  [[nodiscard]] bool has_lower_left(const Run& run) const {
    return run.begin > 0 && skyline_.is_open(run.begin - 1) &&
           skyline_.floor(run.begin - 1) < skyline_.floor(run.begin);
  }
  [[nodiscard]] bool has_lower_right(const Run& run) const {
    return run.end < tables_.model.sections && skyline_.is_open(run.end) &&
           skyline_.floor(run.end) < skyline_.floor(run.begin);
  }

  /// Descends from a section to a valley.
  [[nodiscard]] Run valley_below(std::uint32_t section) const {
    for (Run run = run_around(section);;) {
      const bool left = has_lower_left(run);
      const bool right = has_lower_right(run);
      if (!left && !right) return run;
      const bool goes_left = left && (!right || skyline_.floor(run.begin - 1) <= skyline_.floor(run.end));
      run = run_around(goes_left ? run.begin - 1 : run.end);
    }
  }

  /// Whether the item would rest exactly on the floor of the section.
  [[nodiscard]] bool is_choice(const Entry& entry, Bytes floor) const {
    return skyline_.rest(entry.item) + entry.low < floor + items_[entry.item].alignment;
  }

  /// Of equal items only the first counts: the others have the same places.
  void list_choices(std::uint32_t section) {
    const std::size_t first = stack_.size();
    looks_ += std::ssize(tables_.entries[section]);
    for (const Entry& entry : tables_.entries[section]) {
      const std::uint32_t i = entry.item;
      if (skyline_.is_placed(i) || !is_choice(entry, skyline_.floor(section))) continue;
      const std::int64_t equal = tables_.equal_before[i];
      if (equal >= 0 && !skyline_.is_placed(static_cast<std::uint32_t>(equal))) continue;
      stack_.push_back(i);
    }
    const Bytes floor = skyline_.floor(section);
    const auto key = [&](std::uint32_t i) {
      const Item& item = items_[i];
      const auto width = static_cast<Bytes>(tables_.widths[i]);
      switch (dive_.values) {
        case ValueOrder::longest_first:
          return std::tuple(false, Bytes{0}, -width, -item.size, i);
        case ValueOrder::largest_first:
          return std::tuple(false, Bytes{0}, -item.size, -width, i);
        case ValueOrder::coarsest_first:
          break;
      }
      const bool leaves_hole = std::none_of(item.parts.begin(), item.parts.end(), [&](const Segment& part) {
        return part.begin <= section && section < part.end && skyline_.rest(i) + part.low == floor;
      });
      return std::tuple(leaves_hole, -item.alignment, -width, -item.size, i);
    };
    looks_ += 16 * static_cast<std::int64_t>(stack_.size() - first);  // to sort them
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(first);
    std::sort(begin, stack_.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    stack_.erase(std::unique(begin, stack_.end()), stack_.end());
  }

  /// The begin of the next item in the section if none of the choices rests on its floor.
  [[nodiscard]] Bytes after_waste(std::uint32_t section) {
    Bytes least = never;
    looks_ += std::ssize(tables_.entries[section]) + std::ssize(items_);
    std::uint32_t begin = section;  // range of the sections of all choices
    std::uint32_t end = section;
    for (const Entry& entry : tables_.entries[section]) {
      if (skyline_.is_placed(entry.item)) continue;
      if (!is_choice(entry, skyline_.floor(section))) {
        least = std::min(least, skyline_.rest(entry.item) + entry.low);
      } else if (tables_.is_simple) {
        begin = std::min(begin, items_[entry.item].parts[0].begin);
        end = std::max(end, items_[entry.item].parts[0].end);
      } else {
        least = std::min(least, lifted(entry) + entry.low);
      }
    }
    if (!tables_.is_simple) return least;
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      const Segment& part = items_[i].parts[0];
      const bool is_beside = part.end <= section || part.begin > section;
      if (is_beside && part.begin < end && part.end > begin)
        least = std::min(least, skyline_.rest(i) + part.high);
    }
    return least;
  }

  /// The lowest offset of an item that does not rest where it could, but on another item.
  [[nodiscard]] Bytes lifted(const Entry& entry) {
    looks_ += std::ssize(tables_.clashes[entry.item]);
    const Bytes above = skyline_.rest(entry.item) + 1;
    Bytes least = never;
    for (const ForbiddenOffsets& clash : tables_.clashes[entry.item]) {
      if (!skyline_.is_placed(clash.other)) {
        least = std::min(least, std::max(above, skyline_.rest(clash.other) + clash.high));
      } else if (skyline_.offsets()[clash.other] + clash.high >= above) {
        least = std::min(least, skyline_.offsets()[clash.other] + clash.high);
      }
    }
    return least >= never ? never : base::align_up(least, items_[entry.item].alignment);
  }

  const Tables& tables_;
  const std::vector<Item>& items_;
  const Dive& dive_;
  const Stop& stop_;
  Random random_;
  Skyline skyline_;
  std::vector<std::uint32_t> stack_;  ///< The choices of all open nodes.
  std::int64_t nodes_ = 0;
  std::int64_t looks_ = 0;  ///< At sections, items and choices, besides those of the skyline.
  /// A node scans all sections and items, and may be slow with blocks.
  const std::int64_t stop_every_ =
      tables_.is_simple ? std::max<std::int64_t>(
                              1, 100'000 / static_cast<std::int64_t>(tables_.model.sections + items_.size()))
                        : 1;
};

}  // namespace

std::int64_t work_of_node(const Tables& tables) {
  const auto size = static_cast<std::int64_t>(tables.model.sections + tables.model.items.size());
  return tables.is_simple ? 300 + 4 * size : 1000 + 40 * size;
}

Found search_sections(const Tables& tables, Bytes height, const Dive& dive, const Stop& stop) {
  return SectionSearch(tables, height, dive, stop).run();
}

}  // namespace stowage::pack
