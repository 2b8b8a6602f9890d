/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for networks that stowage has planned: C99 without dependencies.
 *
 * A tensor's rows may lie anywhere in memory, so kernels that move windows get a pointer for each row; a null pointer
 * is a row of padding. All other kernels get runs of elements. Integers follow the TensorFlow Lite 8-bit quantization
 * specification and give the bits of its reference kernels. No kernel keeps state, allocates, or calls itself.
 */
#ifndef STOWAGE_KERNELS_H
#define STOWAGE_KERNELS_H

#include "stowage_places.h"
#include "stowage_windows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Elements. `step_a` and `step_b` are 1, or 0 for an operand that is one number for all. */

typedef struct {
  int32_t a_zero;
  int32_t b_zero;
  int32_t output_zero;
  int32_t spare_bits;
  int32_t subtracts; /* 1: a - b */
  stowage_factor a;
  stowage_factor b;
  stowage_factor output;
  int32_t least;
  int32_t most;
} stowage_add_layer;

void stowage_add_s8(const stowage_add_layer *layer, const int8_t *a, int32_t step_a, const int8_t *b,
                    int32_t step_b, int8_t *output, int32_t count);
void stowage_add_u8(const stowage_add_layer *layer, const uint8_t *a, int32_t step_a, const uint8_t *b,
                    int32_t step_b, uint8_t *output, int32_t count);
void stowage_add_s16(const stowage_add_layer *layer, const int16_t *a, int32_t step_a, const int16_t *b,
                     int32_t step_b, int16_t *output, int32_t count);
/* The square of the sum or difference. */
void stowage_square_s8(const stowage_add_layer *layer, const int8_t *a, int32_t step_a, const int8_t *b,
                       int32_t step_b, int8_t *output, int32_t count);
void stowage_square_u8(const stowage_add_layer *layer, const uint8_t *a, int32_t step_a, const uint8_t *b,
                       int32_t step_b, uint8_t *output, int32_t count);

typedef struct {
  int32_t a_zero;
  int32_t b_zero;
  int32_t output_zero;
  stowage_factor output;
  int32_t least;
  int32_t most;
} stowage_mul_layer;

void stowage_mul_s8(const stowage_mul_layer *layer, const int8_t *a, int32_t step_a, const int8_t *b,
                    int32_t step_b, int8_t *output, int32_t count);
void stowage_mul_u8(const stowage_mul_layer *layer, const uint8_t *a, int32_t step_a, const uint8_t *b,
                    int32_t step_b, uint8_t *output, int32_t count);
void stowage_mul_s16(const stowage_mul_layer *layer, const int16_t *a, int32_t step_a, const int16_t *b,
                     int32_t step_b, int16_t *output, int32_t count);

/* Numbers of 8 bits by a table of all 256 results; `flip` is 128 for signed numbers, 0 for unsigned ones. */
void stowage_table_8(const uint8_t *table, uint8_t flip, const uint8_t *input, uint8_t *output,
                     int32_t count);

/* 0 to 1, of NaN 1. */
float stowage_unit_f32(float x);
/* To the nearest integer, halves to the even one, whichever rounding mode is set. */
float stowage_round_f32(float x);
/* The remainder with the sign of the divisor. */
float stowage_floor_mod_f32(float a, float b);

/* QUANTIZE and DEQUANTIZE */
typedef struct {
  float scale;
  int32_t zero;
} stowage_affine;

void stowage_quantize_s8(const stowage_affine *layer, const float *input, int8_t *output, int32_t count);
void stowage_quantize_u8(const stowage_affine *layer, const float *input, uint8_t *output, int32_t count);
void stowage_quantize_s16(const stowage_affine *layer, const float *input, int16_t *output, int32_t count);
void stowage_dequantize_s8(const stowage_affine *layer, const int8_t *input, float *output, int32_t count);
void stowage_dequantize_u8(const stowage_affine *layer, const uint8_t *input, float *output, int32_t count);
void stowage_dequantize_s16(const stowage_affine *layer, const int16_t *input, float *output, int32_t count);

typedef struct {
  int32_t input_zero;
  int32_t output_zero;
  stowage_factor factor;
} stowage_requantize_layer;

void stowage_requantize_s16_s8(const stowage_requantize_layer *layer, const int16_t *input, int8_t *output,
                               int32_t count);
void stowage_requantize_s8_s16(const stowage_requantize_layer *layer, const int8_t *input, int16_t *output,
                               int32_t count);
