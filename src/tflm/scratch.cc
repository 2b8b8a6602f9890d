// The scratch memory that the stock kernels of TensorFlow Lite Micro ask for: a table with a row for each
// operator that asks. Everything follows from the model: types, shapes, options, and which weights are
// compressed. Source: TensorFlow Lite Micro, kernels/ and signal/, the calls of RequestScratchBufferInArena
// and AllocateDecompressionScratchBuffer.
//
// Cost: one look at each operand.

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "base/checked.h"
#include "stowage/error.h"
#include "tflm/kernels.h"

namespace stowage::tflm {
namespace {

using enum tflite::TensorType;
using Requests = std::vector<Bytes>;

/// Compressed weights are unpacked before use.
void decompress(const Site& site, std::size_t input, Requests& requests) {
  if (site.is_compressed(input)) requests.push_back(runtime_bytes_of(site.input(input)));
}

void for_add_n(const Site& site, Requests& requests) {
  if (!is_of(site.output(0), FLOAT32) && !is_of(site.output(0), INT8)) return;
  requests.push_back(times(site.by_pointer(8, 4), static_cast<Bytes>(site.inputs())));
}

void for_assign_variable(const Site& site, Requests& requests) { decompress(site, 1, requests); }

void for_concatenation(const Site& site, Requests& requests) {
  for (std::size_t i = 0; i < site.inputs(); ++i) decompress(site, i, requests);
}

/// Weights of half a byte are unpacked, too.
void for_weights(const Site& site, Requests& requests) {
  if (is_of(site.input(1), INT4)) requests.push_back(elements_of(site.input(1)));
  decompress(site, 1, requests);
  decompress(site, 2, requests);
}

void for_detection(const Site& site, Requests& requests) {
  const Bytes boxes = dimension(site.input(0), 1);
  const Bytes most = site.option("max_detections");
  const Bytes classes = site.option("num_classes");
  constexpr Bytes coordinates = 4;
  if (most < 0 || classes < 0) throw Error("", "has a negative number of classes or detections");
  const Bytes scores = times(dimension(site.input(1), 1), dimension(site.input(1), 2));
  const Bytes word_for_each_box = times(boxes, int32_bytes);
  requests = {boxes,
              times(boxes, coordinates * int32_bytes),
              times(scores, int32_bytes),
              word_for_each_box,
              word_for_each_box,
              times(most, word_for_each_box),
              times(most, word_for_each_box),
              word_for_each_box,
              times(most, word_for_each_box),
              times(std::max(classes, most), word_for_each_box),
              times(std::min(boxes, most), word_for_each_box)};
}

void for_mirror_pad(const Site& site, Requests& requests) {
  const Bytes bytes = int32_bytes * static_cast<Bytes>(rank_of(site.input(0)));
  requests = {bytes, bytes};
}

/// One number for each dimension, and one for each axis.
void for_reduction(const Site& site, Requests& requests) {
  requests.push_back(int32_bytes * static_cast<Bytes>(rank_of(site.input(0))));
  requests.push_back(times(int32_bytes, elements_of(site.input(1))));
}

void for_sum(const Site& site, Requests& requests) {
  if (is_of(site.input(0), INT8) || is_of(site.input(0), INT16))
    requests.push_back(times(int32_bytes, elements_of(site.output(0))));
  for_reduction(site, requests);
}

void for_svdf(const Site& site, Requests& requests) {
  const Bytes batch = dimension(site.input(0), 0);
  const Bytes filters = dimension(site.input(1), 0);
  const Bytes rank = site.op().builtin_options_as_SVDFOptions() == nullptr
                         ? 0
                         : site.op().builtin_options_as_SVDFOptions()->rank();
  requests.push_back(times(times(batch, filters), int32_bytes));
  if (is_of(site.input(1), INT8) && rank > 0)
    requests.push_back(times(times(batch, filters / rank), int32_bytes));
}

void for_transpose_conv(const Site& site, Requests& requests) {
  const Bytes elements = elements_of(site.output(0));
  if (is_of(site.input(2), INT8)) requests.push_back(times(elements, int32_bytes));
  if (is_of(site.input(2), INT16)) {
    requests.push_back(times(elements, int64_bytes));
    if (is_of(site.input(3), INT16)) requests.push_back(times(elements_of(site.input(3)), int64_bytes));
  }
  decompress(site, 1, requests);
  decompress(site, 3, requests);
}

void for_lstm(const Site& site, Requests& requests) {
  constexpr std::size_t hidden_state = 18;
  constexpr std::size_t cell_state = 19;
  const auto* const options = site.op().builtin_options_as_UnidirectionalSequenceLSTMOptions();
  const bool is_time_major = options != nullptr && options->time_major();
  const Bytes batch = dimension(site.input(0), is_time_major ? 1 : 0);
  const Bytes states = dimension(site.input(hidden_state), 1);
  const Bytes width = is_of(site.input(cell_state), FLOAT32) ? 4 : 2;
  requests.assign(4, times(times(batch, states), width));
}

void for_rfft(const Site& site, Requests& requests) {
  const auto type = static_cast<tflite::TensorType>(site.option("T"));
  const Bytes width = type == INT16 ? 2 : 4;
  const Bytes length = site.option("fft_length");
  if (length < 0) throw Error("", "has a negative fft_length");
  requests.push_back(times(length, width));
}

struct Asker {
  std::string_view type;
  void (*ask)(const Site& site, Requests& requests);
};

constexpr std::array askers{
    Asker{"ADD_N", for_add_n},
    Asker{"ASSIGN_VARIABLE", for_assign_variable},
    Asker{"CONCATENATION", for_concatenation},
    Asker{"CONV_2D", for_weights},
    Asker{"DEPTHWISE_CONV_2D", for_weights},
    Asker{"FULLY_CONNECTED", for_weights},
    Asker{"MEAN", for_sum},
    Asker{"MIRROR_PAD", for_mirror_pad},
    Asker{"REDUCE_ALL", for_reduction},
    Asker{"REDUCE_MAX", for_reduction},
    Asker{"REDUCE_MIN", for_reduction},
    Asker{"SUM", for_sum},
    Asker{"SVDF", for_svdf},
    Asker{"SignalRfft", for_rfft},
    Asker{"TFLite_Detection_PostProcess", for_detection},
    Asker{"TRANSPOSE_CONV", for_transpose_conv},
    Asker{"UNIDIRECTIONAL_SEQUENCE_LSTM", for_lstm},
};

}  // namespace

std::optional<std::vector<Bytes>> scratch_of(const Site& site) {
  if (auto optimized = cmsis_nn_scratch_of(site)) return optimized;
  if (!is_stock_operator(site)) return std::nullopt;
  Requests requests;
  const auto* const row = std::ranges::find(askers, site.type(), &Asker::type);
  if (row != askers.end()) row->ask(site, requests);
  return requests;
}

}  // namespace stowage::tflm
