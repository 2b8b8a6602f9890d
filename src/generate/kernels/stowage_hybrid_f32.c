/* SPDX-License-Identifier: Apache-2.0 */
/* FULLY_CONNECTED of float32 with weights of int8: each row of the input is rounded to 8 bits with a scale of its own,
 * and sums of products are integers. A number is rounded again for each block of outputs, which needs no memory. */
#include <math.h>

#include "stowage_dynamic.h"
#include "stowage_kernels.h"

enum { together = 8 };

/* A number x is about scale * (byte - zero). */
typedef struct {
  float scale;
  float inverse; /* 0 for a row of zeros */
  int32_t zero;
  int32_t least;
} row_scale;

/* The nearest integer from `least` to 127; of what is no number, `least`. `rounded` is an integer. */
static int32_t byte_of(double rounded, int32_t least) {
  if (!(rounded > (double)least)) return least;
  return rounded < 127.0 ? (int32_t)rounded : 127;
}

static row_scale scale_of(float low, float high, int32_t has_zero_point) {
  row_scale it = {1.0F, 0.0F, 0, -127};
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
  it.zero = byte_of(round(128.0 + fabs(below) < 127.0 + fabs(above) ? -128.0 - below : 127.0 - above), -128);
  return it;
}

void stowage_hybrid_f32(const stowage_hybrid_layer *layer, const void *const *pieces, float *output) {
  const int32_t row = layer->pieces * layer->length;
  int32_t b, o, p, i, j;
  for (b = 0; b < layer->batches; b++, output += layer->outputs) {
    float low = 0.0F, high = 0.0F;
    row_scale by;
    for (p = 0; p < layer->pieces; p++)
      stowage_widen(&low, &high, (const float *)pieces[p] + b * layer->length, layer->length);
    by = scale_of(low, high, layer->has_zero_point);
    for (o = 0; o < layer->outputs; o += together) {
      const int32_t left = layer->outputs - o, count = left < together ? left : together;
      const int8_t *weights = layer->weights + o * row;
      uint32_t sums[together] = {0}; /* modulo 2^32 */
      for (p = 0; p < layer->pieces; p++) {
        const float *const numbers = (const float *)pieces[p] + b * layer->length;
        for (i = 0; i < layer->length; i++, weights++) {
          const float x = roundf((float)by.zero + numbers[i] * by.inverse);
          const int32_t byte = byte_of((double)x, by.least) - by.zero;
          for (j = 0; j < count; j++) sums[j] += (uint32_t)(byte * weights[j * row]);
        }
      }
      for (j = 0; j < count; j++) {
        const float real = (float)(int32_t)sums[j] * (by.scale * layer->scales[o + j]);
        const float sum = (layer->bias != NULL ? layer->bias[o + j] : 0.0F) + real;
        output[o + j] = stowage_clamp_f32(sum, layer->least, layer->most);
      }
    }
  }
}
