/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of ONNX on numbers of 8 bits with scales. Signed and unsigned numbers are treated alike: `flip` is 128 for
 * signed ones, so that byte ^ flip counts from the least number on, and zero points count so, too. */
#ifndef STOWAGE_Q8_H
#define STOWAGE_Q8_H

#include "stowage_windows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A real factor: mantissa / 2^shift, with a mantissa of 24 bits and a shift of 16 to 62. */
typedef struct {
  int32_t mantissa;
  int32_t shift;
} stowage_q8_factor;

/* x / 2^bits, rounded, halves to even; for 1 to 30 bits. */
static inline int32_t stowage_round_to_even(int32_t x, int32_t bits) {
  const int32_t whole = x >> bits;
  const int32_t rest = x - whole * (1 << bits), half = 1 << (bits - 1);
  return whole + (rest > half || (rest == half && (whole & 1) != 0) ? 1 : 0);
}

/* The same as stowage_q8_scale, step by step. */
int32_t stowage_q8_scale_exactly(int32_t x, int32_t mantissa, int32_t shift);

/* x times a factor as float32 computes it, rounded to an integer, halves to even; beyond 1024 only roughly. Float32
 * rounds to 24 bits, which matters only near halves: less than 2^-14 away from them, as results below 512 go. */
static inline int32_t stowage_q8_scale(int32_t x, int32_t mantissa, int32_t shift) {
  const int64_t product = (int64_t)x * mantissa;
  const int64_t whole = product >> shift;
  const int32_t fraction = (int32_t)((product >> (shift - 16)) & 0xFFFF);
  if (whole < -1024) return -1024;
  if (whole > 1024) return 1024;
  if (fraction >= 0x7FF8 && fraction < 0x8008) return stowage_q8_scale_exactly(x, mantissa, shift);
  return (int32_t)whole + (fraction >> 15);
}

static inline uint8_t stowage_q8_stored(int32_t steps, int32_t zero, uint8_t flip) {
  return (uint8_t)(stowage_clamp(steps + zero, 0, 255) ^ flip);
}

/* QuantizeLinear and DequantizeLinear */

typedef struct {
  float scale;
  int32_t zero;
  uint8_t flip;
} stowage_q8_affine;

void stowage_q8_quantize(const stowage_q8_affine *layer, const float *input, uint8_t *output, int32_t count);
void stowage_q8_dequantize(const stowage_q8_affine *layer, const uint8_t *input, float *output,
                           int32_t count);

/* QLinearSoftmax of [outer][size][inner] numbers, over the second dimension. */

typedef struct {
  const float *powers; /* of e, for numbers that are 255 to 0 steps below the largest one */
  float all;           /* steps of the output that are 1 */
  int32_t outer;
  int32_t size;
  int32_t inner;
  int32_t zero;
  uint8_t flip;
} stowage_q8_softmax_layer;

void stowage_q8_softmax(const stowage_q8_softmax_layer *layer, const uint8_t *input, uint8_t *output);

/* QLinearAdd and QLinearMul. `step_a` and `step_b` are 1, or 0 for an operand that is one number for all. */

typedef struct {
  int32_t a; /* factors times 2^shift */
  int32_t b;
  int32_t shift;
  int32_t a_zero;
  int32_t b_zero;
  int32_t output_zero;
  uint8_t flip;
} stowage_q8_add_layer;

void stowage_q8_add(const stowage_q8_add_layer *layer, const uint8_t *a, int32_t step_a, const uint8_t *b,
                    int32_t step_b, uint8_t *output, int32_t count);

typedef struct {
  stowage_q8_factor factor;
  int32_t a_zero;
  int32_t b_zero;
  int32_t output_zero;
  uint8_t flip;
} stowage_q8_mul_layer;

void stowage_q8_mul(const stowage_q8_mul_layer *layer, const uint8_t *a, int32_t step_a, const uint8_t *b,
                    int32_t step_b, uint8_t *output, int32_t count);

/* QLinearConv, a row of all channels; QLinearMatMul and QGemm, a row of a matrix. `in_plane` and `out_plane` are the
 * elements from one channel to the next. */

typedef struct {
  stowage_window_shape shape;
  int32_t groups;
  int32_t in_plane;
  int32_t out_plane;
  const int8_t *weights;   /* [out_channels][in_channels / groups][taps_high][taps_wide] */
  const int32_t *bias;     /* may be null */
  const int32_t *mantissa; /* [out_channels] */
  const int8_t *shift;     /* [out_channels] */
  int32_t input_zero;
  int32_t output_zero;
  uint8_t input_flip;
  uint8_t output_flip;
} stowage_q8_conv_layer;

void stowage_q8_conv(const stowage_q8_conv_layer *layer, const void *const *rows, uint8_t *output);
void stowage_q8_product(const stowage_q8_conv_layer *layer, const uint8_t *input, uint8_t *output);

/* QLinearMatMul of two inputs, [rows][terms] times [terms][columns]. */

typedef struct {
  stowage_q8_factor factor;
  int32_t a_zero;
  int32_t b_zero;
  int32_t output_zero;
  uint8_t a_flip;
  uint8_t b_flip;
  uint8_t output_flip;
} stowage_q8_matrix_layer;

void stowage_q8_matrix(const stowage_q8_matrix_layer *layer, const uint8_t *a, const uint8_t *b,
                       uint8_t *output, int32_t rows, int32_t terms, int32_t columns);

/* MaxPool of numbers of 8 bits. */

typedef struct {
  stowage_window_shape shape;
  int32_t in_plane;
  int32_t out_plane;
  uint8_t flip;
} stowage_q8_pool_layer;

void stowage_q8_max_pool(const stowage_q8_pool_layer *layer, const void *const *rows, uint8_t *output);

/* QLinearAveragePool. Padding counts as 0, or not. */

typedef struct {
  stowage_window_shape shape;
  int32_t in_plane;
  int32_t out_plane;
  const int32_t *mantissa; /* of windows of 1, 2, .. elements */
  const int8_t *shift;
  int32_t counted; /* elements of all windows; 0: those in the image */
  int32_t input_zero;
  int32_t output_zero;
  uint8_t flip;
} stowage_q8_average_layer;

void stowage_q8_average_pool(const stowage_q8_average_layer *layer, const void *const *rows, uint8_t *output);

/* QLinearGlobalAveragePool and QLinearReduceMean: of `count` elements of each channel; by rows it is done in steps. */

typedef struct {
  stowage_q8_factor factor;
  int32_t channels;
  int32_t input_zero;
  int32_t output_zero;
  uint8_t flip;
} stowage_q8_mean_layer;

void stowage_q8_mean(const stowage_q8_mean_layer *layer, const uint8_t *input, int32_t count,
                     uint8_t *output);
void stowage_q8_mean_add(const stowage_q8_mean_layer *layer, const uint8_t *row, int32_t in_plane,
                         int32_t count, int32_t *sums);
void stowage_q8_mean_end(const stowage_q8_mean_layer *layer, const int32_t *sums, uint8_t *output);

#ifdef __cplusplus
}
#endif

#endif
