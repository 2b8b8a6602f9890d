// Lower bounds on the peak of one memory: live bytes at a position, alignments included, and a certificate, a
// few positions whose buffers do not fit below a height. The second part of this file explains certificates.

#include "pack/bounds.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/checked.h"
#include "pack/model.h"
#include "pack/section_search.h"

namespace stowage::pack {
namespace {

/// Calls `visit(position, change)` where pieces begin and end.
void for_each_change(std::span<const Buffer> buffers, const auto& visit) {
  for (const Buffer& buffer : buffers) {
    for (const Piece& piece : buffer.pieces) {
      if (!piece.is_ever_alive()) continue;
      visit(piece.life.lower, piece.size);
      visit(piece.life.upper, -piece.size);
    }
  }
}

/// The sum of all changes at each position that has some, in rising order.
std::vector<Load> sort_changes(std::span<const Buffer> buffers, std::size_t count) {
  std::vector<Load> changes;
  changes.reserve(count);
  for_each_change(buffers, [&](Position at, Bytes change) { changes.push_back({at, change}); });
  std::ranges::sort(changes, {}, &Load::at);
  std::size_t positions = 0;
  for (const Load& change : changes) {
    if (positions > 0 && changes[positions - 1].at == change.at) {
      changes[positions - 1].bytes += change.bytes;
    } else {
      changes[positions++] = change;
    }
  }
  changes.resize(positions);
  changes.shrink_to_fit();
  return changes;
}

/// The same for close positions: one cell per position from the first to the last.
std::vector<Load> count_changes(std::span<const Buffer> buffers, Position first, Position last) {
  const auto cells = static_cast<std::size_t>(last - first) + 1;
  std::vector<Bytes> bytes(cells, 0);
  std::vector<char> has_change(cells, 0);
  for_each_change(buffers, [&](Position at, Bytes change) {
    bytes[static_cast<std::size_t>(at - first)] += change;
    has_change[static_cast<std::size_t>(at - first)] = 1;
  });
  std::vector<Load> changes;
  changes.reserve(static_cast<std::size_t>(std::ranges::count(has_change, 1)));
  for (std::size_t cell = 0; cell < cells; ++cell) {
    if (has_change[cell] != 0) changes.push_back({first + static_cast<Position>(cell), bytes[cell]});
  }
  return changes;
}

}  // namespace

std::vector<Load> load_profile(std::span<const Buffer> buffers) {
  std::size_t count = 0;  // of changes
  Position first = std::numeric_limits<Position>::max();
  Position last = std::numeric_limits<Position>::min();
  for_each_change(buffers, [&](Position at, Bytes) {
    ++count;
    first = std::min(first, at);
    last = std::max(last, at);
  });
  if (count == 0) return {};
  const bool are_close = last - first < static_cast<Position>(count);
  std::vector<Load> profile = are_close ? count_changes(buffers, first, last) : sort_changes(buffers, count);
  Bytes bytes = 0;
  for (Load& load : profile) load.bytes = bytes += load.bytes;
  return profile;
}

Load fullest(std::span<const Buffer> buffers) {
  const std::vector<Load> profile = load_profile(buffers);
  const auto most = std::ranges::max_element(profile, {}, &Load::bytes);
  return most != profile.end() ? *most : Load();
}

namespace {

/// The highest load of pieces that begin at multiples of a unit. Each takes its size rounded up, except the
/// topmost, which may be the one with the most padding.
Bytes padded_load(std::span<const Buffer> buffers, Bytes unit) {
  struct Event {
    Position at;
    bool begins;
    Bytes size;
  };
  std::vector<Event> events;
  bool is_padded = false;
  for (const Buffer& buffer : buffers) {
    if (buffer.alignment % unit != 0) continue;
    for (const Piece& piece : buffer.pieces) {
      if (!piece.is_ever_alive() || piece.offset % unit != 0) continue;
      events.push_back({piece.life.lower, true, piece.size});
      events.push_back({piece.life.upper, false, piece.size});
      is_padded = is_padded || piece.size % unit != 0;
    }
  }
  if (!is_padded) return 0;
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return a.at != b.at ? a.at < b.at : a.begins < b.begins; });
  std::multiset<Bytes> pads;
  Bytes padded = 0;
  Bytes most = 0;
  for (const Event& event : events) {
    const Bytes whole = base::align_up(event.size, unit);
    if (event.begins) {
      padded += whole;
      pads.insert(whole - event.size);
      most = std::max(most, padded - *pads.rbegin());
    } else {
      padded -= whole;
      pads.erase(pads.find(whole - event.size));
    }
  }
  return most;
}

}  // namespace

Bytes lower_bound_of(std::span<const Buffer> buffers) {
  Bytes bound = max_load(buffers);
  std::set<Bytes> units;
  for (const Buffer& buffer : buffers) {
    bound = std::max(bound, buffer.pinned.value_or(0) + buffer.size);
    const bool is_alive = std::any_of(buffer.pieces.begin(), buffer.pieces.end(),
                                      [](const Piece& piece) { return piece.is_ever_alive(); });
    if (is_alive && std::has_single_bit(static_cast<std::uint64_t>(buffer.alignment)))
      units.insert(buffer.alignment);
  }
  units.erase(1);  // nothing is padded
  for (const Bytes unit : units) bound = std::max(bound, padded_load(buffers, unit));
  return bound;
}

