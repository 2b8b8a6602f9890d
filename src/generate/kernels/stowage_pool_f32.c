/* AVERAGE_POOL_2D and MAX_POOL_2D of float32. Padding does not count. Sums go row by row, then column by column. */
#include <float.h>

#include "stowage_kernels.h"

/* The columns of the image under a window. */
typedef struct {
  int32_t begin;
  int32_t end;
} columns;

static columns columns_under(const stowage_window_shape *it, int32_t x) {
  columns inside;
  inside.begin = x * it->stride - it->before;
  inside.end = inside.begin + it->taps_wide;
  if (inside.begin < 0) inside.begin = 0;
  if (inside.end > it->in_width) inside.end = it->in_width;
  return inside;
}

static float average(const stowage_pool_f32_layer *layer, float sum, int32_t count) {
  return stowage_clamp_f32(sum / (float)count, layer->least, layer->most);
}

void stowage_average_pool_f32(const stowage_pool_f32_layer *layer, const void *const *rows, float *output) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t x, c, k, i;
  for (x = 0; x < it->out_width; x++) {
    const columns inside = columns_under(it, x);
    for (c = 0; c < it->in_channels; c++) {
      float sum = 0.0F;
      int32_t high = 0;
      for (k = 0; k < it->taps_high; k++) {
        const float *const row = (const float *)rows[k];
        if (row == NULL) continue;
        high++;
        for (i = inside.begin; i < inside.end; i++) sum += row[i * it->in_channels + c];
      }
      *output++ = average(layer, sum, high * (inside.end - inside.begin));
    }
  }
}

void stowage_max_pool_f32(const stowage_pool_f32_layer *layer, const void *const *rows, float *output) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t x, c, k, i;
  for (x = 0; x < it->out_width; x++) {
    const columns inside = columns_under(it, x);
    for (c = 0; c < it->in_channels; c++) {
      float most = -FLT_MAX;
      for (k = 0; k < it->taps_high; k++) {
        const float *const row = (const float *)rows[k];
        if (row == NULL) continue;
        for (i = inside.begin; i < inside.end; i++) {
          const float number = row[i * it->in_channels + c];
          if (most < number) most = number;
        }
      }
      *output++ = stowage_clamp_f32(most, layer->least, layer->most);
    }
  }
}

void stowage_average_pool_add_f32(const stowage_pool_f32_layer *layer, const float *row, float *sums) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t x, c, i;
  for (x = 0; x < it->out_width; x++, sums += it->in_channels) {
    const columns inside = columns_under(it, x);
    for (i = inside.begin; i < inside.end; i++) {
      for (c = 0; c < it->in_channels; c++) sums[c] += row[i * it->in_channels + c];
    }
  }
}

void stowage_average_pool_end_f32(const stowage_pool_f32_layer *layer, int32_t rows, const float *sums,
                                  float *output) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t x, c;
  for (x = 0; x < it->out_width; x++) {
    const columns inside = columns_under(it, x);
    for (c = 0; c < it->in_channels; c++)
      *output++ = average(layer, *sums++, rows * (inside.end - inside.begin));
  }
}

void stowage_max_pool_add_f32(const stowage_pool_f32_layer *layer, const float *row, float *most) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t x, c, i;
  for (x = 0; x < it->out_width; x++, most += it->in_channels) {
    const columns inside = columns_under(it, x);
    for (i = inside.begin; i < inside.end; i++) {
      for (c = 0; c < it->in_channels; c++) {
        const float number = row[i * it->in_channels + c];
        if (most[c] < number) most[c] = number;
      }
    }
  }
}

void stowage_max_pool_end_f32(const stowage_pool_f32_layer *layer, int32_t rows, const float *most,
                              float *output) {
  const int32_t count = layer->shape.out_width * layer->shape.in_channels;
  int32_t i;
  (void)rows;
  for (i = 0; i < count; i++) output[i] = stowage_clamp_f32(most[i], layer->least, layer->most);
}
