/* SPDX-License-Identifier: Apache-2.0 */
/* CONV_2D and DEPTHWISE_CONV_2D of float32 with weights of int8: each image is rounded to 8 bits with a scale of its
 * own, and sums of products are integers. */
#include "stowage_hybrid.h"

/* The products of the numbers under a window, modulo 2^32. */
static int32_t sum_under(const stowage_hybrid_conv_layer *layer, const int8_t *image, int32_t zero, int32_t y,
                         int32_t x, int32_t channel) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t inputs = it->in_channels / layer->groups;
  const int32_t first = channel / (it->out_channels / layer->groups) * inputs;
  const int8_t *weights = layer->weights + channel * layer->channel_step;
  uint32_t sum = 0;
  int32_t k, tap, i;
  for (k = 0; k < it->taps_high; k++) {
    const int32_t row = y * layer->stride - layer->above + k * layer->dilation;
    for (tap = 0; tap < it->taps_wide; tap++, weights += layer->tap_step) {
      const int32_t place = x * it->stride - it->before + tap * it->dilation;
      const int8_t *numbers;
      if (row < 0 || row >= layer->in_height || place < 0 || place >= it->in_width) continue;
      numbers = image + (row * it->in_width + place) * it->in_channels + first;
      for (i = 0; i < inputs; i++) sum += (uint32_t)((numbers[i] - zero) * weights[i]);
    }
  }
  return (int32_t)sum;
}

void stowage_hybrid_conv_f32(const stowage_hybrid_conv_layer *layer, const float *input, float *output,
                             void *scratch) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t count = layer->in_height * it->in_width * it->in_channels;
  int8_t *const image = (int8_t *)scratch;
  int32_t b, i, y, x, c;
  for (b = 0; b < layer->images; b++, input += count) {
    float low = 0.0F, high = 0.0F;
    stowage_byte_scale by;
    stowage_widen(&low, &high, input, count);
    by = stowage_byte_scale_of(low, high, layer->has_zero_point);
    for (i = 0; i < count; i++) image[i] = (int8_t)stowage_rounded_byte(&by, input[i]);
    for (y = 0; y < layer->out_height; y++) {
      for (x = 0; x < it->out_width; x++) {
        for (c = 0; c < it->out_channels; c++) {
          const float sum = (float)sum_under(layer, image, by.zero, y, x, c);
          const float real = sum * layer->scales[c] * by.scale;
          *output++ = stowage_clamp_f32(real + (layer->bias != NULL ? layer->bias[c] : 0.0F), layer->least,
                                        layer->most);
        }
      }
    }
  }
}