std::vector<Bytes> lower_bounds_of(const Problem& problem, const Solution& solution) {
  if (problem.memories.size() == 1) return {solution.lower_bound};
  std::vector<std::vector<Buffer>> inside(problem.memories.size());
  for (std::size_t b = 0; b < problem.buffers.size(); ++b)
    inside[solution.places[b].memory].push_back(problem.buffers[b]);
  std::vector<Bytes> bounds;
  for (const auto& buffers : inside) bounds.push_back(lower_bound_of(buffers));
  return bounds;
}

std::optional<std::vector<Bytes>> loads_during(std::span<const Buffer> buffers, const Control& control) {
  const std::vector<Load> profile = load_profile(buffers);
  const std::size_t count = profile.size();
  std::vector<Bytes> tree(2 * count, 0);  // the maximum of node i is that of 2i and 2i + 1; leaves last
  for (std::size_t i = 0; i < count; ++i) tree[count + i] = profile[i].bytes;
  for (std::size_t i = count; i-- > 1;) tree[i] = std::max(tree[2 * i], tree[2 * i + 1]);
  const auto index = [&](Position at) {
    const auto it = std::lower_bound(profile.begin(), profile.end(), at,
                                     [](const Load& load, Position value) { return load.at < value; });
    return static_cast<std::size_t>(it - profile.begin());
  };
  std::vector<Bytes> loads;
  loads.reserve(buffers.size());
  for (const Buffer& buffer : buffers) {
    if (loads.size() % buffers_between_looks == 0 && control.is_time_up()) return std::nullopt;
    const Lifetime life = life_of(buffer);
    Bytes most = 0;
    std::size_t begin = count + index(life.lower);
    std::size_t end = count + index(life.upper);
    for (; begin < end; begin /= 2, end /= 2) {
      if (begin % 2 == 1) most = std::max(most, tree[begin++]);
      if (end % 2 == 1) most = std::max(most, tree[--end]);
    }
    loads.push_back(most);
  }
  return loads;
}

// If not everything fits below the highest load (live bytes at a position), the reason is often in a
// few positions that are nearly full. Without spare bytes each of them allows few orders, and no two of these
// agree. So the search keeps only the fullest positions and the buffers alive at them. If even these do not
// fit, the whole problem does not fit.
//
//     load ^     _   _                 the three fullest of six sections: only buffers alive at 2, 4 and 5
//          |    | |_| |_
//          |   _| | | | |_
//          +--+-+-+-+-+-+--> sections
//               2   4 5
//
// The branch and bound (section_search.cc) decides whether they fit. It gets more and more positions. When it
// answers no, the bound rises as far as the answer stays no. Then positions are removed as long as the others
// still prove the bound. The remaining positions are the certificate; it is short and quick to verify.
//
// Without pieces, alignments and pins, up to three sections always fit below the highest load. Buffers in all
// three go to the bottom, those in the first two on top of them, and those in the last two hang from the top.
//
// Cost: some dozens of searches of limited length. The first search that hits its limit ends the loop:
// searches with more positions are unlikely to finish.
// Source: ours.

namespace {

constexpr std::size_t most_nodes = 4000;
constexpr std::size_t most_work = 4'000'000;  ///< Entries that a search examines; one node may examine all.
constexpr std::size_t most_positions = 64;

/// The positions that cover every set of buffers alive at once, the fullest first.
std::vector<Position> fullest_positions(std::span<const Buffer> buffers) {
  struct Event {
    Position at;
    bool begins;
    Bytes size;
  };
  std::vector<Event> events;
  for (const Buffer& buffer : buffers) {
    for (const Piece& piece : buffer.pieces) {
      if (!piece.is_ever_alive()) continue;
      events.push_back({piece.life.lower, true, piece.size});
      events.push_back({piece.life.upper, false, piece.size});
    }
  }
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return a.at != b.at ? a.at < b.at : a.begins < b.begins; });
  std::vector<Load> sections;
  Bytes load = 0;
  for (std::size_t e = 0; e < events.size(); ++e) {
    load += events[e].begins ? events[e].size : -events[e].size;
    const bool is_last = e + 1 == events.size() || !events[e + 1].begins;
    if (events[e].begins && is_last) sections.push_back({events[e].at, load});
  }
  std::stable_sort(sections.begin(), sections.end(),
                   [](const Load& a, const Load& b) { return a.bytes > b.bytes; });
  std::vector<Position> positions;
  for (const Load& section : sections) positions.push_back(section.at);
  return positions;
}

