/* SPDX-License-Identifier: Apache-2.0 */
/* DEPTHWISE_CONV_2D of int8. Padding counts as the zero point of the input, as in stowage_conv_s8.c. Four channels
 * are summed together, so that the loops around them cost little. */
#include "stowage_kernels.h"

#if defined(__ARM_FEATURE_DSP) && defined(__GNUC__)
#include <arm_acle.h>
#include <string.h>
#define STOWAGE_HAS_DSP 1

static inline uint32_t word(const int8_t *at) {
  uint32_t four;
  memcpy(&four, at, sizeof four);
  return four;
}

/* Numbers 0 and 2 of four, and numbers 1 and 3. */
static inline int32_t even(uint32_t four) { return (int32_t)__sxtb16((int8x4_t)four); }
static inline int32_t odd(uint32_t four) {
  int32_t two;
  __asm__("sxtb16 %0, %1, ror #8" : "=r"(two) : "r"(four));
  return two;
}
#else
#define STOWAGE_HAS_DSP 0
#endif

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

/* Sums of four channels; modulo 2^32. */
typedef struct {
  uint32_t a, b, c, d;
} four_sums;

/* Adds four products; inputs are apart, or one for all. */
static inline void add_four(const int8_t *in, int is_shared, const int8_t *w, four_sums *s) {
#if STOWAGE_HAS_DSP
  if (!is_shared) {
    const uint32_t x = word(in), y = word(w);
    const int32_t x_even = even(x), y_even = even(y), x_odd = odd(x), y_odd = odd(y);
    s->a = (uint32_t)__smlabb(x_even, y_even, (int32_t)s->a);
    s->b = (uint32_t)__smlabb(x_odd, y_odd, (int32_t)s->b);
    s->c = (uint32_t)__smlatt(x_even, y_even, (int32_t)s->c);
    s->d = (uint32_t)__smlatt(x_odd, y_odd, (int32_t)s->d);
    return;
  }
#endif
  s->a += (uint32_t)((int32_t)in[0] * w[0]);
  s->b += (uint32_t)((int32_t)in[is_shared ? 0 : 1] * w[1]);
  s->c += (uint32_t)((int32_t)in[is_shared ? 0 : 2] * w[2]);
  s->d += (uint32_t)((int32_t)in[is_shared ? 0 : 3] * w[3]);
}

static inline void add_padding(int32_t zero, const int8_t *w, four_sums *s) {
  s->a += (uint32_t)(zero * w[0]);
  s->b += (uint32_t)(zero * w[1]);
  s->c += (uint32_t)(zero * w[2]);
  s->d += (uint32_t)(zero * w[3]);
}

/* The windows of one place: taps before, inside and behind the image. */
typedef struct {
  const void *const *rows;
  int32_t rows_count;
  int32_t first; /* of the taps inside, in a row */
  int32_t step;
  int32_t before;
  int32_t inside;
  int32_t after;
  int32_t channels; /* of the output */
  int32_t zero;
} place_windows;

/* The sums of four channels; input channels begin with `from`. */
static inline four_sums sum_four(const place_windows *it, const int8_t *w, const int32_t *bias, int32_t from,
                                 int is_shared) {
  const int32_t channels = it->channels, step = it->step;
  four_sums s = {(uint32_t)bias[0], (uint32_t)bias[1], (uint32_t)bias[2], (uint32_t)bias[3]};
  int32_t k, tap;
  for (k = 0; k < it->rows_count; k++) {
    const int8_t *const row = (const int8_t *)it->rows[k];
    if (row == NULL) {
      for (tap = it->before + it->inside + it->after; tap > 0; tap--, w += channels)
        add_padding(it->zero, w, &s);
    } else {
      const int8_t *in = row + it->first + from;
      for (tap = it->before; tap > 0; tap--, w += channels) add_padding(it->zero, w, &s);
      for (tap = it->inside; tap > 0; tap--, in += step, w += channels) add_four(in, is_shared, w, &s);
      for (tap = it->after; tap > 0; tap--, w += channels) add_padding(it->zero, w, &s);
    }
  }
  return s;
}

