// The rows that operators read for a row of their output. The rule of an operator (Facts::rows) is a function
// from (operator, input, axis of the output) to rows of the input; one without a rule runs as a whole. Rules
// need not be exact, but must name every row that is read: one too many costs bytes, one too few makes a
// wrong plan. A rule that does not know its operator fully answers that it reads everything. It answers that
// rows share an input only if all rows certainly read it alike, since then a kernel for a single row may run.

#include "operators/rows.h"

#include <algorithm>

#include "base/checked.h"
#include "operators/readings.h"

namespace stowage::operators {
namespace {

/// Whether the input exists and has all its rows along that axis.
bool has_rows(const Site& site, std::size_t input, std::size_t axis) {
  const auto* const tensor = site.input(input);
  return tensor != nullptr && bytes_of_row(*tensor, axis).has_value();
}

}  // namespace

bool is_rowwise(const Site& site, std::size_t axis) {
  const Facts& facts = site.facts();
  if (facts.rows == nullptr || !site.op().bodies.empty() || site.op().stateful) return false;
  if (facts.reduces != nullptr && !facts.reduces(site)) return false;
  const Shape first = site.output_shape(0);
  for (std::size_t o = 0; o < site.op().outputs.size(); ++o) {
    const Tensor* const output = site.output(o);
    if (output == nullptr) continue;
    if (!bytes_of_row(*output, axis) || (*output->shape)[axis] != first[axis]) return false;
  }
  // An input read by rows must have these rows: int4 of an odd number, for instance, would run as a whole.
  for (std::size_t i = 0; i < site.op().inputs.size(); ++i) {
    const Reading reading = reading_of(site, i, axis);
    if (reading.reach == Reach::together) return false;
    if (reading.reach == Reach::rows && !has_rows(site, i, reading.axis)) return false;
  }
  return true;
}

std::vector<std::size_t> summed_axes(const Site& site) {
  if (site.op().outputs.size() != 1 || !site.op().outputs[0]) return {};  // places of the greatest, too
  if (site.facts().sums == nullptr) return {};
  std::vector<std::size_t> axes = site.facts().sums(site);
  std::erase_if(axes, [&](std::size_t axis) { return !has_rows(site, 0, axis); });
  return axes;
}

std::vector<CarriedAxis> carried_axes(const Site& site) {
  if (site.facts().carries == nullptr || site.input(0) == nullptr || site.output(0) == nullptr ||
      !site.op().bodies.empty())
    return {};
  const auto found = site.facts().carries(site);
  if (!found || is_rowwise(site, found->axis)) return {};
  const bool has_both =
      bytes_of_row(*site.input(0), found->input_axis) && bytes_of_row(*site.output(0), found->axis);
  return has_both ? std::vector{*found} : std::vector<CarriedAxis>{};
}

std::optional<std::int64_t> multiplies_of(const Site& site) {
  return site.facts().multiplies == nullptr ? std::optional<std::int64_t>(0) : site.facts().multiplies(site);
}

namespace {

/// Whether the numbers of the rows that any of so many rows reads stay within 64 bits.
bool is_countable(const RowMap& map, std::int64_t rows) {
  const auto last = base::checked_multiply(map.scale, rows);
  const auto reach = base::checked_multiply(map.taps, map.dilation);
  const auto end = last ? base::checked_add(*last, map.offset) : std::nullopt;
  return end && reach && base::checked_add(*end, *reach) && base::checked_add(map.offset, *reach);
}

}  // namespace

Reading reading_of(const Site& site, std::size_t input, std::size_t axis) {
  if (site.facts().rows == nullptr || axis >= site.output_shape().size()) return all();
  const Shape shape = site.input_shape(input);
  if (shape.empty()) return shared();  // a single number, or left out
  const Reading reading = site.facts().rows(site, input, axis);
  if (reading.reach != Reach::rows) return reading;
  const bool is_known = reading.axis < shape.size() && is_countable(reading.rows, site.output_shape()[axis]);
  return is_known ? reading : all();
}

namespace {

/// Whether every block of rows reads whole rows of the input in the same order.
bool is_reshaped_in_blocks(const Reading& reading) {
  const RowMap& rows = reading.rows;
  return reading.reach == Reach::rows && rows.offset == 0 && rows.scale == rows.taps && rows.dilation == 1 &&
         (rows.scale == 1 || rows.divisor == 1);
}

}  // namespace

bool splits_into_blocks(const Site& site, std::size_t axis) {
  if (site.op().outputs.size() != 1 || !site.op().scratch.empty() || site.op().folded) return false;
  if (site.facts().keeps == Keeps::elements) return is_reshaped_in_blocks(reading_of(site, 0, axis));
  if (!site.facts().splits || !has_rows_alike(site, axis)) return false;
  for (std::size_t i = 0; i < site.op().inputs.size(); ++i) {
    const Reading reading = reading_of(site, i, axis);
    if (reading.reach == Reach::rows && site.input_shape(i)[reading.axis] != site.output_shape()[axis])
      return false;  // padded
  }
  // A batch of windows, or their channels: the windows themselves are another matter.
  return !moves_windows_along(site, axis);
}

bool has_rows_alike(const Site& site, std::size_t axis) {
  if (site.facts().counts_rows) return false;
  for (std::size_t i = 0; i < site.op().inputs.size(); ++i) {
    const Reading reading = reading_of(site, i, axis);
    if (reading.reach == Reach::all || (reading.reach == Reach::rows && reading.rows != RowMap{}))
      return false;
  }
  return true;
}

}  // namespace stowage::operators
