/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that move windows: convolutions, products and pools. One call computes one row of the output. */
#ifndef STOWAGE_WINDOWS_H
#define STOWAGE_WINDOWS_H

#include "stowage_places.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A window along the width of an image. */
typedef struct {
  int32_t in_width;
  int32_t in_channels;
  int32_t out_width;
  int32_t out_channels;
  int32_t taps_high; /* rows of the window */
  int32_t taps_wide;
  int32_t stride;
  int32_t dilation;
  int32_t before; /* places of padding on the left */
} stowage_window_shape;

typedef struct {
  stowage_window_shape shape;
  int32_t groups;
  const int8_t *weights;     /* [out_channels][taps_high][taps_wide][in_channels / groups] */
  const int32_t *bias;       /* minus the input's zero point times the sum of the weights */
  const int32_t *multiplier; /* per output channel */
  const int8_t *shift;       /* per output channel */
  int32_t input_zero;
  int32_t output_zero;
  int32_t least;
  int32_t most;
} stowage_conv_s8_layer;

/* CONV_2D and FULLY_CONNECTED. */
void stowage_conv_s8(const stowage_conv_s8_layer *layer, const void *const *rows, int8_t *output);
/* DEPTHWISE_CONV_2D; weights are [taps_high][taps_wide][out_channels]. */
void stowage_depthwise_s8(const stowage_conv_s8_layer *layer, const void *const *rows, int8_t *output);

/* Layers of other integers. Weights are as above, biases as the model has them. */
typedef struct {
  stowage_window_shape shape;
  int32_t groups;
  const void *weights; /* of uint8; of int8 for inputs of int16 */
  const void *bias;    /* of 32 bits; of 64 bits for _s16; may be null */
  const int32_t *multiplier;
  const int8_t *shift;
  int32_t input_zero;
  int32_t weights_zero;
  int32_t output_zero;
  int32_t least;
  int32_t most;
} stowage_layer;

void stowage_conv_u8(const stowage_layer *layer, const void *const *rows, uint8_t *output);
void stowage_conv_s16(const stowage_layer *layer, const void *const *rows, int16_t *output);
void stowage_conv_s16_b32(const stowage_layer *layer, const void *const *rows, int16_t *output);
void stowage_depthwise_u8(const stowage_layer *layer, const void *const *rows, uint8_t *output);
void stowage_depthwise_s16(const stowage_layer *layer, const void *const *rows, int16_t *output);
void stowage_depthwise_s16_b32(const stowage_layer *layer, const void *const *rows, int16_t *output);

/* CONV_2D of an input whose channels are planes; `first` is the first row under the window. */
void stowage_conv_planes_s8(const stowage_conv_s8_layer *layer, uint8_t *const *memory,
                            const stowage_place *planes, int32_t in_height, int32_t first, int32_t dilation,
                            int8_t *output);
/* DEPTHWISE_CONV_2D of one channel: a row of it. Rows and elements have these distances. */
void stowage_depthwise_plane_s8(const stowage_conv_s8_layer *layer, const int8_t *input, int32_t in_height,
                                int32_t in_row, int32_t in_step, int32_t first, int32_t dilation,
                                int8_t *output, int32_t out_step);

typedef struct {
  stowage_window_shape shape;
  int32_t groups;
  const float *weights; /* as above */
  const float *bias;    /* may be null */
  float least;
  float most;
} stowage_conv_f32_layer;

void stowage_conv_f32(const stowage_conv_f32_layer *layer, const void *const *rows, float *output);
void stowage_depthwise_f32(const stowage_conv_f32_layer *layer, const void *const *rows, float *output);

/* FULLY_CONNECTED of float32 with weights of int8. */
typedef struct {
  int32_t batches; /* rows of the matrix; 1 if its numbers are in several pieces */
  int32_t pieces;
  int32_t length; /* of a piece */
  int32_t outputs;
  int32_t has_zero_point;
  const int8_t *weights; /* [outputs][pieces][length] */
  const float *scales;   /* per output */
  const float *bias;     /* may be null */
  float least;
  float most;
} stowage_hybrid_layer;

void stowage_hybrid_f32(const stowage_hybrid_layer *layer, const void *const *pieces, float *output);

