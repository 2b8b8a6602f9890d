#pragma once

#include "import/tflite_node.h"

/// One rule for each kind of operators: it sets the dimensions of the outputs as far as they can be known, and
/// throws Misfit if inputs and options do not fit together. The table of operators is in tflite_rules.cc.
/// Element types are in the file.
namespace stowage::import::tflite_rules {

// tflite_shape_elementwise.cc
void like_first(TfliteNode& node);
void like_second(TfliteNode& node);
void broadcast(TfliteNode& node);
void broadcast_all(TfliteNode& node);
void number(TfliteNode& node);
void shape_query(TfliteNode& node);
void reduce(TfliteNode& node);
void arg_reduce(TfliteNode& node);
void top_k(TfliteNode& node);
void unique(TfliteNode& node);
void where(TfliteNode& node);
void non_max_suppression(TfliteNode& node);

// tflite_shape_move.cc
void reshape(TfliteNode& node);
void squeeze(TfliteNode& node);
void expand_dims(TfliteNode& node);
void transpose(TfliteNode& node);
void broadcast_to(TfliteNode& node);
void broadcast_args(TfliteNode& node);
void tile(TfliteNode& node);
void concatenate(TfliteNode& node);
void pack(TfliteNode& node);
void unpack(TfliteNode& node);
void split(TfliteNode& node);
void split_v(TfliteNode& node);
void slice(TfliteNode& node);
void strided_slice(TfliteNode& node);
void pad(TfliteNode& node);
void dilate(TfliteNode& node);

// tflite_shape_index.cc
void gather(TfliteNode& node);
void gather_slices(TfliteNode& node);
void one_hot(TfliteNode& node);
void shaped_by_first(TfliteNode& node);
void shaped_by_second(TfliteNode& node);
void shaped_by_third(TfliteNode& node);
void range(TfliteNode& node);
void embedding_lookup(TfliteNode& node);
void hashtable_lookup(TfliteNode& node);
void hashtable_size(TfliteNode& node);
void segment_sum(TfliteNode& node);
void unsorted_segment(TfliteNode& node);
void matrix_diagonal(TfliteNode& node);
void multinomial(TfliteNode& node);
void detections(TfliteNode& node);

// tflite_shape_window.cc
void convolution(TfliteNode& node);
void depthwise_convolution(TfliteNode& node);
void convolution_3d(TfliteNode& node);
void pool(TfliteNode& node);
void resize(TfliteNode& node);
void space_to_depth(TfliteNode& node);
void depth_to_space(TfliteNode& node);
void space_to_batch(TfliteNode& node);
void batch_to_space(TfliteNode& node);
void fourier(TfliteNode& node);

// tflite_shape_product.cc
void fully_connected(TfliteNode& node);
void batch_multiply(TfliteNode& node);
void svdf(TfliteNode& node);
void lstm(TfliteNode& node);
void sequence_lstm(TfliteNode& node);
void two_way_lstm(TfliteNode& node);
void recurrent(TfliteNode& node);
void sequence_recurrent(TfliteNode& node);
void two_way_recurrent(TfliteNode& node);

}  // namespace stowage::import::tflite_rules