static STOWAGE_APART four_sums sum_apart(const place_windows *it, const int8_t *w, const int32_t *bias,
                                         int32_t from) {
  return sum_four(it, w, bias, from, 0);
}

static STOWAGE_APART four_sums sum_shared(const place_windows *it, const int8_t *w, const int32_t *bias,
                                          int32_t from) {
  return sum_four(it, w, bias, from, 1);
}

static place_windows windows_of(const stowage_conv_s8_layer *layer, const void *const *rows, int32_t place,
                                tap_range inside) {
  const stowage_window_shape *const shape = &layer->shape;
  place_windows it;
  it.rows = rows;
  it.rows_count = shape->taps_high;
  it.step = shape->dilation * shape->in_channels;
  it.first = place * shape->in_channels + inside.begin * it.step;
  it.before = inside.begin;
  it.inside = inside.end - inside.begin;
  it.after = shape->taps_wide - inside.end;
  it.channels = shape->out_channels;
  it.zero = layer->input_zero;
  return it;
}

/* All results are there before the first is written: it might change the layer, as far as a compiler can know. */
static inline void write_four(const stowage_conv_s8_layer *layer, const four_sums *sums, int32_t c,
                              int8_t *output) {
  const int8_t y0 = requantized(layer, sums->a, c), y1 = requantized(layer, sums->b, c + 1);
  const int8_t y2 = requantized(layer, sums->c, c + 2), y3 = requantized(layer, sums->d, c + 3);
  output[c] = y0;
  output[c + 1] = y1;
  output[c + 2] = y2;
  output[c + 3] = y3;
}

/* Channels in fours: each has its own input channel, or fours share one. */
static void channels_in_fours(const stowage_conv_s8_layer *layer, const place_windows *it, int32_t multiplier,
                              int32_t end, int8_t *output) {
  int32_t c;
  for (c = 0; c < end; c += 4) {
    const int8_t *const w = layer->weights + c;
    const four_sums sums = multiplier == 1 ? sum_apart(it, w, layer->bias + c, c)
                                           : sum_shared(it, w, layer->bias + c, c / multiplier);
    write_four(layer, &sums, c, output);
  }
}

static STOWAGE_APART uint32_t sum_one(const place_windows *it, const int8_t *w, uint32_t sum, int32_t from) {
  const int32_t channels = it->channels, step = it->step;
  int32_t k, tap;
  for (k = 0; k < it->rows_count; k++) {
    const int8_t *const row = (const int8_t *)it->rows[k];
    const int32_t before = row != NULL ? it->before : it->before + it->inside + it->after;
    const int8_t *in;
    for (tap = before; tap > 0; tap--, w += channels) sum += (uint32_t)(it->zero * *w);
    if (row == NULL) continue;
    in = row + it->first + from;
    for (tap = it->inside; tap > 0; tap--, in += step, w += channels) sum += (uint32_t)((int32_t)*in * *w);
    for (tap = it->after; tap > 0; tap--, w += channels) sum += (uint32_t)(it->zero * *w);
  }
  return sum;
}

static STOWAGE_APART void channels_alone(const stowage_conv_s8_layer *layer, const place_windows *it,
                                         int32_t multiplier, int32_t begin, int8_t *output) {
  int32_t c;
  for (c = begin; c < it->channels; c++)
    output[c] =
        requantized(layer, sum_one(it, layer->weights + c, (uint32_t)layer->bias[c], c / multiplier), c);
}

void stowage_depthwise_s8(const stowage_conv_s8_layer *layer, const void *const *rows, int8_t *output) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t multiplier = it->out_channels / it->in_channels;
  const int32_t together =
      multiplier == 1 ? it->out_channels / 4 * 4 : (multiplier % 4 == 0 ? it->out_channels : 0);
  int32_t x;
  for (x = 0; x < it->out_width; x++, output += it->out_channels) {
    const int32_t place = x * it->stride - it->before;
    const tap_range inside = taps_inside(it, place);
    const place_windows windows = windows_of(layer, rows, place, inside);
    channels_in_fours(layer, &windows, multiplier, together, output);
    if (together < it->out_channels) channels_alone(layer, &windows, multiplier, together, output);
  }
}
