/* SPDX-License-Identifier: Apache-2.0 */
/* BATCH_MATMUL of numbers of 8 bits, for a file that defines the type `element`, its limits LEAST and MOST, and the
 * name PRODUCT. Sums wrap around. */
#ifndef STOWAGE_PRODUCT_H
#define STOWAGE_PRODUCT_H

#include "stowage_kernels.h"

void PRODUCT(const stowage_scaled_product_layer *layer, const element *a, const element *b, element *output) {
  const stowage_product_shape *const it = &layer->shape;
  int32_t i, j, k;
  for (i = 0; i < it->rows; i++, a += it->a_row) {
    for (j = 0; j < it->columns; j++) {
      const element *x = a, *y = b + j * it->b_column;
      uint32_t sum = 0;
      int32_t steps;
      for (k = 0; k < it->terms; k++, x += it->a_column, y += it->b_row)
        sum += (uint32_t)((*x - layer->a_zero) * (*y - layer->b_zero));
      steps = stowage_scale((int32_t)sum, layer->factor.multiplier, layer->factor.shift);
      *output++ = (element)stowage_clamp(stowage_add_wrapping(steps, layer->output_zero), LEAST, MOST);
    }
  }
}

#endif
