/* SPDX-License-Identifier: Apache-2.0 */
/* Real numbers that are rounded to 8 bits when they are there: x is about scale * (byte - zero). */
#ifndef STOWAGE_HYBRID_H
#define STOWAGE_HYBRID_H

#include <math.h>

#include "stowage_dynamic.h"
#include "stowage_kernels.h"

typedef struct {
  float scale;
  float inverse; /* 0 if all numbers are zeros */
  int32_t zero;
  int32_t least;
} stowage_byte_scale;

/* The nearest integer from `least` to 127; of what is no number, `least`. `rounded` is an integer. */
static inline int32_t stowage_byte_in(double rounded, int32_t least) {
  if (!(rounded > (double)least)) return least;
  return rounded < 127.0 ? (int32_t)rounded : 127;
}

static inline int32_t stowage_rounded_byte(const stowage_byte_scale *by, float x) {
  return stowage_byte_in((double)roundf((float)by->zero + x * by->inverse), by->least);
}

/* Of numbers from `low` to `high`, among which is 0. */
static inline stowage_byte_scale stowage_byte_scale_of(float low, float high, int32_t has_zero_point) {
  stowage_byte_scale it = {1.0F, 0.0F, 0, -127};
  double scale, below, above;
  if (low == high) return it;
  if (!has_zero_point) {
    const float range = -low > high ? -low : high;
    it.scale = range / 127.0F;
    it.inverse = 127.0F / range;
    return it;
  }
  scale = ((double)high - (double)low) / 255.0;
  below = (double)low / scale;
  above = (double)high / scale;
  it.least = -128;
  it.scale = (float)scale;
  it.inverse = 1.0F / it.scale;
  /* The one of both that is rounded less. */
  it.zero = stowage_byte_in(round(128.0 + fabs(below) < 127.0 + fabs(above) ? -128.0 - below : 127.0 - above),
                            -128);
  return it;
}

#endif
