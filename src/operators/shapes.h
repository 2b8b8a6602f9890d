#pragma once

#include "operators/context.h"

/// One rule for each kind of operators: it sets the types of the node's outputs as far as they can be known,
/// and throws Misfit if inputs and attributes do not fit together. Operators say in their rows (facts.h)
/// which is theirs.
namespace stowage::operators::shapes {

// elementwise.cc
void like_first(NodeContext& node);
void all_like_first(NodeContext& node);
void sloped(NodeContext& node);
void like_second(NodeContext& node);
void like_first_along_axis(NodeContext& node);
void truth_like_first(NodeContext& node);
void broadcast(NodeContext& node);
void broadcast_always(NodeContext& node);
void broadcast_to_truth(NodeContext& node);
void broadcast_all(NodeContext& node);
void choose(NodeContext& node);
void quantized_choose(NodeContext& node);
void quantized_broadcast(NodeContext& node);
void cast(NodeContext& node);
void cast_like(NodeContext& node);
void quantize(NodeContext& node);
void dequantize(NodeContext& node);
void quantize_dynamically(NodeContext& node);
void dropout(NodeContext& node);
void batch_normalization(NodeContext& node);
void channel_normalization(NodeContext& node);
void group_normalization(NodeContext& node);
void layer_normalization(NodeContext& node);
void skip_layer_normalization(NodeContext& node);
void skip_group_normalization(NodeContext& node);
void split_gate(NodeContext& node);
void optimizer(NodeContext& node);
void optimizer_with_moments(NodeContext& node);
void causal_convolution(NodeContext& node);

// reduce.cc
void reduce(NodeContext& node);
void quantized_reduce(NodeContext& node);
void arg_reduce(NodeContext& node);
void top_k(NodeContext& node);
void loss(NodeContext& node);
void unique(NodeContext& node);
void compress(NodeContext& node);
void non_zero(NodeContext& node);
void non_max_suppression(NodeContext& node);
void shape_query(NodeContext& node);
void whole_number(NodeContext& node);
void truth(NodeContext& node);

// move_shapes.cc
void reshape(NodeContext& node);
void flatten(NodeContext& node);
void squeeze(NodeContext& node);
void unsqueeze(NodeContext& node);
void transpose(NodeContext& node);
void expand(NodeContext& node);
void tile(NodeContext& node);
void concatenate(NodeContext& node);
void quantized_concatenate(NodeContext& node);
void split(NodeContext& node);
void slice(NodeContext& node);
void pad(NodeContext& node);
void center_crop_pad(NodeContext& node);

// index.cc
void gather(NodeContext& node);
void gather_blocks(NodeContext& node);
void gather_elements(NodeContext& node);
void gather_slices(NodeContext& node);
void scatter_blocks(NodeContext& node);
void scatter_elements(NodeContext& node);
void one_hot(NodeContext& node);
void constant(NodeContext& node);
void constant_of_shape(NodeContext& node);
void eye_like(NodeContext& node);
void random(NodeContext& node);
void multinomial(NodeContext& node);
void range(NodeContext& node);
void depth_to_space(NodeContext& node);
void space_to_depth(NodeContext& node);
void determinant(NodeContext& node);

// product.cc
void matrix_multiply(NodeContext& node);
void integer_multiply(NodeContext& node);
void quantized_multiply(NodeContext& node);
void scaled_multiply(NodeContext& node);
void fused_multiply(NodeContext& node);
void general_multiply(NodeContext& node);
void quantized_general_multiply(NodeContext& node);
void packed_multiply(NodeContext& node);
void einsum(NodeContext& node);

// window_shapes.cc
void pool(NodeContext& node);
void global_pool(NodeContext& node);
void convolution(NodeContext& node);
void integer_convolution(NodeContext& node);
void quantized_convolution(NodeContext& node);
void transposed_convolution(NodeContext& node);
void max_pool(NodeContext& node);
void max_unpool(NodeContext& node);
void region_pool(NodeContext& node);
void region_align(NodeContext& node);
void column_to_image(NodeContext& node);

// image.cc
void resize(NodeContext& node);
void upsample(NodeContext& node);
void grid_sample(NodeContext& node);
void affine_grid(NodeContext& node);
void decoded_image(NodeContext& node);
void short_time_fourier(NodeContext& node);
void fourier(NodeContext& node);
void window_function(NodeContext& node);
void mel_weights(NodeContext& node);

// sequence.cc
void recurrent(NodeContext& node);
void quantized_recurrent(NodeContext& node);
void attention(NodeContext& node);
void linear_attention(NodeContext& node);
void sequence_of_first(NodeContext& node);
void sequence_of_inputs(NodeContext& node);
void empty_sequence(NodeContext& node);
void shorter_sequence(NodeContext& node);
void longer_sequence(NodeContext& node);
void element_of_first(NodeContext& node);
void joined_sequence(NodeContext& node);
void optional(NodeContext& node);

// contrib.cc
void joint_attention(NodeContext& node);
void quantized_attention(NodeContext& node);
void multi_head_attention(NodeContext& node);
void grouped_attention(NodeContext& node);
void embed_layer_normalization(NodeContext& node);
void relative_position_bias(NodeContext& node);

// ml.cc
void text_like_inputs(NodeContext& node);
void split_text(NodeContext& node);
void normalize_text(NodeContext& node);
void count_words(NodeContext& node);
void extract_features(NodeContext& node);
void reals_like_first(NodeContext& node);
void categories(NodeContext& node);
void labels(NodeContext& node);
void linear_classifier(NodeContext& node);
void vector_classifier(NodeContext& node);
void tree_classifier(NodeContext& node);
void linear_regressor(NodeContext& node);
void vector_regressor(NodeContext& node);
void tree_regressor(NodeContext& node);
void trees(NodeContext& node);
void categories_to_bits(NodeContext& node);
void joined_features(NodeContext& node);
void map_for_each(NodeContext& node);

}  // namespace stowage::operators::shapes
