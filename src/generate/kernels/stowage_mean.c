/* SPDX-License-Identifier: Apache-2.0 */
/* MEAN and SUM of int8. Each output adds its inputs in their order. */
#include "stowage_kernels.h"

void stowage_mean_end_s8(const stowage_mean_layer *layer, const int32_t *sums, int8_t *output,
                         int32_t count) {
  int32_t i;
  for (i = 0; i < count; i++) {
    const int32_t sum = stowage_add_wrapping(sums[i], layer->excess);
    const int32_t scaled = stowage_scale(sum, layer->factor.multiplier, layer->factor.shift);
    output[i] = (int8_t)stowage_clamp(stowage_add_wrapping(scaled, layer->output_zero), INT8_MIN, INT8_MAX);
  }
}

void stowage_mean_s8(const stowage_mean_layer *layer, const stowage_reduce_shape *shape, const int8_t *input,
                     int8_t *output) {
  int32_t o, i, r;
  for (o = 0; o < shape->outer; o++, input += shape->reduced * shape->inner) {
    for (i = 0; i < shape->inner; i++) {
      int32_t sum = 0;
      for (r = 0; r < shape->reduced; r++) sum = stowage_add_wrapping(sum, input[r * shape->inner + i]);
      stowage_mean_end_s8(layer, &sum, output++, 1);
    }
  }
}

void stowage_mean_add_s8(const stowage_reduce_shape *shape, const int8_t *input, int32_t *sums) {
  int32_t o, i, r;
  for (o = 0; o < shape->outer; o++, sums += shape->inner) {
    for (r = 0; r < shape->reduced; r++, input += shape->inner) {
      for (i = 0; i < shape->inner; i++) sums[i] = stowage_add_wrapping(sums[i], input[i]);
    }
  }
}
