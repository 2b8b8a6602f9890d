/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of int8 over images whose channels lie apart, each a plane of its own. */
#include "stowage_kernels.h"

static int8_t finish(const stowage_conv_s8_layer *layer, uint32_t sum, int32_t c) {
  const int32_t all = (int32_t)(sum + (uint32_t)layer->bias[c]);
  const int32_t scaled = stowage_scale(all, layer->multiplier[c], layer->shift[c]);
  return (int8_t)stowage_clamp(scaled + layer->output_zero, layer->least, layer->most);
}

void stowage_conv_planes_s8(const stowage_conv_s8_layer *layer, uint8_t *const *memory,
                            const stowage_place *planes, int32_t in_height, int32_t first, int32_t dilation,
                            int8_t *output) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t window = it->taps_high * it->taps_wide * it->in_channels;
  int32_t x, c, k, tap, i, j;
  for (x = 0; x < it->out_width; x++) {
    for (c = 0; c < it->out_channels; c += 4) {
      const int32_t together = it->out_channels - c < 4 ? it->out_channels - c : 4;
      const int8_t *weights = layer->weights + c * window;
      uint32_t sums[4] = {0, 0, 0, 0};
      for (k = 0; k < it->taps_high; k++) {
        const int32_t in_y = first + k * dilation;
        for (tap = 0; tap < it->taps_wide; tap++, weights += it->in_channels) {
          const int32_t in_x = x * it->stride - it->before + tap * it->dilation;
          const int32_t is_inside = in_y >= 0 && in_y < in_height && in_x >= 0 && in_x < it->in_width;
          for (i = 0; i < it->in_channels; i++) {
            const int8_t *const plane = (const int8_t *)stowage_row(memory, planes, i);
            const int32_t number = is_inside ? plane[in_y * it->in_width + in_x] : layer->input_zero;
            for (j = 0; j < together; j++) sums[j] += (uint32_t)(number * weights[j * window + i]);
          }
        }
      }
      for (j = 0; j < together; j++) *output++ = finish(layer, sums[j], c + j);
    }
  }
}

void stowage_depthwise_plane_s8(const stowage_conv_s8_layer *layer, const int8_t *input, int32_t in_height,
                                int32_t in_row, int32_t in_step, int32_t first, int32_t dilation,
                                int8_t *output, int32_t out_step) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t x, k, tap;
  for (x = 0; x < it->out_width; x++, output += out_step) {
    const int8_t *weights = layer->weights;
    const int32_t place = x * it->stride - it->before;
    uint32_t sum = 0;
    for (k = 0; k < it->taps_high; k++) {
      const int32_t in_y = first + k * dilation;
      const int32_t is_there = in_y >= 0 && in_y < in_height;
      for (tap = 0; tap < it->taps_wide; tap++) {
        const int32_t in_x = place + tap * it->dilation;
        const int32_t number = is_there && in_x >= 0 && in_x < it->in_width
                                   ? input[in_y * in_row + in_x * in_step]
                                   : layer->input_zero;
        sum += (uint32_t)(number * *weights++);
      }
    }
    *output = finish(layer, sum, 0);
  }
}
