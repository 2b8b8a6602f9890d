#include "run/parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"

namespace stowage::run {
namespace {

/// The part as ranges of memory that do not follow each other.
PlacedPart merged(const PlacedPart& part) {
  PlacedPart ranges;
  for (const PlacedBytes& bytes : part) {
    if (!ranges.empty() && ranges.back().at + ranges.back().size == bytes.at) {
      ranges.back().size += bytes.size;
    } else {
      ranges.push_back(bytes);
    }
  }
  return ranges;
}

}  // namespace

std::string text_of(const RowRange& rows) {
  return rows.begin + 1 == rows.end ? fmt::format("row {}", rows.begin)
                                    : fmt::format("rows {}..{}", rows.begin, rows.end - 1);
}

std::vector<TensorPart> parts_of(TensorId tensor, const std::optional<RowRange>& rows) {
  if (!rows) return {{.tensor = tensor}};
  std::vector<TensorPart> parts;
  for (std::int64_t row = rows->begin; row < rows->end; ++row)
    parts.push_back({tensor, Row{rows->axis, row}});
  return parts;
}

Bytes inner_bytes(const Tensor& tensor, std::size_t axis) {
  Bytes bytes = *bytes_of_row(tensor, axis);
  for (std::size_t d = 0; d < axis; ++d) bytes /= (*tensor.shape)[d];
  return bytes;
}

Bytes bytes_in(const View& view, const Tensor& tensor) {
  const auto of_rows = [&](std::size_t axis, std::int64_t rows) {
    if (!tensor.shape || axis >= tensor.shape->size() || (*tensor.shape)[axis] < 1) return tensor.bytes;
    const std::int64_t extent = (*tensor.shape)[axis];
    return tensor.bytes / extent * std::clamp<std::int64_t>(rows, 0, extent);
  };
  if (view.ring) {
    const auto rows = base::checked_multiply(view.ring->granule, view.ring->count);
    return of_rows(view.ring->axis, rows.value_or(largest_value));
  }
  if (view.rows) return of_rows(view.rows->axis, view.rows->end - view.rows->begin);
  return tensor.bytes;
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

std::vector<std::byte> bytes_of(const PlacedPart& part) {
  Bytes size = 0;
  for (const PlacedBytes& bytes : part) size += bytes.size;
  std::vector<std::byte> copy;
  copy.reserve(static_cast<std::size_t>(size));
  for (const PlacedBytes& bytes : part) copy.insert(copy.end(), bytes.at, bytes.at + bytes.size);
  return copy;
}

void append(PlacedPart& part, const PlacedBytes& bytes) {
  if (!part.empty() && part.back().at + part.back().size == bytes.at &&
      part.back().offset + part.back().size == bytes.offset) {
    part.back().size += bytes.size;
  } else {
    part.push_back(bytes);
  }
}

bool overlap(const PlacedPart& a, const PlacedPart& b) {
  PlacedPart first = merged(a);
  PlacedPart second = merged(b);
  std::ranges::sort(first, {}, &PlacedBytes::at);
  std::ranges::sort(second, {}, &PlacedBytes::at);
  for (std::size_t i = 0, k = 0; i < first.size() && k < second.size();) {
    const std::byte* const end = first[i].at + first[i].size;
    const std::byte* const other_end = second[k].at + second[k].size;
    if (first[i].at < other_end && second[k].at < end) return true;
    if (end <= other_end) {
      ++i;
    } else {
      ++k;
    }
  }
  return false;
}

bool is_same_place(const PlacedPart& a, const PlacedPart& b) {
  const auto first = merged(a);
  const auto second = merged(b);
  return std::ranges::equal(first, second, [](const PlacedBytes& one, const PlacedBytes& other) {
    return one.at == other.at && one.size == other.size;
  });
}

bool is_dense(const PlacedPart& part) { return merged(part).size() <= 1; }

}  // namespace stowage::run
