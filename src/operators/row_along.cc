// Operators along an axis: rows along the other axes are independent. Rows along the axis itself come from
// one computation over all of them (statistics, an order, a total), so they run together.

#include <algorithm>
#include <optional>
#include <vector>

#include "operators/readings.h"

namespace stowage::operators {

namespace {

/// All axes from one on belong together.
std::optional<std::size_t> first_of_block(const Site& site, std::int64_t otherwise) {
  return axis_attribute(site, otherwise, site.output_shape().size());
}

bool has(const std::vector<std::size_t>& axes, std::size_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

/// A parameter of one element for each place along an axis of the output.
Reading parameter(const Site& site, std::size_t input, bool is_along) {
  if (site.input_shape(input).size() != 1) return all();
  return is_along ? same_row(0) : shared();
}

/// The input has the axes of the output, and those that are reduced unless they stay as ones.
Reading without_axes(const Site& site, const std::vector<std::size_t>& axes, std::size_t axis,
                     const Reading& along) {
  const std::size_t rank = site.input_shape(0).size();
  if (site.output_shape().size() == rank) return has(axes, axis) ? along : same_row(axis);
  std::size_t kept = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    if (!has(axes, d) && kept++ == axis) return same_row(d);
  }
  return all();
}

}  // namespace

Reading softmax(const Site& site, std::size_t, std::size_t axis) {
  if (site.is_tflite()) return axis + 1 < site.output_shape().size() ? same_row(axis) : all();
  if (site.version() < 13) {
    const auto first = first_of_block(site, 1);
    return first && axis < *first ? same_row(axis) : all();
  }
  const auto own = axis_attribute(site, -1, site.output_shape().size());
  return own && axis != *own ? same_row(axis) : together();
}

Reading vector_norm(const Site& site, std::size_t, std::size_t axis) {
  const auto own = axis_attribute(site, -1, site.output_shape().size());
  return own && axis != *own ? same_row(axis) : together();
}

Reading layer_norm(const Site& site, std::size_t input, std::size_t axis) {
  if (input != 0) return elementwise(site, input, axis);
  const auto first = first_of_block(site, -1);
  return first && axis < *first ? same_row(axis) : together();
}

Reading skip_norm(const Site& site, std::size_t input, std::size_t axis) {
  return axis + 1 < site.output_shape().size() ? elementwise(site, input, axis) : together();
}

Reading instance_norm(const Site& site, std::size_t input, std::size_t axis) {
  if (axis != 1) return group_norm(site, input, axis);
  return input == 0 ? same_row(1) : parameter(site, input, true);
}

/// Channel c belongs to group floor(c / share), whose channels are at most share - 1 before or behind it.
Reading group_norm(const Site& site, std::size_t input, std::size_t axis) {
  if (axis == 0) return input == 0 ? same_row(0) : shared();
  if (axis != 1) return together();
  const std::int64_t channels = site.output_shape()[1];
  const std::int64_t groups = site.attributes().integer("num_groups", 0);
  if (groups < 1 || channels % groups != 0) return together();
  const std::int64_t share = channels / groups;
  if (input == 0) return rows_along(1, {.offset = 1 - share, .taps = 2 * share - 1});
  return site.version() < 21 ? rows_along(0, {.divisor = share}) : parameter(site, input, true);
}

Reading mean_variance(const Site& site, std::size_t, std::size_t axis) {
  std::vector<std::size_t> axes;
  for (const std::int64_t it : site.attributes().integers("axes", {0, 2, 3})) {
    const auto own = from_end(it, site.output_shape().size());
    if (!own) return together();
    axes.push_back(*own);
  }
  return has(axes, axis) ? together() : same_row(axis);
}

Reading across_channels(const Site&, std::size_t, std::size_t axis) {
  return axis != 1 ? same_row(axis) : all();
}

namespace {

Reading along_other_axes(std::size_t input, const std::optional<std::size_t>& own, std::size_t axis) {
  if (input != 0) return shared();
  return own && axis != *own ? same_row(axis) : together();
}

}  // namespace

Reading greatest(const Site& site, std::size_t input, std::size_t axis) {
  return along_other_axes(input, axis_attribute(site, -1, site.output_shape().size()), axis);
}

Reading ordered(const Site& site, std::size_t input, std::size_t axis) {
  return along_other_axes(input, axis_input(site, 1, site.output_shape().size()), axis);
}

/// Inputs: sequences, weights, weights of the state, biases, lengths, states, weights of the LSTM's cells.
Reading recurrent(const Site& site, std::size_t input, std::size_t axis) {
  const bool is_batch_first = site.attributes().integer("layout", 0) != 0;
  const bool has_states = site.output(1) != nullptr || site.output(2) != nullptr;
  const std::size_t batch = is_batch_first ? 0 : 2;
  // In states the batch is another axis than in sequences, unless it comes first.
  if (axis != batch || (has_states && !is_batch_first)) return together();
  constexpr std::size_t lengths = 4;
  if (input == lengths) return same_row(0);
  return input == 0 || input == 5 || input == 6 ? same_row(is_batch_first ? 0 : 1) : shared();
}

Reading place_of_extreme(const Site& site, std::size_t input, std::size_t axis) {
  if (input != 0) return shared();
  const std::size_t rank = site.input_shape(0).size();
  const auto own = site.is_tflite() ? axis_input(site, 1, rank) : axis_attribute(site, 0, rank);
  return own ? without_axes(site, {*own}, axis, together()) : together();
}

Reading reduction(const Site& site, std::size_t input, std::size_t axis) {
  const auto axes = site.facts().reduces(site);
  if (input != 0) return shared();
  return axes ? without_axes(site, *axes, axis, all()) : all();
}

}  // namespace stowage::operators
