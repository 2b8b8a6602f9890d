#include "pack/load.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <set>

#include "base/checked.h"

namespace stowage {

Bytes max_load(std::span<const Buffer> buffers) {
  Bytes most = 0;
  for (const pack::Load& load : pack::load_profile(buffers)) most = std::max(most, load.bytes);
  return most;
}

namespace pack {

namespace {

bool comes_first(const Load& a, const Load& b) { return a.at < b.at; }

/// Sorts by position and adds up what is at the same one.
void merge_by_sorting(std::vector<Load>& changes) {
  std::sort(changes.begin(), changes.end(), comes_first);
  std::size_t count = 0;
  for (const Load& change : changes) {
    if (count > 0 && changes[count - 1].at == change.at) {
      changes[count - 1].bytes += change.bytes;
    } else {
      changes[count++] = change;
    }
  }
  changes.resize(count);
}

/// The same for positions that lie close together: one cell for each from the first to the last.
void merge_by_counting(std::vector<Load>& changes, Position first, Position last) {
  std::vector<std::optional<Bytes>> cells(static_cast<std::size_t>(last - first) + 1);
  for (const Load& change : changes) {
    std::optional<Bytes>& cell = cells[static_cast<std::size_t>(change.at - first)];
    cell = cell.value_or(0) + change.bytes;
  }
  changes.clear();
  for (Position at = first; at <= last; ++at) {
    if (const auto cell = cells[static_cast<std::size_t>(at - first)]) changes.push_back({at, *cell});
  }
}

}  // namespace

std::vector<Load> load_profile(std::span<const Buffer> buffers) {
  std::vector<Load> profile;  // first the change at each position, then the sum of all up to it
  profile.reserve(2 * buffers.size());
  for (const Buffer& buffer : buffers) {
    for (const Piece& piece : buffer.pieces) {
      if (!piece.is_ever_alive()) continue;
      profile.push_back({piece.life.lower, piece.size});
      profile.push_back({piece.life.upper, -piece.size});
    }
  }
  if (profile.empty()) return profile;
  const auto [first, last] = std::minmax_element(profile.begin(), profile.end(), comes_first);
  if (last->at - first->at < std::ssize(profile)) {
    merge_by_counting(profile, first->at, last->at);
  } else {
    merge_by_sorting(profile);
  }
  Bytes bytes = 0;
  for (Load& load : profile) load.bytes = bytes += load.bytes;
  return profile;
}

namespace {

/// The load of what begins at multiples of a unit only: each takes its bytes rounded up to the next, but for
/// one on top, which may be the one that gains most by that.
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

}  // namespace pack
}  // namespace stowage
