// Collisions are decided at few moments. If one moment has all the live pieces of another, the other
// adds nothing. The remaining moments are the maximal sets of pieces alive at once, the sections. An interval
// graph has no more of them than pieces, and each piece is in consecutive ones.
//
//     |  +--a--+     +-d-+           sections: {a, b}, {b, c}, {b, d}
//     |     +-----b------+
//     |        +-c+                  and in units of the greatest common divisor of all bytes
//     +--------------------> time
//
// If everything begins at multiples of a grid, the bytes between an end and the next multiple are useless. So
// parts end at multiples, too. An item keeps its size, since the topmost item may end anywhere.
//
// Two steps make problems smaller without loss:
// - An item that is in every section, whole, may lie at the bottom. Take any placing, move the item to the
//   bottom, and move up everything below it by its size; what is below it in one section is below it in all.
//   Pins would not move along, and with several alignments some items could not.
// - Sections that no item connects are separate problems. Pinned items connect nothing, since they do not
//   move. Each part may be as high as the highest of them.
// One step may make the other possible again.
//
// Cost: n log n, and memory linear in the pieces; `entries` and `clashes` take the size of their lists.
// Source: sections are in minimalloc (Moffitt, 2023).

#include "pack/model.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "base/checked.h"
#include "base/union_find.h"

namespace stowage::pack {
namespace {

struct Event {
  Position at = 0;
  bool is_start = false;
  std::uint32_t item = 0;
  std::uint32_t part = 0;
};

/// At equal positions, ends come before begins.
std::vector<Event> events_of(std::span<const Buffer> buffers, SectionModel& model) {
  std::vector<Event> events;
  events.reserve(2 * buffers.size());
  model.items.reserve(buffers.size());
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    Item item{
        .buffer = b, .size = buffers[b].size, .alignment = buffers[b].alignment, .pin = buffers[b].pinned};
    const auto index = static_cast<std::uint32_t>(model.items.size());
    for (const Piece& piece : buffers[b].pieces) {
      if (!piece.is_ever_alive()) continue;
      const auto part = static_cast<std::uint32_t>(item.parts.size());
      events.push_back({piece.life.lower, true, index, part});
      events.push_back({piece.life.upper, false, index, part});
      item.parts.push_back({.low = piece.offset, .high = piece.offset + piece.size});
    }
    if (!item.parts.empty()) model.items.push_back(std::move(item));
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.at != b.at ? a.at < b.at : a.is_start < b.is_start;
  });
  return events;
}

void find_sections(std::span<const Event> events, SectionModel& model) {
  bool has_new = false;
  for (const Event& event : events) {
    Segment& part = model.items[event.item].parts[event.part];
    if (event.is_start) {
      part.begin = model.sections;
      has_new = true;
    } else {
      if (has_new) ++model.sections;
      has_new = false;
      part.end = model.sections;
    }
  }
}

/// Finds the grid and rounds up to it.
void round_up(SectionModel& model) {
  Bytes grid = 0;
  for (const Item& item : model.items) {
    grid = std::gcd(grid, item.alignment);
    for (const Segment& part : item.parts) grid = std::gcd(grid, part.low);
  }
  if (grid <= 1) return;
  model.grid = grid;
  for (Item& item : model.items) {
    for (Segment& part : item.parts) part.high = base::align_up(part.high, grid);
  }
}

void divide(SectionModel& model) {
  Bytes unit = 0;
  for (const Item& item : model.items) {
    for (const Bytes value : {item.size, item.alignment, item.pin.value_or(0)}) unit = std::gcd(unit, value);
    for (const Segment& part : item.parts) unit = std::gcd(unit, std::gcd(part.low, part.high));
  }
  if (unit == 0) return;
  model.unit = unit;
  model.grid = std::max<Bytes>(model.grid / unit, 1);
  for (Item& item : model.items) {
    item.size /= unit;
    item.alignment /= unit;
    if (item.pin) *item.pin /= unit;
    for (Segment& part : item.parts) {
      part.low /= unit;
      part.high /= unit;
    }
  }
}

/// Where every alignment divides all sizes, their common divisor replaces it: the unit may grow.
void drop_alignment(SectionModel& model) {
  Bytes all = 0;
  Bytes alignment = 1;
  for (const Item& item : model.items) {
    all = std::gcd(std::gcd(all, item.size), item.pin.value_or(0));
    for (const Segment& part : item.parts) all = std::gcd(all, std::gcd(part.low, part.high));
    alignment = std::max(alignment, item.alignment);
  }
  const bool is_given = std::all_of(model.items.begin(), model.items.end(),
                                    [&](const Item& item) { return all % item.alignment == 0; });
  if (!is_given) return;
  for (Item& item : model.items) item.alignment = all;
}

}  // namespace

