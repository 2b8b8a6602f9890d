/* SPDX-License-Identifier: Apache-2.0 */
/* FULLY_CONNECTED of float32 with weights of int8: each row of the input is rounded to 8 bits with a scale of its own,
 * and sums of products are integers. A number is rounded again for each block of outputs, which needs no memory. */
#include "stowage_hybrid.h"

enum { together = 8 };

void stowage_hybrid_f32(const stowage_hybrid_layer *layer, const void *const *pieces, float *output) {
  const int32_t row = layer->pieces * layer->length;
  int32_t b, o, p, i, j;
  for (b = 0; b < layer->batches; b++, output += layer->outputs) {
    float low = 0.0F, high = 0.0F;
    stowage_byte_scale by;
    for (p = 0; p < layer->pieces; p++)
      stowage_widen(&low, &high, (const float *)pieces[p] + b * layer->length, layer->length);
    by = stowage_byte_scale_of(low, high, layer->has_zero_point);
    for (o = 0; o < layer->outputs; o += together) {
      const int32_t left = layer->outputs - o, count = left < together ? left : together;
      const int8_t *weights = layer->weights + o * row;
      uint32_t sums[together] = {0}; /* modulo 2^32 */
      for (p = 0; p < layer->pieces; p++) {
        const float *const numbers = (const float *)pieces[p] + b * layer->length;
        for (i = 0; i < layer->length; i++, weights++) {
          const int32_t byte = stowage_rounded_byte(&by, numbers[i]) - by.zero;
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