/* CONV_2D and DEPTHWISE_CONV_2D of float32 with weights of int8, over whole images. */
typedef struct {
  stowage_window_shape shape; /* along the width */
  int32_t images;
  int32_t in_height;
  int32_t out_height;
  int32_t stride; /* down */
  int32_t dilation;
  int32_t above;
  int32_t groups;
  int32_t channel_step; /* from a weight to that of the next output channel */
  int32_t tap_step;     /* to that of the next tap; those of input channels follow each other */
  int32_t has_zero_point;
  const int8_t *weights;
  const float *scales; /* per output channel */
  const float *bias;   /* may be null */
  float least;
  float most;
} stowage_hybrid_conv_layer;

/* `scratch` has a byte for each number of an image. */
void stowage_hybrid_conv_f32(const stowage_hybrid_conv_layer *layer, const float *input, float *output,
                             void *scratch);

/* A transposed convolution: TRANSPOSE_CONV, with a bias for each channel. The windows of `rows` cover the row of the
 * output; it is under tap `phase` of the first of them, and `stride_high` less of each further one. int8 has the bias
 * without the input's zero point. */
void stowage_transposed_f32(const stowage_conv_f32_layer *layer, int32_t stride_high, const void *const *rows,
                            int32_t phase, float *output);
void stowage_transposed_s8(const stowage_conv_s8_layer *layer, int32_t stride_high, const void *const *rows,
                           int32_t phase, int8_t *output);
void stowage_transposed_u8(const stowage_layer *layer, int32_t stride_high, const void *const *rows,
                           int32_t phase, uint8_t *output);
void stowage_transposed_s16(const stowage_layer *layer, int32_t stride_high, const void *const *rows,
                            int32_t phase, int16_t *output);
void stowage_transposed_s16_b32(const stowage_layer *layer, int32_t stride_high, const void *const *rows,
                                int32_t phase, int16_t *output);

typedef struct {
  stowage_window_shape shape;
  int32_t least;
  int32_t most;
} stowage_pool_layer;

void stowage_average_pool_s8(const stowage_pool_layer *layer, const void *const *rows, int8_t *output);
void stowage_average_pool_u8(const stowage_pool_layer *layer, const void *const *rows, uint8_t *output);
void stowage_average_pool_s16(const stowage_pool_layer *layer, const void *const *rows, int16_t *output);
void stowage_max_pool_s8(const stowage_pool_layer *layer, const void *const *rows, int8_t *output);
void stowage_max_pool_u8(const stowage_pool_layer *layer, const void *const *rows, uint8_t *output);
void stowage_max_pool_s16(const stowage_pool_layer *layer, const void *const *rows, int16_t *output);

typedef struct {
  stowage_window_shape shape;
  float least;
  float most;
} stowage_pool_f32_layer;

void stowage_average_pool_f32(const stowage_pool_f32_layer *layer, const void *const *rows, float *output);
void stowage_max_pool_f32(const stowage_pool_f32_layer *layer, const void *const *rows, float *output);
void stowage_l2_pool_f32(const stowage_pool_f32_layer *layer, const void *const *rows, float *output);

/* Columns instead of rows; weights are as for rows. */
void stowage_conv_columns_f32(const stowage_conv_f32_layer *layer, const void *const *rows, float *output);
void stowage_depthwise_columns_f32(const stowage_conv_f32_layer *layer, const void *const *rows,
                                   float *output);
void stowage_average_pool_columns_f32(const stowage_pool_f32_layer *layer, const void *const *rows,
                                      float *output);

/* The same pools over all rows, one row after the other. */
void stowage_average_pool_add_s8(const stowage_pool_layer *layer, const int8_t *row, int32_t *sums);
void stowage_average_pool_end_s8(const stowage_pool_layer *layer, int32_t rows, const int32_t *sums,
                                 int8_t *output);
void stowage_max_pool_add_s8(const stowage_pool_layer *layer, const int8_t *row, int32_t *most);
void stowage_max_pool_end_s8(const stowage_pool_layer *layer, int32_t rows, const int32_t *most,
                             int8_t *output);
void stowage_average_pool_add_u8(const stowage_pool_layer *layer, const uint8_t *row, int32_t *sums);
void stowage_average_pool_end_u8(const stowage_pool_layer *layer, int32_t rows, const int32_t *sums,
                                 uint8_t *output);
void stowage_max_pool_add_u8(const stowage_pool_layer *layer, const uint8_t *row, int32_t *most);
void stowage_max_pool_end_u8(const stowage_pool_layer *layer, int32_t rows, const int32_t *most,
                             uint8_t *output);
