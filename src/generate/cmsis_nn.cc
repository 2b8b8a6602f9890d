// Convolutions, pools and fully connected layers as calls of CMSIS-NN (--kernels cmsis-nn).
//
// CMSIS-NN computes whole tensors. It computes row y of the output alone if it is told of an image that has only
// the rows under the window, and of the padding above them:
//
//     rows of the image   [max(0, y * stride - before), min(height, y * stride - before + covered))
//     padding above       max(0, before - y * stride)
//
// The rows must follow each other. In a ring they do so at times, else they are copied together. The copy and what
// CMSIS-NN itself uses is scratch memory of the operator, hence in the plan.
//
// Cost: a look at each operator. Source of the sizes: CMSIS-NN 4.0.0, the functions *_get_buffer_size, and what newer
// versions want beyond that (tflm/cmsis_nn.cc).

#include "generate/cmsis_nn.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "generate/windows.h"
#include "kernels/tflite/channels.h"
#include "operators/rows.h"

namespace stowage::generate {
namespace {

using kernels::Operands;

constexpr Bytes alignment_of_parts = 16;

enum class Kind : std::uint8_t { conv, depthwise, average_pool, max_pool, fully_connected };

/// The kernel's name, as in stowage_cmsis_nn.h.
std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::conv:
      return "conv";
    case Kind::depthwise:
      return "depthwise";
    case Kind::average_pool:
      return "average_pool";
    case Kind::max_pool:
      return "max_pool";
    case Kind::fully_connected:
      return "fully_connected";
  }
  return "";
}

/// What one call computes.
struct Layer {
  Kind kind = Kind::conv;
  Windows windows{};

  /// Rows of the image from the first under a window to the last.
  [[nodiscard]] std::int64_t covered() const {
    return (windows.height.taps - 1) * windows.height.dilation + 1;
  }
  [[nodiscard]] Bytes row_bytes() const { return windows.width.in * windows.in_channels; }
  [[nodiscard]] bool is_pool() const { return kind == Kind::average_pool || kind == Kind::max_pool; }
};

bool is_int8(const Operands& operands, std::size_t inputs) {
  for (std::size_t i = 0; i < inputs; ++i)
    if (operands.input(i).dtype != DType::int8) return false;
  return operands.output().dtype == DType::int8;
}

/// A matrix of weights for rows of numbers, with one scale for all.
std::optional<Layer> matrix_layer(const Operands& operands) {
  const kernels::Argument& weights = operands.input(1);
  if (weights.shape.size() != 2 || weights.shape[1] < 1) return std::nullopt;
  if (weights.quantization == nullptr || weights.quantization->scales.size() != 1) return std::nullopt;
  const std::int64_t numbers = kernels::count_of(operands.input(0).shape);
  const std::int64_t places = numbers / weights.shape[1];
  if (places < 1 || numbers != places * weights.shape[1] ||
      kernels::count_of(operands.output().shape) != places * weights.shape[0])
    return std::nullopt;
  Layer layer{.kind = Kind::fully_connected};
  layer.windows = {.height = {.in = 1, .out = 1},
                   .width = {.in = places, .out = places},
                   .in_channels = weights.shape[1],
                   .out_channels = weights.shape[0]};
  return layer;
}

/// None: CMSIS-NN does not compute the operator. Throws kernels::Unsupported for what nobody computes.
std::optional<Layer> layer_of(const kernels::Signature& signature) {
  const Operands operands(signature);
  Layer layer;
  if (signature.type == "AVERAGE_POOL_2D" || signature.type == "MAX_POOL_2D") {
    if (!is_int8(operands, 1) || !kernels::is_same_quantization(operands.input(0), operands.output()))
      return std::nullopt;
    layer.kind = signature.type == "MAX_POOL_2D" ? Kind::max_pool : Kind::average_pool;
    layer.windows = pool_windows(operands);
    return layer;
  }
  const bool is_depthwise = signature.type == "DEPTHWISE_CONV_2D";
  const bool is_matrix = signature.type == "FULLY_CONNECTED";
  if (!is_depthwise && !is_matrix && signature.type != "CONV_2D") return std::nullopt;
  if (!is_int8(operands, 2)) return std::nullopt;
  if (operands.has_input(2) && operands.input(2).dtype != DType::int32) return std::nullopt;
  if (is_matrix) return matrix_layer(operands);
  layer.kind = is_depthwise ? Kind::depthwise : Kind::conv;
  layer.windows = convolution_windows(operands);
  const std::int64_t in = layer.windows.in_channels;
  const bool has_groups = !is_depthwise && operands.input(1).shape[3] != in;
  if (has_groups || in < 1 || (is_depthwise && layer.windows.out_channels % in != 0)) return std::nullopt;
  return layer;
}

