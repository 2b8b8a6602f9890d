/* SPDX-License-Identifier: Apache-2.0 */
/* L2_POOL_2D of float32: the root of the average of squares. Padding does not count. Sums go row by row, then column by
 * column. */
#include <math.h>

#include "stowage_windows.h"

void stowage_l2_pool_f32(const stowage_pool_f32_layer *layer, const void *const *rows, float *output) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t x, c, k, i;
  for (x = 0; x < it->out_width; x++) {
    const int32_t begin = x * it->stride - it->before, end = begin + it->taps_wide;
    for (c = 0; c < it->in_channels; c++) {
      float squares = 0.0F;
      int32_t count = 0;
      for (k = 0; k < it->taps_high; k++) {
        const float *const row = (const float *)rows[k];
        if (row == NULL) continue;
        for (i = begin < 0 ? 0 : begin; i < end && i < it->in_width; i++, count++)
          squares += row[i * it->in_channels + c] * row[i * it->in_channels + c];
      }
      *output++ = stowage_clamp_f32(sqrtf(squares / (float)count), layer->least, layer->most);
    }
  }
}