void stowage_requantize_s16_u8(const stowage_requantize_layer *layer, const int16_t *input, uint8_t *output,
                               int32_t count);
void stowage_requantize_u8_s16(const stowage_requantize_layer *layer, const uint8_t *input, int16_t *output,
                               int32_t count);
void stowage_requantize_s16_s16(const stowage_requantize_layer *layer, const int16_t *input, int16_t *output,
                                int32_t count);
void stowage_requantize_s16_s32(const stowage_requantize_layer *layer, const int16_t *input, int32_t *output,
                                int32_t count);

/* SOFTMAX, one run of numbers */

typedef struct {
  const int32_t *exponential; /* of 0, -1, -2, ... as a fraction of 2^31; smaller ones count as 0 */
  int32_t exponentials;
} stowage_softmax_layer;

void stowage_softmax_s8(const stowage_softmax_layer *layer, const int8_t *input, int8_t *output,
                        int32_t count);
void stowage_softmax_s8_s16(const stowage_softmax_layer *layer, const int8_t *input, int16_t *output,
                            int32_t count);
void stowage_softmax_u8(const stowage_softmax_layer *layer, const uint8_t *input, uint8_t *output,
                        int32_t count);
void stowage_softmax_u8_s16(const stowage_softmax_layer *layer, const uint8_t *input, int16_t *output,
                            int32_t count);
void stowage_softmax_f32(float beta, const float *input, float *output, int32_t count);

/* MEAN and SUM, of elements [outer][reduced][inner] over the middle dimension. */

typedef struct {
  int32_t outer;
  int32_t reduced;
  int32_t inner;
} stowage_reduce_shape;

typedef struct {
  int32_t excess; /* minus the input's zero point times the number of inputs of a sum */
  int32_t output_zero;
  stowage_factor factor;
} stowage_mean_layer;

void stowage_mean_s8(const stowage_mean_layer *layer, const stowage_reduce_shape *shape, const int8_t *input,
                     int8_t *output);
void stowage_mean_add_s8(const stowage_reduce_shape *shape, const int8_t *input, int32_t *sums);
void stowage_mean_end_s8(const stowage_mean_layer *layer, const int32_t *sums, int8_t *output, int32_t count);
void stowage_mean_u8(const stowage_mean_layer *layer, const stowage_reduce_shape *shape, const uint8_t *input,
                     uint8_t *output);
void stowage_mean_add_u8(const stowage_reduce_shape *shape, const uint8_t *input, int32_t *sums);
void stowage_mean_end_u8(const stowage_mean_layer *layer, const int32_t *sums, uint8_t *output,
                         int32_t count);
void stowage_mean_s16(const stowage_mean_layer *layer, const stowage_reduce_shape *shape,
                      const int16_t *input, int16_t *output);
void stowage_mean_add_s16(const stowage_reduce_shape *shape, const int16_t *input, int32_t *sums);
void stowage_mean_end_s16(const stowage_mean_layer *layer, const int32_t *sums, int16_t *output,
                          int32_t count);

/* SVDF of one batch. The state is kept from run to run. */

typedef struct {
  int32_t inputs;
  int32_t filters;
  int32_t memory;
  int32_t rank;
  int32_t input_zero;
  int32_t state_zero;
  int32_t output_zero;
  stowage_factor to_state;
  stowage_factor to_output;
  const int8_t *features; /* [filters][inputs] */
  const int32_t *bias;    /* may be null */
} stowage_svdf_layer;

void stowage_svdf_s8(const stowage_svdf_layer *layer, const int8_t *time, const int8_t *input, int8_t *state,
                     int8_t *output);
void stowage_svdf_s16(const stowage_svdf_layer *layer, const int16_t *time, const int8_t *input,
                      int16_t *state, int8_t *output);

/* UNIDIRECTIONAL_SEQUENCE_LSTM. Both states are kept from run to run. */

typedef struct {
  const int8_t *weights; /* [cells][numbers] */
  const int32_t *bias;   /* may be null */
  stowage_factor factor; /* to 12 fraction bits */
  int32_t zero;
} stowage_gate_layer;

typedef struct {
  stowage_gate_layer from_input[4];
  stowage_gate_layer from_output[4];
  const uint16_t *table; /* 256 values of the sigmoid, at multiples of 1/24 */
  int32_t batches;
  int32_t steps;
  int32_t inputs;
  int32_t cells;
  int32_t is_time_major;
  stowage_factor forget;
  stowage_factor learn;
  stowage_factor show;
  int32_t output_zero;
  int32_t clip; /* 0: none */
  int32_t tanh_shift;
} stowage_lstm_layer;