// Scratch memory

struct Processors {
  bool has_dsp = false;
  bool has_vectors = false;
};

Processors processors_of(CKernels kernels) {
  return {kernels == CKernels::cmsis_nn_dsp, kernels == CKernels::cmsis_nn_mve};
}

/// Columns of the image for a matrix product: two of int16, or four of int8 with vectors.
Bytes columns_bytes(const Layer& layer, Bytes channels, bool has_vectors) {
  const Bytes length = layer.windows.height.taps * layer.windows.width.taps * channels;
  return has_vectors ? 4 * base::align_up(length, 16) : 4 * base::align_up(length, 4);
}

Bytes conv_bytes(const Layer& layer, Bytes channels, const Processors& processors) {
  const auto& [height, width] = std::pair(layer.windows.height, layer.windows.width);
  const bool is_matrix = height.taps == 1 && width.taps == 1 && height.before == 0 && width.before == 0;
  if (is_matrix && height.dilation == 1 && width.dilation == 1) return 0;
  return columns_bytes(layer, channels, processors.has_vectors);
}

/// Without vectors there is only the path for 3x3, which needs none.
Bytes depthwise_bytes(const Layer& layer, const Processors& processors) {
  constexpr Bytes channels_at_once = 124;
  if (!processors.has_vectors) return 0;
  const auto& [height, width] = std::pair(layer.windows.height, layer.windows.width);
  const Bytes taps = height.taps * width.taps;
  const Bytes in = layer.windows.in_channels;
  const Bytes out = layer.windows.out_channels;
  Bytes most = 0;
  if (in == 1 && out > 8) most = conv_bytes(layer, 1, processors) + out * taps;
  if (in != out || height.dilation != 1 || width.dilation != 1) return most;
  return std::max(most, 4 * channels_at_once * taps);
}

/// What CMSIS-NN uses during a call.
Bytes own_bytes(const Layer& layer, CKernels kernels) {
  const Processors processors = processors_of(kernels);
  switch (layer.kind) {
    case Kind::conv:
      return conv_bytes(layer, layer.windows.in_channels, processors);
    case Kind::depthwise:
      return depthwise_bytes(layer, processors);
    case Kind::average_pool:
      return processors.has_dsp ? layer.windows.in_channels * 4 : 0;
    default:
      return 0;
  }
}

/// Rows that may have to be copied together.
Bytes copy_bytes(const Layer& layer) {
  const std::int64_t rows = std::min(layer.covered(), layer.windows.height.in);
  return layer.kind == Kind::fully_connected || rows < 2 ? 0 : rows * layer.row_bytes();
}

/// The parts one after the other.
Bytes bytes_of_parts(Bytes own, Bytes copy) {
  return copy == 0 ? own : base::align_up(own, alignment_of_parts) + copy;
}

/// Pools over all rows sum them up as they come, without CMSIS-NN.
bool sums_up(const Operator& op) {
  constexpr std::size_t rows = 1;
  return can_sum_up(op, rows);
}

/// Whether the portable kernel is faster, which is so without vectors in three cases. Depthwise windows other than 3x3
/// have no fast path in CMSIS-NN. And in each call of a 1x1 convolution it sums all weights up, for the zero point of
/// the input, while the portable kernel has these sums in its bias. Only in rows of many places this counts less than
/// what CMSIS-NN saves, and not at all without the DSP extension. In rows of a few places, of which CMSIS-NN takes two at
/// once, the last one of an odd number costs much, while the portable kernel copies small windows together.
bool is_faster_without(const Layer& layer, CKernels kernels, bool by_rows) {
  constexpr std::int64_t few_places = 48;
  constexpr std::int64_t very_few_places = 8;
  constexpr Bytes small_window = 128;
  const std::int64_t high = layer.windows.height.taps;
  const std::int64_t wide = layer.windows.width.taps;
  const Processors processors = processors_of(kernels);
  if (processors.has_vectors) return false;
  if (layer.kind == Kind::depthwise) return high != 3 || wide != 3;
  if (layer.kind != Kind::conv || !by_rows) return false;
  const std::int64_t places = layer.windows.width.out;
  if (high == 1 && wide == 1) return !processors.has_dsp || places <= few_places;
  const bool is_small = high * wide * layer.windows.in_channels <= small_window;
  return processors.has_dsp && is_small && places <= very_few_places && places % 2 == 1;
}

