/* SPDX-License-Identifier: Apache-2.0 */
/* CONV_2D and FULLY_CONNECTED of int8.
 *
 * The bias contains the zero point of the input times all weights. So padding counts as the zero point, and inside
 * the image sums are plain products. What a window covers of a row is one run of bytes. Two places and two channels
 * are summed together: four products for four loads. Small windows are copied together first, with their padding, so
 * that a window is one run.
 */
#include "stowage_kernels.h"

#if defined(__ARM_FEATURE_DSP) && defined(__GNUC__)
#include <arm_acle.h>
#include <string.h>
#define STOWAGE_HAS_DSP 1
#else
#define STOWAGE_HAS_DSP 0
#endif

enum { most_copied = 128 }; /* bytes of a window */

typedef struct {
  uint32_t of[4]; /* places 0 and 1 with channel 0, then with channel 1; modulo 2^32 */
} block_sums;

static inline uint32_t product(int8_t a, int8_t b) { return (uint32_t)((int32_t)a * b); }

#if STOWAGE_HAS_DSP

static inline uint32_t word(const int8_t *at) {
  uint32_t four;
  memcpy(&four, at, sizeof four);
  return four;
}

/* Numbers 0 and 2 of four, and numbers 1 and 3. */
static inline int16x2_t even(uint32_t four) { return __sxtb16((int8x4_t)four); }
static inline int16x2_t odd(uint32_t four) {
  int16x2_t two;
  __asm__("sxtb16 %0, %1, ror #8" : "=r"(two) : "r"(four));
  return two;
}

static inline uint32_t add_products(int16x2_t a, int16x2_t b, uint32_t sum) {
  return (uint32_t)__smlad(a, b, (int32_t)sum);
}

/* Four numbers of each place with four weights of each channel, and goes on to the next. */
static inline void add_fours(const int8_t **a, int32_t step, const int8_t **w, int32_t window,
                             block_sums *sums) {
  const uint32_t x0 = word(*a), y0 = word(*w), y1 = word(*w + window), x1 = word(*a + step);
  const int16x2_t x0_even = even(x0), y0_even = even(y0), y1_even = even(y1), x1_even = even(x1);
  const int16x2_t x0_odd = odd(x0), y0_odd = odd(y0), y1_odd = odd(y1), x1_odd = odd(x1);
  sums->of[0] = add_products(x0_odd, y0_odd, add_products(x0_even, y0_even, sums->of[0]));
  sums->of[1] = add_products(x1_odd, y0_odd, add_products(x1_even, y0_even, sums->of[1]));
  sums->of[2] = add_products(x0_odd, y1_odd, add_products(x0_even, y1_even, sums->of[2]));
  sums->of[3] = add_products(x1_odd, y1_odd, add_products(x1_even, y1_even, sums->of[3]));
  *a += 4;
  *w += 4;
  __asm__ volatile("" ::: "memory"); /* loads of the next four would take more registers than there are */
}
#endif

/* The second place is `step` behind the first, and the second channel's weights are `window` behind the first's. */
static STOWAGE_WITHIN void sum_block(const int8_t *a, int32_t step, const int8_t *w, int32_t window,
                                     int32_t count, block_sums *sums) {
  block_sums s = *sums;
  const int8_t *a1, *w1;
#if STOWAGE_HAS_DSP
  for (; count >= 16; count -= 16) {
    add_fours(&a, step, &w, window, &s);
    add_fours(&a, step, &w, window, &s);
    add_fours(&a, step, &w, window, &s);
    add_fours(&a, step, &w, window, &s);
  }
  for (; count >= 4; count -= 4) add_fours(&a, step, &w, window, &s);
#endif
  a1 = a + step;
  w1 = w + window;
  for (; count > 0; count--) {
    const int8_t x0 = *a++, x1 = *a1++, y0 = *w++, y1 = *w1++;
    s.of[0] += product(x0, y0);
    s.of[1] += product(x1, y0);
    s.of[2] += product(x0, y1);
    s.of[3] += product(x1, y1);
  }
  *sums = s;
}

