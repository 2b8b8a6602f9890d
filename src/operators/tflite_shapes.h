#pragma once

#include "operators/context.h"

/// One rule for each kind of operators: it sets the dimensions of the outputs as far as they can be known,
/// and throws Misfit if inputs and options do not fit together. These are for operators that ONNX does not
/// have, or has with other inputs or another order of dimensions; shapes.h has all others. Element types are
/// in the file.
namespace stowage::operators::tflite_shapes {

// tflite_reduce.cc
void reduce(NodeContext& node);
void arg_reduce(NodeContext& node);
void unique(NodeContext& node);
void where(NodeContext& node);
void non_max_suppression(NodeContext& node);

// tflite_move.cc
void transpose(NodeContext& node);
void broadcast_to(NodeContext& node);
void broadcast_args(NodeContext& node);
void pack(NodeContext& node);
void unpack(NodeContext& node);
void split(NodeContext& node);
void split_v(NodeContext& node);
void slice(NodeContext& node);
void strided_slice(NodeContext& node);
void pad(NodeContext& node);
void dilate(NodeContext& node);

// tflite_index.cc
void shaped_by_first(NodeContext& node);
void shaped_by_second(NodeContext& node);
void shaped_by_third(NodeContext& node);
void range(NodeContext& node);
void embedding_lookup(NodeContext& node);
void hashtable_lookup(NodeContext& node);
void hashtable_size(NodeContext& node);
void segment_sum(NodeContext& node);
void unsorted_segment(NodeContext& node);
void matrix_diagonal(NodeContext& node);
void multinomial(NodeContext& node);
void detections(NodeContext& node);

// tflite_window.cc
void convolution(NodeContext& node);
void depthwise_convolution(NodeContext& node);
void convolution_3d(NodeContext& node);
void pool(NodeContext& node);
void resize(NodeContext& node);
void space_to_depth(NodeContext& node);
void depth_to_space(NodeContext& node);
void space_to_batch(NodeContext& node);
void batch_to_space(NodeContext& node);
void fourier(NodeContext& node);

// tflite_product.cc
void fully_connected(NodeContext& node);
void svdf(NodeContext& node);
void lstm(NodeContext& node);
void sequence_lstm(NodeContext& node);
void two_way_lstm(NodeContext& node);
void recurrent(NodeContext& node);
void sequence_recurrent(NodeContext& node);
void two_way_recurrent(NodeContext& node);

}  // namespace stowage::operators::tflite_shapes
