// Idea. To decide whether everything fits below a height, fill memory from the bottom. Every section
// (model.cc) has a floor: below it all is decided. Look at one section: what comes next in it? Either one of
// the items that would rest exactly on its floor, or none of them, and some bytes above the floor are wasted.
// The choices are exhaustive and exclude each other, so that no placing is looked at twice, and one may take
// any section.
//
//     height  ^...........................        sections 3 and 4 are a valley: in section 3 either
//             |        +--+                       x or y rests on the floor, or bytes are wasted
//     floors  |--+  +--+  |
//             |  +--+     +-----+
//             +--1--2--3--4--5--6--> sections
//
// Kept up to date are the floors; per item the lowest offset it could still have; per section the slack:
// height less floor less all that is to come. Rules:
// - A floor rises to where the next item of the section may begin; what is lost is taken from the slack,
//   and without slack the branch has failed. Most branches end so.
// - Waste raises the floor to the least of: where an item begins that could not rest on it, and where one
//   that could would lie on something else, which must lie beside the section. That something need not fit
//   into the slack.
// - Of equal items the first comes first.
// - Branch where the fewest choices are, in a valley (walls or edges on both sides: what rests there leaves
//   no hole below it), times a random factor in [1, 2]. The factor is what makes another dive another try.
// - Order of the choices: the longest, or the largest, first; waste last.
//
// Why nothing is missed. If there is a placing there is one whose sum of offsets is least. In it every item
// rests: one step of its alignment lower it would meet the ground or another one. It is never given up: what
// begins next in a section either rests at the lowest offset left to it, and is a choice, or lies higher, on
// something that is yet to be placed or hangs in the section already. So a dive that has not run out of nodes
// and says no has proven it.
//
// Pieces, alignment and pins need nothing of their own. An item has an interval of bytes in each of its
// sections; where it leaves a hole below it, its bytes there are a block that hangs above the floor, and so
// are those of a pinned item from the start. The lowest offset of an item is then found by trying
// (free_offset).
//
// What the rules gain is in bench/README.md: without the random factor, or outside of valleys, few of
// minimalloc's instances are solved.
// Cost: for a node the items that meet the one that is placed, and the entries of sections whose floor rises.
// Source: ours; sections and floors are in minimalloc (Moffitt, 2023), branching at a position that is to be
// filled in perfect packing (Lesh et al., 2004).

#include "pack/section_search.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/checked.h"
#include "pack/random.h"
#include "pack/undo_log.h"

namespace stowage::pack {
namespace {

constexpr Bytes never = std::numeric_limits<Bytes>::max() / 4;

/// Addresses [begin, end) that are taken above the floor of a section.
struct Block {
  Bytes begin = 0;
  Bytes end = 0;
};

class Search {
 public:
  Search(const Tables& tables, Bytes height, const Dive& dive, const Stop& stop)
      : tables_(tables),
        items_(tables.model.items),
        height_(height),
        dive_(dive),
        stop_(stop),
        random_(dive.seed),
        floors_(tables.model.sections, 0),
        slacks_(tables.model.sections),
        choices_(tables.model.sections, 0),
        open_(tables.model.sections, 0),
        blocks_(tables.model.sections),
        rests_(items_.size(), 0),
        offsets_(items_.size(), 0),
        is_placed_(items_.size(), 0),
        is_touched_(tables.model.sections, 0) {}

  Found run() {
    Found found;
    if (!begin()) {
      found.answer = Answer::no;
    } else {
      found.answer = explore();
    }
    if (found.answer == Answer::yes) found.offsets = offsets_;
    found.work = nodes_;
    return found;
  }

 private:
  void set(Bytes& where, Bytes value) { log_.set(where, value); }

  void undo_to(std::size_t mark) {
    log_.undo_to(mark);
    for (; std::ssize(blocked_) > blocks_count_; blocked_.pop_back()) blocks_[blocked_.back()].pop_back();
  }