static STOWAGE_APART void add_block(const int8_t *a, int32_t step, const int8_t *w, int32_t window,
                                    int32_t count, block_sums *sums) {
  sum_block(a, step, w, window, count, sums);
}

/* The same for all rows of a window, none of which is padding. */
static STOWAGE_APART void add_rows(const void *const *rows, int32_t taps, int32_t offset, int32_t step,
                                   const int8_t *w, int32_t window, int32_t run, block_sums *sums) {
  block_sums s = *sums;
  int32_t k;
  for (k = 0; k < taps; k++, w += run) sum_block((const int8_t *)rows[k] + offset, step, w, window, run, &s);
  *sums = s;
}

/* The same for one place with four channels. */
static STOWAGE_APART void add_column(const int8_t *a, const int8_t *const *w, int32_t offset, int32_t count,
                                     block_sums *sums) {
  const int8_t *w0 = w[0] + offset, *w1 = w[1] + offset, *w2 = w[2] + offset, *w3 = w[3] + offset;
  uint32_t s0 = sums->of[0], s1 = sums->of[1], s2 = sums->of[2], s3 = sums->of[3];
#if STOWAGE_HAS_DSP
  int32_t fours;
  for (fours = count / 4; fours > 0; fours--) {
    const uint32_t x = word(a), y0 = word(w0), y1 = word(w1), y2 = word(w2), y3 = word(w3);
    const int16x2_t x_even = even(x), x_odd = odd(x);
    s0 = add_products(x_odd, odd(y0), add_products(x_even, even(y0), s0));
    s1 = add_products(x_odd, odd(y1), add_products(x_even, even(y1), s1));
    s2 = add_products(x_odd, odd(y2), add_products(x_even, even(y2), s2));
    s3 = add_products(x_odd, odd(y3), add_products(x_even, even(y3), s3));
    a += 4;
    w0 += 4;
    w1 += 4;
    w2 += 4;
    w3 += 4;
  }
  count %= 4;
#endif
  for (; count > 0; count--) {
    const int8_t x = *a++;
    s0 += product(x, *w0++);
    s1 += product(x, *w1++);
    s2 += product(x, *w2++);
    s3 += product(x, *w3++);
  }
  sums->of[0] = s0;
  sums->of[1] = s1;
  sums->of[2] = s2;
  sums->of[3] = s3;
}

static inline int8_t requantized(const stowage_conv_s8_layer *layer, uint32_t sum, int32_t channel) {
  const int32_t scaled = stowage_scale((int32_t)sum, layer->multiplier[channel], layer->shift[channel]);
  const int32_t result = stowage_add_wrapping(scaled, layer->output_zero);
  return (int8_t)stowage_clamp(result, layer->least, layer->most);
}

/* All results are there before the first is written: it might change the layer, as far as a compiler can know. */
static inline void write_block(const stowage_conv_s8_layer *layer, const block_sums *sums, int32_t c,
                               int32_t next, int8_t *output0, int8_t *output1) {
  const int8_t y00 = requantized(layer, sums->of[0], c), y10 = requantized(layer, sums->of[1], c);
  const int8_t y01 = requantized(layer, sums->of[2], next), y11 = requantized(layer, sums->of[3], next);
  output0[c] = y00;
  output1[c] = y10;
  output0[next] = y01;
  output1[next] = y11;
}

