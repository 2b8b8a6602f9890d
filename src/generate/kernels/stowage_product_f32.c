/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices of float32. Each output adds its products in their order. */
#include "stowage_windows.h"

/* Along the row of the output. */
static void add_rows(const stowage_product_shape *shape, float factor, const float *a, const float *b,
                     float *output) {
  int32_t j, k;
  for (k = 0; k < shape->terms; k++, a += shape->a_column, b += shape->b_row) {
    const float x = factor * *a;
    for (j = 0; j < shape->columns; j++) output[j] += x * b[j];
  }
}

static void add_columns(const stowage_product_shape *shape, float factor, const float *a, const float *b,
                        float *output) {
  int32_t j, k;
  for (j = 0; j < shape->columns; j++, b += shape->b_column) {
    float total = output[j];
    for (k = 0; k < shape->terms; k++) total += factor * a[k * shape->a_column] * b[k * shape->b_row];
    output[j] = total;
  }
}

void stowage_product_f32(const stowage_product_shape *shape, float factor, const float *a, const float *b,
                         float *output) {
  int32_t i, j;
  for (i = 0; i < shape->rows; i++, a += shape->a_row, output += shape->columns) {
    for (j = 0; j < shape->columns && shape->adds == 0; j++) output[j] = 0.0F;
    if (shape->b_column == 1) {
      add_rows(shape, factor, a, b, output);
    } else {
      add_columns(shape, factor, a, b, output);
    }
  }
}
