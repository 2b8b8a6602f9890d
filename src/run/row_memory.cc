// Places. A part of a tensor is a list of runs of its bytes. Each run is cut where rows of the tensor's views
// end, and every piece is looked up in the view that has its row now.
//
//   whole, NCHW       row 1 of 3, axis 2          the same row in a ring, or in a view of rows
//   c0 |r0|r1|r2|          |r1|                   |c0 c1|
//   c1 |r0|r1|r2|          |r1|
//
// Cost: pieces of a part, times views that have its row.

#include "run/row_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "run/reference.h"
#include "stowage/run.h"

namespace stowage::run {
namespace {

/// Bytes of a row that are consecutive in a whole tensor with rows along that axis.
Bytes inner_bytes(const Tensor& tensor, std::size_t axis) {
  Bytes bytes = *bytes_of_row(tensor, axis);
  for (std::size_t d = 0; d < axis; ++d) bytes /= (*tensor.shape)[d];
  return bytes;
}

void append(PlacedPart& part, const PlacedBytes& bytes) {
  if (!part.empty() && part.back().at + part.back().size == bytes.at &&
      part.back().offset + part.back().size == bytes.offset) {
    part.back().size += bytes.size;
  } else {
    part.push_back(bytes);
  }
}

}  // namespace

std::string text_of(const RowRange& rows) {
  return rows.begin + 1 == rows.end ? fmt::format("row {}", rows.begin)
                                    : fmt::format("rows {}..{}", rows.begin, rows.end - 1);
}

Bytes bytes_of(const Graph& graph, const TensorPart& part) {
  const Tensor& tensor = graph.tensors[part.tensor];
  return part.row ? *bytes_of_row(tensor, part.row->axis) : tensor.bytes;
}

PlacedPart runs_of(const Graph& graph, const TensorPart& part) {
  const Tensor& tensor = graph.tensors[part.tensor];
  if (tensor.bytes == 0) return {};
  if (!part.row) return {{.size = tensor.bytes}};
  const Bytes inner = inner_bytes(tensor, part.row->axis);
  const Bytes outer = inner * (*tensor.shape)[part.row->axis];
  PlacedPart runs;
  for (Bytes at = part.row->index * inner; at < tensor.bytes; at += outer)
    runs.push_back({.offset = at, .size = inner});
  return runs;
}

RowPlaces::RowPlaces(const Device& device)
    : device_(device), graph_(device.graph_of(0)), outside_(device.graph_of(0)) {
  for (TensorId t = 0; t < graph_.tensors.size(); ++t) layouts_.push_back(layout_of(t));
}

RowPlaces::Layout RowPlaces::layout_of(TensorId tensor) const {
  const Tensor& own = graph_.tensors[tensor];
  Layout layout{.inner = own.bytes};
  const std::vector<View>& views = device_.plan().tensors[tensor].views;
  for (const View& view : views) {
    if (!view.ring && !view.rows) continue;
    const std::size_t axis = view.ring ? view.ring->axis : view.rows->axis;
    layout.axis = axis;
    layout.rows = (*own.shape)[axis];
    layout.inner = inner_bytes(own, axis);
  }
  layout.of_row.resize(static_cast<std::size_t>(layout.rows));
  for (std::size_t v = 0; v < views.size(); ++v) {
    if (!views[v].rows) layout.always.push_back(v);
    if (!views[v].rows) continue;
    for (std::int64_t row = views[v].rows->begin; row < views[v].rows->end; ++row)
      layout.of_row[static_cast<std::size_t>(row)].push_back(v);
  }
  return layout;
}

/// The view in the first memory; of several, the one that lives longest.
const View* RowPlaces::view_now(TensorId tensor, std::int64_t row) const {
  const Plan& plan = device_.plan();
  const auto rank = [&](const View& view) {
    return std::pair(plan.places[view.buffer].memory, -view.life.upper);
  };
  const View* best = nullptr;
  const Layout& layout = layouts_[tensor];
  for (const auto* const views : {&layout.always, &layout.of_row[static_cast<std::size_t>(row)]}) {
    for (const std::size_t v : *views) {
      const View& view = plan.tensors[tensor].views[v];
      const bool is_alive =
          view.life.lower <= now() && now() < std::max(view.life.upper, view.life.lower + 1);
      if (is_alive && (best == nullptr || rank(view) < rank(*best))) best = &view;
    }
  }
  return best;
}

PlacedPart RowPlaces::find_outside(const TensorPart& part) {
  outside_.settle(part.tensor);
  PlacedPart found = runs_of(graph_, part);
  for (PlacedBytes& bytes : found) bytes.at = outside_.bytes_of(part.tensor, "") + bytes.offset;
  return found;
}

PlacedPart RowPlaces::find(const TensorPart& part, const std::string& who) {
  try {
    return find_pieces(part, who);
  } catch (const RunFault& fault) {
    throw RunFault{fmt::format("{} of {}", describe(part), fault.what)};
  }
}

PlacedPart RowPlaces::find_pieces(const TensorPart& part, const std::string& who) {
  if (device_.plan().tensors[part.tensor].views.empty()) return find_outside(part);
  const Layout& layout = layouts_[part.tensor];
  PlacedPart found;
  for (const PlacedBytes& run : runs_of(graph_, part)) {
    for (Bytes at = run.offset; at < run.offset + run.size;) {
      const std::int64_t row = at / layout.inner % layout.rows;
      const View* const view = view_now(part.tensor, row);
      if (view == nullptr) {
        throw RunFault{fmt::format("{} has no place in the plan at position {}", who, now())};
      }
      const Bytes end = std::min(run.offset + run.size, at - at % layout.inner + layout.inner);
      Bytes offset = at;  // in the view
      if (view->ring || view->rows) {
        const Bytes row_bytes = graph_.tensors[part.tensor].bytes / layout.rows;
        const std::int64_t place = view->rows
                                       ? row - view->rows->begin
                                       : row / view->ring->granule % view->ring->count * view->ring->granule +
                                             row % view->ring->granule;
        offset = place * row_bytes + at / (layout.inner * layout.rows) * layout.inner + at % layout.inner;
      }
      append(found, {find(view->buffer, view->offset + offset, end - at, who), at, end - at});
      at = end;
    }
  }
  return found;
}

std::byte* RowPlaces::find(std::size_t buffer, Bytes offset, Bytes size, const std::string& who) const {
  const Place& place = device_.plan().places[buffer];
  const Arena& arena = device_.arenas()[place.memory];
  arena.expect_held(buffer, place.offset + offset, size, who);
  return arena.bytes() + place.offset + offset;
}

std::string RowPlaces::describe(const TensorPart& part) const {
  const std::string tensor = stowage::describe(graph_, part.tensor);
  return part.row ? fmt::format("row {} of {}", part.row->index, tensor) : tensor;
}

std::string RowPlaces::describe_at(TensorId tensor, Bytes offset) const {
  const Layout& layout = layouts_[tensor];
  if (!layout.axis) return describe(TensorPart{.tensor = tensor});
  return describe(TensorPart{tensor, Row{*layout.axis, offset / layout.inner % layout.rows}});
}

std::string RowPlaces::describe_byte(const std::byte* at) const {
  for (const Arena& arena : device_.arenas()) {
    const Bytes byte = at - arena.bytes();
    if (byte >= 0 && byte < arena.size())
      return fmt::format("byte {} of memory {}", byte, base::quoted(arena.name()));
  }
  return "a byte outside all memories of the plan";
}

void RowPlaces::note_touched(const PlacedPart& part, std::vector<Bytes>& highest) const {
  for (const PlacedBytes& bytes : part) {
    for (std::size_t m = 0; m < device_.arenas().size(); ++m) {
      const Arena& arena = device_.arenas()[m];
      const Bytes byte = bytes.at - arena.bytes();
      if (byte >= 0 && byte < arena.size()) highest[m] = std::max(highest[m], byte + bytes.size);
    }
  }
}

// Contents. Every byte of a memory has a name: its value, and its number in that value. Readers of a row
// request its bytes by name. So a row that was never written, was overwritten or was released is found
// whatever the bytes are, and the writer of the other bytes is known.
//
//   address    0        8        16       24
//              | x 0..8 | y 0..8 | x 8..16|          x 0..16 is not at 0: byte 8 is y's, written at 5
//
// Cost: log n for n runs of bytes, amortised: overwritten runs are cut once.

void Contents::put(const std::byte* at, Bytes size, const Held& first) {
  if (size <= 0) return;
  remove(at, size);
  auto next = segments_.lower_bound(at);
  const std::byte* const end = at + size;
  if (next != segments_.begin()) {
    Segment& before = std::prev(next)->second;
    const Bytes length = before.end - std::prev(next)->first;
    if (before.end == at && before.first.value == first.value && before.first.written == first.written &&
        before.first.offset + length == first.offset) {
      before.end = end;
      return;
    }
  }
  segments_.emplace_hint(next, at, Segment{end, first});
}

void Contents::remove(const std::byte* at, Bytes size) {
  const std::byte* const end = at + size;
  auto segment = segments_.lower_bound(at);
  if (segment != segments_.begin() && std::prev(segment)->second.end > at) --segment;
  while (segment != segments_.end() && segment->first < end) {
    const std::byte* const begin = segment->first;
    const Segment old = segment->second;
    segment = segments_.erase(segment);
    if (begin < at) segments_.emplace(begin, Segment{at, old.first});
    if (old.end > end) {
      Held rest = old.first;
      rest.offset += end - begin;
      segments_.emplace(end, Segment{old.end, rest});
    }
  }
}

std::optional<Contents::Other> Contents::first_other(const std::byte* at, Bytes size, std::size_t value,
                                                     Bytes offset) const {
  const std::byte* const begin = at;
  const std::byte* const end = at + size;
  auto segment = segments_.upper_bound(at);
  if (segment != segments_.begin()) --segment;
  for (; segment != segments_.end() && at < end; ++segment) {
    if (segment->second.end <= at) continue;
    if (segment->first > at) break;
    Held held = segment->second.first;
    held.offset += at - segment->first;
    if (held.value != value || held.offset != offset + (at - begin)) return Other{at, held};
    at = segment->second.end;
  }
  return at >= end ? std::nullopt : std::optional(Other{.at = at});
}

RowMemory::RowMemory(Device& device, Reference* check) : device_(device), places_(device), check_(check) {}

void RowMemory::move_to(Position at) {
  for (const Arena::GivenBack& back : device_.move_to(0, at)) {
    const Arena& arena = device_.arenas()[device_.plan().places[back.buffer].memory];
    contents_.remove(arena.bytes() + back.begin, back.end - back.begin);
  }
}

PlacedPart RowMemory::find_written(const TensorPart& part, const std::string& who) {
  PlacedPart found = places_.find(part, who);
  if (const auto other = first_other(found, part.tensor)) refuse(*other, places_.describe(part), who);
  return found;
}

PlacedPart RowMemory::read(const TensorPart& part, const std::string& who) {
  PlacedPart found = find_written(part, who);
  if (check_ != nullptr) compare(part, found, *check_, "read by " + who);
  return found;
}

void RowMemory::wrote(const TensorPart& part, const PlacedPart& at, const std::string& who) {
  for (const PlacedBytes& bytes : at)
    contents_.put(bytes.at, bytes.size, {.value = part.tensor, .offset = bytes.offset, .written = step()});
  if (check_ != nullptr) compare(part, at, *check_, "written by " + who);
}

PlacedPart RowMemory::find_sums(const Sums& sums, Bytes size, const std::string& who) const {
  return {{.at = places_.find(sums.buffer, sums.offset, size, "the sums of " + who), .size = size}};
}

void RowMemory::expect_sums(std::size_t op, const PlacedPart& sums, const std::string& who) const {
  if (const auto other = first_other(sums, value_of_sums(op))) refuse(*other, "its sums", who);
}

void RowMemory::added(std::size_t op, const PlacedPart& sums) {
  for (const PlacedBytes& bytes : sums)
    contents_.put(bytes.at, bytes.size,
                  {.value = value_of_sums(op), .offset = bytes.offset, .written = step()});
}

void RowMemory::compare(const TensorPart& part, const PlacedPart& at, Reference& reference,
                        const std::string& who) {
  // Operators change state; the reference has it as it is after the run.
  if (device_.graph_of(0).tensors[part.tensor].kind == TensorKind::state) return;
  if (const auto element = reference.first_difference(part.tensor, at))
    throw RunFault{fmt::format("{} differs from an unstreamed run, first in element {} of its tensor, {}",
                               places_.describe(part), *element, who)};
}

std::optional<Contents::Other> RowMemory::first_other(const PlacedPart& part, std::size_t value) const {
  for (const PlacedBytes& bytes : part) {
    if (const auto other = contents_.first_other(bytes.at, bytes.size, value, bytes.offset)) return other;
  }
  return std::nullopt;
}

void RowMemory::refuse(const Contents::Other& other, const std::string& name, const std::string& who) const {
  const std::string byte = places_.describe_byte(other.at);
  throw RunFault{other.held ? fmt::format("{} reads {}, but {} is of {}, where it should be", who, name, byte,
                                          describe(*other.held))
                            : fmt::format("{} reads {}, but nothing was written to {}, where it should be",
                                          who, name, byte)};
}

std::string RowMemory::describe(const Contents::Held& held) const {
  const Graph& graph = device_.graph_of(0);
  const std::string writer =
      held.written < 0
          ? "the caller"
          : fmt::format("{} at position {}", steps_[static_cast<std::size_t>(held.written)], held.written);
  if (held.value >= graph.tensors.size())
    return fmt::format("the sums of {}, written by {}",
                       stowage::describe(graph, 0, held.value - graph.tensors.size()), writer);
  return fmt::format("{}, written by {}", places_.describe_at(held.value, held.offset), writer);
}

}  // namespace stowage::run