// Emission

std::vector<std::int32_t> bias_of(Writer& writer, const Layer& layer) {
  std::vector<std::int32_t> bias(static_cast<std::size_t>(layer.windows.out_channels), 0);
  if (writer.signature().has_input(2))
    std::memcpy(bias.data(), constant_data(writer, 2).data(), bias.size() * sizeof(std::int32_t));
  return bias;
}

/// Zero points and limits of a pool.
std::string pool_fields(const Operands& operands) {
  const kernels::Limits limits = kernels::activation_limits(operands, kernels::limits_of<std::int8_t>());
  return fmt::format("NULL, NULL, NULL, NULL, 0, 0, {}, {}, /* no weights; limits */\n", limits.least,
                     limits.most);
}

std::string product_fields(Writer& writer, const Operands& operands, const Layer& layer) {
  const std::int64_t channels = layer.windows.out_channels;
  const std::size_t axis = layer.kind == Kind::depthwise ? 3 : 0;
  kernels::expect_bias(operands, 2, DType::int32, channels);
  kernels::Requantization to =
      kernels::requantization_of(operands, operands.input(0), operands.input(1), channels, axis);
  if (layer.kind == Kind::fully_connected) kernels::use_single_product(operands, to);
  if (to.weights_zero != 0) kernels::refuse("its weights have zero point {}, expected 0", to.weights_zero);
  std::vector<std::int32_t> mantissas;
  std::vector<std::int32_t> shifts;
  for (const kernels::Multiplier& factor : to.factors) {
    mantissas.push_back(factor.mantissa);
    shifts.push_back(factor.shift);
  }
  static_cast<void>(constant_data(writer, 1));
  Sources& sources = writer.sources();
  const std::string n = writer.number();
  const std::string weights = stored_weights(writer);
  const std::string bias =
      sources.array("bias_" + n, "biases of operator " + n, DType::int32, bias_of(writer, layer));
  const std::string factors =
      sources.array("multiplier_" + n, "factors of operator " + n, DType::int32, mantissas);
  const std::string powers =
      sources.array("shift_" + n, "powers of two of these factors", DType::int32, shifts);
  return fmt::format("{}, {}, {}, {},\n    {}, {}, {}, {}, /* zero points of input and output, limits */\n",
                     weights, bias, factors, powers, to.input_zero, to.output_zero, to.limits.least,
                     to.limits.most);
}

/// The operator's scratch memory, which must have room for both parts.
struct Scratch {
  std::string at{};  ///< A C expression; empty: there is none.
  Bytes own = 0;
};

std::optional<Scratch> scratch_for(Writer& writer, Bytes own, Bytes copy) {
  const Bytes wanted = bytes_of_parts(own, copy);
  if (wanted == 0) return Scratch{};
  const auto at = writer.planned_scratch(wanted, 4);
  if (!at) return std::nullopt;
  return Scratch{"(int8_t *)" + *at, own};
}

