/* SPDX-License-Identifier: Apache-2.0 */
/* RESIZE_NEAREST_NEIGHBOR and Resize, one row of the output. */
#include <string.h>

#include "stowage_kernels.h"

void stowage_resize_nearest(const uint16_t *columns, int32_t width, size_t bytes, const void *input,
                            void *output) {
  int32_t x;
  for (x = 0; x < width; x++)
    memcpy((uint8_t *)output + (size_t)x * bytes, (const uint8_t *)input + columns[x] * bytes, bytes);
}

void stowage_image_resize_nearest(const uint16_t *columns, int32_t width, uint32_t element, int32_t channels,
                                  int32_t in_plane, int32_t out_plane, const void *input, void *output) {
  int32_t c;
  for (c = 0; c < channels; c++)
    stowage_resize_nearest(columns, width, element, (const uint8_t *)input + c * in_plane,
                           (uint8_t *)output + c * out_plane);
}

static double at_place(const stowage_image_resize_layer *layer, const float *row, int32_t x) {
  const uint16_t *const places = layer->places + x * layer->taps;
  const double *const weights = layer->weights + x * layer->taps;
  double sum = 0.0;
  int32_t t;
  for (t = 0; t < layer->taps; t++)
    if (weights[t] != 0.0) sum += weights[t] * (double)row[places[t]];
  return sum;
}

void stowage_image_resize_f32(const stowage_image_resize_layer *layer, const void *const *rows,
                              const double *weights, float *output) {
  int32_t c, x, t;
  for (c = 0; c < layer->channels; c++, output += layer->out_plane) {
    for (x = 0; x < layer->width; x++) {
      double sum = 0.0;
      for (t = 0; t < layer->taps; t++)
        if (weights[t] != 0.0)
          sum += weights[t] * at_place(layer, (const float *)rows[t] + c * layer->in_plane, x);
      output[x] = (float)sum;
    }
  }
}