bool SectionModel::is_simple() const {
  return std::all_of(items.begin(), items.end(), [this](const Item& item) {
    return item.parts.size() == 1 && item.parts[0].low == 0 && item.parts[0].high >= item.size &&
           item.alignment == grid && !item.pin;
  });
}

std::vector<Bytes> SectionModel::loads() const {
  std::vector<Bytes> loads(sections + 1, 0);
  for (const Item& item : items) {
    for (const Segment& part : item.parts) {
      loads[part.begin] += part.high - part.low;
      loads[part.end] -= part.high - part.low;
    }
  }
  std::partial_sum(loads.begin(), loads.end(), loads.begin());
  loads.pop_back();
  return loads;
}

Bytes SectionModel::bound() const {
  Bytes bound = 0;
  for (const Bytes load : loads())
    bound = std::max(bound, load - (grid - 1));  // the topmost is not rounded up
  for (const Item& item : items) bound = std::max(bound, item.pin.value_or(0) + item.size);
  return bound;
}

std::vector<std::vector<Entry>> SectionModel::entries() const {
  std::vector<std::vector<Entry>> entries(sections);
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    for (const Segment& part : items[i].parts) {
      for (std::uint32_t s = part.begin; s < part.end; ++s) entries[s].push_back({i, part.low, part.high});
    }
  }
  return entries;
}

namespace {

/// Each item writes itself into the lists of the items it clashes with. So the lists come out sorted, except
/// where a pair clashes in several parts.
std::vector<std::vector<ForbiddenOffsets>> sorted(const std::vector<std::vector<ForbiddenOffsets>>& clashes,
                                                  const Stop& stop) {
  std::vector<std::vector<ForbiddenOffsets>> result(clashes.size());
  for (std::size_t i = 0; i < clashes.size(); ++i) result[i].reserve(clashes[i].size());
  for (std::uint32_t i = 0; i < clashes.size() && !stop(); ++i) {
    for (const ForbiddenOffsets& clash : clashes[i])
      result[clash.other].push_back({i, -clash.high, -clash.low});
  }
  const auto before = [](const ForbiddenOffsets& a, const ForbiddenOffsets& b) {
    return std::tie(a.other, a.low, a.high) < std::tie(b.other, b.low, b.high);
  };
  for (auto& list : result) {
    if (!std::is_sorted(list.begin(), list.end(), before)) std::sort(list.begin(), list.end(), before);
  }
  return result;
}

}  // namespace

std::vector<std::vector<ForbiddenOffsets>> SectionModel::clashes(const Stop& stop) const {
  struct Alive {
    std::uint32_t item;
    Segment part;
  };
  std::vector<Alive> starts;
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    for (const Segment& part : items[i].parts) starts.push_back({i, part});
  }
  std::sort(starts.begin(), starts.end(),
            [](const Alive& a, const Alive& b) { return a.part.begin < b.part.begin; });
  std::vector<std::vector<ForbiddenOffsets>> clashes(items.size());
  std::vector<Alive> alive;
  for (const Alive& mine : starts) {
    if (stop()) return clashes;
    std::erase_if(alive, [&](const Alive& its) { return its.part.end <= mine.part.begin; });
    for (const Alive& its : alive) {
      if (its.item == mine.item) continue;
      const Bytes low = its.part.low - mine.part.high;
      const Bytes high = its.part.high - mine.part.low;
      clashes[mine.item].push_back({its.item, low, high});
      clashes[its.item].push_back({mine.item, -high, -low});
    }
    alive.push_back(mine);
  }
  return sorted(clashes, stop);
}

SectionModel model_of(std::span<const Buffer> buffers) {
  SectionModel model;
  const auto events = events_of(buffers, model);
  find_sections(events, model);
  for (Item& item : model.items) {
    std::sort(item.parts.begin(), item.parts.end(), [](const Segment& a, const Segment& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.low < b.low;
    });
  }
  drop_alignment(model);
  round_up(model);
  divide(model);
  return model;
}

namespace {

/// Sets of sections that items connect; pinned items do not count.
class Sets {
 public:
  explicit Sets(const SectionModel& model) : sections_(model.sections), is_joined_(model.sections + 1, 0) {
    for (const Item& item : model.items) {
      if (item.pin) continue;
      for (const Segment& part : item.parts) {
        ++is_joined_[part.begin];
        --is_joined_[part.end - 1];
      }
    }
    std::partial_sum(is_joined_.begin(), is_joined_.end(), is_joined_.begin());
    for (std::uint32_t s = 0; s + 1 < model.sections; ++s) {
      if (is_joined_[s] > 0) sections_.join(s, s + 1);
    }
    for (const Item& item : model.items) {
      if (item.pin) continue;
      for (const Segment& part : item.parts) sections_.join(item.parts[0].begin, part.begin);
    }
  }

  [[nodiscard]] std::size_t root(std::uint32_t section) { return sections_.find(section); }

