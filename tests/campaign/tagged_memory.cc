#include "tagged_memory.h"

#include <algorithm>
#include <string>

namespace stowage::campaign {

TaggedMemory::TaggedMemory(const Plan& plan, Findings& findings)
    : plan_(plan),
      findings_(findings),
      now_(plan.clocks.size()),
      buffers_of_(plan.clocks.size()),
      cells_(plan.memories.size()) {
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    buffers_of_[plan.buffers[b].clock].push_back(b);
    alive_.emplace_back(static_cast<std::size_t>(plan.buffers[b].size), false);
    std::vector<Cell>& cells = cells_[plan.places[b].memory];
    const auto end = static_cast<std::size_t>(plan.places[b].offset + plan.buffers[b].size);
    if (cells.size() < end) cells.resize(end);
  }
}

void TaggedMemory::go(std::size_t clock, std::optional<Position> position) {
  now_[clock] = position;
  std::vector<std::pair<std::size_t, std::vector<bool>>> changes;
  for (const std::size_t b : buffers_of_[clock]) {
    std::vector<bool> alive(alive_[b].size(), false);
    for (const Piece& piece : plan_.buffers[b].pieces)
      if (position && piece.life.lower <= *position && *position < piece.life.upper)
        std::fill_n(alive.begin() + piece.offset, piece.size, true);
    if (alive != alive_[b]) changes.emplace_back(b, std::move(alive));
  }
  // First all give back, then all take.
  for (const auto& [buffer, alive] : changes) {
    std::vector<bool> kept(alive.size());
    for (std::size_t i = 0; i < alive.size(); ++i) kept[i] = alive[i] && alive_[buffer][i];
    set_alive(buffer, kept);
  }
  for (const auto& [buffer, alive] : changes) set_alive(buffer, alive);
}

void TaggedMemory::set_alive(std::size_t buffer, const std::vector<bool>& alive) {
  std::vector<Cell>& cells = cells_[plan_.places[buffer].memory];
  const auto start = static_cast<std::size_t>(plan_.places[buffer].offset);
  bool is_told = false;
  for (std::size_t i = 0; i < alive.size(); ++i) {
    if (alive[i] == alive_[buffer][i]) continue;
    Cell& cell = cells[start + i];
    if (alive[i] && cell.holder && *cell.holder != buffer && !is_told) {
      is_told = true;
      findings_.push_back({"replay: overlap", "buffer '" + plan_.buffers[buffer].id + "' takes byte " +
                                                  std::to_string(start + i) + " that '" +
                                                  plan_.buffers[*cell.holder].id + "' holds"});
    }
    cell.name = nobody;
    if (alive[i])
      cell.holder = buffer;
    else if (cell.holder == buffer)
      cell.holder.reset();
  }
  alive_[buffer] = alive;
}

bool TaggedMemory::is_alive(const View& view) const {
  const std::optional<Position>& now = now_[plan_.buffers[view.buffer].clock];
  return now && view.life.lower <= *now && *now < view.life.upper;
}

bool TaggedMemory::is_ending(const View& view) const {
  return now_[plan_.buffers[view.buffer].clock] == view.life.upper;
}

bool TaggedMemory::holds(std::size_t buffer, Bytes offset) const {
  return offset >= 0 && offset < plan_.buffers[buffer].size &&
         alive_[buffer][static_cast<std::size_t>(offset)] &&
         cells_[plan_.places[buffer].memory][static_cast<std::size_t>(plan_.places[buffer].offset + offset)]
                 .holder == buffer;
}

ByteName TaggedMemory::name_at(Address address) const {
  return cells_[address.memory][static_cast<std::size_t>(address.at)].name;
}

void TaggedMemory::put(Address address, ByteName name) {
  cells_[address.memory][static_cast<std::size_t>(address.at)].name = name;
}

Whereabouts::Whereabouts(const TaggedMemory& memory, const Plan& plan, const PlannedTensor& tensor)
    : tensor_(tensor) {
  for (std::size_t v = 0; v < tensor.views.size(); ++v)
    if (memory.is_alive(tensor.views[v]))
      views_.push_back({.view = v, .memory = plan.places[tensor.views[v].buffer].memory});
}

Whereabouts Whereabouts::of_ending(const TaggedMemory& memory, const Plan& plan,
                                   const PlannedTensor& tensor) {
  Whereabouts ending(tensor);
  for (std::size_t v = 0; v < tensor.views.size(); ++v)
    if (memory.is_ending(tensor.views[v]))
      ending.views_.push_back({.view = v, .memory = plan.places[tensor.views[v].buffer].memory});
  return ending;
}

Whereabouts::RowOfByte Whereabouts::row_of(std::size_t axis, Bytes byte) const {
  const Shape& shape = *tensor_.tensor.shape;
  Bytes inner = 1;
  for (std::size_t a = axis + 1; a < shape.size(); ++a) inner *= shape[a];
  inner = inner * *bits_of(tensor_.tensor.dtype) / 8;
  const std::int64_t rows = shape[axis];
  return {.row = byte / inner % rows, .at = byte / (inner * rows) * inner + byte % inner};
}

std::optional<Bytes> Whereabouts::offset_in(const View& view, Bytes byte) const {
  if (!view.ring && !view.rows) return view.offset + byte;
  const std::size_t axis = view.ring ? view.ring->axis : view.rows->axis;
  const RowOfByte found = row_of(axis, byte);
  const Bytes row_bytes = tensor_.tensor.bytes / (*tensor_.tensor.shape)[axis];
  if (view.rows) {
    if (found.row < view.rows->begin || found.row >= view.rows->end) return std::nullopt;
    return view.offset + (found.row - view.rows->begin) * row_bytes + found.at;
  }
  const std::int64_t granule = view.ring->granule;
  const std::int64_t slot = found.row / granule % view.ring->count;
  return view.offset + slot * granule * row_bytes + found.row % granule * row_bytes + found.at;
}

void Whereabouts::find(Bytes byte, std::vector<Spot>& spots) const {
  spots.clear();
  std::size_t fastest = 0;
  for (const Shelf& shelf : views_) {
    const View& view = tensor_.views[shelf.view];
    const std::optional<Bytes> offset = offset_in(view, byte);
    if (!offset) continue;
    if (!spots.empty() && shelf.memory > fastest) continue;
    if (!spots.empty() && shelf.memory < fastest) spots.clear();
    fastest = shelf.memory;
    spots.push_back({.view = shelf.view, .buffer = view.buffer, .offset = *offset});
  }
}

std::optional<Bytes> Whereabouts::find_in(std::size_t buffer, Bytes byte) const {
  for (const Shelf& shelf : views_) {
    const View& view = tensor_.views[shelf.view];
    const std::optional<Bytes> offset = view.buffer == buffer ? offset_in(view, byte) : std::nullopt;
    if (offset) return offset;
  }
  return std::nullopt;
}

}  // namespace stowage::campaign
