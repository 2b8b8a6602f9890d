// The tables of a kernel give the rows that each row of a resized image reads, a few rows around a line. The
// line has the slope of the extents, or of the distances between the first row and the last. The least offset
// and number of rows that cover all of them treat integer and fractional scales, nearest and cubic alike.
//
// Cost: rows of the output.

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "operators/readings.h"
#include "operators/resize_taps.h"

namespace stowage::operators {
namespace {

constexpr std::int64_t most_resized_rows = std::int64_t{1} << 20;

/// Half-open; none: a row of the output that reads nothing.
using Span = std::optional<std::pair<std::int64_t, std::int64_t>>;

/// The rows that rows of the output read, along a line of slope scale / divisor.
Reading along_line(std::size_t axis, const std::vector<Span>& read, std::int64_t scale,
                   std::int64_t divisor) {
  const std::int64_t common = std::gcd(scale, divisor);
  RowMap map{.scale = scale / common, .divisor = divisor / common};
  std::optional<std::int64_t> offset;  // the greatest with which no row begins after its input rows
  for (std::size_t r = 0; r < read.size(); ++r) {
    if (!read[r]) continue;
    const std::int64_t greatest =
        (read[r]->first + 1) * map.divisor - 1 - map.scale * static_cast<std::int64_t>(r);
    offset = std::min(offset.value_or(greatest), greatest);
  }
  if (!offset) return all();
  map.offset = *offset;
  for (std::size_t r = 0; r < read.size(); ++r) {
    if (!read[r]) continue;
    map.taps = std::max(map.taps, read[r]->second - first_row(map, static_cast<std::int64_t>(r)));
  }
  return rows_along(axis, map);
}

std::vector<Span> spans_of(const std::vector<Taps>& table) {
  std::vector<Span> spans;
  for (const Taps& taps : table) {
    Span span;
    for (const Tap& tap : taps) {
      if (!span) span = {tap.at, tap.at + 1};
      span = {std::min(span->first, tap.at), std::max(span->second, tap.at + 1)};
    }
    spans.push_back(span);
  }
  return spans;
}

template <typename Number>
std::vector<Span> spans_of(const std::vector<Between<Number>>& places) {
  std::vector<Span> spans;
  for (const Between<Number>& place : places)
    spans.emplace_back(
        std::pair(std::min(place.first, place.second), std::max(place.first, place.second) + 1));
  return spans;
}

std::optional<std::vector<Span>> spans_of_tflite(const Site& site, std::size_t axis) {
  const TfliteResizeAxis along{.input = site.input_shape(0)[axis],
                               .output = site.output_shape()[axis],
                               .aligns_corners = site.attributes().integer("align_corners", 0) != 0,
                               .centers = site.attributes().integer("half_pixel_centers", 0) != 0};
  if (site.type() == "RESIZE_NEAREST_NEIGHBOR") {
    std::vector<Span> spans;
    for (const std::int64_t at : nearest_places(along)) spans.emplace_back(std::pair(at, at + 1));
    return spans;
  }
  const DType dtype = site.input(0)->dtype;
  if (dtype == DType::float32) return spans_of(real_places(along));
  return dtype == DType::int8 ? std::optional(spans_of(integer_places(along))) : std::nullopt;
}

/// None: its scales are unknown before it runs.
std::optional<std::vector<Span>> spans_of_onnx(const Site& site, std::size_t axis) {
  const bool is_first = ResizeCall::is_first(site.type(), site.version());
  const Resizing resizing = resizing_of({.type = site.type(),
                                         .version = site.version(),
                                         .attributes = site.attributes(),
                                         .input = site.input_shape(0),
                                         .output = site.output_shape(),
                                         .scales = site.reals(is_first ? 1 : 2),
                                         .sizes = is_first ? std::nullopt : site.integers(3),
                                         .region = is_first ? std::nullopt : site.reals(1)});
  const bool needs_sizes =
      !is_first && site.has_input(3) && site.input_shape(3) != Shape{0} && !site.integers(3);
  const bool needs_region = resizing.is_cropped() && site.has_input(1) && !site.reals(1);
  if (!resizing.refusal.empty() || needs_sizes || needs_region) return std::nullopt;
  return spans_of(taps_of(resizing, resizing.axes[axis]));
}

}  // namespace

Reading resize(const Site& site, std::size_t input, std::size_t axis) {
  if (input != 0) return shared();
  if (axis >= site.input_shape(0).size()) return all();
  const std::int64_t in = site.input_shape(0)[axis];
  const std::int64_t out = site.output_shape()[axis];
  const bool is_channel = site.is_tflite() && axis != 1 && axis != 2;
  if (is_channel && in == out) return same_row(axis);
  if (std::min(in, out) < 1 || std::max(in, out) > most_resized_rows) return all();
  const auto read = site.is_tflite() ? spans_of_tflite(site, axis) : spans_of_onnx(site, axis);
  if (!read) return all();
  const Reading by_extents = along_line(axis, *read, in, out);
  if (in == 1 || out == 1) return by_extents;
  const Reading by_corners = along_line(axis, *read, in - 1, out - 1);
  const bool are_few = by_corners.reach == Reach::rows && by_corners.rows.taps < by_extents.rows.taps;
  return are_few ? by_corners : by_extents;
}

}  // namespace stowage::operators
