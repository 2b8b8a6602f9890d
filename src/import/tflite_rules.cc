// The table of TFLite operators and the rules for their shapes. Operators that are missing have no rule: the file
// or the user says what shapes their results have. Source: the kernels of TFLite.

#include "import/tflite_rules.h"

#include <unordered_map>

#include "import/tflite_shape_rules.h"
#include "import/tflite_tables.h"

namespace stowage::import {
namespace {

using tflite::BuiltinOperator;
using TfliteRule = void (*)(TfliteNode& node);

const std::unordered_map<BuiltinOperator, TfliteRule>& tflite_table() {
  namespace rules = tflite_rules;
  using enum BuiltinOperator;
  static const std::unordered_map<BuiltinOperator, TfliteRule> table{
      {ABS, rules::like_first},
      {ADD, rules::broadcast},
      {ADD_N, rules::like_first},
      {ARG_MAX, rules::arg_reduce},
      {ARG_MIN, rules::arg_reduce},
      {ATAN2, rules::broadcast},
      {AVERAGE_POOL_2D, rules::pool},
      {BATCH_MATMUL, rules::batch_multiply},
      {BATCH_TO_SPACE_ND, rules::batch_to_space},
      {BIDIRECTIONAL_SEQUENCE_LSTM, rules::two_way_lstm},
      {BIDIRECTIONAL_SEQUENCE_RNN, rules::two_way_recurrent},
      {BITWISE_XOR, rules::broadcast},
      {BROADCAST_ARGS, rules::broadcast_args},
      {BROADCAST_TO, rules::broadcast_to},
      {BUCKETIZE, rules::like_first},
      {CAST, rules::like_first},
      {CEIL, rules::like_first},
      {COMPLEX_ABS, rules::like_first},
      {CONCATENATION, rules::concatenate},
      {CONV_2D, rules::convolution},
      {CONV_3D, rules::convolution_3d},
      {CONV_3D_TRANSPOSE, rules::shaped_by_first},
      {COS, rules::like_first},
      {CUMSUM, rules::like_first},
      {DENSIFY, rules::like_first},
      {DEPTHWISE_CONV_2D, rules::depthwise_convolution},
      {DEPTH_TO_SPACE, rules::depth_to_space},
      {DEQUANTIZE, rules::like_first},
      {DILATE, rules::dilate},
      {DIV, rules::broadcast},
      {DYNAMIC_UPDATE_SLICE, rules::like_first},
      {ELU, rules::like_first},
      {EMBEDDING_LOOKUP, rules::embedding_lookup},
      {EQUAL, rules::broadcast},
      {EXP, rules::like_first},
      {EXPAND_DIMS, rules::expand_dims},
      {FAKE_QUANT, rules::like_first},
      {FILL, rules::shaped_by_first},
      {FLOOR, rules::like_first},
      {FLOOR_DIV, rules::broadcast},
      {FLOOR_MOD, rules::broadcast},
      {FULLY_CONNECTED, rules::fully_connected},
      {GATHER, rules::gather},
      {GATHER_ND, rules::gather_slices},
      {GELU, rules::like_first},
      {GREATER, rules::broadcast},
      {GREATER_EQUAL, rules::broadcast},
      {HARD_SWISH, rules::like_first},
      {HASHTABLE_FIND, rules::like_second},
      {HASHTABLE_LOOKUP, rules::hashtable_lookup},
      {HASHTABLE_SIZE, rules::hashtable_size},
      {IMAG, rules::like_first},
      {L2_NORMALIZATION, rules::like_first},
      {L2_POOL_2D, rules::pool},
      {LEAKY_RELU, rules::like_first},
      {LESS, rules::broadcast},
      {LESS_EQUAL, rules::broadcast},
      {LOCAL_RESPONSE_NORMALIZATION, rules::like_first},
      {LOG, rules::like_first},
      {LOGICAL_AND, rules::broadcast},
      {LOGICAL_NOT, rules::like_first},
      {LOGICAL_OR, rules::broadcast},
      {LOGISTIC, rules::like_first},
      {LOG_SOFTMAX, rules::like_first},
      {LSTM, rules::lstm},
      {MATRIX_DIAG, rules::matrix_diagonal},
      {MATRIX_SET_DIAG, rules::like_first},
      {MAXIMUM, rules::broadcast},
      {MAX_POOL_2D, rules::pool},
      {MEAN, rules::reduce},
      {MINIMUM, rules::broadcast},
      {MIRROR_PAD, rules::pad},
      {MUL, rules::broadcast},
      {MULTINOMIAL, rules::multinomial},
      {NEG, rules::like_first},
      {NON_MAX_SUPPRESSION_V4, rules::non_max_suppression},
      {NON_MAX_SUPPRESSION_V5, rules::non_max_suppression},
      {NOT_EQUAL, rules::broadcast},
      {ONE_HOT, rules::one_hot},
      {PACK, rules::pack},
      {PAD, rules::pad},
      {PADV2, rules::pad},
      {POW, rules::broadcast},
      {PRELU, rules::broadcast},
      {QUANTIZE, rules::like_first},
      {RANDOM_STANDARD_NORMAL, rules::shaped_by_first},
      {RANDOM_UNIFORM, rules::shaped_by_first},
      {RANGE, rules::range},
      {RANK, rules::number},
      {REAL, rules::like_first},
      {REDUCE_ALL, rules::reduce},
      {REDUCE_ANY, rules::reduce},
      {REDUCE_MAX, rules::reduce},
      {REDUCE_MIN, rules::reduce},
      {REDUCE_PROD, rules::reduce},
      {RELU, rules::like_first},
      {RELU6, rules::like_first},
      {RELU_0_TO_1, rules::like_first},
      {RELU_N1_TO_1, rules::like_first},
      {RESHAPE, rules::reshape},
      {RESIZE_BILINEAR, rules::resize},
      {RESIZE_NEAREST_NEIGHBOR, rules::resize},
      {REVERSE_SEQUENCE, rules::like_first},
      {REVERSE_V2, rules::like_first},
      {RFFT2D, rules::fourier},
      {RIGHT_SHIFT, rules::broadcast},
      {RNN, rules::recurrent},
      {ROUND, rules::like_first},
      {RSQRT, rules::like_first},
      {SCATTER_ND, rules::shaped_by_third},
      {SEGMENT_SUM, rules::segment_sum},
      {SELECT, rules::like_second},
      {SELECT_V2, rules::broadcast_all},
      {SHAPE, rules::shape_query},
      {SIGN, rules::like_first},
      {SIN, rules::like_first},
      {SLICE, rules::slice},
      {SOFTMAX, rules::like_first},
      {SPACE_TO_BATCH_ND, rules::space_to_batch},
      {SPACE_TO_DEPTH, rules::space_to_depth},
      {SPARSE_TO_DENSE, rules::shaped_by_second},
      {SPLIT, rules::split},
      {SPLIT_V, rules::split_v},
      {SQRT, rules::like_first},
      {SQUARE, rules::like_first},
      {SQUARED_DIFFERENCE, rules::broadcast},
      {SQUEEZE, rules::squeeze},
      {STRIDED_SLICE, rules::strided_slice},
      {SUB, rules::broadcast},
      {SUM, rules::reduce},
      {SVDF, rules::svdf},
      {TANH, rules::like_first},
      {TILE, rules::tile},
      {TOPK_V2, rules::top_k},
      {TRANSPOSE, rules::transpose},
      {TRANSPOSE_CONV, rules::shaped_by_first},
      {UNIDIRECTIONAL_SEQUENCE_LSTM, rules::sequence_lstm},
      {UNIDIRECTIONAL_SEQUENCE_RNN, rules::sequence_recurrent},
      {UNIQUE, rules::unique},
      {UNPACK, rules::unpack},
      {UNSORTED_SEGMENT_MAX, rules::unsorted_segment},
      {UNSORTED_SEGMENT_MIN, rules::unsorted_segment},
      {UNSORTED_SEGMENT_PROD, rules::unsorted_segment},
      {UNSORTED_SEGMENT_SUM, rules::unsorted_segment},
      {WHERE, rules::where},
      {ZEROS_LIKE, rules::like_first},
  };
  return table;
}

}  // namespace

void infer_by_rule(const tflite::OperatorCode& code, TfliteNode& node) {
  const BuiltinOperator builtin = builtin_of(code);
  if (builtin == BuiltinOperator::CUSTOM) {
    if (code.custom_code() != nullptr && code.custom_code()->str() == "TFLite_Detection_PostProcess")
      tflite_rules::detections(node);
    return;
  }
  const auto rule = tflite_table().find(builtin);
  if (rule != tflite_table().end()) rule->second(node);
}

}  // namespace stowage::import