/// The buffers alive at some of the positions; their lives count these positions only.
std::vector<Buffer> restricted_to(std::span<const Buffer> buffers, std::vector<Position> positions) {
  std::sort(positions.begin(), positions.end());
  const auto rank = [&](Position at) {
    return std::lower_bound(positions.begin(), positions.end(), at) - positions.begin();
  };
  std::vector<Buffer> restricted;
  for (const Buffer& buffer : buffers) {
    Buffer rest{.size = buffer.size, .alignment = buffer.alignment, .pinned = buffer.pinned};
    for (const Piece& piece : buffer.pieces) {
      const Lifetime life{rank(piece.life.lower), rank(piece.life.upper)};
      if (piece.size > 0 && life.lower < life.upper) rest.pieces.push_back({piece.offset, piece.size, life});
    }
    if (!rest.pieces.empty()) restricted.push_back(std::move(rest));
  }
  return restricted;
}

/// Decides whether the buffers alive at a few positions fit below a height, counted in units.
class Doubt {
 public:
  Doubt(std::span<const Buffer> buffers, const std::vector<Position>& positions, const Control& control)
      : control_(control) {
    const std::vector<Buffer> restricted = restricted_to(buffers, positions);
    const SectionModel model = model_of(restricted);
    std::vector<Bytes> settled(restricted.size());
    unit_ = model.unit;
    const Stop stop = [&] { return control_.is_time_up(); };
    regions_ = regions_of(model, settled, stop);
    for (const Subproblem& region : regions_) {
      tables_.push_back(std::make_unique<Tables>(region.model, stop));
      control_.spend(tables_.back()->work);
    }
  }

  [[nodiscard]] Bytes unit() const { return unit_; }

  [[nodiscard]] Answer ask(Bytes height) const {
    const Stop stop = [&] { return control_.is_time_up(); };
    if (stop()) return Answer::unknown;  // the tables may be incomplete
    Answer all = Answer::yes;
    for (std::size_t r = 0; r < regions_.size(); ++r) {
      const Bytes rest = height - regions_[r].base;
      if (rest < 0) return Answer::no;
      std::size_t entries = 1;
      for (const auto& section : tables_[r]->entries) entries += section.size();
      const Dive dive{ValueOrder::longest_first, SectionOrder::fewest_choices, 0,
                      static_cast<std::int64_t>(std::min(most_nodes, most_work / entries))};
      const Found found = search_sections(*tables_[r], rest, dive, stop);
      control_.spend(found.work);
      const Answer answer = found.answer;
      if (answer == Answer::no) return answer;
      if (answer == Answer::unknown) all = answer;
    }
    return all;
  }
  [[nodiscard]] bool refutes(Bytes height) const { return ask(height) == Answer::no; }

 private:
  const Control& control_;
  Bytes unit_ = 1;
  std::vector<Subproblem> regions_;
  std::vector<std::unique_ptr<Tables>> tables_;
};

/// The greatest bound up to `peak` that the search proves: steps double, then the last one is halved. The
/// caller knows that `bound` is not enough.
Bytes raised(const Doubt& doubt, Bytes bound, Bytes peak) {
  Bytes refuted = bound / doubt.unit();
  Bytes open = (peak - 1) / doubt.unit() + 1;
  for (Bytes step = 1; refuted + step < open; step *= 2) {
    if (doubt.refutes(refuted + step)) {
      refuted += step;
    } else {
      open = refuted + step;
    }
  }
  while (open - refuted > 1) {
    const Bytes middle = refuted + (open - refuted) / 2;
    (doubt.refutes(middle) ? refuted : open) = middle;
  }
  return std::min(peak, (refuted + 1) * doubt.unit());
}

/// Removes positions as long as the others still prove the bound.
void shorten(std::span<const Buffer> buffers, const Control& control, Certificate& certificate) {
  for (std::size_t p = certificate.positions.size(); p-- > 0 && !control.is_time_up();) {
    std::vector<Position> fewer = certificate.positions;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(p));
    const Doubt doubt(buffers, fewer, control);
    if (doubt.refutes((certificate.bound - 1) / doubt.unit())) certificate.positions = std::move(fewer);
  }
}

}  // namespace

Certificate certify(const Problem& problem, Bytes bound, Bytes peak, const Control& control) {
  Certificate best{bound, {}};
  const std::vector<Position> all = fullest_positions(problem.buffers);
  for (std::size_t count = 1; best.bound < peak && !control.is_time_up(); count *= 2) {
    const std::size_t taken = std::min({count, most_positions, all.size()});
    const std::vector<Position> positions(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(taken));
    const Doubt doubt(problem.buffers, positions, control);
    const Answer answer =
        doubt.ask(best.bound / doubt.unit());  // the least height that would raise the bound
    if (answer == Answer::no) best = {raised(doubt, best.bound, peak), positions};
    if (answer == Answer::unknown || taken < count || taken == most_positions) break;
  }
  shorten(problem.buffers, control, best);
  std::sort(best.positions.begin(), best.positions.end());
  return best;
}

}  // namespace stowage::pack

stowage::Bytes stowage::max_load(std::span<const Buffer> buffers) { return pack::fullest(buffers).bytes; }
