/* SPDX-License-Identifier: Apache-2.0 */
/* TRANSPOSE_CONV, for a file that defines the types `element`, `weight`, `total` (of sums) and `conv_layer`, the
 * functions `product` (of an input and a weight) and `result`, and the macro TRANSPOSED, the name. Each output sums
 * up its products in the order of the input. */
#include "stowage_windows.h"

void TRANSPOSED(const conv_layer *layer, int32_t stride_high, const void *const *rows, int32_t phase,
                element *output) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t count = (it->taps_high - 1) / stride_high + 1, window = it->taps_high * it->taps_wide;
  int32_t x, c, r, i, k;
  for (x = 0; x < it->out_width; x++) {
    const int32_t last = (x + it->before) / it->stride;
    int32_t first = last - (it->taps_wide - 1) / it->stride;
    if (x + it->before - first * it->stride >= it->taps_wide) first++;
    for (c = 0; c < it->out_channels; c++) {
      total sum = 0;
      for (r = 0; r < count; r++) {
        const element *const row = (const element *)rows[r];
        const int32_t high = phase - r * stride_high;
        if (row == NULL || high >= it->taps_high) continue;
        for (i = first < 0 ? 0 : first; i <= last && i < it->in_width; i++) {
          const int32_t tap = high * it->taps_wide + x + it->before - i * it->stride;
          const element *const in = row + i * it->in_channels;
          const weight *const weights = (const weight *)layer->weights + (c * window + tap) * it->in_channels;
          for (k = 0; k < it->in_channels; k++) sum += product(layer, in[k], weights[k]);
        }
      }
      *output++ = result(layer, sum, c);
    }
  }
}