 private:
  base::UnionFind sections_;
  std::vector<std::int32_t> is_joined_;  ///< Per section, how many parts join it to the next one.
};

/// Splits a model into the models of its sets; sections get new numbers there.
class Splitter {
 public:
  Splitter(const SectionModel& model, const Stop& stop)
      : model_(model), stop_(stop), sets_(model), numbers_(model.sections) {}

  std::vector<SectionModel> run() {
    std::vector<std::size_t> model_of_root(model_.sections, none);
    for (std::uint32_t s = 0; s < model_.sections; ++s) {
      std::size_t& target = model_of_root[sets_.root(s)];
      if (target == none) {
        target = models_.size();
        models_.push_back({.unit = model_.unit, .grid = model_.grid});
      }
      numbers_[s] = models_[target].sections++;
      targets_.push_back(target);
    }
    for (const Item& item : model_.items) {
      if (stop_()) break;
      add(item);
    }
    std::erase_if(models_, [](const SectionModel& model) {
      return std::all_of(model.items.begin(), model.items.end(), [](const Item& s) { return s.pin; });
    });
    return std::move(models_);
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  void add(const Item& item) {
    std::size_t target = none;
    for (const Segment& part : item.parts) {
      for (std::uint32_t s = part.begin; s < part.end;) {
        std::uint32_t end = s + 1;  // a pinned item may span several sets
        while (end < part.end && targets_[end] == targets_[s]) ++end;
        std::vector<Item>& items = models_[targets_[s]].items;
        if (targets_[s] != target) items.emplace_back(item).parts.clear();
        target = targets_[s];
        items.back().parts.push_back({numbers_[s], numbers_[end - 1] + 1, part.low, part.high});
        s = end;
      }
    }
  }

  const SectionModel& model_;
  const Stop& stop_;
  Sets sets_;
  std::vector<std::uint32_t> numbers_;
  std::vector<std::size_t> targets_;
  std::vector<SectionModel> models_;
};

/// Removes the items that are in every section; returns the height of their stack.
Bytes settle(SectionModel& model, Bytes base, std::vector<Bytes>& settled) {
  if (!model.is_simple()) return base;
  std::erase_if(model.items, [&](const Item& item) {
    if (item.parts[0].begin > 0 || item.parts[0].end < model.sections) return false;
    if (item.parts[0].high > item.size) return false;  // it may have to be on top
    settled[item.buffer] = base * model.unit;
    base += item.size;
    return true;
  });
  return base;
}

}  // namespace

std::vector<Subproblem> regions_of(SectionModel model, std::vector<Bytes>& settled, const Stop& stop) {
  std::vector<Subproblem> regions;
  std::vector<Subproblem> open;
  open.push_back({0, std::move(model)});
  while (!open.empty() && !stop()) {
    Subproblem region = std::move(open.back());
    open.pop_back();
    std::vector<SectionModel> parts = Splitter(region.model, stop).run();
    for (SectionModel& part : parts) {
      const std::size_t before = part.items.size();
      const Bytes base = settle(part, region.base, settled);
      const bool is_done = part.items.size() == before;
      (is_done ? regions : open).push_back({base, std::move(part)});
    }
  }
  return regions;
}

Tables::Tables(const SectionModel& the_model, const Stop& stop)
    : model(the_model),
      is_simple(the_model.is_simple()),
      has_alignments(std::any_of(the_model.items.begin(), the_model.items.end(),
                                 [&](const Item& item) { return item.alignment > the_model.grid; })),
      entries(the_model.entries()),
      clashes(the_model.clashes(stop)),
      items_in(the_model.sections),
      equal_before(the_model.items.size(), -1) {
  for (std::size_t s = 0; s < entries.size(); ++s) {
    for (const Entry& entry : entries[s]) items_in[s].push_back(entry.item);
  }
  std::map<std::tuple<std::uint32_t, std::uint32_t, Bytes>, std::vector<std::uint32_t>> seen;
  for (std::uint32_t i = 0; i < model.items.size(); ++i) {
    const Item& item = model.items[i];
    std::uint32_t width = 0;
    for (const Segment& part : item.parts) width += part.end - part.begin;
    widths.push_back(width);
    if (item.pin) continue;
    auto& same = seen[{item.parts.front().begin, item.parts.back().end, item.size}];
    for (const std::uint32_t other : same) {
      const Item& its = model.items[other];
      if (its.parts == item.parts && its.alignment == item.alignment) equal_before[i] = other;
    }
    same.push_back(i);
  }
  constexpr std::int64_t work_of_item = 1000;
  constexpr std::int64_t work_of_entry = 15;
  for (const auto& list : entries) work += work_of_entry * std::ssize(list);
  for (const auto& list : clashes) work += work_of_item + work_of_entry * std::ssize(list);
}

}  // namespace stowage::pack
