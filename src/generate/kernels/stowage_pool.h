/* SPDX-License-Identifier: Apache-2.0 */
/* AVERAGE_POOL_2D and MAX_POOL_2D, for a file that defines the types `element`, `total` (of sums) and `pool_layer`, the
 * functions `average` and `limited`, and the macros LEAST and POOL, which makes names. Padding does not count. Sums go
 * row by row, then column by column.
 */
#ifndef STOWAGE_POOL_H
#define STOWAGE_POOL_H

#include "stowage_windows.h"

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

void POOL(average_pool)(const pool_layer *layer, const void *const *rows, element *output) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t x, c, k, i;
  for (x = 0; x < it->out_width; x++) {
    const columns inside = columns_under(it, x);
    for (c = 0; c < it->in_channels; c++) {
      total sum = 0;
      int32_t high = 0;
      for (k = 0; k < it->taps_high; k++) {
        const element *const row = (const element *)rows[k];
        if (row == NULL) continue;
        high++;
        for (i = inside.begin; i < inside.end; i++) sum += row[i * it->in_channels + c];
      }
      *output++ = average(layer, sum, high * (inside.end - inside.begin));
    }
  }
}

void POOL(max_pool)(const pool_layer *layer, const void *const *rows, element *output) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t x, c, k, i;
  for (x = 0; x < it->out_width; x++) {
    const columns inside = columns_under(it, x);
    for (c = 0; c < it->in_channels; c++) {
      total most = LEAST;
      for (k = 0; k < it->taps_high; k++) {
        const element *const row = (const element *)rows[k];
        if (row == NULL) continue;
        for (i = inside.begin; i < inside.end; i++) {
          const total number = row[i * it->in_channels + c];
          if (most < number) most = number;
        }
      }
      *output++ = limited(layer, most);
    }
  }
}

void POOL(average_pool_add)(const pool_layer *layer, const element *row, total *sums) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t x, c, i;
  for (x = 0; x < it->out_width; x++, sums += it->in_channels) {
    const columns inside = columns_under(it, x);
    for (i = inside.begin; i < inside.end; i++) {
      for (c = 0; c < it->in_channels; c++) sums[c] += row[i * it->in_channels + c];
    }
  }
}

void POOL(average_pool_end)(const pool_layer *layer, int32_t rows, const total *sums, element *output) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t x, c;
  for (x = 0; x < it->out_width; x++) {
    const columns inside = columns_under(it, x);
    for (c = 0; c < it->in_channels; c++)
      *output++ = average(layer, *sums++, rows * (inside.end - inside.begin));
  }
}

void POOL(max_pool_add)(const pool_layer *layer, const element *row, total *most) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t x, c, i;
  for (x = 0; x < it->out_width; x++, most += it->in_channels) {
    const columns inside = columns_under(it, x);
    for (i = inside.begin; i < inside.end; i++) {
      for (c = 0; c < it->in_channels; c++) {
        const total number = row[i * it->in_channels + c];
        if (most[c] < number) most[c] = number;
      }
    }
  }
}

void POOL(max_pool_end)(const pool_layer *layer, int32_t rows, const total *most, element *output) {
  const int32_t count = layer->shape.out_width * layer->shape.in_channels;
  int32_t i;
  (void)rows;
  for (i = 0; i < count; i++) output[i] = limited(layer, most[i]);
}

#endif
