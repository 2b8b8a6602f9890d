// Slices and pads: an output row is one input row, begin + step * r. A slice backwards has a negative step.
//
// A pad that repeats rows of its input leaves that line at both ends. A row of the output is then said to
// read every row that a row near an end may read from there:
//
//     edge      place p reads row 0 or the last one: p + 1, p + 2, .. in front, p - 1, p - 2, .. behind
//     reflect   place -p reads row p, which is p + 2p: even distances
//     mirror    place -p reads row p - 1: odd distances
//     wrap      place p reads row p + n or p - n: multiples of the rows, of which only one exists
//
// With narrow pads these are few rows.

#include <algorithm>
#include <optional>
#include <string>

#include "operators/readings.h"

namespace stowage::operators {
namespace {

/// Row r is row begin + step * r of the input.
struct Line {
  std::int64_t begin = 0;
  std::int64_t step = 1;
};

Reading along_line(std::size_t axis, const Line& line) {
  return rows_along(axis, {.scale = line.step, .offset = line.begin});
}

/// The place where a slice begins; one that is negative counts from the end.
std::int64_t begin_of(std::int64_t start, std::int64_t step, std::int64_t extent) {
  const std::int64_t place = start < 0 ? start + extent : start;
  return step < 0 ? std::clamp<std::int64_t>(place, 0, extent - 1)
                  : std::clamp<std::int64_t>(place, 0, extent);
}

/// Beyond the extent, one row at most is taken.
std::int64_t step_within(std::int64_t step, std::int64_t extent) {
  return std::clamp(step, -extent - 1, extent + 1);
}

/// Whether all rows are there in their order, though it is not known where they begin.
bool keeps_all(std::int64_t step, std::int64_t in, std::int64_t out) { return in == out && step > 0; }

/// The steps of a slice of ONNX; none if they are unknown. TFLite's SLICE has none.
std::optional<std::int64_t> step_at(const Site& site, std::size_t place) {
  if (site.is_tflite() || !site.has_input(4)) return 1;
  const auto steps = site.integers(4);
  return steps && place < steps->size() ? std::optional((*steps)[place]) : std::nullopt;
}

}  // namespace

Reading slice(const Site& site, std::size_t input, std::size_t axis) {
  const Shape in = site.input_shape(0);
  if (input != 0) return shared();
  if (in.size() != site.output_shape().size()) return all();
  const auto starts = site.integers("starts", 1);
  const auto at = site.is_tflite() ? std::optional(axis) : place_among(site, 3, axis, in.size());
  if (!at) return all();
  if (starts && *at >= starts->size()) return same_row(axis);
  const auto step = step_at(site, *at);
  if (!step || *step == 0) return all();
  if (keeps_all(*step, in[axis], site.output_shape()[axis])) return same_row(axis);
  if (!starts) return all();
  return along_line(axis, {begin_of((*starts)[*at], *step, in[axis]), step_within(*step, in[axis])});
}

namespace {

bool has_bit(const Site& site, const char* mask, std::size_t d) {
  return d < 32 && (static_cast<std::uint64_t>(site.attributes().integer(mask, 0)) >> d & 1U) != 0;
}

/// The axis of the input that is this one of the output; those that are shrunk are not in the output.
std::optional<std::size_t> unshrunk(const Site& site, std::size_t axis) {
  std::size_t kept = 0;
  for (std::size_t d = 0; d < site.input_shape(0).size(); ++d) {
    if (!has_bit(site, "shrink_axis_mask", d) && kept++ == axis) return d;
  }
  return std::nullopt;
}

}  // namespace

Reading strided_slice(const Site& site, std::size_t input, std::size_t axis) {
  const Shape in = site.input_shape(0);
  if (input != 0) return shared();
  for (const char* const unusual : {"ellipsis_mask", "new_axis_mask", "offset"}) {
    if (site.attributes().integer(unusual, 0) != 0) return all();
  }
  const auto own = unshrunk(site, axis);
  const auto starts = site.integers(1);
  const auto steps = site.integers(3);
  if (!own || !steps) return all();
  if (*own >= steps->size()) return same_row(*own);
  const std::int64_t step = (*steps)[*own];
  const std::int64_t extent = in[*own];
  if (step == 0) return all();
  if (keeps_all(step, extent, site.output_shape()[axis])) return same_row(*own);
  if (has_bit(site, "begin_mask", *own))
    return along_line(*own, {step > 0 ? 0 : extent - 1, step_within(step, extent)});
  if (!starts || *own >= starts->size()) return all();
  return along_line(*own, {begin_of((*starts)[*own], step, extent), step_within(step, extent)});
}

// Pads

namespace {

struct Pads {
  std::int64_t before = 0;
  std::int64_t behind = 0;
};

/// As the file says; none if they are unknown.
std::optional<Pads> told_pads(const Site& site, std::size_t axis, std::size_t rank) {
  if (site.is_tflite()) {
    const auto pads = site.integers(1);
    if (!pads || pads->size() != 2 * rank) return std::nullopt;
    return Pads{(*pads)[2 * axis], (*pads)[2 * axis + 1]};
  }
  const auto pads = site.integers("pads", 1);
  const auto at = place_among(site, 3, axis, rank);
  if (!pads || !at || pads->size() % 2 != 0) return std::nullopt;
  const std::size_t half = pads->size() / 2;
  return *at < half ? Pads{(*pads)[*at], (*pads)[*at + half]} : Pads{};
}

/// None also if they are absurdly large.
std::optional<Pads> pads_of(const Site& site, std::size_t axis, std::size_t rank) {
  constexpr std::int64_t largest = std::int64_t{1} << 40;
  const auto pads = told_pads(site, axis, rank);
  const bool is_sane = pads && std::min(pads->before, pads->behind) >= -largest &&
                       std::max(pads->before, pads->behind) <= largest;
  return is_sane ? pads : std::nullopt;
}

enum class Filling : std::uint8_t { constant, edge, reflect, mirror, wrap, unknown };

Filling filling_of(const Site& site) {
  if (site.is_tflite()) return Filling::constant;
  const std::string mode = site.attributes().text("mode", "constant");
  if (mode == "constant") return Filling::constant;
  if (mode == "edge") return Filling::edge;
  if (mode == "reflect") return Filling::reflect;
  return mode == "wrap" ? Filling::wrap : Filling::unknown;
}

/// Rows from `low` below a place to `high` above it, `apart` from each other; all three are positive or 0.
Reading around(std::size_t axis, std::int64_t before, std::int64_t low, std::int64_t high,
               std::int64_t apart) {
  return rows_along(axis, {.offset = -before - low, .taps = (low + high) / apart + 1, .dilation = apart});
}

/// The least multiple of `unit` that is not below a number.
std::int64_t multiple_above(std::int64_t number, std::int64_t unit) {
  return (number + unit - 1) / unit * unit;
}

Reading padded_with_rows(Filling filling, const Pads& pads, std::size_t axis, std::int64_t rows) {
  const std::int64_t front = std::max<std::int64_t>(pads.before, 0);
  const std::int64_t behind = std::max<std::int64_t>(pads.behind, 0);
  if (filling == Filling::edge) return around(axis, pads.before, behind, front, 1);
  if (filling == Filling::wrap)
    return around(axis, pads.before, multiple_above(behind, rows), multiple_above(front, rows), rows);
  const bool is_mirror = filling == Filling::mirror;
  // It turns once only.
  if (std::max(front, behind) > rows - (is_mirror ? 0 : 1)) return all();
  if (!is_mirror) return around(axis, pads.before, 2 * behind, 2 * front, 2);
  return around(axis, pads.before, std::max<std::int64_t>(2 * behind - 1, 0),
                std::max<std::int64_t>(2 * front - 1, 0), 1);
}

}  // namespace

namespace {

Reading padded(const Site& site, std::size_t input, std::size_t axis, Filling filling) {
  const std::size_t rank = site.output_shape().size();
  if (input != 0) return shared();
  if (site.input_shape(0).size() != rank) return all();
  const auto pads = pads_of(site, axis, rank);
  if (!pads) return all();
  const std::int64_t rows = site.input_shape(0)[axis];
  if (pads->before == 0 && rows == site.output_shape()[axis]) return same_row(axis);
  if (filling == Filling::constant) return rows_along(axis, {.offset = -pads->before});
  return filling == Filling::unknown || rows < 1 ? all() : padded_with_rows(filling, *pads, axis, rows);
}

}  // namespace

Reading pad(const Site& site, std::size_t input, std::size_t axis) {
  return padded(site, input, axis, filling_of(site));
}

Reading mirror_pad(const Site& site, std::size_t input, std::size_t axis) {
  const bool is_reflected = site.attributes().integer("mode", 0) == 0;
  return padded(site, input, axis, is_reflected ? Filling::reflect : Filling::mirror);
}

Reading tile(const Site& site, std::size_t input, std::size_t axis) {
  if (input != 0) return shared();
  if (axis >= site.input_shape(0).size()) return all();
  const std::int64_t in = site.input_shape(0)[axis];
  const std::int64_t out = site.output_shape()[axis];
  if (in == out) return same_row(axis);
  if (in == 1) return shared();
  return in < 1 || out % in != 0 ? all() : around(axis, 0, out - in, 0, in);
}

}  // namespace stowage::operators