  /// The item is placed or lies higher than before, which matters where it was the next to begin.
  void touch(const Item& item, Bytes rest) {
    for (const Part& part : item.parts) {
      touched_begin_ = std::min(touched_begin_, part.begin);
      touched_end_ = std::max(touched_end_, part.end);
      for (std::uint32_t s = part.begin; s < part.end; ++s) {
        if (rest + part.low <= floors_[s]) is_touched_[s] = 1;
      }
    }
  }

  /// Pins are placed, and every floor is raised as high as it may be.
  [[nodiscard]] bool begin() {
    const auto loads = tables_.model.loads();
    for (std::uint32_t s = 0; s < loads.size(); ++s) {
      slacks_[s] = base::align_up(height_, tables_.model.grid) - loads[s];
      open_[s] = static_cast<Bytes>(tables_.entries[s].size());
    }
    std::fill(is_touched_.begin(), is_touched_.end(), 1);
    touched_begin_ = 0;
    touched_end_ = tables_.model.sections;
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      if (!items_[i].pin) {
        ++left_;
        continue;
      }
      if (*items_[i].pin + items_[i].size > height_) return false;
      put(i, *items_[i].pin);
    }
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      if (is_placed_[i] == 0 && !raise(i, 0)) return false;
    }
    return settle();
  }

  /// Takes the bytes of an item, which must be free.
  void put(std::uint32_t i, Bytes offset) {
    is_placed_[i] = 1;
    offsets_[i] = offset;
    touch(items_[i], rests_[i]);
    set(rests_[i], never);
    for (const Part& part : items_[i].parts) {
      for (std::uint32_t s = part.begin; s < part.end; ++s) {
        set(open_[s], open_[s] - 1);
        if (offset + part.low <= floors_[s]) {
          set(floors_[s], offset + part.high);
        } else {
          blocks_[s].push_back({offset + part.low, offset + part.high});
          blocked_.push_back(s);
          set(blocks_count_, std::ssize(blocked_));
        }
      }
    }
  }

  /// The least offset, `from` or more, at which nothing is in the way of an item.
  [[nodiscard]] Bytes free_offset(const Item& item, Bytes from) const {
    Bytes offset = base::align_up(from, item.alignment);
    for (bool is_free = false; !is_free;) {
      is_free = true;
      const auto lift = [&](Bytes least) {
        offset = base::align_up(least, item.alignment);
        is_free = false;
      };
      for (const Part& part : item.parts) {
        for (std::uint32_t s = part.begin; s < part.end; ++s) {
          if (offset + part.low < floors_[s]) lift(floors_[s] - part.low);
          for (const Block& block : blocks_[s]) {
            if (block.begin < offset + part.high && offset + part.low < block.end) lift(block.end - part.low);
          }
        }
      }
    }
    return offset;
  }

  /// An item cannot lie lower than `least` any more; false: it does not fit.
  [[nodiscard]] bool raise(std::uint32_t i, Bytes least) {
    const Item& item = items_[i];
    const Bytes rest = tables_.is_simple ? least : free_offset(item, std::max(least, rests_[i]));
    if (rest <= rests_[i]) return true;
    if (rest + item.size > height_) return false;
    touch(item, rests_[i]);
    set(rests_[i], rest);
    return true;
  }

  [[nodiscard]] bool place(std::uint32_t i) {
    const Bytes offset = rests_[i];
    put(i, offset);
    --left_;
    for (const Clash& clash : tables_.clashes[i]) {
      if (is_placed_[clash.other] != 0) continue;
      const Bytes least = tables_.is_simple ? offset + items_[i].parts[0].high : rests_[clash.other];
      if (!raise(clash.other, least)) return false;
    }
    return settle();
  }

  /// Nothing begins in the section below `least`.
  [[nodiscard]] bool waste(std::uint32_t section, Bytes least) {
    for (const Entry& entry : tables_.entries[section]) {
      if (is_placed_[entry.item] == 0 && !raise(entry.item, least - entry.low)) return false;
    }
    return settle();
  }

  [[nodiscard]] bool settle() {
    bool is_good = true;
    for (std::uint32_t s = touched_begin_; s < touched_end_; ++s) {
      if (is_touched_[s] == 0) continue;
      is_touched_[s] = 0;
      is_good = is_good && settle(s);
    }
    touched_begin_ = tables_.model.sections;
    touched_end_ = 0;
    return is_good;
  }