void stowage_lstm_s8(const stowage_lstm_layer *layer, const int8_t *input, int8_t *last, int16_t *state,
                     int8_t *output);

/* InstanceNormalization and GroupNormalization of images: by rows, all of them are added to the moments of each
 * channel; then each is written. A whole image needs no memory for that. */

typedef struct {
  double mean;
  double squares; /* sum of squared distances from the mean */
} stowage_moments;

typedef struct {
  const float *scale; /* per channel */
  const float *bias;
  double epsilon;
  int32_t channels;
  int32_t share;    /* channels of a group */
  int32_t elements; /* of a channel */
  int32_t is_raw;   /* 1: the mean counts as 0 */
} stowage_norm_layer;

void stowage_norm_add_f32(const float *row, int32_t channels, int32_t in_plane, int32_t count, int32_t done,
                          stowage_moments *sums);
void stowage_norm_row_f32(const stowage_norm_layer *layer, const stowage_moments *sums, const float *row,
                          int32_t in_plane, float *output, int32_t out_plane, int32_t count);
void stowage_norm_f32(const stowage_norm_layer *layer, const float *input, float *output);
/* Of groups of `share` channels, without scale and bias. */
void stowage_layer_norm_f32(const stowage_norm_layer *layer, const float *input, float *output,
                            int32_t groups);
/* L2_NORMALIZATION of runs of `count` numbers. */
void stowage_unit_length_f32(const float *input, float *output, int32_t runs, int32_t count);
void stowage_unit_length_s8(int32_t zero, const int8_t *input, int8_t *output, int32_t runs, int32_t count);
void stowage_unit_length_u8(int32_t zero, const uint8_t *input, uint8_t *output, int32_t runs, int32_t count);

/* Resizing. An element lies between two columns, and its row between two rows; distances are those from the first, of
 * int8 and int16 in units of 1/1024. */

typedef struct {
  const uint16_t *first; /* columns */
  const uint16_t *second;
  const int16_t *distance;
  int32_t width;
  int32_t channels;
} stowage_resize_integer_layer;

typedef struct {
  const uint16_t *first;
  const uint16_t *second;
  const float *distance;
  int32_t width;
  int32_t channels;
} stowage_resize_f32_layer;

void stowage_resize_nearest(const uint16_t *columns, int32_t width, size_t bytes, const void *input,
                            void *output);
/* The same for images of which a row has all channels; planes and elements are in bytes. */
void stowage_image_resize_nearest(const uint16_t *columns, int32_t width, uint32_t element, int32_t channels,
                                  int32_t in_plane, int32_t out_plane, const void *input, void *output);

/* Weighted sums of places in several columns and rows, in float64. A weight of 0 leaves its place out. */
typedef struct {
  const uint16_t *places; /* [width][taps] */
  const double *weights;  /* [width][taps] */
  int32_t taps;
  int32_t width;
  int32_t channels;
  int32_t in_plane;
  int32_t out_plane;
} stowage_image_resize_layer;

void stowage_image_resize_f32(const stowage_image_resize_layer *layer, const void *const *rows,
                              const double *weights, float *output);

void stowage_resize_bilinear_s8(const stowage_resize_integer_layer *layer, const int8_t *first,
                                const int8_t *second, int32_t distance, int8_t *output);
void stowage_resize_bilinear_s16(const stowage_resize_integer_layer *layer, const int16_t *first,
                                 const int16_t *second, int32_t distance, int16_t *output);
void stowage_resize_bilinear_u8(const stowage_resize_f32_layer *layer, const uint8_t *first,
                                const uint8_t *second, float distance, uint8_t *output);
void stowage_resize_bilinear_f32(const stowage_resize_f32_layer *layer, const float *first,
                                 const float *second, float distance, float *output);

/* Movement */

enum { stowage_most_dimensions = 6 };

/* Output elements in order, each from a place that is a sum of index * stride over the dimensions. */
typedef struct {
  int32_t dimensions;
  int32_t extent[stowage_most_dimensions];
  int32_t stride[stowage_most_dimensions]; /* in elements of the input */
  int32_t begin;                           /* place of the first element */
  uint32_t element;                        /* bytes */
} stowage_move_shape;

void stowage_move(const stowage_move_shape *shape, const void *input, void *output);

