/* SPDX-License-Identifier: Apache-2.0 */
/* MEAN and SUM, for a file that defines the type `element`, its limits LEAST and MOST, and the macro MEAN, which makes
 * names. Each output adds its inputs in their order. */
#ifndef STOWAGE_MEAN_H
#define STOWAGE_MEAN_H

#include "stowage_kernels.h"

void MEAN(mean_end)(const stowage_mean_layer *layer, const int32_t *sums, element *output, int32_t count) {
  int32_t i;
  for (i = 0; i < count; i++) {
    const int32_t sum = stowage_add_wrapping(sums[i], layer->excess);
    const int32_t scaled = stowage_scale(sum, layer->factor.multiplier, layer->factor.shift);
    output[i] = (element)stowage_clamp(stowage_add_wrapping(scaled, layer->output_zero), LEAST, MOST);
  }
}

void MEAN(mean)(const stowage_mean_layer *layer, const stowage_reduce_shape *shape, const element *input,
                element *output) {
  int32_t o, i, r;
  for (o = 0; o < shape->outer; o++, input += shape->reduced * shape->inner) {
    for (i = 0; i < shape->inner; i++) {
      int32_t sum = 0;
      for (r = 0; r < shape->reduced; r++) sum = stowage_add_wrapping(sum, input[r * shape->inner + i]);
      MEAN(mean_end)(layer, &sum, output++, 1);
    }
  }
}

void MEAN(mean_add)(const stowage_reduce_shape *shape, const element *input, int32_t *sums) {
  int32_t o, i, r;
  for (o = 0; o < shape->outer; o++, sums += shape->inner) {
    for (r = 0; r < shape->reduced; r++, input += shape->inner) {
      for (i = 0; i < shape->inner; i++) sums[i] = stowage_add_wrapping(sums[i], input[i]);
    }
  }
}

#endif