  /// Raises the floor to where the next item may begin; false: too much is lost.
  [[nodiscard]] bool settle(std::uint32_t s) {
    if (open_[s] == 0) {
      if (choices_[s] != 0) set(choices_[s], 0);
      return true;
    }
    Bytes least = never;
    Bytes count = 0;
    if (tables_.is_simple) {
      for (const std::uint32_t i : tables_.items_in[s]) least = std::min(least, rests_[i]);
      for (const std::uint32_t i : tables_.items_in[s]) count += rests_[i] == least ? 1 : 0;
    } else {
      for (const Entry& entry : tables_.entries[s]) least = std::min(least, rests_[entry.item] + entry.low);
      for (const Entry& entry : tables_.entries[s]) count += rests_[entry.item] + entry.low == least ? 1 : 0;
    }
    if (choices_[s] != count) set(choices_[s], count);
    if (least <= floors_[s]) return true;
    Bytes lost = least - floors_[s];
    for (const Block& block : blocks_[s])
      lost -= std::max<Bytes>(0, std::min(block.end, least) - std::max(block.begin, floors_[s]));
    set(floors_[s], least);
    if (lost > 0) set(slacks_[s], slacks_[s] - lost);
    return slacks_[s] >= 0;
  }

  /// It would rest exactly on the floor of the section.
  [[nodiscard]] bool is_choice(const Entry& entry, Bytes floor) const {
    const Item& item = items_[entry.item];
    return rests_[entry.item] + entry.low < floor + item.alignment;
  }

  /// The section to branch at: of the valleys' the one with fewest choices, more or less.
  [[nodiscard]] std::uint32_t select() {
    std::uint32_t best = 0;
    double least = 1e300;
    const std::uint32_t count = tables_.model.sections;
    for (std::uint32_t s = 0; s < count;) {
      if (open_[s] == 0) {
        ++s;
        continue;
      }
      const std::uint32_t begin = s;
      while (s < count && open_[s] != 0 && floors_[s] == floors_[begin]) ++s;
      const auto is_wall = [&](std::uint32_t t) { return open_[t] == 0 || floors_[t] > floors_[begin]; };
      if ((begin > 0 && !is_wall(begin - 1)) || (s < count && !is_wall(s))) continue;
      for (std::uint32_t t = begin; t < s; ++t) {
        const auto ways = static_cast<double>(choices_[t] + (slacks_[t] > 0 ? 1 : 0));
        const double score = ways * (1 + random_.fraction());
        if (score >= least) continue;
        least = score;
        best = t;
      }
    }
    return best;
  }

