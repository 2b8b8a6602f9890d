// Operators that compute each element from the same element of their inputs, or from one that is repeated.

#include "operators/readings.h"

namespace stowage::operators {
namespace {

/// Before operator set 7 a second input could be placed at an axis, and slopes were those of channels.
bool is_old(const Site& site, std::size_t input) {
  return !site.is_tflite() && site.version() < 7 && input == 1;
}

bool is_number(const Shape& shape) { return count(shape, 0, shape.size()) == 1; }

/// Dimensions from the last on; an extent of one is repeated.
Reading from_the_last(const Site& site, std::size_t input, std::size_t axis) {
  const Shape in = site.input_shape(input);
  const Shape out = site.output_shape();
  if (in.size() + axis < out.size()) return shared();
  const std::size_t own = in.size() + axis - out.size();
  if (in[own] == out[axis]) return same_row(own);
  return in[own] == 1 ? shared() : all();
}

/// Parameters after the first input: a number, one for each place along an axis, or for each block of places.
Reading with_parameters(const Site& site, std::size_t input, std::size_t axis, std::int64_t otherwise) {
  const Shape in = site.input_shape(input);
  const std::size_t rank = site.output_shape().size();
  if (input == 0 || in.size() == rank) return elementwise(site, input, axis);
  if (count(in, 0, in.size()) == 1) return shared();
  const auto own = axis_attribute(site, otherwise, rank);
  if (!own || in.size() != 1) return all();
  return axis == *own ? same_row(0) : shared();
}

}  // namespace

Reading elementwise(const Site& site, std::size_t input, std::size_t axis) {
  const bool is_put_elsewhere = is_old(site, input) && site.attributes().has("axis");
  return is_put_elsewhere && !is_number(site.input_shape(input)) ? all() : from_the_last(site, input, axis);
}

Reading slopes(const Site& site, std::size_t input, std::size_t axis) {
  const Shape in = site.input_shape(input);
  const bool are_of_channels = is_old(site, input) && in.size() == 1 && !is_number(in);
  return are_of_channels ? all() : elementwise(site, input, axis);
}

Reading normalized(const Site& site, std::size_t input, std::size_t axis) {
  constexpr std::int64_t channels = 1;
  return with_parameters(site, input, axis, channels);
}

Reading quantized(const Site& site, std::size_t input, std::size_t axis) {
  constexpr std::int64_t otherwise = 1;
  return with_parameters(site, input, axis, otherwise);
}

}  // namespace stowage::operators
