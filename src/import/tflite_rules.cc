// The table of TFLite operators and the rules for their shapes. Operators that are missing have no rule: the file
// or the user says what shapes their results have. Source: the kernels of TFLite.

#include "import/tflite_rules.h"

#include <unordered_map>

#include "import/tflite_tables.h"
#include "operators/shapes.h"
#include "operators/tflite_shapes.h"

namespace stowage::import {
namespace {

using tflite::BuiltinOperator;
using TfliteRule = void (*)(operators::NodeContext& node);

const std::unordered_map<BuiltinOperator, TfliteRule>& tflite_table() {
  namespace shapes = operators::shapes;
  namespace tflite_shapes = operators::tflite_shapes;
  using enum BuiltinOperator;
  static const std::unordered_map<BuiltinOperator, TfliteRule> table{
      {ABS, shapes::like_first},
      {ADD, shapes::broadcast},
      {ADD_N, shapes::like_first},
      {ARG_MAX, tflite_shapes::arg_reduce},
      {ARG_MIN, tflite_shapes::arg_reduce},
      {ATAN2, shapes::broadcast},
      {AVERAGE_POOL_2D, tflite_shapes::pool},
      {BATCH_MATMUL, shapes::fused_multiply},
      {BATCH_TO_SPACE_ND, tflite_shapes::batch_to_space},
      {BIDIRECTIONAL_SEQUENCE_LSTM, tflite_shapes::two_way_lstm},
      {BIDIRECTIONAL_SEQUENCE_RNN, tflite_shapes::two_way_recurrent},
      {BITWISE_XOR, shapes::broadcast},
      {BROADCAST_ARGS, tflite_shapes::broadcast_args},
      {BROADCAST_TO, tflite_shapes::broadcast_to},
      {BUCKETIZE, shapes::like_first},
      {CAST, shapes::like_first},
      {CEIL, shapes::like_first},
      {COMPLEX_ABS, shapes::like_first},
      {CONCATENATION, shapes::concatenate},
      {CONV_2D, tflite_shapes::convolution},
      {CONV_3D, tflite_shapes::convolution_3d},
      {CONV_3D_TRANSPOSE, tflite_shapes::shaped_by_first},
      {COS, shapes::like_first},
      {CUMSUM, shapes::like_first},
      {DENSIFY, shapes::like_first},
      {DEPTHWISE_CONV_2D, tflite_shapes::depthwise_convolution},
      {DEPTH_TO_SPACE, tflite_shapes::depth_to_space},
      {DEQUANTIZE, shapes::like_first},
      {DILATE, tflite_shapes::dilate},
      {DIV, shapes::broadcast},
      {DYNAMIC_UPDATE_SLICE, shapes::like_first},
      {ELU, shapes::like_first},
      {EMBEDDING_LOOKUP, tflite_shapes::embedding_lookup},
      {EQUAL, shapes::broadcast},
      {EXP, shapes::like_first},
      {EXPAND_DIMS, shapes::unsqueeze},
      {FAKE_QUANT, shapes::like_first},
      {FILL, tflite_shapes::shaped_by_first},
      {FLOOR, shapes::like_first},
      {FLOOR_DIV, shapes::broadcast},
      {FLOOR_MOD, shapes::broadcast},
      {FULLY_CONNECTED, tflite_shapes::fully_connected},
      {GATHER, shapes::gather},
      {GATHER_ND, shapes::gather_slices},
      {GELU, shapes::like_first},
      {GREATER, shapes::broadcast},
      {GREATER_EQUAL, shapes::broadcast},
      {HARD_SWISH, shapes::like_first},
      {HASHTABLE_FIND, shapes::like_second},
      {HASHTABLE_LOOKUP, tflite_shapes::hashtable_lookup},
      {HASHTABLE_SIZE, tflite_shapes::hashtable_size},
      {IMAG, shapes::like_first},
      {L2_NORMALIZATION, shapes::like_first},
      {L2_POOL_2D, tflite_shapes::pool},
      {LEAKY_RELU, shapes::like_first},
      {LESS, shapes::broadcast},
      {LESS_EQUAL, shapes::broadcast},
      {LOCAL_RESPONSE_NORMALIZATION, shapes::like_first},
      {LOG, shapes::like_first},
      {LOGICAL_AND, shapes::broadcast},
      {LOGICAL_NOT, shapes::like_first},
      {LOGICAL_OR, shapes::broadcast},
      {LOGISTIC, shapes::like_first},
      {LOG_SOFTMAX, shapes::like_first},
      {LSTM, tflite_shapes::lstm},
      {MATRIX_DIAG, tflite_shapes::matrix_diagonal},
      {MATRIX_SET_DIAG, shapes::like_first},
      {MAXIMUM, shapes::broadcast},
      {MAX_POOL_2D, tflite_shapes::pool},
      {MEAN, tflite_shapes::reduce},
      {MINIMUM, shapes::broadcast},
      {MIRROR_PAD, tflite_shapes::pad},
      {MUL, shapes::broadcast},
      {MULTINOMIAL, tflite_shapes::multinomial},
      {NEG, shapes::like_first},
      {NON_MAX_SUPPRESSION_V4, tflite_shapes::non_max_suppression},
      {NON_MAX_SUPPRESSION_V5, tflite_shapes::non_max_suppression},
      {NOT_EQUAL, shapes::broadcast},
      {ONE_HOT, shapes::one_hot},
      {PACK, tflite_shapes::pack},
      {PAD, tflite_shapes::pad},
      {PADV2, tflite_shapes::pad},
      {POW, shapes::broadcast},
      {PRELU, shapes::broadcast},
      {QUANTIZE, shapes::like_first},
      {RANDOM_STANDARD_NORMAL, tflite_shapes::shaped_by_first},
      {RANDOM_UNIFORM, tflite_shapes::shaped_by_first},
      {RANGE, tflite_shapes::range},
      {RANK, shapes::whole_number},
      {REAL, shapes::like_first},
      {REDUCE_ALL, tflite_shapes::reduce},
      {REDUCE_ANY, tflite_shapes::reduce},
      {REDUCE_MAX, tflite_shapes::reduce},
      {REDUCE_MIN, tflite_shapes::reduce},
      {REDUCE_PROD, tflite_shapes::reduce},
      {RELU, shapes::like_first},
      {RELU6, shapes::like_first},
      {RELU_0_TO_1, shapes::like_first},
      {RELU_N1_TO_1, shapes::like_first},
      {RESHAPE, shapes::reshape},
      {RESIZE_BILINEAR, tflite_shapes::resize},
      {RESIZE_NEAREST_NEIGHBOR, tflite_shapes::resize},
      {REVERSE_SEQUENCE, shapes::like_first},
      {REVERSE_V2, shapes::like_first},
      {RFFT2D, tflite_shapes::fourier},
      {RIGHT_SHIFT, shapes::broadcast},
      {RNN, tflite_shapes::recurrent},
      {ROUND, shapes::like_first},
      {RSQRT, shapes::like_first},
      {SCATTER_ND, tflite_shapes::shaped_by_third},
      {SEGMENT_SUM, tflite_shapes::segment_sum},
      {SELECT, shapes::like_second},
      {SELECT_V2, shapes::broadcast_all},
      {SHAPE, shapes::shape_query},
      {SIGN, shapes::like_first},
      {SIN, shapes::like_first},
      {SLICE, tflite_shapes::slice},
      {SOFTMAX, shapes::like_first},
      {SPACE_TO_BATCH_ND, tflite_shapes::space_to_batch},
      {SPACE_TO_DEPTH, tflite_shapes::space_to_depth},
      {SPARSE_TO_DENSE, tflite_shapes::shaped_by_second},
      {SPLIT, tflite_shapes::split},
      {SPLIT_V, tflite_shapes::split_v},
      {SQRT, shapes::like_first},
      {SQUARE, shapes::like_first},
      {SQUARED_DIFFERENCE, shapes::broadcast},
      {SQUEEZE, shapes::squeeze},
      {STRIDED_SLICE, tflite_shapes::strided_slice},
      {SUB, shapes::broadcast},
      {SUM, tflite_shapes::reduce},
      {SVDF, tflite_shapes::svdf},
      {TANH, shapes::like_first},
      {TILE, shapes::tile},
      {TOPK_V2, shapes::top_k},
      {TRANSPOSE, tflite_shapes::transpose},
      {TRANSPOSE_CONV, tflite_shapes::shaped_by_first},
      {UNIDIRECTIONAL_SEQUENCE_LSTM, tflite_shapes::sequence_lstm},
      {UNIDIRECTIONAL_SEQUENCE_RNN, tflite_shapes::sequence_recurrent},
      {UNIQUE, tflite_shapes::unique},
      {UNPACK, tflite_shapes::unpack},
      {UNSORTED_SEGMENT_MAX, tflite_shapes::unsorted_segment},
      {UNSORTED_SEGMENT_MIN, tflite_shapes::unsorted_segment},
      {UNSORTED_SEGMENT_PROD, tflite_shapes::unsorted_segment},
      {UNSORTED_SEGMENT_SUM, tflite_shapes::unsorted_segment},
      {WHERE, tflite_shapes::where},
      {ZEROS_LIKE, shapes::like_first},
  };
  return table;
}

}  // namespace

void infer_by_rule(const tflite::OperatorCode& code, operators::NodeContext& node) {
  const BuiltinOperator builtin = builtin_of(code);
  if (builtin == BuiltinOperator::CUSTOM) {
    if (code.custom_code() != nullptr && code.custom_code()->str() == "TFLite_Detection_PostProcess")
      operators::tflite_shapes::detections(node);
    return;
  }
  const auto rule = tflite_table().find(builtin);
  if (rule != tflite_table().end()) rule->second(node);
}

}  // namespace stowage::import
