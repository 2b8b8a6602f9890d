// What the CMSIS-NN kernels of TensorFlow Lite Micro ask for, where they differ from the reference kernels:
// scratch by the functions that CMSIS-NN has for each kind of processor (plain C, with the DSP extension, with
// the vector extension MVE), and what they keep in the tail. Built for speed, as the runtime's Makefile does,
// and by GCC: other compilers may ask for more in convolutions of 1x1. Source: TensorFlow Lite Micro,
// kernels/cmsis_nn; CMSIS-NN, the functions named *_get_buffer_size.
//
// Cost: one look at each operand.

#include <algorithm>
#include <array>
#include <string_view>

#include "base/checked.h"
#include "stowage/error.h"
#include "tflm/kernels.h"

namespace stowage::tflm {
namespace {

using enum tflite::TensorType;

/// Height, width and channels.
struct Extents {
  Bytes h = 0;
  Bytes w = 0;
  Bytes c = 0;
};

Extents extents_of(const tflite::Tensor* tensor) {
  const Extents extents{dimension(tensor, 1), dimension(tensor, 2), dimension(tensor, 3)};
  if (elements_of(tensor) > (Bytes{1} << 28)) throw Error("", "has too many elements");
  return extents;
}

/// How a window moves, and the padding before its first place.
struct Window {
  Extents stride{};
  Extents dilation{1, 1, 0};
  Extents padding{};
};

Bytes padding_before(bool is_same, Bytes in, Bytes out, Bytes kernel, Bytes stride, Bytes dilation) {
  const Bytes covered = (kernel - 1) * dilation + 1;
  return is_same ? std::max<Bytes>(0, ((out - 1) * stride + covered - in) / 2) : 0;
}

template <typename Options>
Window window_of(const Options* options, const Extents& in, const Extents& kernel, const Extents& out) {
  Window window;
  if (options == nullptr) return window;
  window.stride = {options->stride_h(), options->stride_w(), 0};
  window.dilation = {options->dilation_h_factor(), options->dilation_w_factor(), 0};
  const bool is_same = options->padding() == tflite::Padding::SAME;
  window.padding = {padding_before(is_same, in.h, out.h, kernel.h, window.stride.h, window.dilation.h),
                    padding_before(is_same, in.w, out.w, kernel.w, window.stride.w, window.dilation.w), 0};
  return window;
}

bool has_vectors(const Site& site) { return site.runtime().kernels == TflmKernels::cmsis_nn_mve; }
bool has_dsp(const Site& site) { return site.runtime().kernels == TflmKernels::cmsis_nn_dsp; }

/// Columns of the image for a matrix product: four with vectors, two without.
Bytes columns_bytes(bool vectors, const Extents& in, const Extents& kernel) {
  const Bytes length = in.c * kernel.w * kernel.h;
  return vectors ? 4 * base::align_up(length, 16) : 2 * int16_bytes * base::align_up(length, 4);
}

/// A convolution of one row, with vectors: its ends are padded in a buffer.
Bytes row_bytes(const Window& window, const Extents& in, const Extents& kernel, const Extents& out) {
  const Bytes stride = std::max<Bytes>(1, window.stride.w);
  const Bytes pad = window.padding.w;
  const Bytes odd = ((out.w - 1) * stride + kernel.w - in.w) % 2;
  const auto outputs_in = [&](Bytes padding) {
    return padding == 0 ? 0 : std::max<Bytes>(1, (padding + stride - 1) / stride);
  };
  const Bytes right = outputs_in(pad + odd);
  const Bytes left = outputs_in(pad);
  if (right + left + std::max<Bytes>(out.w - (right + left), 0) != out.w)
    return columns_bytes(true, in, kernel);
  const Bytes pad_right = odd != 0 ? right * in.c : pad * in.c;
  return std::max(kernel.w * in.c + pad * in.c, kernel.w * in.c - in.c + pad_right);
}

Bytes convolution_bytes(bool vectors, const Window& window, const Extents& in, const Extents& kernel,
                        const Extents& out) {
  const bool is_dense = window.dilation.w == 1 && in.c == kernel.c;
  if (is_dense && window.dilation.h == 1 && kernel.w == 1 && kernel.h == 1 && window.padding.w == 0 &&
      window.padding.h == 0)
    return 0;
  if (vectors && is_dense && in.h == 1 && kernel.h == 1 && window.stride.w * in.c % 4 == 0)
    return row_bytes(window, in, kernel, out);
  return columns_bytes(vectors, in, kernel);
}

using Requests = std::vector<Bytes>;

void ask(Bytes bytes, Requests& requests) {
  if (bytes > 0) requests.push_back(bytes);
}

void ask_convolution(const Site& site, Requests& requests) {
  const Extents in = extents_of(site.input(0));
  const Extents kernel = extents_of(site.input(1));
  if (is_of(site.input(0), INT8)) {
    const Extents out = extents_of(site.output(0));
    const Window window = window_of(site.op().builtin_options_as_Conv2DOptions(), in, kernel, out);
    ask(convolution_bytes(has_vectors(site), window, in, kernel, out), requests);
  } else if (is_of(site.input(0), INT16) && (site.input(2) == nullptr || is_of(site.input(2), INT64))) {
    const Bytes length = in.c * kernel.w * kernel.h;
    ask(has_vectors(site) ? 4 * int16_bytes * base::align_up(length, 8) : 2 * int16_bytes * length, requests);
  }
}

Bytes depthwise_bytes(const Site& site) {
  constexpr Bytes channels_at_once = 124;
  const Extents in = extents_of(site.input(0));
  const Extents kernel = extents_of(site.input(1));
  const Extents out = extents_of(site.output(0));
  const auto* const options = site.op().builtin_options_as_DepthwiseConv2DOptions();
  const Window window = window_of(options, in, kernel, out);
  const bool is_small = is_of(site.input(1), INT4);
  // With vectors and one channel, it is an ordinary convolution with weights that are turned around.
  if (has_vectors(site) && !is_small && in.c == 1 && out.c > 8) {
    const Extents turned{kernel.h, kernel.w, 1};
    return convolution_bytes(true, window, in, turned, out) + out.c * kernel.h * kernel.w;
  }
  if (in.c != out.c || dimension(site.input(0), 0) != 1 || window.dilation.w != 1 || window.dilation.h != 1)
    return 0;
  if (has_vectors(site)) return 4 * channels_at_once * kernel.w * kernel.h;
  const bool is_three = kernel.w == 3 && kernel.h == 3 && window.padding.h <= 1 && window.padding.w <= 1;
  if (!is_small && (is_three || !has_dsp(site))) return 0;
  return in.c * kernel.w * kernel.h * int16_bytes;
}

void ask_depthwise(const Site& site, Requests& requests) {
  if (is_of(site.input(0), INT8)) ask(depthwise_bytes(site), requests);
}

/// With vectors, the sums of constant weights are kept; else they are scratch.
Bytes sums_bytes(const Site& site) {
  return has_vectors(site) && is_of(site.input(0), INT8) ? dimension(site.output(0), -1) * int32_bytes : 0;
}

bool is_like_convolution(const Site& site) {
  return rank_of(site.output(0)) > 2 && dimension(site.input(1), -1) % 4 == 0;
}

bool keeps_sums(const Site& site) {
  const bool is_constant = !site.data_of(1).empty() && (site.input(2) == nullptr || !site.data_of(2).empty());
  return is_of(site.input(0), INT8) && !is_of(site.input(1), INT4) && !is_like_convolution(site) &&
         is_constant && sums_bytes(site) > 0;
}

void ask_fully_connected(const Site& site, Requests& requests) {
  if (!is_of(site.input(0), INT8) || is_of(site.input(1), INT4)) return;
  if (is_like_convolution(site)) {
    if (channels_of(site.input(1)) < 2) ask(2 * int32_bytes * dimension(site.output(0), -1), requests);
  } else if (!keeps_sums(site)) {
    ask(sums_bytes(site), requests);
  }
}

void ask_average(const Site& site, Requests& requests) {
  if (has_dsp(site) && (is_of(site.input(0), INT8) || is_of(site.input(0), INT16)))
    ask(dimension(site.input(0), 3) * int32_bytes, requests);
}

void ask_batch_matmul(const Site& site, Requests& requests) { ask(sums_bytes(site), requests); }

void ask_transpose_conv(const Site& site, Requests& requests) {
  constexpr Bytes many_channels = 16;
  const Extents in = extents_of(site.input(2));
  const Extents kernel = extents_of(site.input(1));
  const Extents out = extents_of(site.output(0));
  if (is_of(site.input(2), INT16)) {
    requests.push_back(times(elements_of(site.output(0)), int64_bytes));
    if (is_of(site.input(3), INT16)) requests.push_back(times(elements_of(site.input(3)), int64_bytes));
  }
  const auto* const options = site.op().builtin_options_as_TransposeConvOptions();
  if (!is_of(site.input(2), INT8) || options == nullptr) return;
  const bool is_reversed = options->stride_w() <= 2 && options->stride_h() <= 2 && in.c > many_channels;
  if (is_reversed) {
    requests = {columns_bytes(has_vectors(site), in, kernel), in.c * kernel.w * kernel.h * out.c};
    return;
  }
  const Bytes width = (in.w - 1) * options->stride_w() + std::max<Bytes>(kernel.w, options->stride_h());
  requests = {width * out.c * std::max<Bytes>(kernel.h, options->stride_h()) * int32_bytes, 0};
}

void ask_svdf(const Site& site, Requests& requests) {
  const auto* const options = site.op().builtin_options_as_SVDFOptions();
  const Bytes filters = times(dimension(site.input(0), 0), dimension(site.input(1), 0));
  requests.push_back(times(filters, int32_bytes));
  if (is_of(site.input(1), INT8) && options != nullptr && options->rank() > 0)
    requests.push_back(filters / options->rank() * int32_bytes);
}

void ask_lstm(const Site& site, Requests& requests) {
  constexpr std::size_t hidden_state = 18;
  constexpr std::size_t cell_state = 19;
  const auto* const options = site.op().builtin_options_as_UnidirectionalSequenceLSTMOptions();
  const bool is_time_major = options != nullptr && options->time_major();
  const Bytes cells =
      dimension(site.input(0), is_time_major ? 1 : 0) * dimension(site.input(hidden_state), 1);
  const bool is_float = is_of(site.input(cell_state), FLOAT32);
  requests.assign(is_float ? 4 : 3, times(cells, is_float ? int32_bytes : int16_bytes));
}

void keep_channels(const Site& site, std::size_t activation, Bytes channels, std::vector<Bytes>& prepare) {
  if (is_of(site.input(activation), FLOAT32)) return;
  prepare.insert(prepare.end(), 2, channels * int32_bytes);
}

void keep_convolution(const Site& site, std::vector<Bytes>& prepare) {
  keep_channels(site, 0, dimension(site.input(1), 0), prepare);
}

void keep_depthwise(const Site& site, std::vector<Bytes>& prepare) {
  keep_channels(site, 0, dimension(site.input(1), 3), prepare);
}

void keep_transpose_conv(const Site& site, std::vector<Bytes>& prepare) {
  prepare.insert(prepare.end(), 2, dimension(site.input(1), 0) * int32_bytes);
}

void keep_fully_connected(const Site& site, std::vector<Bytes>& prepare) {
  const auto channels = static_cast<Bytes>(channels_of(site.input(1)));
  if (channels > 1) keep_channels(site, 0, channels, prepare);
  if (keeps_sums(site)) prepare.push_back(sums_bytes(site));
}

void keep_svdf(const Site& site, std::vector<Bytes>& prepare) {
  if (has_vectors(site) && is_of(site.input(1), INT8))
    prepare.push_back(dimension(site.input(1), 0) * int32_bytes);
}

void keep_batch_matmul(const Site& site, std::vector<Bytes>& prepare) {
  const auto* const options = site.op().builtin_options_as_BatchMatMulOptions();
  const auto dimensions = [](const tflite::Tensor* tensor) {
    return int32_bytes * (1 + static_cast<Bytes>(rank_of(tensor)));
  };
  const auto transposed = [&](const tflite::Tensor* tensor) {
    prepare.insert(prepare.end(), {site.by_pointer(24, 12), dimensions(tensor), runtime_bytes_of(tensor)});
  };
  if (options != nullptr && options->adj_x()) transposed(site.input(0));
  if (options == nullptr || !options->adj_y()) transposed(site.input(1));
  prepare.push_back(dimensions(site.output(0)));
  if (!is_of(site.input(0), FLOAT32)) prepare.push_back(7 * int32_bytes);
}

/// Eight sums for each unit.
void keep_lstm(const Site& site, std::vector<Bytes>& prepare) {
  constexpr std::size_t hidden_state = 18;
  if (is_of(site.input(0), FLOAT32)) return;
  const Bytes width = is_of(site.input(0), INT16) ? int64_bytes : int32_bytes;
  prepare.insert(prepare.end(), 8, dimension(site.input(hidden_state), 1) * width);
}

/// Tables of exponents.
void keep_softmax(const Site& site, std::vector<Bytes>& prepare) {
  if (is_of(site.input(0), INT16)) prepare.insert(prepare.end(), 2, softmax_table_bytes);
}

struct Optimized {
  std::string_view type;
  Bytes wide;  ///< Bytes of the kernel's struct with pointers of 8 bytes, and of 4.
  Bytes narrow;
  void (*ask)(const Site& site, Requests& requests) = nullptr;  ///< Null: for nothing.
  void (*keep)(const Site& site, std::vector<Bytes>& prepare) = nullptr;
};

constexpr std::array with_optimized_kernels{
    Optimized{"AVERAGE_POOL_2D", 36, 36, ask_average},
    Optimized{"BATCH_MATMUL", 56, 36, ask_batch_matmul, keep_batch_matmul},
    Optimized{"CONV_2D", 80, 60, ask_convolution, keep_convolution},
    Optimized{"DEPTHWISE_CONV_2D", 80, 60, ask_depthwise, keep_depthwise},
    Optimized{"FULLY_CONNECTED", 96, 72, ask_fully_connected, keep_fully_connected},
    Optimized{"MAX_POOL_2D", 36, 36},
    Optimized{"SOFTMAX", 88, 64, nullptr, keep_softmax},
    Optimized{"SVDF", 48, 40, ask_svdf, keep_svdf},
    Optimized{"TRANSPOSE_CONV", 88, 76, ask_transpose_conv, keep_transpose_conv},
    Optimized{"UNIDIRECTIONAL_SEQUENCE_LSTM", 1008, 912, ask_lstm, keep_lstm},
};

const Optimized* optimized_kernel(const Site& site) {
  if (site.runtime().kernels == TflmKernels::reference) return nullptr;
  const auto* const found = std::ranges::find(with_optimized_kernels, site.type(), &Optimized::type);
  return found == with_optimized_kernels.end() ? nullptr : found;
}

}  // namespace

std::optional<std::vector<Bytes>> cmsis_nn_scratch_of(const Site& site) {
  const Optimized* const kernel = optimized_kernel(site);
  if (kernel == nullptr) return std::nullopt;
  Requests requests;
  if (kernel->ask != nullptr) kernel->ask(site, requests);
  return requests;
}

std::optional<KernelData> cmsis_nn_data_of(const Site& site) {
  const Optimized* const kernel = optimized_kernel(site);
  if (kernel == nullptr) return std::nullopt;
  KernelData data{.init = {site.by_pointer(kernel->wide, kernel->narrow)}};
  if (kernel->keep != nullptr) kernel->keep(site, data.prepare);
  return data;
}

}  // namespace stowage::tflm