/* Four channels of one place whose window is one run of bytes. */
static STOWAGE_APART void whole_column(const stowage_conv_s8_layer *layer, const int8_t *a, int32_t window,
                                       int32_t c, int8_t *output) {
  const int8_t *w = layer->weights + c * window;
  const int32_t *const bias = layer->bias + c;
  uint32_t s0 = (uint32_t)bias[0], s1 = (uint32_t)bias[1], s2 = (uint32_t)bias[2], s3 = (uint32_t)bias[3];
  const int8_t *const end = a + window;
#if STOWAGE_HAS_DSP
  for (; end - a >= 4; a += 4, w += 4) {
    const uint32_t x = word(a), y0 = word(w), y1 = word(w + window);
    const int16x2_t x_even = even(x), x_odd = odd(x);
    uint32_t y2, y3;
    s0 = add_products(x_odd, odd(y0), add_products(x_even, even(y0), s0));
    s1 = add_products(x_odd, odd(y1), add_products(x_even, even(y1), s1));
    y2 = word(w + 2 * window);
    y3 = word(w + 3 * window);
    s2 = add_products(x_odd, odd(y2), add_products(x_even, even(y2), s2));
    s3 = add_products(x_odd, odd(y3), add_products(x_even, even(y3), s3));
    __asm__ volatile("" ::: "memory");
  }
#endif
  for (; a < end; a++, w++) {
    s0 += product(*a, w[0]);
    s1 += product(*a, w[window]);
    s2 += product(*a, w[2 * window]);
    s3 += product(*a, w[3 * window]);
  }
  output[c + 3] = requantized(layer, s3, c + 3);
  output[c + 2] = requantized(layer, s2, c + 2);
  output[c + 1] = requantized(layer, s1, c + 1);
  output[c] = requantized(layer, s0, c);
}

/* Adds padding: the zero point times these weights. */
static STOWAGE_APART void add_padding(int32_t zero, const int8_t *w0, const int8_t *w1, int32_t count,
                                      block_sums *sums) {
  uint32_t s0 = 0, s1 = 0;
  for (; count > 0; count--) {
    s0 += product(*w0++, 1);
    s1 += product(*w1++, 1);
  }
  s0 *= (uint32_t)zero;
  s1 *= (uint32_t)zero;
  sums->of[0] += s0;
  sums->of[1] += s0;
  sums->of[2] += s1;
  sums->of[3] += s1;
}

static void add_padding_column(int32_t zero, const int8_t *const *w, int32_t offset, int32_t count,
                               block_sums *sums) {
  int32_t i, j;
  for (j = 0; j < 4; j++) {
    uint32_t sum = 0;
    for (i = 0; i < count; i++) sum += product(w[j][offset + i], 1);
    sums->of[j] += sum * (uint32_t)zero;
  }
}

/* Two channels of two places whose windows are one run of bytes each. */
static STOWAGE_APART void whole_block(const stowage_conv_s8_layer *layer, const int8_t *a, int32_t step,
                                      int32_t window, int32_t c, int32_t next, int8_t *output,
                                      int32_t output_step) {
  block_sums sums;
  sums.of[0] = sums.of[1] = (uint32_t)layer->bias[c];
  sums.of[2] = sums.of[3] = (uint32_t)layer->bias[next];
  sum_block(a, step, layer->weights + c * window, (next - c) * window, window, &sums);
  write_block(layer, &sums, c, next, output, output + output_step);
}

/* All channels of these places. */
static void whole_blocks(const stowage_conv_s8_layer *layer, const int8_t *a, int32_t step, int32_t window,
                         int8_t *output, int32_t output_step) {
  const int32_t last = layer->shape.out_channels - 1;
  int32_t c;
  for (c = 0; c <= last; c += 2)
    whole_block(layer, a, step, window, c, c < last ? c + 1 : c, output, output_step);
}

/* The taps of a window that are in the image. */
typedef struct {
  int32_t begin;
  int32_t end;
} tap_range;

