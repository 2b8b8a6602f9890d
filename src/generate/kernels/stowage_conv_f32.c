/* SPDX-License-Identifier: Apache-2.0 */
/* CONV_2D and FULLY_CONNECTED of float32. Each channel sums in the order of the window, which gives the bits of a
 * plain loop; several channels are summed side by side. */
#include "stowage_kernels.h"

enum { together = 4 };

/* The sums of `channels` channels from c on, at most `together`. */
static void sum_channels(const stowage_conv_f32_layer *layer, const void *const *rows, int32_t place,
                         int32_t c, int32_t channels, float *sums) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t inputs = it->in_channels / layer->groups;
  const int32_t first = c / (it->out_channels / layer->groups) * inputs;
  const int32_t window = it->taps_high * it->taps_wide * inputs;
  const float *weights = layer->weights + c * window;
  int32_t k, tap, i, j;
  for (j = 0; j < together; j++) sums[j] = 0.0F;
  for (k = 0; k < it->taps_high; k++) {
    const float *const row = (const float *)rows[k];
    for (tap = 0; tap < it->taps_wide; tap++, weights += inputs) {
      const int32_t x = place + tap * it->dilation;
      const float *in;
      if (row == NULL || x < 0 || x >= it->in_width) continue;
      in = row + x * it->in_channels + first;
      if (channels == together) {
        float s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
        const float *const w1 = weights + window, *const w2 = w1 + window, *const w3 = w2 + window;
        for (i = 0; i < inputs; i++) {
          const float number = in[i];
          s0 += number * weights[i];
          s1 += number * w1[i];
          s2 += number * w2[i];
          s3 += number * w3[i];
        }
        sums[0] = s0;
        sums[1] = s1;
        sums[2] = s2;
        sums[3] = s3;
      } else {
        for (j = 0; j < channels; j++) {
          for (i = 0; i < inputs; i++) sums[j] += in[i] * weights[j * window + i];
        }
      }
    }
  }
}

void stowage_conv_f32(const stowage_conv_f32_layer *layer, const void *const *rows, float *output) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t outputs = it->out_channels / layer->groups;
  int32_t x, c, j;
  for (x = 0; x < it->out_width; x++, output += it->out_channels) {
    const int32_t place = x * it->stride - it->before;
    for (c = 0; c < it->out_channels;) {
      const int32_t left = outputs - c % outputs; /* in this group */
      const int32_t channels = left < together ? left : together;
      float sums[together];
      sum_channels(layer, rows, place, c, channels, sums);
      for (j = 0; j < channels; j++, c++) {
        const float sum = sums[j] + (layer->bias != NULL ? layer->bias[c] : 0.0F);
        output[c] = stowage_clamp_f32(sum, layer->least, layer->most);
      }
    }
  }
}