/* Runs of elements of the input, one after the other; those from -1 are filling. */
typedef struct {
  const int32_t *from; /* the first element of each */
  int32_t runs;
  int32_t count;    /* elements of a run */
  uint32_t element; /* bytes */
  uint8_t fill[8];
} stowage_runs_shape;

void stowage_copy_from_runs(const stowage_runs_shape *shape, const void *input, void *output);

/* Runs of data [batches][outer][extent] at indices [batches][picks]; what is out of range is zeros. */
typedef struct {
  int32_t batches;
  int32_t outer;
  int32_t extent;
  int32_t picks;
  uint32_t bytes; /* of a run */
  int32_t wraps;  /* 1: negative indices count from the end */
} stowage_gather_shape;

void stowage_gather_32(const stowage_gather_shape *shape, const void *data, const int32_t *indices,
                       void *output);
void stowage_gather_64(const stowage_gather_shape *shape, const void *data, const int64_t *indices,
                       void *output);

/* The same at indices [batches][tuples][depth], one for each of the first dimensions. */
typedef struct {
  int32_t batches;
  int32_t tuples;
  int32_t depth;
  int32_t extent[stowage_most_dimensions];
  int32_t stride[stowage_most_dimensions]; /* in bytes */
  uint32_t batch_bytes;
  uint32_t bytes; /* of a run */
  int32_t wraps;
} stowage_tuples_shape;

void stowage_gather_tuples_32(const stowage_tuples_shape *shape, const void *data, const int32_t *indices,
                              void *output);
void stowage_gather_tuples_64(const stowage_tuples_shape *shape, const void *data, const int64_t *indices,
                              void *output);

/* Places around the elements [planes][rows][columns] of bytes are filled with an element. The input may already be at
 * its place if nothing is filled between its rows. */
typedef struct {
  int32_t planes;
  int32_t rows;
  int32_t columns;
  int32_t planes_before;
  int32_t rows_before;
  int32_t columns_before;
  int32_t planes_after;
  int32_t rows_after;
  int32_t columns_after;
  uint32_t element;
  uint8_t fill[8];
} stowage_pad_shape;

void stowage_pad(const stowage_pad_shape *shape, const void *input, void *output);
/* `count` copies of the fill element. */
void stowage_fill(const stowage_pad_shape *shape, void *output, int32_t count);

/* TopK of runs in elements [outer][count][inner]. */
typedef struct {
  int32_t outer;
  int32_t count;
  int32_t inner;
  int32_t wanted;
  int32_t is_largest;
} stowage_best_shape;

void stowage_best_f32(const stowage_best_shape *shape, const float *input, float *values, int64_t *places);
void stowage_best_f64(const stowage_best_shape *shape, const double *input, double *values, int64_t *places);
void stowage_best_s8(const stowage_best_shape *shape, const int8_t *input, int8_t *values, int64_t *places);
void stowage_best_u8(const stowage_best_shape *shape, const uint8_t *input, uint8_t *values, int64_t *places);
void stowage_best_s16(const stowage_best_shape *shape, const int16_t *input, int16_t *values,
                      int64_t *places);
void stowage_best_u16(const stowage_best_shape *shape, const uint16_t *input, uint16_t *values,
                      int64_t *places);
void stowage_best_s32(const stowage_best_shape *shape, const int32_t *input, int32_t *values,
                      int64_t *places);
void stowage_best_s64(const stowage_best_shape *shape, const int64_t *input, int64_t *values,
                      int64_t *places);

/* The same elements with those at each end again in reverse order, outside of it; or other elements that are there. */
typedef struct {
  int32_t dimensions;
  int32_t extent[stowage_most_dimensions]; /* of the input */
  int32_t before[stowage_most_dimensions];
  int32_t after[stowage_most_dimensions];
  /* 0: the reverse order begins with the last element itself; 1: with its neighbour; 2: all are the last element; 3: the
   * other end follows */
  int32_t edge;
  uint32_t element; /* bytes */
} stowage_mirror_shape;

/* The element that is at a place before, within or behind `extent` elements. */
static inline int32_t stowage_mirrored(int32_t place, int32_t extent, int32_t edge) {
  if (place >= 0 && place < extent) return place;
  if (edge == 2) return place < 0 ? 0 : extent - 1;
  if (edge == 3) return (place % extent + extent) % extent;
  return place < 0 ? edge - 1 - place : 2 * extent - place - 1 - edge;
}

void stowage_mirror_pad(const stowage_mirror_shape *shape, const void *input, void *output);