/* All channels of two places with the same taps in the image. Taps have no gaps. */
static void two_places(const stowage_conv_s8_layer *layer, const void *const *rows, int32_t place0,
                       int32_t place1, tap_range inside, int8_t *output0, int8_t *output1) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t run = it->taps_wide * it->in_channels;
  const int32_t begin = inside.begin * it->in_channels, end = inside.end * it->in_channels;
  const int32_t window = it->taps_high * run;
  int32_t c, k;
  int is_inside = begin == 0 && end == run;
  for (k = 0; k < it->taps_high; k++) is_inside = is_inside && rows[k] != NULL;
  if (it->taps_high == 1 && begin == 0 && end == run && rows[0] != NULL) {
    whole_blocks(layer, (const int8_t *)rows[0] + place0 * it->in_channels,
                 (place1 - place0) * it->in_channels, run, output0, (int32_t)(output1 - output0));
    return;
  }
  for (c = 0; c < it->out_channels; c += 2) {
    const int32_t next = c + 1 < it->out_channels ? c + 1 : c;
    const int8_t *w0 = layer->weights + c * window;
    const int8_t *w1 = layer->weights + next * window;
    block_sums sums;
    sums.of[0] = sums.of[1] = (uint32_t)layer->bias[c];
    sums.of[2] = sums.of[3] = (uint32_t)layer->bias[next];
    if (is_inside)
      add_rows(rows, it->taps_high, place0 * it->in_channels, (place1 - place0) * it->in_channels, w0,
               (int32_t)(w1 - w0), run, &sums);
    for (k = is_inside ? it->taps_high : 0; k < it->taps_high; k++, w0 += run, w1 += run) {
      const int8_t *const row = (const int8_t *)rows[k];
      if (row == NULL) {
        add_padding(layer->input_zero, w0, w1, run, &sums);
        continue;
      }
      if (begin > 0) add_padding(layer->input_zero, w0, w1, begin, &sums);
      add_block(row + place0 * it->in_channels + begin, (place1 - place0) * it->in_channels, w0 + begin,
                (int32_t)(w1 - w0), end - begin, &sums);
      if (end < run) add_padding(layer->input_zero, w0 + end, w1 + end, run - end, &sums);
    }
    write_block(layer, &sums, c, next, output0, output1);
  }
}

/* The same for one place. */
static void one_place(const stowage_conv_s8_layer *layer, const void *const *rows, int32_t place,
                      tap_range inside, int8_t *output) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t run = it->taps_wide * it->in_channels;
  const int32_t begin = inside.begin * it->in_channels, end = inside.end * it->in_channels;
  const int32_t window = it->taps_high * run, last = it->out_channels - 1;
  int32_t c = 0, j, k;
  if (it->taps_high == 1 && begin == 0 && end == run && rows[0] != NULL) {
    const int8_t *const a = (const int8_t *)rows[0] + place * it->in_channels;
    for (; c + 3 <= last; c += 4) whole_column(layer, a, run, c, output);
  }
  for (; c <= last; c += 4) {
    const int32_t channels[4] = {c, c < last ? c + 1 : last, c + 1 < last ? c + 2 : last,
                                 c + 2 < last ? c + 3 : last};
    const int8_t *w[4];
    block_sums sums;
    for (j = 0; j < 4; j++) {
      w[j] = layer->weights + channels[j] * window;
      sums.of[j] = (uint32_t)layer->bias[channels[j]];
    }
    for (k = 0; k < it->taps_high; k++) {
      const int8_t *const row = (const int8_t *)rows[k];
      const int32_t own_begin = row != NULL ? begin : run, own_end = row != NULL ? end : run;
      if (own_begin > 0) add_padding_column(layer->input_zero, w, k * run, own_begin, &sums);
      if (row != NULL)
        add_column(row + place * it->in_channels + begin, w, k * run + begin, end - begin, &sums);
      if (own_end < run) add_padding_column(layer->input_zero, w, k * run + own_end, run - own_end, &sums);
    }
    for (j = 3; j >= 0; j--) output[channels[j]] = requantized(layer, sums.of[j], channels[j]);
  }
}

/* The products of one place of the window, or of padding if `in` is null. */
static uint32_t tap_sum(const int8_t *in, int32_t zero, const int8_t *weights, int32_t count) {
  uint32_t sum = 0;
  int32_t i;
  if (in != NULL) {
    for (i = 0; i < count; i++) sum += product(in[i], weights[i]);
  } else {
    for (i = 0; i < count; i++) sum += product((int8_t)1, weights[i]);
    sum *= (uint32_t)zero;
  }
  return sum;
}

