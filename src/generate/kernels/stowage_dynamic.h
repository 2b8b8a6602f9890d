/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of 8 bits whose scales are known only when they are there, and sums of products of such numbers. */
#ifndef STOWAGE_DYNAMIC_H
#define STOWAGE_DYNAMIC_H

#include <math.h>

#include "stowage_windows.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  float scale;
  int32_t zero;
} stowage_byte_range;

/* Widens a range [low, high] by more numbers. */
static inline void stowage_widen(float *low, float *high, const float *numbers, int32_t count) {
  for (; count > 0; count--, numbers++) {
    if (*numbers < *low) *low = *numbers;
    if (*high < *numbers) *high = *numbers;
  }
}

static inline int32_t stowage_byte_of(const stowage_byte_range *range, float x) {
  const double byte = nearbyint((double)(x / range->scale)) + (double)range->zero;
  if (!(byte > 0.0)) return 0;
  return byte >= 255.0 ? 255 : (int32_t)byte;
}

/* Of a range that has 0 in it. */
static inline stowage_byte_range stowage_range_of(float low, float high) {
  stowage_byte_range range = {1.0F, 0};
  if (low == high) return range;
  range.scale = (high - low) / 255.0F;
  range.zero = stowage_byte_of(&range, -low);
  return range;
}

/* DynamicQuantizeLinear; scale and zero point may be null. */
void stowage_dynamic_quantize(const float *input, int32_t count, uint8_t *output, float *scale,
                              uint8_t *zero);

/* MatMulInteger: [rows][terms] times [terms][columns]. Zero points are null for 0. */

typedef struct {
  int32_t rows;
  int32_t terms;
  int32_t columns;
  int32_t zero_step; /* 1: a zero point for each column */
  uint8_t left_flip; /* 128 if numbers are signed, else 0 */
  uint8_t right_flip;
} stowage_integer_product_layer;

void stowage_integer_product(const stowage_integer_product_layer *layer, const uint8_t *left,
                             const uint8_t *left_zero, const uint8_t *right, const uint8_t *right_zeros,
                             int32_t *output);

/* ConvInteger: a row of all channels; rows are null outside of the image, which counts as the zero point. */

typedef struct {
  stowage_window_shape shape;
  int32_t groups;
  int32_t in_plane; /* elements from one channel to the next */
  int32_t out_plane;
  const uint8_t *weights; /* [out_channels][in_channels / groups][taps_high][taps_wide] */
  const uint8_t *zeros;   /* of them; null: 0 */
  int32_t zero_step;      /* 1: a zero point for each output channel */
  uint8_t input_flip;
  uint8_t weights_flip;
} stowage_integer_conv_layer;

void stowage_integer_conv(const stowage_integer_conv_layer *layer, const void *const *rows,
                          const uint8_t *input_zero, int32_t *output);

#ifdef __cplusplus
}
#endif

#endif