/// The call for one row, or for all.
void emit_call(Writer& writer, const Layer& layer, const std::string& fields, const Scratch& scratch,
               bool by_rows) {
  const Windows& it = layer.windows;
  const std::string name = writer.layer(
      "stowage_cmsis_nn_layer", fmt::format("{}{}, {}, /* stride and dilation of rows */\n    {}",
                                            shape_of(it), it.height.stride, it.height.dilation, fields));
  const std::string kernel = fmt::format("stowage_cmsis_nn_{}", name_of(layer.kind));
  if (!scratch.at.empty()) writer.declare(fmt::format("int8_t *const scratch = {};", scratch.at));
  writer.declare(scratch.own == 0
                     ? std::string("const stowage_cmsis_nn_scratch own = {NULL, 0};")
                     : fmt::format("const stowage_cmsis_nn_scratch own = {{scratch, {}}};", scratch.own));
  writer.declare("stowage_cmsis_nn_rows in;");
  if (by_rows) {
    writer.loop_over(it.height.out);
    std::string first = it.height.stride == 1 ? "y" : fmt::format("y * {}", it.height.stride);
    if (it.height.before > 0) first += fmt::format(" - {}", it.height.before);
    const std::string copy =
        scratch.at.empty() ? "NULL"
                           : fmt::format("scratch + {}", base::align_up(scratch.own, alignment_of_parts));
    writer.line(fmt::format("in = stowage_cmsis_nn_window(memory, &{}, {}, {}, {}, {});",
                            writer.input_place(0, 1), first, layer.covered(), layer.row_bytes(),
                            layer.covered() == 1 ? "NULL" : copy));
  } else {
    writer.line(fmt::format("in.data = {};", writer.input(0).at));
    writer.line(fmt::format("in.rows = {};", it.height.in));
    writer.line(fmt::format("in.above = {};", it.height.before));
  }
  writer.line(fmt::format("{}(&{}, in, own, {}, {});", kernel, name, by_rows ? 1 : it.height.out,
                          by_rows ? writer.output_row(1, "y").at : writer.output().at));
  writer.need("stowage_cmsis_nn");
  if (layer.kind == Kind::max_pool) return;
  writer.sources().add_wish(fmt::format("{}_wish(&{}, {}, {}) - {}", kernel, name,
                                        by_rows ? std::min(layer.covered(), it.height.in) : it.height.in,
                                        by_rows ? 1 : it.height.out, scratch.own));
}

/// Whether input and output are in memory as one whole each.
bool is_in_one_piece(Writer& writer) {
  if (writer.sources().is_constant(writer.op().inputs.at(0).value())) return false;
  return writer.storage_of_input(0).is_contiguous() &&
         writer.sources().storage(writer.op().outputs.at(0).value()).is_contiguous();
}

}  // namespace

bool emit_cmsis_nn(Writer& writer) {
  const CKernels kernels = writer.sources().c_kernels();
  if (kernels == CKernels::portable || writer.kind().sums) return false;
  constexpr std::size_t rows = 1;
  const bool by_rows = writer.axis() != nullptr;
  const bool is_matrix = writer.op().type == "FULLY_CONNECTED";
  if (by_rows && (is_matrix ? !writer.is_alike() : writer.axis()->axis != rows)) return false;
  // A matrix takes the operator as it computes one row, which is then the whole input.
  const kernels::Signature& signature = is_matrix ? writer.seen() : writer.signature();
  const auto layer = layer_of(signature);
  if (!layer || layer->windows.batches != 1 || is_faster_without(*layer, kernels, by_rows)) return false;
  const TensorId input = writer.op().inputs.at(0).value();
  if (writer.sources().repeats_of(input) != nullptr || writer.sources().moving(input) != nullptr)
    return false;
  if (!is_matrix && has_planes(writer)) return false;
  if (!by_rows && !is_in_one_piece(writer)) return false;
  const bool has_windows = by_rows && !is_matrix;
  const auto scratch = scratch_for(writer, own_bytes(*layer, kernels), has_windows ? copy_bytes(*layer) : 0);
  if (!scratch) return false;
  const Operands operands(signature);
  const std::string fields =
      layer->is_pool() ? pool_fields(operands) : product_fields(writer, operands, *layer);
  emit_call(writer, *layer, fields, *scratch, has_windows);
  return true;
}

Bytes cmsis_nn_scratch(const Operator& op, const kernels::Signature& signature, CKernels kernels,
                       bool by_rows) {
  if (kernels == CKernels::portable || (by_rows && sums_up(op))) return 0;
  const auto layer = layer_of(signature);
  if (!layer || is_faster_without(*layer, kernels, by_rows)) return 0;
  return bytes_of_parts(own_bytes(*layer, kernels), by_rows ? copy_bytes(*layer) : 0);
}

}  // namespace stowage::generate