/* All channels of any place. */
static void any_place(const stowage_conv_s8_layer *layer, const void *const *rows, int32_t place,
                      int8_t *output) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t inputs = it->in_channels / layer->groups;
  const int32_t outputs = it->out_channels / layer->groups;
  const int8_t *weights = layer->weights;
  int32_t c, k, tap;
  for (c = 0; c < it->out_channels; c++) {
    const int32_t first = c / outputs * inputs;
    uint32_t sum = (uint32_t)layer->bias[c];
    for (k = 0; k < it->taps_high; k++) {
      const int8_t *const row = (const int8_t *)rows[k];
      for (tap = 0; tap < it->taps_wide; tap++, weights += inputs) {
        const int32_t x = place + tap * it->dilation;
        const int is_inside = row != NULL && x >= 0 && x < it->in_width;
        sum +=
            tap_sum(is_inside ? row + x * it->in_channels + first : NULL, layer->input_zero, weights, inputs);
      }
    }
    output[c] = requantized(layer, sum, c);
  }
}

/* Copies what a window covers, and the zero point for padding. */
static void gather(const stowage_conv_s8_layer *layer, const void *const *rows, int32_t place, int8_t *copy) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t k, tap, i;
  for (k = 0; k < it->taps_high; k++) {
    const int8_t *const row = (const int8_t *)rows[k];
    for (tap = 0; tap < it->taps_wide; tap++) {
      const int32_t x = place + tap * it->dilation;
      const int is_inside = row != NULL && x >= 0 && x < it->in_width;
      for (i = 0; i < it->in_channels; i++)
        *copy++ = is_inside ? row[x * it->in_channels + i] : (int8_t)layer->input_zero;
    }
  }
}

/* All channels of one or two places whose windows are copied, one behind the other. */
static void copied_places(const stowage_conv_s8_layer *layer, const int8_t *copies, int32_t window,
                          int32_t places, int8_t *output) {
  const int32_t channels = layer->shape.out_channels;
  whole_blocks(layer, copies, window * (places - 1), window, output, (places - 1) * channels);
}

static void copied_row(const stowage_conv_s8_layer *layer, const void *const *rows, int32_t window,
                       int8_t *output) {
  const stowage_window_shape *const it = &layer->shape;
  int8_t copies[2 * most_copied];
  int32_t x, i;
  for (x = 0; x < it->out_width; x += 2) {
    const int32_t places = x + 1 < it->out_width ? 2 : 1;
    for (i = 0; i < places; i++) gather(layer, rows, (x + i) * it->stride - it->before, copies + i * window);
    copied_places(layer, copies, window, places, output + x * it->out_channels);
  }
}

static tap_range taps_inside(const stowage_window_shape *it, int32_t place) {
  tap_range inside;
  inside.begin = place < 0 ? stowage_clamp(-place, 0, it->taps_wide) : 0;
  inside.end = stowage_clamp(it->in_width - place, inside.begin, it->taps_wide);
  return inside;
}

void stowage_conv_s8(const stowage_conv_s8_layer *layer, const void *const *rows, int8_t *output) {
  const stowage_window_shape *const it = &layer->shape;
  const int has_runs = layer->groups == 1 && (it->dilation == 1 || it->taps_wide == 1);
  const int32_t window = it->taps_high * it->taps_wide * it->in_channels;
  int32_t x;
  if (layer->groups == 1 && it->taps_high > 1 && window <= most_copied) {
    copied_row(layer, rows, window, output);
    return;
  }
  for (x = 0; x < it->out_width;) {
    const int32_t place = x * it->stride - it->before, next = place + it->stride;
    const tap_range inside = taps_inside(it, place), inside_next = taps_inside(it, next);
    int8_t *const to = output + x * it->out_channels;
    if (!has_runs) {
      any_place(layer, rows, place, to);
      x += 1;
    } else if (x + 1 < it->out_width && inside.begin == inside_next.begin && inside.end == inside_next.end) {
      two_places(layer, rows, place, next, inside, to, to + it->out_channels);
      x += 2;
    } else {
      one_place(layer, rows, place, inside, to);
      x += 1;
    }
  }
}
