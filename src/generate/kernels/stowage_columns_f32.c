/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of float32 over columns that lie apart: `rows` are columns of the image, and a call computes a column of the
 * output. Sums go line by line, as over lines, which gives the same bits. */
#include "stowage_kernels.h"

void stowage_conv_columns_f32(const stowage_conv_f32_layer *layer, const void *const *rows, float *output) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t inputs = it->in_channels / layer->groups;
  const int32_t outputs = it->out_channels / layer->groups;
  int32_t y, c, tap, k, i;
  for (y = 0; y < it->out_width; y++) {
    const float *w = layer->weights; /* [out_channels][taps_wide][taps_high][inputs] */
    for (c = 0; c < it->out_channels; c++) {
      float sum = 0.0F;
      for (tap = 0; tap < it->taps_wide; tap++) {
        const int32_t in_y = y * it->stride - it->before + tap * it->dilation;
        for (k = 0; k < it->taps_high; k++, w += inputs) {
          const float *const column = (const float *)rows[k];
          const float *in;
          if (column == NULL || in_y < 0 || in_y >= it->in_width) continue;
          in = column + in_y * it->in_channels + c / outputs * inputs;
          for (i = 0; i < inputs; i++) sum += in[i] * w[i];
        }
      }
      sum += layer->bias != NULL ? layer->bias[c] : 0.0F;
      *output++ = stowage_clamp_f32(sum, layer->least, layer->most);
    }
  }
}

void stowage_depthwise_columns_f32(const stowage_conv_f32_layer *layer, const void *const *rows,
                                   float *output) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t multiplier = it->out_channels / it->in_channels;
  int32_t y, c, tap, k;
  for (y = 0; y < it->out_width; y++) {
    for (c = 0; c < it->out_channels; c++) {
      const float *w = layer->weights + c;
      float sum = 0.0F;
      for (tap = 0; tap < it->taps_wide; tap++) {
        const int32_t in_y = y * it->stride - it->before + tap * it->dilation;
        for (k = 0; k < it->taps_high; k++, w += it->out_channels) {
          const float *const column = (const float *)rows[k];
          if (column == NULL || in_y < 0 || in_y >= it->in_width) continue;
          sum += column[in_y * it->in_channels + c / multiplier] * *w;
        }
      }
      sum += layer->bias != NULL ? layer->bias[c] : 0.0F;
      *output++ = stowage_clamp_f32(sum, layer->least, layer->most);
    }
  }
}

void stowage_average_pool_columns_f32(const stowage_pool_f32_layer *layer, const void *const *rows,
                                      float *output) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t y, c, tap, k;
  for (y = 0; y < it->out_width; y++) {
    for (c = 0; c < it->in_channels; c++) {
      float sum = 0.0F;
      int32_t count = 0;
      for (tap = 0; tap < it->taps_wide; tap++) {
        const int32_t in_y = y * it->stride - it->before + tap;
        if (in_y < 0 || in_y >= it->in_width) continue;
        for (k = 0; k < it->taps_high; k++) {
          const float *const column = (const float *)rows[k];
          if (column == NULL) continue;
          sum += column[in_y * it->in_channels + c];
          count++;
        }
      }
      *output++ = stowage_clamp_f32(sum / (float)count, layer->least, layer->most);
    }
  }
}
