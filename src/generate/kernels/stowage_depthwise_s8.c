/* DEPTHWISE_CONV_2D of int8. Padding counts as the zero point of the input, as in stowage_conv_s8.c. Four channels
 * are summed together, so that the loops around them cost little. */
#include "stowage_kernels.h"

/* The taps of a window that are in the image. */
typedef struct {
  int32_t begin;
  int32_t end;
} tap_range;

static tap_range taps_inside(const stowage_window_shape *it, int32_t place) {
  tap_range inside = {0, it->taps_wide};
  while (inside.begin < it->taps_wide && place + inside.begin * it->dilation < 0) inside.begin++;
  while (inside.end > inside.begin && place + (inside.end - 1) * it->dilation >= it->in_width) inside.end--;
  return inside;
}

static inline int8_t requantized(const stowage_conv_s8_layer *layer, uint32_t sum, int32_t channel) {
  const int32_t scaled = stowage_scale((int32_t)sum, layer->multiplier[channel], layer->shift[channel]);
  const int32_t result = stowage_add_wrapping(scaled, layer->output_zero);
  return (int8_t)stowage_clamp(result, layer->least, layer->most);
}

/* The products of channels c to c + 3 of a place; each has an input channel of its own. */
static STOWAGE_APART void sum_four(const stowage_conv_s8_layer *layer, const void *const *rows, int32_t place,
                                   tap_range inside, int32_t c, uint32_t *sums) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t zero = layer->input_zero, channels = it->out_channels;
  const int32_t step = it->dilation * channels;
  const int8_t *w = layer->weights + c;
  uint32_t s0 = (uint32_t)layer->bias[c], s1 = (uint32_t)layer->bias[c + 1];
  uint32_t s2 = (uint32_t)layer->bias[c + 2], s3 = (uint32_t)layer->bias[c + 3];
  int32_t k, tap;
  for (k = 0; k < it->taps_high; k++) {
    const int8_t *const row = (const int8_t *)rows[k];
    const int32_t begin = row != NULL ? inside.begin : it->taps_wide;
    const int32_t end = row != NULL ? inside.end : it->taps_wide;
    const int8_t *in = row != NULL ? row + (place + begin * it->dilation) * channels + c : NULL;
    for (tap = begin; tap < end; tap++, in += step) {
      const int8_t *const own = w + tap * channels;
      s0 += (uint32_t)((int32_t)in[0] * own[0]);
      s1 += (uint32_t)((int32_t)in[1] * own[1]);
      s2 += (uint32_t)((int32_t)in[2] * own[2]);
      s3 += (uint32_t)((int32_t)in[3] * own[3]);
    }
    for (tap = begin > 0 ? 0 : end; tap < it->taps_wide; tap = tap + 1 == begin ? end : tap + 1) {
      const int8_t *const own = w + tap * channels;
      s0 += (uint32_t)(zero * own[0]);
      s1 += (uint32_t)(zero * own[1]);
      s2 += (uint32_t)(zero * own[2]);
      s3 += (uint32_t)(zero * own[3]);
    }
    w += it->taps_wide * channels;
  }
  sums[0] = s0;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
}

/* All results are there before the first is written: it might change the layer, as far as a compiler can know. */
static void four_channels(const stowage_conv_s8_layer *layer, const void *const *rows, int32_t place,
                          tap_range inside, int32_t c, int8_t *output) {
  uint32_t sums[4];
  int8_t y0, y1, y2, y3;
  sum_four(layer, rows, place, inside, c, sums);
  y0 = requantized(layer, sums[0], c);
  y1 = requantized(layer, sums[1], c + 1);
  y2 = requantized(layer, sums[2], c + 2);
  y3 = requantized(layer, sums[3], c + 3);
  output[c] = y0;
  output[c + 1] = y1;
  output[c + 2] = y2;
  output[c + 3] = y3;
}

static void one_channel(const stowage_conv_s8_layer *layer, const void *const *rows, int32_t place,
                        tap_range inside, int32_t c, int8_t *output) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t from = c / (it->out_channels / it->in_channels);
  const int8_t *w = layer->weights + c;
  uint32_t sum = (uint32_t)layer->bias[c];
  int32_t k, tap;
  for (k = 0; k < it->taps_high; k++) {
    const int8_t *const row = (const int8_t *)rows[k];
    for (tap = 0; tap < it->taps_wide; tap++, w += it->out_channels) {
      const int is_inside = row != NULL && tap >= inside.begin && tap < inside.end;
      const int32_t x = place + tap * it->dilation;
      sum += (uint32_t)((is_inside ? row[x * it->in_channels + from] : layer->input_zero) * *w);
    }
  }
  output[c] = requantized(layer, sum, c);
}

void stowage_depthwise_s8(const stowage_conv_s8_layer *layer, const void *const *rows, int8_t *output) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t together = it->in_channels == it->out_channels ? it->out_channels / 4 * 4 : 0;
  int32_t x, c;
  for (x = 0; x < it->out_width; x++, output += it->out_channels) {
    const int32_t place = x * it->stride - it->before;
    const tap_range inside = taps_inside(it, place);
    for (c = 0; c < together; c += 4) four_channels(layer, rows, place, inside, c, output);
    for (; c < it->out_channels; c++) one_channel(layer, rows, place, inside, c, output);
  }
}
