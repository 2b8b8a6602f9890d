#include "tflm/scratch.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "tflite_generated.h"

namespace stowage::tflm {
namespace {

/// Source: TensorFlow Lite Micro, kernels/, the calls of RequestScratchBufferInArena.
constexpr std::array<std::string_view, 10> always{
    "ADD_N",      "BATCH_MATMUL", "MEAN", "MIRROR_PAD",     "REDUCE_MAX",
    "REDUCE_MIN", "SUM",          "SVDF", "TRANSPOSE_CONV", "UNIDIRECTIONAL_SEQUENCE_LSTM"};
/// These unpack weights of half a byte.
constexpr std::array<std::string_view, 3> for_small_weights{"CONV_2D", "DEPTHWISE_CONV_2D",
                                                            "FULLY_CONNECTED"};

bool is_one_of(std::string_view type, std::span<const std::string_view> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

bool is_builtin(std::string_view type) {
  const auto& all = tflite::EnumValuesBuiltinOperator();
  return std::any_of(std::begin(all), std::end(all),
                     [&](const auto builtin) { return tflite::EnumNameBuiltinOperator(builtin) == type; });
}

}  // namespace

bool may_ask_for_scratch(const Graph& graph, const Operator& op) {
  if (is_one_of(op.type, always) || !is_builtin(op.type)) return true;
  return is_one_of(op.type, for_small_weights) &&
         std::any_of(op.inputs.begin(), op.inputs.end(), [&](const auto& input) {
           return input && bits_of(graph.tensors[*input].dtype).value_or(8) < 8;
         });
}

}  // namespace stowage::tflm
