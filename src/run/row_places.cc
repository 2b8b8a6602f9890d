// Idea. A part of a tensor is some runs of its bytes; each run is cut where rows of the tensor's views end,
// and every piece looked up in the view that has its row now.
//
//   whole, NCHW       row 1 of 3, axis 2          the same row in a ring, or in a view of rows
//   c0 |r0|r1|r2|          |r1|                   |c0 c1|
//   c1 |r0|r1|r2|          |r1|
//
// Cost: pieces of a part, times views that its row has.

#include "run/row_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/text.h"
#include "stowage/run.h"

namespace stowage::run {
namespace {

/// Bytes of a row that lie together in a whole tensor, which has rows along that axis.
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

Bytes bytes_of(const Graph& graph, const Part& part) {
  const Tensor& tensor = graph.tensors[part.tensor];
  return part.row ? *bytes_of_row(tensor, part.row->axis) : tensor.bytes;
}

PlacedPart runs_of(const Graph& graph, const Part& part) {
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
    if (!bytes_of_row(own, axis) || layout.axis.value_or(axis) != axis)
      throw RunFault{fmt::format("{} has views of rows along axis {}, which it does not have",
                                 stowage::describe(graph_, tensor), axis)};
    layout.axis = axis;
    layout.rows = (*own.shape)[axis];
    layout.inner = inner_bytes(own, axis);
  }
  layout.of_row.resize(static_cast<std::size_t>(layout.rows));
  for (std::size_t v = 0; v < views.size(); ++v) add_view(tensor, v, layout);
  return layout;
}

void RowPlaces::add_view(TensorId tensor, std::size_t view, Layout& layout) const {
  const View& it = device_.plan().tensors[tensor].views[view];
  const Bytes row_bytes = graph_.tensors[tensor].bytes / layout.rows;
  if (it.ring) {
    const auto rows = base::checked_multiply(it.ring->granule, it.ring->count);
    const auto bytes = rows ? base::checked_multiply(*rows, std::max<Bytes>(row_bytes, 1)) : std::nullopt;
    if (it.rows || it.ring->granule < 1 || it.ring->count < 1 || !bytes || *bytes > largest_value)
      throw RunFault{fmt::format("{} has a ring of {} granules of {} rows", stowage::describe(graph_, tensor),
                                 it.ring->count, it.ring->granule)};
  }
  if (!it.rows) {
    layout.always.push_back(view);
    return;
  }
  if (it.rows->begin < 0 || it.rows->begin >= it.rows->end || it.rows->end > layout.rows)
    throw RunFault{fmt::format("{} has a view of rows {} to {}, but {} rows",
                               stowage::describe(graph_, tensor), it.rows->begin, it.rows->end, layout.rows)};
  for (std::int64_t row = it.rows->begin; row < it.rows->end; ++row)
    layout.of_row[static_cast<std::size_t>(row)].push_back(view);
}

/// The one in the first memory; of those the one that lives longest.
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

PlacedPart RowPlaces::find_outside(const Part& part) {
  outside_.settle(part.tensor);
  PlacedPart found = runs_of(graph_, part);
  for (PlacedBytes& bytes : found) bytes.at = outside_.bytes_of(part.tensor, "") + bytes.offset;
  return found;
}

PlacedPart RowPlaces::find(const Part& part, const std::string& who) {
  try {
    return find_pieces(part, who);
  } catch (const RunFault& fault) {
    throw RunFault{fmt::format("{} of {}", describe(part), fault.what)};
  }
}

PlacedPart RowPlaces::find_pieces(const Part& part, const std::string& who) {
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

std::string RowPlaces::describe(const Part& part) const {
  const std::string tensor = stowage::describe(graph_, part.tensor);
  return part.row ? fmt::format("row {} of {}", part.row->index, tensor) : tensor;
}

std::string RowPlaces::describe_at(TensorId tensor, Bytes offset) const {
  const Layout& layout = layouts_[tensor];
  if (!layout.axis) return describe(Part{.tensor = tensor});
  return describe(Part{tensor, Row{*layout.axis, offset / layout.inner % layout.rows}});
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

}  // namespace stowage::run