/* Elements begin, begin + step, ... along each dimension, in runs of bytes; negative begins count from the end. */
typedef struct {
  int32_t dimensions;
  int32_t extent[stowage_most_dimensions]; /* of the input */
  int32_t count[stowage_most_dimensions];  /* of the output, at least 1 */
  uint32_t bytes;                          /* of a run */
} stowage_slice_shape;

void stowage_slice(const stowage_slice_shape *shape, const int64_t *begins, const int64_t *steps,
                   const void *input, void *output);

/* NonMaxSuppression of boxes [batches][boxes][4] and scores [batches][classes][boxes] into rows of batch, class and box.
 * Rows that are left get -1; boxes beyond them are left out. Limits may be null. */
typedef struct {
  int32_t batches;
  int32_t classes;
  int32_t boxes;
  int32_t rows;
  int32_t has_center;
} stowage_suppress_shape;

void stowage_suppress(const stowage_suppress_shape *shape, const float *boxes, const float *scores,
                      const int64_t *most, const float *share, const float *least, int64_t *output);

/* TFLite_Detection_PostProcess. Boxes, anchors and scores are numbers of float32, or bytes. */
typedef struct {
  int32_t boxes;
  int32_t length;  /* numbers of an encoded box */
  int32_t columns; /* scores of a box */
  int32_t first;   /* the column of the first class */
  int32_t classes;
  int32_t most;
  int32_t classes_per_box;
  int32_t boxes_per_class;
  float least_score;
  float largest_share; /* of what two boxes have in common in both together */
  float scales[4];     /* of y, x, height and width */
  int32_t boxes_are_bytes;
  int32_t scores_are_bytes;
  stowage_affine box_bytes;
  stowage_affine anchor_bytes;
  stowage_affine score_bytes;
} stowage_detection_layer;

/* Results: [most * classes_per_box] boxes, classes and scores, and the number of boxes. `scratch`, aligned to 4 bytes,
 * has 8 for each box. */
void stowage_detect(const stowage_detection_layer *layer, const void *codes, const void *scores,
                    const void *anchors, float *boxes, float *classes, float *best, float *number,
                    void *scratch);
/* The same, where boxes of each class are taken alone; `scratch` has 16 more for each of those of a class. */
void stowage_detect_by_class(const stowage_detection_layer *layer, const void *codes, const void *scores,
                             const void *anchors, float *boxes, float *classes, float *best, float *number,
                             void *scratch);

/* Convolutions and pools over whole tensors of float32, [batches][groups * inputs][in] to [batches][groups *
 * outputs][out]; weights [groups * outputs][inputs][taps]. In pools, groups are the channels. */
typedef struct {
  int32_t batches;
  int32_t groups;
  int32_t inputs;
  int32_t outputs;
  int32_t in[3];
  int32_t out[3];
  int32_t taps[3];
  int32_t stride[3];
  int32_t dilation[3];
  int32_t before[3];
} stowage_volume_shape;

void stowage_volume_conv_f32(const stowage_volume_shape *shape, const float *input, const float *weights,
                             const float *bias, float *output);
void stowage_volume_max_f32(const stowage_volume_shape *shape, const float *input, float *output);
/* `counted` elements are in each window, or if it is 0 those that are no padding. */
void stowage_volume_average_f32(const stowage_volume_shape *shape, int32_t counted, const float *input,
                                float *output);
/* The root of the sum of powers. */
void stowage_volume_norm_f32(const stowage_volume_shape *shape, double power, const float *input,
                             float *output);

/* An element of complex64. */
typedef struct {
  float re;
  float im;
} stowage_complex;

/* RFFT2D of images [images][rows][columns], padded or cut to [height][width], which are powers of two. */
typedef struct {
  int32_t images;
  int32_t rows;
  int32_t columns;
  int32_t height;
  int32_t width;
  const double *along;  /* roots of one for the width: real and imaginary parts of the first half */
  const double *across; /* for the height */
} stowage_fourier_shape;

/* `scratch`, aligned to 8 bytes, has 16 for each element of the longer side; if the height is not 1, as many for each
 * element of the output's image, too. */
void stowage_fourier(const stowage_fourier_shape *shape, const float *input, stowage_complex *output,
                     void *scratch);

/* Runs of bytes with a distance between them; nothing is done if they are in their places. */
void stowage_copy_runs(const void *input, size_t input_stride, void *output, size_t output_stride, size_t run,
                       int32_t runs);

#ifdef __cplusplus
}
#endif

#endif