  /// Where the next item begins in the section if none of the choices rests on its floor.
  [[nodiscard]] Bytes after_waste(std::uint32_t section) const {
    Bytes least = never;
    std::uint32_t begin = section;  // of the sections that choices are in
    std::uint32_t end = section;
    for (const Entry& entry : tables_.entries[section]) {
      if (is_placed_[entry.item] != 0) continue;
      if (!is_choice(entry, floors_[section])) {
        least = std::min(least, rests_[entry.item] + entry.low);
      } else if (tables_.is_simple) {
        begin = std::min(begin, items_[entry.item].parts[0].begin);
        end = std::max(end, items_[entry.item].parts[0].end);
      } else {
        least = std::min(least, lifted(entry) + entry.low);
      }
    }
    if (!tables_.is_simple) return least;
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      const Part& part = items_[i].parts[0];
      if (part.begin >= end || part.end <= begin || is_in(i, section)) continue;
      least = std::min(least, rests_[i] + part.high);
    }
    return least;
  }

  /// Where an item lies at least if it does not rest where it could: on something else.
  [[nodiscard]] Bytes lifted(const Entry& entry) const {
    const Bytes above = rests_[entry.item] + 1;
    Bytes least = never;
    for (const Clash& clash : tables_.clashes[entry.item]) {
      if (is_placed_[clash.other] == 0) {
        least = std::min(least, std::max(above, rests_[clash.other] + clash.high));
      } else if (offsets_[clash.other] + clash.high >= above) {
        least = std::min(least, offsets_[clash.other] + clash.high);
      }
    }
    return least >= never ? never : base::align_up(least, items_[entry.item].alignment);
  }

  [[nodiscard]] bool is_in(std::uint32_t i, std::uint32_t section) const {
    const Part& part = items_[i].parts[0];
    return part.begin <= section && section < part.end;
  }

  Answer explore() {
    if (left_ == 0) return Answer::yes;
    if (++nodes_ > dive_.nodes || (nodes_ % stop_every_ == 0 && stop_())) return Answer::unknown;
    const std::uint32_t section = select();
    const std::size_t first = stack_.size();
    list_choices(section);
    const std::size_t last = stack_.size();
    Answer answer = Answer::no;
    for (std::size_t c = first; c < last && answer == Answer::no; ++c) {
      const std::uint32_t i = stack_[c];
      const std::size_t before = log_.mark();
      answer = place(i) ? explore() : Answer::no;
      if (answer == Answer::yes) return answer;
      undo_to(before);
      is_placed_[i] = 0;
      ++left_;
    }
    if (answer == Answer::no && slacks_[section] > 0) {
      const std::size_t before = log_.mark();
      const Bytes least = after_waste(section);
      if (least < never) answer = waste(section, least) ? explore() : Answer::no;
      if (answer == Answer::yes) return answer;
      undo_to(before);
    }
    stack_.resize(first);
    return answer;
  }

  /// Of equal items only the first: the others are where it could be.
  void list_choices(std::uint32_t section) {
    const std::size_t first = stack_.size();
    for (const Entry& entry : tables_.entries[section]) {
      const std::uint32_t i = entry.item;
      if (is_placed_[i] != 0 || !is_choice(entry, floors_[section])) continue;
      const std::int64_t equal = tables_.equal_before[i];
      if (equal >= 0 && is_placed_[static_cast<std::size_t>(equal)] == 0) continue;
      stack_.push_back(i);
    }
    const auto key = [&](std::uint32_t i) {
      const auto size = items_[i].size;
      const auto width = static_cast<Bytes>(tables_.widths[i]);
      return dive_.order == ValueOrder::longest_first ? std::tuple(-width, -size, i)
                                                      : std::tuple(-size, -width, i);
    };
    std::sort(stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    stack_.erase(std::unique(stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end()),
                 stack_.end());
  }

  const Tables& tables_;
  const std::vector<Item>& items_;
  const Bytes height_;
  const Dive& dive_;
  const Stop& stop_;
  Random random_;
  std::vector<Bytes> floors_;
  std::vector<Bytes> slacks_;   ///< Units of a section that may still be lost.
  std::vector<Bytes> choices_;  ///< How many items could begin at its floor.
  std::vector<Bytes> open_;     ///< How many entries are not placed.
  std::vector<std::vector<Block>> blocks_;
  std::vector<Bytes> rests_;  ///< No item can lie lower than that.
  std::vector<Bytes> offsets_;
  std::vector<char> is_placed_;
  std::size_t left_ = 0;
  UndoLog log_;
  std::vector<std::uint32_t> blocked_;  ///< The sections of all blocks, in the order in which they came.
  Bytes blocks_count_ = 0;
  std::vector<char> is_touched_;  ///< Sections to be looked at, all of them in this range:
  std::uint32_t touched_begin_ = 0;
  std::uint32_t touched_end_ = 0;
  std::vector<std::uint32_t> stack_;
  std::int64_t nodes_ = 0;
  /// A node looks at all sections and items, and with blocks may take long.
  const std::int64_t stop_every_ =
      tables_.is_simple ? std::max<std::int64_t>(1, 100'000 / (tables_.model.sections + std::ssize(items_)))
                        : 1;
};

}  // namespace

Found search_sections(const Tables& tables, Bytes height, const Dive& dive, const Stop& stop) {
  return Search(tables, height, dive, stop).run();
}

}  // namespace stowage::pack
