/* SPDX-License-Identifier: Apache-2.0 */
/* ConvTranspose of float32: each row of the input that a row of the output is made of is spread over it. Sums begin
 * with the bias and go channel by channel, then tap by tap, which gives the bits of a plain loop. */
#include "stowage_windows.h"

/* Adds the products of a weight with a row. */
static void spread_tap(const stowage_window_shape *it, const float *in, int32_t tap, float weight,
                       float *output) {
  const int32_t offset = tap * it->dilation - it->before;
  int32_t x;
  for (x = 0; x < it->in_width; x++) {
    const int32_t place = x * it->stride + offset;
    if (place >= 0 && place < it->out_width) output[place] += weight * in[x];
  }
}

void stowage_image_spread_f32(const stowage_image_spread_layer *layer, const void *const *rows, int32_t phase,
                              float *output) {
  const stowage_image_conv_layer *const conv = &layer->conv;
  const stowage_window_shape *const it = &conv->shape;
  const int32_t inputs = it->in_channels / conv->groups, outputs = it->out_channels / conv->groups;
  const int32_t taps = it->taps_high * it->taps_wide;
  const int32_t fast = layer->by_columns ? it->taps_high : it->taps_wide;
  int32_t c, i, t, x;
  for (c = 0; c < it->out_channels; c++, output += conv->out_plane) {
    for (x = 0; x < it->out_width; x++) output[x] = conv->bias != NULL ? conv->bias[c] : 0.0F;
    for (i = 0; i < inputs; i++) {
      const int32_t channel = c / outputs * inputs + i;
      const float *const weights = conv->weights + (channel * outputs + c % outputs) * taps;
      for (t = 0; t < taps; t++) {
        const int32_t high = layer->by_columns ? t % fast : t / fast;
        const int32_t before = phase - high * layer->dilation_high;
        const float *row = NULL;
        if (before >= 0 && before % layer->stride_high == 0)
          row = (const float *)rows[before / layer->stride_high];
        if (row != NULL)
          spread_tap(it, row + channel * conv->in_plane, layer->by_columns ? t / fast : t % fast, weights[t],
                     output);
      }
    }
  }
}
