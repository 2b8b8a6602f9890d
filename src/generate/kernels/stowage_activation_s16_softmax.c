/* SPDX-License-Identifier: Apache-2.0 */
/* SOFTMAX of int16. */
#include "stowage_activation_s16.h"

static int32_t at_line(const int16_t *numbers, int32_t x) {
  const int16_t *const at = numbers + 256 + (x >> 7);
  return at[0] + (((at[1] - at[0]) * (x & 0x7F) + 64) >> 7);
}

void stowage_softmax_s16(const stowage_softmax_s16_layer *layer, const int16_t *input, int16_t *output,
                         int32_t count) {
  int32_t largest = INT16_MIN, sum = 0, free_bits = 0, fine, reciprocal, shift, i;
  for (i = 0; i < count; i++) {
    if (input[i] > largest) largest = input[i];
  }
  for (i = 0; i < count; i++) {
    const int32_t below = stowage_scale(input[i] - largest, layer->factor.multiplier, layer->factor.shift);
    const int32_t place = stowage_clamp(stowage_add_wrapping(below, INT16_MAX), INT16_MIN, INT16_MAX);
    output[i] = (int16_t)at_line(layer->exponential, place);
    sum += output[i];
  }
  while (sum << free_bits < INT32_C(1) << 30) free_bits++;
  fine = (int32_t)((((int64_t)sum << free_bits) + (1 << 13)) >> 14) - (1 << 15) - (1 << 16);
  reciprocal = at_line(layer->reciprocal, stowage_clamp(fine, INT16_MIN, INT16_MAX));
  shift = 30 - free_bits;
  for (i = 0; i < count; i++) {
    const int32_t product = (output[i] * reciprocal + (INT32_C(1) << (shift - 1))) >> shift;
    output[i] = (int16_t)stowage_clamp(product, 0, INT16_MAX);
  }
}
