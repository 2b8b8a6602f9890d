#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "operators/rows.h"

/// The rows of an input that operators read for a row of their output, type by type, and words for that.
namespace stowage::operators {

// Words

[[nodiscard]] Reading rows_along(std::size_t axis, const RowMap& rows);
/// The row of the same number.
[[nodiscard]] Reading same_row(std::size_t axis);
[[nodiscard]] Reading shared();
[[nodiscard]] Reading all();
[[nodiscard]] Reading together();

/// The number of elements in dimensions [begin, end).
[[nodiscard]] std::int64_t count(const Shape& shape, std::size_t begin, std::size_t end);

/// Resolves an axis that may count from the end; none: no such axis exists.
[[nodiscard]] std::optional<std::size_t> from_end(std::int64_t axis, std::size_t rank);

/// The attribute "axis" of an operator, counted from the front.
[[nodiscard]] std::optional<std::size_t> axis_attribute(const Site& site, std::int64_t otherwise,
                                                        std::size_t rank);

/// The one axis that an input gives; none if it is unknown.
[[nodiscard]] std::optional<std::size_t> axis_input(const Site& site, std::size_t input, std::size_t rank);

/// The index of an axis in the list of axes that an attribute or an input gives; without a list, the axis.
[[nodiscard]] std::optional<std::size_t> place_among(const Site& site, std::size_t axes_input,
                                                     std::size_t axis, std::size_t rank);

/// Element by element; a shorter shape or an extent of one is repeated.
[[nodiscard]] Reading elementwise(const Site& site, std::size_t input, std::size_t axis);
/// The second input has slopes.
[[nodiscard]] Reading slopes(const Site& site, std::size_t input, std::size_t axis);
/// Scales and zero points are numbers, or lists along an axis.
[[nodiscard]] Reading quantized(const Site& site, std::size_t input, std::size_t axis);
/// Parameters of channels.
[[nodiscard]] Reading normalized(const Site& site, std::size_t input, std::size_t axis);

// Operators that only move elements (row_shapes.cc, row_slices.cc)

/// Rows are consecutive elements if all dimensions before the axis are one, or nothing changed up to it.
[[nodiscard]] Reading reshape(const Site& site, std::size_t input, std::size_t axis);

[[nodiscard]] Reading transpose(const Site& site, std::size_t input, std::size_t axis);

[[nodiscard]] Reading concat(const Site& site, std::size_t input, std::size_t axis);
/// The scale and zero point of the output; then each input with its own.
[[nodiscard]] Reading quantized_concat(const Site& site, std::size_t input, std::size_t axis);

/// Along another axis only: there every output has all the rows.
[[nodiscard]] Reading split(const Site& site, std::size_t input, std::size_t axis);
/// The first input is the axis.
[[nodiscard]] Reading split_second(const Site& site, std::size_t input, std::size_t axis);

/// Along another axis than the one that comes or goes.
[[nodiscard]] Reading pack(const Site& site, std::size_t input, std::size_t axis);
[[nodiscard]] Reading unpack(const Site& site, std::size_t input, std::size_t axis);

/// An extent of one is repeated.
[[nodiscard]] Reading expand(const Site& site, std::size_t input, std::size_t axis);

/// The places of an element decide what is kept of it.
[[nodiscard]] Reading triangle(const Site& site, std::size_t input, std::size_t axis);

[[nodiscard]] Reading slice(const Site& site, std::size_t input, std::size_t axis);
[[nodiscard]] Reading strided_slice(const Site& site, std::size_t input, std::size_t axis);

[[nodiscard]] Reading pad(const Site& site, std::size_t input, std::size_t axis);
[[nodiscard]] Reading mirror_pad(const Site& site, std::size_t input, std::size_t axis);

/// All rows are repeated, one after the other.
[[nodiscard]] Reading tile(const Site& site, std::size_t input, std::size_t axis);

// Operators that move along the rows of an image (row_windows.cc, row_blocks.cc, row_resize.cc)

/// Convolutions and pools: the data is the first input, all others are weights.
[[nodiscard]] Reading windowed(const Site& site, std::size_t input, std::size_t axis);

/// The data is the first input or, in TFLite, the third.
[[nodiscard]] Reading transposed_window(const Site& site, std::size_t input, std::size_t axis);

/// Exactly the rows that kernels read.
[[nodiscard]] Reading resize(const Site& site, std::size_t input, std::size_t axis);

/// Blocks of pixels become channels, or vice versa.
[[nodiscard]] Reading blocks(const Site& site, std::size_t input, std::size_t axis);

/// Blocks of pixels become batches, or vice versa.
[[nodiscard]] Reading space_to_batch(const Site& site, std::size_t input, std::size_t axis);
[[nodiscard]] Reading batch_to_space(const Site& site, std::size_t input, std::size_t axis);

/// Whether a pool has a single window over all rows along the axis, so that it is also a sum.
[[nodiscard]] bool is_pool_of_all(const Site& site, std::size_t axis);

// Operators along an axis (row_along.cc)

[[nodiscard]] Reading softmax(const Site& site, std::size_t input, std::size_t axis);

/// By the sizes of vectors along one axis.
[[nodiscard]] Reading vector_norm(const Site& site, std::size_t input, std::size_t axis);

/// Over all axes from one on.
[[nodiscard]] Reading layer_norm(const Site& site, std::size_t input, std::size_t axis);

/// Of a sum of inputs, over the last axis.
[[nodiscard]] Reading skip_norm(const Site& site, std::size_t input, std::size_t axis);

/// Over all axes behind the channels, for one channel or for groups of them.
[[nodiscard]] Reading instance_norm(const Site& site, std::size_t input, std::size_t axis);
[[nodiscard]] Reading group_norm(const Site& site, std::size_t input, std::size_t axis);

/// Over a list of axes.
[[nodiscard]] Reading mean_variance(const Site& site, std::size_t input, std::size_t axis);

[[nodiscard]] Reading across_channels(const Site& site, std::size_t input, std::size_t axis);

/// The best elements along an axis, which an attribute gives.
[[nodiscard]] Reading greatest(const Site& site, std::size_t input, std::size_t axis);

/// What went before, along an axis that an input gives.
[[nodiscard]] Reading ordered(const Site& site, std::size_t input, std::size_t axis);

/// Networks that run through sequences: the sequences of a batch are independent, the steps of one are not.
[[nodiscard]] Reading recurrent(const Site& site, std::size_t input, std::size_t axis);

/// The place of the greatest or least along one axis.
[[nodiscard]] Reading place_of_extreme(const Site& site, std::size_t input, std::size_t axis);

[[nodiscard]] Reading reduction(const Site& site, std::size_t input, std::size_t axis);

}  // namespace stowage::operators
