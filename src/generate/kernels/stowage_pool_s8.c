/* AVERAGE_POOL_2D and MAX_POOL_2D of int8. Padding does not count. Averages round halves away from zero. */
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

static int8_t average(const stowage_pool_s8_layer *layer, int32_t sum, int32_t count) {
  const int32_t rounded = (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
  return (int8_t)stowage_clamp(rounded, layer->least, layer->most);
}

void stowage_average_pool_s8(const stowage_pool_s8_layer *layer, const void *const *rows, int8_t *output) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t x, c, k, i;
  for (x = 0; x < it->out_width; x++) {
    const columns inside = columns_under(it, x);
    for (c = 0; c < it->in_channels; c++) {
      int32_t sum = 0, high = 0;
      for (k = 0; k < it->taps_high; k++) {
        const int8_t *const row = (const int8_t *)rows[k];
        if (row == NULL) continue;
        high++;
        for (i = inside.begin; i < inside.end; i++) sum += row[i * it->in_channels + c];
      }
      *output++ = average(layer, sum, high * (inside.end - inside.begin));
    }
  }
}

void stowage_max_pool_s8(const stowage_pool_s8_layer *layer, const void *const *rows, int8_t *output) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t x, c, k, i;
  for (x = 0; x < it->out_width; x++) {
    const columns inside = columns_under(it, x);
    for (c = 0; c < it->in_channels; c++) {
      int32_t most = INT8_MIN;
      for (k = 0; k < it->taps_high; k++) {
        const int8_t *const row = (const int8_t *)rows[k];
        if (row == NULL) continue;
        for (i = inside.begin; i < inside.end; i++) {
          const int32_t number = row[i * it->in_channels + c];
          if (number > most) most = number;
        }
      }
      *output++ = (int8_t)stowage_clamp(most, layer->least, layer->most);
    }
  }
}

void stowage_average_pool_add_s8(const stowage_pool_s8_layer *layer, const int8_t *row, int32_t *sums) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t x, c, i;
  for (x = 0; x < it->out_width; x++, sums += it->in_channels) {
    const columns inside = columns_under(it, x);
    for (i = inside.begin; i < inside.end; i++) {
      for (c = 0; c < it->in_channels; c++) sums[c] += row[i * it->in_channels + c];
    }
  }
}

void stowage_average_pool_end_s8(const stowage_pool_s8_layer *layer, int32_t rows, const int32_t *sums,
                                 int8_t *output) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t x, c;
  for (x = 0; x < it->out_width; x++) {
    const columns inside = columns_under(it, x);
    for (c = 0; c < it->in_channels; c++)
      *output++ = average(layer, *sums++, rows * (inside.end - inside.begin));
  }
}

void stowage_max_pool_add_s8(const stowage_pool_s8_layer *layer, const int8_t *row, int32_t *most) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t x, c, i;
  for (x = 0; x < it->out_width; x++, most += it->in_channels) {
    const columns inside = columns_under(it, x);
    for (i = inside.begin; i < inside.end; i++) {
      for (c = 0; c < it->in_channels; c++) {
        const int32_t number = row[i * it->in_channels + c];
        if (number > most[c]) most[c] = number;
      }
    }
  }
}

void stowage_max_pool_end_s8(const stowage_pool_s8_layer *layer, int32_t rows, const int32_t *most,
                             int8_t *output) {
  const int32_t count = layer->shape.out_width * layer->shape.in_channels;
  int32_t i;
  (void)rows;
  for (i = 0; i < count; i++) output[i] = (int8_t)stowage_clamp(most[i], layer->least, layer->most);
}