void stowage_average_pool_add_s16(const stowage_pool_layer *layer, const int16_t *row, int32_t *sums);
void stowage_average_pool_end_s16(const stowage_pool_layer *layer, int32_t rows, const int32_t *sums,
                                  int16_t *output);
void stowage_max_pool_add_s16(const stowage_pool_layer *layer, const int16_t *row, int32_t *most);
void stowage_max_pool_end_s16(const stowage_pool_layer *layer, int32_t rows, const int32_t *most,
                              int16_t *output);
void stowage_average_pool_add_f32(const stowage_pool_f32_layer *layer, const float *row, float *sums);
void stowage_average_pool_end_f32(const stowage_pool_f32_layer *layer, int32_t rows, const float *sums,
                                  float *output);
void stowage_max_pool_add_f32(const stowage_pool_f32_layer *layer, const float *row, float *most);
void stowage_max_pool_end_f32(const stowage_pool_f32_layer *layer, int32_t rows, const float *most,
                              float *output);

/* Images of which a row has all channels, one after the other: `in_plane` and `out_plane` are the elements from one
 * channel to the next. */

typedef struct {
  stowage_window_shape shape;
  int32_t groups;
  int32_t in_plane;
  int32_t out_plane;
  const float *weights; /* [out_channels][in_channels / groups][taps_high][taps_wide] */
  const float *bias;    /* may be null */
} stowage_image_conv_layer;

/* A transposed convolution; its weights are [in_channels][out_channels / groups][taps_high][taps_wide]. */
typedef struct {
  stowage_image_conv_layer conv;
  int32_t stride_high;
  int32_t dilation_high;
  int32_t by_columns;
} stowage_image_spread_layer;

typedef struct {
  stowage_window_shape shape;
  int32_t in_plane;
  int32_t out_plane;
  int32_t counted; /* elements of a window with those in the padding, if these count; else 0 */
} stowage_image_pool_layer;

void stowage_image_conv_f32(const stowage_image_conv_layer *layer, const void *const *rows, float *output);
/* The same if rows are columns of the image. */
void stowage_image_conv_columns_f32(const stowage_image_conv_layer *layer, const void *const *rows,
                                    float *output);
/* Adds the rows that are not null to a row of the output, or begins it with them. */
void stowage_image_conv_add_f32(const stowage_image_conv_layer *layer, const void *const *rows,
                                int32_t by_columns, int32_t begins, float *output);
/* The windows of `rows` cover the row of the output, as above. */
void stowage_image_spread_f32(const stowage_image_spread_layer *layer, const void *const *rows, int32_t phase,
                              float *output);
void stowage_image_max_pool_f32(const stowage_image_pool_layer *layer, const void *const *rows,
                                float *output);
void stowage_image_average_pool_f32(const stowage_image_pool_layer *layer, const void *const *rows,
                                    float *output);
/* Of each channel `count` elements: times its factor, plus its term. */
void stowage_image_scale_f32(const float *factors, const float *terms, const float *input, float *output,
                             int32_t channels, int32_t count);
/* A matrix of [rows][terms] elements, times `factor`, times one of [terms][columns]. The distances of rows and columns
 * may be any. */
typedef struct {
  int32_t rows;
  int32_t terms;
  int32_t columns;
  int32_t a_row;
  int32_t a_column;
  int32_t b_row;
  int32_t b_column;
  int32_t adds; /* 1: to what is in the output */
} stowage_product_shape;

void stowage_product_f32(const stowage_product_shape *shape, float factor, const float *a, const float *b,
                         float *output);
/* The same of integers, less their zero points; sums are scaled to the output. */
typedef struct {
  stowage_product_shape shape;
  int32_t a_zero;
  int32_t b_zero;
  int32_t output_zero;
  stowage_factor factor;
} stowage_scaled_product_layer;

void stowage_product_s8(const stowage_scaled_product_layer *layer, const int8_t *a, const int8_t *b,
                        int8_t *output);
void stowage_product_u8(const stowage_scaled_product_layer *layer, const uint8_t *a, const uint8_t *b,
                        uint8_t *output);
/* Adds `count` elements of each channel to its sum. */
void stowage_image_sum_f32(const float *row, int32_t channels, int32_t in_plane, int32_t count, float *sums);

#ifdef __cplusplus
}
#endif

#endif
