/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over images of float32 whose channels follow each other in each row. Sums begin with the bias and go channel
 * by channel, which gives the bits of a plain loop. */
#include <math.h>

#include "stowage_windows.h"

/* Places of the output for which a tap is in the image. */
typedef struct {
  int32_t begin;
  int32_t end;
} places;

static places places_inside(const stowage_window_shape *it, int32_t tap) {
  const int32_t offset = tap * it->dilation - it->before;
  places inside;
  inside.begin = offset >= 0 ? 0 : (it->stride - 1 - offset) / it->stride;
  inside.end = offset >= it->in_width ? 0 : (it->in_width - 1 - offset) / it->stride + 1;
  if (inside.end > it->out_width) inside.end = it->out_width;
  return inside;
}

/* Adds the products of a weight with a row. */
static void add_tap(const stowage_window_shape *it, const float *in, int32_t tap, float weight,
                    float *output) {
  const places inside = places_inside(it, tap);
  const int32_t offset = tap * it->dilation - it->before, stride = it->stride;
  int32_t x;
  for (x = inside.begin; x < inside.end; x++) output[x] += weight * in[x * stride + offset];
}

/* Weights, and so the order of sums, are those of an image whose rows are lines, also where rows are its columns. */
void stowage_image_conv_add_f32(const stowage_image_conv_layer *layer, const void *const *rows,
                                int32_t by_columns, int32_t begins, float *output) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t inputs = it->in_channels / layer->groups, outputs = it->out_channels / layer->groups;
  const int32_t taps = it->taps_high * it->taps_wide, fast = by_columns ? it->taps_high : it->taps_wide;
  const float *weights = layer->weights;
  int32_t c, i, t, x;
  for (c = 0; c < it->out_channels; c++, output += layer->out_plane) {
    const int32_t first = c / outputs * inputs;
    for (x = 0; begins && x < it->out_width; x++) output[x] = layer->bias != NULL ? layer->bias[c] : 0.0F;
    for (i = 0; i < inputs; i++) {
      for (t = 0; t < taps; t++, weights++) {
        const float *const row = (const float *)rows[by_columns ? t % fast : t / fast];
        if (row != NULL)
          add_tap(it, row + (first + i) * layer->in_plane, by_columns ? t / fast : t % fast, *weights,
                  output);
      }
    }
  }
}

void stowage_image_conv_f32(const stowage_image_conv_layer *layer, const void *const *rows, float *output) {
  stowage_image_conv_add_f32(layer, rows, 0, 1, output);
}

void stowage_image_conv_columns_f32(const stowage_image_conv_layer *layer, const void *const *rows,
                                    float *output) {
  stowage_image_conv_add_f32(layer, rows, 1, 1, output);
}

/* Padding does not count. */
void stowage_image_max_pool_f32(const stowage_image_pool_layer *layer, const void *const *rows,
                                float *output) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t c, k, tap, x;
  for (c = 0; c < it->out_channels; c++, output += layer->out_plane) {
    for (x = 0; x < it->out_width; x++) {
      float most = -INFINITY;
      for (k = 0; k < it->taps_high; k++) {
        const float *const row = (const float *)rows[k];
        for (tap = 0; row != NULL && tap < it->taps_wide; tap++) {
          const int32_t place = x * it->stride - it->before + tap * it->dilation;
          const float number = place >= 0 && place < it->in_width ? row[c * layer->in_plane + place] : most;
          if (!(number <= most)) most = number;
        }
      }
      output[x] = most;
    }
  }
}

void stowage_image_average_pool_f32(const stowage_image_pool_layer *layer, const void *const *rows,
                                    float *output) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t c, k, tap, x;
  for (c = 0; c < it->out_channels; c++, output += layer->out_plane) {
    for (x = 0; x < it->out_width; x++) {
      double sum = 0.0;
      int32_t count = 0;
      for (k = 0; k < it->taps_high; k++) {
        const float *const row = (const float *)rows[k];
        for (tap = 0; row != NULL && tap < it->taps_wide; tap++) {
          const int32_t place = x * it->stride - it->before + tap * it->dilation;
          if (place < 0 || place >= it->in_width) continue;
          sum += (double)row[c * layer->in_plane + place];
          count++;
        }
      }
      if (layer->counted != 0) count = layer->counted;
      output[x] = count == 0 ? 0.0F : (float)(sum / count);
    }
  }
}

void stowage_image_sum_f32(const float *row, int32_t channels, int32_t in_plane, int32_t count, float *sums) {
  int32_t c, x;
  for (c = 0; c < channels; c++, row += in_plane) {
    double sum = (double)sums[c];
    for (x = 0; x < count; x++) sum += (double)row[x];
    sums[c] = (float)sum;
  }
}

void stowage_image_scale_f32(const float *factors, const float *terms, const float *input, float *output,
                             int32_t channels, int32_t count) {
  int32_t c, i;
  for (c = 0; c < channels; c++) {
    for (i = 0; i < count; i++) *output++ = factors[c] * *input++ + terms[c];
  }
}
