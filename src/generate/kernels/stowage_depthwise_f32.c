/* SPDX-License-Identifier: Apache-2.0 */
/* DEPTHWISE_CONV_2D of float32. Each channel sums in the order of the window. */
#include "stowage_kernels.h"

void stowage_depthwise_f32(const stowage_conv_f32_layer *layer, const void *const *rows, float *output) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t multiplier = it->out_channels / it->in_channels;
  int32_t x, c, k, tap;
  for (x = 0; x < it->out_width; x++, output += it->out_channels) {
    const int32_t place = x * it->stride - it->before;
    for (c = 0; c < it->out_channels; c++) {
      const float *w = layer->weights + c;
      float sum = 0.0F;
      for (k = 0; k < it->taps_high; k++) {
        const float *const row = (const float *)rows[k];
        for (tap = 0; tap < it->taps_wide; tap++, w += it->out_channels) {
          const int32_t in_x = place + tap * it->dilation;
          if (row == NULL || in_x < 0 || in_x >= it->in_width) continue;
          sum += row[in_x * it->in_channels + c / multiplier] * *w;
        }
      }
      sum += layer->bias != NULL ? layer->bias[c] : 0.0F;
      output[c] = stowage_clamp_f32(sum, layer->least, layer->most);
    }
  }
}
