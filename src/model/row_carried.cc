// Operators that compute rows one by one with a buffer that they carry from row to row.
//
//   - Norms over the axis of the rows: all rows are added to sums, then each row is read again and written. The
//     sums are those of the whole operator, added in the same order, so both give the same. This fixes the axis
//     of the rows: for each index in front of it there is a sum of its own.
//   - Networks that run through a sequence: each step reads what the step before left.
//
// A norm is worth it only if its sums are smaller than its output.

#include "model/row_carried.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/checked.h"
#include "model/row_readings.h"

namespace stowage::model {
namespace {

using namespace std::string_view_literals;

template <typename Types>
bool is_one_of(const Site& site, const Types& types) {
  return std::find(types.begin(), types.end(), site.type()) != types.end();
}

/// A norm with rows along an axis, and the bytes of its sums.
std::optional<CarriedAxis> in_two_passes(const Site& site, std::size_t axis, std::int64_t sums, Bytes each) {
  const auto bytes = base::checked_multiply(sums, each);
  if (!bytes || *bytes < 1 || *bytes >= site.output(0)->bytes) return std::nullopt;
  return CarriedAxis{.axis = axis, .input_axis = axis, .reads_twice = true, .carried = *bytes};
}

std::optional<CarriedAxis> norm_of_block(const Site& site, std::size_t first) {
  const Shape shape = site.output_shape();
  if (first >= shape.size()) return std::nullopt;
  const NormLanes lanes = lanes_of_norm(shape, first);
  return in_two_passes(site, lanes.axis, lanes.lanes, bytes_of_moments);
}

/// One or two numbers for each vector along an axis.
std::optional<CarriedAxis> norm_of_vectors(const Site& site, std::size_t axis, Bytes each) {
  const Shape shape = site.output_shape();
  if (axis >= shape.size() || shape[axis] < 1) return std::nullopt;
  return in_two_passes(site, axis, count(shape, 0, shape.size()) / shape[axis], each);
}

std::optional<CarriedAxis> norm(const Site& site) {
  constexpr std::array layers{"LayerNormalization"sv, "RMSNormalization"sv, "SimplifiedLayerNormalization"sv};
  constexpr std::array planes{"InstanceNormalization"sv, "GroupNormalization"sv};
  constexpr std::array powers{"Softmax"sv, "LogSoftmax"sv};
  const Shape shape = site.output_shape();
  if (is_one_of(site, planes)) return norm_of_block(site, 2);
  const auto own = axis_attribute(site, -1, shape.size());
  if (!own) return std::nullopt;
  if (is_one_of(site, layers)) return norm_of_block(site, *own);
  if (site.type() == "LpNormalization") return norm_of_vectors(site, *own, 8);
  const bool is_along_one_axis = is_one_of(site, powers) && site.version() >= 13;
  return is_along_one_axis ? norm_of_vectors(site, *own, bytes_of_moments) : std::nullopt;
}

/// Steps of a sequence. The state is as large as a step of the output, that of an LSTM twice. In both directions
/// no row of the output is complete before all of the input is read, so such a network runs as a whole.
std::optional<CarriedAxis> sequence(const Site& site) {
  constexpr std::array networks{"RNN"sv, "GRU"sv, "LSTM"sv};
  const bool is_tflite_network = site.type() == "UNIDIRECTIONAL_SEQUENCE_LSTM";
  if (!is_tflite_network && !is_one_of(site, networks)) return std::nullopt;
  const char* const flag = is_tflite_network ? "time_major" : "layout";
  const bool is_batch_first = (site.attributes().integer(flag, 0) != 0) != is_tflite_network;
  const std::size_t axis = is_batch_first ? 1 : 0;
  const Shape in = site.input_shape(0);
  const Shape out = site.output_shape();
  if (in.size() != 3 || out.size() < 3 || in[axis] != out[axis] || out[axis] < 2) return std::nullopt;
  CarriedAxis along{.axis = axis, .input_axis = axis};
  if (is_tflite_network) return along;  // variables of the network
  const std::string direction = site.attributes().text("direction", "forward");
  if (direction != "forward" && direction != "reverse") return std::nullopt;
  along.backward = direction == "reverse";
  const Bytes bytes = site.output(0)->bytes;
  along.carried = bytes / out[axis] * (site.type() == "LSTM" ? 2 : 1);
  return along.carried > 0 && along.carried < bytes ? std::optional(along) : std::nullopt;
}

/// Of a norm, or of a network that runs through a sequence.
std::optional<CarriedAxis> carried_axis_of(const Site& site) {
  if (site.output(0) == nullptr || !site.op().bodies.empty()) return std::nullopt;
  if (const auto steps = sequence(site)) return steps;
  const bool is_norm_alone = std::none_of(site.op().outputs.begin() + 1, site.op().outputs.end(),
                                          [](const auto& output) { return output.has_value(); });
  if (!is_norm_alone || site.op().stateful || site.input_shape(0) != site.output_shape()) return std::nullopt;
  const auto found = norm(site);
  return found && site.output_shape()[found->axis] > 1 ? found : std::nullopt;
}

}  // namespace

NormLanes lanes_of_norm(const Shape& shape, std::size_t first) {
  constexpr std::size_t first_of_plane = 2;
  constexpr std::size_t rank_of_image = 4;
  std::size_t axis = shape.size() >= rank_of_image ? std::max(first, first_of_plane) : first;
  while (axis + 1 < shape.size() && shape[axis] == 1) ++axis;
  return {.axis = axis,
          .lanes = count(shape, 0, axis),
          .rows = shape[axis],
          .inner = count(shape, axis + 1, shape.size())};
}

std::vector<CarriedAxis> carried_axes(const Site& site) {
  const auto found = carried_axis_of(site);
  if (!found || site.input(0) == nullptr || is_rowwise(site, found->axis)) return {};
  const bool has_rows =
      bytes_of_row(*site.input(0), found->input_axis) && bytes_of_row(*site.output(0), found->axis);
  return has_rows ? std::vector{*found} : std::vector<CarriedAxis>{};
}

}  // namespace stowage::model
