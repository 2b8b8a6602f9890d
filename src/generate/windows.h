#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generate/sources.h"
#include "kernels/tflite/channels.h"
#include "kernels/tflite/window.h"

namespace stowage::generate {

/// A window of one image, and the rows that it reads: lines of the image, or its columns. For columns height
/// and width change places.
struct Windows {
  std::int64_t batches = 1;
  bool is_columns = false;
  kernels::Window height{};
  kernels::Window width{};
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
};

// All that throw throw kernels::Unsupported.

/// Of CONV_2D and DEPTHWISE_CONV_2D.
[[nodiscard]] Windows convolution_windows(const kernels::Operands& operands);
/// Of AVERAGE_POOL_2D and MAX_POOL_2D.
[[nodiscard]] Windows pool_windows(const kernels::Operands& operands);
/// Whether the operator computes real numbers; refuses all but int8, uint8, int16 and float32.
[[nodiscard]] bool is_real(const kernels::Operands& operands);
/// The data of an input that must be constant.
[[nodiscard]] std::span<const std::byte> constant_data(Writer& writer, std::size_t input);

/// The name of the array of a layer's weights, as the model has them.
[[nodiscard]] std::string stored_weights(Writer& writer);

/// The name of the array of biases as the model has them, or NULL.
[[nodiscard]] std::string stored_bias(Writer& writer, std::size_t input);
/// The name of a stowage_conv_f32_layer.
[[nodiscard]] std::string real_layer(Writer& writer, const kernels::Operands& operands, const Windows& it,
                                     std::int64_t groups, const std::string& weights,
                                     std::size_t bias_input = 2);
/// The name of a stowage_hybrid_layer: FULLY_CONNECTED with a real input and weights of int8.
[[nodiscard]] std::string hybrid_layer(Writer& writer, const kernels::Operands& operands,
                                       std::int64_t batches, std::int64_t pieces);
/// The name of a stowage_conv_s8_layer.
[[nodiscard]] std::string integer_layer(Writer& writer, const Windows& it, std::int64_t groups,
                                        const kernels::Requantization& to,
                                        const std::vector<std::int32_t>& bias, const std::string& weights,
                                        std::size_t bias_input = 2);

/// The end of the names of kernels for a layer of uint8 or int16: "s16_b32" if biases of int16 have 32 bits.
[[nodiscard]] std::string suffix_of_layer(const kernels::Operands& operands,
                                          const kernels::LayerPlaces& places = {});
/// The name of a stowage_layer of uint8 or int16.
[[nodiscard]] std::string other_layer(Writer& writer, const Windows& it, std::int64_t groups,
                                      const kernels::Requantization& to, const std::string& weights,
                                      std::size_t bias_input = 2);

/// Turns windows for the axis that the plan runs them along.
[[nodiscard]] Windows turned(const Writer& writer, Windows it);

/// The plan runs an operator channel by channel: it writes planes.
[[nodiscard]] bool writes_planes(const Writer& writer);
/// The same, or its input is stored so.
[[nodiscard]] bool has_planes(const Writer& writer);

/// A convolution that writes planes or reads them. `layer` has one input channel if windows move over each channel by
/// itself, and one output channel if it writes planes.
struct PlaneLayer {
  std::string layer{};
  std::int64_t weights = 0;  ///< Of an output channel.
  bool has_bias = true;
  bool is_real = false;
  bool is_depthwise = false;
};

void call_with_planes(Writer& writer, const Windows& it, const PlaneLayer& layer);

/// Calls a kernel with the rows under each window of an input that is stored in blocks of channels: those of all blocks
/// for each tap. `it` is as in `over_blocks`.
void call_with_blocks(Writer& writer, const Windows& it, const std::vector<TensorId>& blocks,
                      std::string_view kernel, const std::string& layer);
/// The windows as if each block of channels were a row under the window.
[[nodiscard]] Windows over_blocks(const Writer& writer, Windows it, const std::vector<TensorId>& blocks);

/// The fields of a stowage_window_shape.
[[nodiscard]] std::string shape_of(const Windows& it);

void expect_images(const Shape& shape);

/// Whether weights of int8 multiply real numbers.
[[nodiscard]] bool is_hybrid_convolution(const kernels::Operands& operands);
void emit_hybrid_convolution(Writer& writer);
/// Bytes of scratch memory that it needs; 0 for other convolutions.
[[nodiscard]] Bytes hybrid_scratch(const kernels::Signature& signature);

/// Calls a kernel with the rows under each window.
void call_with_rows(Writer& writer, const Windows& it, std::string_view kernel, const std::string& layer);

}  // namespace stowage::generate
