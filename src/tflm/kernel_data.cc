// What the stock reference kernels of TensorFlow Lite Micro keep in the tail of the arena: a table with a row
// for each operator. Sizes are those of structs of the runtime, compiled for pointers of 8 and of 4 bytes
// (64-bit doubles and integers are aligned to 8 in both). A runtime that decompresses weights has larger
// structs for some. What depends on shapes is in functions. Source: TensorFlow Lite Micro, kernels/, the
// calls of AllocatePersistentBuffer; core/api/flatbuffer_conversions.cc for options.
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
#include "tflm/signal_data.h"

namespace stowage::tflm {
namespace {

using enum tflite::TensorType;
using Pieces = std::vector<Bytes>;

constexpr Bytes word = 4;

/// Bytes with pointers of 8 and of 4 bytes, and how much more they are if weights are decompressed.
struct Size {
  Bytes wide = 0;
  Bytes narrow = 0;
  Bytes more = 0;

  consteval Size(Bytes both) : wide(both), narrow(both) {}
  consteval Size(Bytes wide_bytes, Bytes narrow_bytes, Bytes more_bytes = 0)
      : wide(wide_bytes), narrow(narrow_bytes), more(more_bytes) {}

  [[nodiscard]] Bytes on(const TflmRuntime& runtime) const {
    return (runtime.pointer_bytes == 8 ? wide : narrow) + (runtime.decompresses ? more : 0);
  }
};

/// Options of 4-byte fields, of single bytes, or with pointers.
struct Options {
  Size bytes;
  Size alignment;
};

constexpr std::string_view each_operand = "i* o*";
constexpr Options no_options{0, 1};
consteval Options of_words(Bytes count) { return {Size(count * word), Size(word)}; }
consteval Options of_bytes(Bytes count) { return {Size(count), Size(1)}; }

/// Dimensions that a kernel may write, with their number.
Bytes dimensions_bytes(const tflite::Tensor* tensor) {
  return word + word * static_cast<Bytes>(rank_of(tensor));
}

void copy_dimensions(const Site& site, Pieces& pieces) { pieces.push_back(dimensions_bytes(site.output(0))); }

/// Two words for each channel of the output.
void by_channel(Bytes channels, Pieces& pieces) { pieces.insert(pieces.end(), 2, channels * word); }

void of_convolution(const Site& site, Pieces& pieces) { by_channel(dimension(site.input(1), 0), pieces); }
void of_depthwise(const Site& site, Pieces& pieces) { by_channel(dimension(site.input(1), 3), pieces); }

void of_fully_connected(const Site& site, Pieces& pieces) {
  const auto channels = static_cast<Bytes>(channels_of(site.input(1)));
  if (!is_of(site.input(0), FLOAT32) && channels > 1) by_channel(channels, pieces);
}

void of_add_n(const Site& site, Pieces& pieces) {
  if (is_of(site.output(0), INT8)) pieces.push_back(10 * word);
}

void of_cumsum(const Site& site, Pieces& pieces) {
  if (is_of(site.output(0), INT8)) pieces.push_back(9 * word);
}

void of_log_softmax(const Site& site, Pieces& pieces) {
  if (is_of(site.input(0), INT8)) pieces.push_back(site.by_pointer(40, 28));
}

/// Tables of exponents.
void of_softmax(const Site& site, Pieces& pieces) {
  if (is_of(site.input(0), INT16)) pieces.insert(pieces.end(), 2, softmax_table_bytes);
}

void of_embedding_lookup(const Site& site, Pieces& pieces) {
  pieces.push_back(site.by_pointer(16, 8));
  copy_dimensions(site, pieces);
}

void of_reshape(const Site& site, Pieces& pieces) {
  const auto* const shape = site.output(0) == nullptr ? nullptr : site.output(0)->shape();
  if (shape != nullptr && std::find(shape->begin(), shape->end(), -1) != shape->end())
    copy_dimensions(site, pieces);
}

/// A transposed copy of an operand: tensor, dimensions, data.
void transposed(const Site& site, const tflite::Tensor* tensor, Pieces& pieces) {
  pieces.push_back(site.by_pointer(24, 12));
  pieces.push_back(dimensions_bytes(tensor));
  pieces.push_back(runtime_bytes_of(tensor));
}

void of_batch_matmul(const Site& site, Pieces& pieces) {
  const auto* const options = site.op().builtin_options_as_BatchMatMulOptions();
  if (is_of(site.input(0), INT8) || is_of(site.input(0), INT16)) pieces.push_back(7 * word);
  if (options != nullptr && options->adj_x()) transposed(site, site.input(0), pieces);
  if (options == nullptr || !options->adj_y()) transposed(site, site.input(1), pieces);
  copy_dimensions(site, pieces);
}

/// A state for each output, by the kind of compression, which the first byte of the ancillary data says.
void of_decode(const Site& site, Pieces& pieces) {
  pieces.push_back(site.runtime().pointer_bytes * static_cast<Bytes>(site.outputs()));
  for (std::size_t i = 0; i + 1 < site.inputs(); i += 2) {
    const std::string_view ancillary = site.data_of(i + 1);
    const int kind = ancillary.empty() ? -1 : static_cast<unsigned char>(ancillary[0]);
    if (kind == 0) pieces.push_back(site.by_pointer(72, 36));  // table
    if (kind == 1) pieces.push_back(site.by_pointer(56, 28));  // Huffman
    if (kind != 2) continue;                                   // pruned
    pieces.push_back(site.by_pointer(80, 40));
    const tflite::Tensor* const output = site.output(i / 2);
    const std::size_t channels = channels_of(output);
    if (channels < 2) continue;
    const auto* const zeros = output->quantization()->zero_point();
    if (std::any_of(zeros->begin(), zeros->end(), [](std::int64_t zero) { return zero != 0; }))
      pieces.push_back(static_cast<Bytes>(channels));
  }
}

struct Keeper {
  std::string_view type;
  Options options = no_options;
  Size init = 0;
  void (*prepare)(const Site& site, Pieces& pieces) = nullptr;
  /// Operands that it looks at when it is prepared, in order ("i0 o0").
  std::string_view looks_at = each_operand;
};

constexpr Size no_init = 0;
constexpr std::string_view looks_at_nothing = "";
constexpr std::string_view looks_at_first = "i0";
constexpr std::string_view looks_at_first_and_output = "i0 o0";
constexpr std::string_view looks_at_both_inputs = "i0 i1";
constexpr std::string_view looks_with_weights = "o0 i0 i1 i0 i1 i2 o0";
constexpr std::string_view looks_with_first_again = "i0 o0 i*";
constexpr std::string_view looks_twice = "i0 o0 i1 i0 i1 o0";

/// All operators of the runtime's resolver. Those of signals have a table of their own.
constexpr std::array keepers{
    Keeper{"ABS", no_options, 28},
    Keeper{"ADD", of_words(2), 60},
    Keeper{"ADD_N", no_options, no_init, of_add_n, looks_with_first_again},
    Keeper{"ARG_MAX", of_words(1), no_init, nullptr, looks_at_nothing},
    Keeper{"ARG_MIN", of_words(1), no_init, nullptr, looks_at_nothing},
    Keeper{"ASSIGN_VARIABLE", no_options, Size(0, 0, 4), nullptr, "i1"},
    Keeper{"AVERAGE_POOL_2D", of_words(10), 32},
    Keeper{"BATCH_MATMUL", of_bytes(3), Size(32, 16), of_batch_matmul},
    Keeper{"BATCH_TO_SPACE_ND", no_options, no_init, nullptr, looks_at_first_and_output},
    Keeper{"BROADCAST_ARGS"},
    Keeper{"BROADCAST_TO"},
    Keeper{"CALL_ONCE", of_words(1), 8, nullptr, looks_at_nothing},
    Keeper{"CAST", of_words(2)},
    Keeper{"CEIL"},
    Keeper{"CIRCULAR_BUFFER", no_options, 8},
    Keeper{"CONCATENATION", of_words(2), Size(40, 24, 40), nullptr, looks_with_first_again},
    Keeper{"CONV_2D", of_words(7), Size(72, 56, 8), of_convolution, looks_with_weights},
    Keeper{"COS"},
    Keeper{"CUMSUM", of_bytes(2), no_init, of_cumsum},
    Keeper{"DEPTHWISE_CONV_2D", of_words(7), Size(72, 56, 8), of_depthwise, looks_with_weights},
    Keeper{"DEPTH_TO_SPACE", of_words(1), no_init, copy_dimensions},
    Keeper{"DEQUANTIZE", no_options, 32},
    Keeper{"DIV", of_words(1), 28},
    Keeper{"DYNAMIC_UPDATE_SLICE"},
    Keeper{"ELU", no_options, 256},
    Keeper{"EMBEDDING_LOOKUP", no_options, no_init, of_embedding_lookup},
    Keeper{"EQUAL", no_options, 32, nullptr, looks_at_both_inputs},
    Keeper{"EXP"},
    Keeper{"EXPAND_DIMS"},
    Keeper{"FILL"},
    Keeper{"FLOOR", no_options, no_init, nullptr, looks_at_nothing},
    Keeper{"FLOOR_DIV"},
    Keeper{"FLOOR_MOD"},
    Keeper{"FULLY_CONNECTED", Options{Size(32, 24), Size(8, 4)}, Size(64, 48, 8), of_fully_connected},
    Keeper{"GATHER", of_words(2), no_init, copy_dimensions},
    Keeper{"GATHER_ND", no_options, no_init, copy_dimensions},
    Keeper{"GREATER", no_options, 32, nullptr, looks_at_both_inputs},
    Keeper{"GREATER_EQUAL", no_options, 32, nullptr, looks_at_both_inputs},
    Keeper{"HARD_SWISH", no_options, 20},
    Keeper{"IF", of_words(2), 8, nullptr, looks_at_first},
    Keeper{"L2_NORMALIZATION", of_words(1), 4},
    Keeper{"L2_POOL_2D", of_words(10), no_init, copy_dimensions},
    Keeper{"LEAKY_RELU", of_words(1), 24},
    Keeper{"LESS", no_options, 32, nullptr, looks_at_both_inputs},
    Keeper{"LESS_EQUAL", no_options, 32, nullptr, looks_at_both_inputs},
    Keeper{"LOG"},
    Keeper{"LOGICAL_AND", no_options, no_init, nullptr, looks_at_nothing},
    Keeper{"LOGICAL_NOT"},
    Keeper{"LOGICAL_OR", no_options, no_init, nullptr, looks_at_nothing},
    Keeper{"LOGISTIC", no_options, 16},
    Keeper{"LOG_SOFTMAX", no_options, no_init, of_log_softmax},
    Keeper{"MAXIMUM", no_options, no_init, nullptr, looks_at_nothing},
    Keeper{"MAX_POOL_2D", of_words(10), 32},
    Keeper{"MEAN", of_bytes(1), 44, nullptr, looks_twice},
    Keeper{"MINIMUM", no_options, no_init, nullptr, looks_at_nothing},
    Keeper{"MIRROR_PAD", of_words(1), 20},
    Keeper{"MUL", of_words(1), 36},
    Keeper{"NEG", no_options, no_init, nullptr, looks_at_nothing},
    Keeper{"NOT_EQUAL", no_options, 32, nullptr, looks_at_both_inputs},
    Keeper{"PACK", of_words(2), no_init, nullptr, looks_at_nothing},
    Keeper{"PAD", no_options, 56},
    Keeper{"PADV2", no_options, 56},
    Keeper{"PRELU", no_options, 28},
    Keeper{"QUANTIZE", no_options, 32},
    Keeper{"READ_VARIABLE", no_options, no_init, nullptr, looks_at_first},
    Keeper{"REDUCE_ALL", of_bytes(1), 44, nullptr, looks_twice},
    Keeper{"REDUCE_MAX", of_bytes(1), 44, nullptr, looks_twice},
    Keeper{"REDUCE_MIN", of_bytes(1), 44, nullptr, looks_twice},
    Keeper{"RELU", no_options, 28, nullptr, looks_with_first_again},
    Keeper{"RELU6", no_options, 8, nullptr, looks_with_first_again},
    Keeper{"RESHAPE", of_words(9), no_init, of_reshape},
    Keeper{"RESIZE_BILINEAR", of_bytes(2)},
    Keeper{"RESIZE_NEAREST_NEIGHBOR", of_bytes(2)},
    Keeper{"REVERSE_V2"},
    Keeper{"ROUND"},
    Keeper{"RSQRT", no_options, 28},
    Keeper{"SELECT_V2", no_options, 1},
    Keeper{"SHAPE", of_words(1)},
    Keeper{"SIN"},
    Keeper{"SLICE"},
    Keeper{"SOFTMAX", of_words(1), Size(80, 56), of_softmax},
    Keeper{"SPACE_TO_BATCH_ND", no_options, 4, nullptr, looks_at_first_and_output},
    Keeper{"SPACE_TO_DEPTH", of_words(1), no_init, copy_dimensions},
    Keeper{"SPLIT", of_words(1), no_init, nullptr, looks_at_first},
    Keeper{"SPLIT_V", of_words(1), no_init, nullptr, "i2"},
    Keeper{"SQRT"},
    Keeper{"SQUARE"},
    Keeper{"SQUARED_DIFFERENCE", no_options, 112},
    Keeper{"SQUEEZE", of_words(9)},
    Keeper{"STRIDED_SLICE", of_words(6), 84},
    Keeper{"SUB", of_words(2), 52},
    Keeper{"SUM", of_bytes(1), 44, nullptr, looks_twice},
    Keeper{"SVDF", of_words(3), 36},
    Keeper{"TANH", no_options, 16, nullptr, looks_with_first_again},
    Keeper{"TFLM_DECODE", no_options, no_init, of_decode},
    Keeper{"TFLite_Detection_PostProcess", no_options, 112},
    Keeper{"TRANSPOSE"},
    Keeper{"TRANSPOSE_CONV", of_words(5), Size(80, 72, 8), of_convolution, "o0 i2 i1 i2 i1 i3 o0"},
    Keeper{"UNIDIRECTIONAL_SEQUENCE_LSTM", of_words(4), 688},
    Keeper{"UNPACK", of_words(2), no_init, nullptr, looks_at_nothing},
    Keeper{"VAR_HANDLE", Options{Size(16, 8), Size(8, 4)}, 4, nullptr, looks_at_nothing},
    Keeper{"WHILE", of_words(2), 8, nullptr, looks_at_nothing},
    Keeper{"ZEROS_LIKE"},
};

const Keeper* row_of(const Site& site) {
  const auto* const row = std::ranges::find(keepers, site.type(), &Keeper::type);
  return row == keepers.end() ? nullptr : row;
}

/// The operands that a row's list names.
std::vector<const tflite::Tensor*> operands_in(std::string_view list, const Site& site) {
  std::vector<const tflite::Tensor*> operands;
  const auto add = [&](const tflite::Tensor* tensor) {
    if (tensor != nullptr) operands.push_back(tensor);
  };
  for (std::size_t at = 0; at + 1 < list.size(); at += 3) {
    const bool is_input = list[at] == 'i';
    const std::size_t all = is_input ? site.inputs() : site.outputs();
    const bool is_all = list[at + 1] == '*';
    const std::size_t begin = is_all ? 0 : static_cast<std::size_t>(list[at + 1] - '0');
    for (std::size_t i = begin; i < (is_all ? all : begin + 1); ++i)
      add(is_input ? site.input(i) : site.output(i));
  }
  return operands;
}

}  // namespace

bool is_stock_operator(const Site& site) { return row_of(site) != nullptr || is_signal_operator(site); }

std::optional<KernelData> kernel_data_of(const Site& site) {
  if (is_signal_operator(site)) {
    KernelData data = signal_data_of(site);
    data.looks_at = operands_in(each_operand, site);
    return data;
  }
  const Keeper* const row = row_of(site);
  if (row == nullptr) return std::nullopt;
  KernelData data;
  if (const auto optimized = cmsis_nn_data_of(site)) {
    data = *optimized;
  } else {
    if (const Bytes bytes = row->init.on(site.runtime()); bytes > 0) data.init.push_back(bytes);
    if (row->prepare != nullptr) row->prepare(site, data.prepare);
  }
  data.looks_at = operands_in(row->looks_at, site);
  if (const Bytes bytes = row->options.bytes.on(site.runtime()); bytes > 0)
    data.options = {bytes, row->options.alignment.on(site.runtime())};
  return data;
}

}  // namespace stowage::tflm
