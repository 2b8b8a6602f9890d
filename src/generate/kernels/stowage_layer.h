/* SPDX-License-Identifier: Apache-2.0 */
/* CONV_2D, FULLY_CONNECTED, DEPTHWISE_CONV_2D and TRANSPOSE_CONV, for a file that defines the types `element`,
 * `weight`, `total` (of sums, which wrap around) and `bias`, the function `scaled` (of a sum), and the macro
 * LAYER, which makes names. Inputs count as their distance from the zero point, so padding adds nothing. A zero
 * point of weights is taken out of the sum: sum x (w - z) = sum x w - z sum x. Four output channels are summed
 * together. */
#ifndef STOWAGE_LAYER_H
#define STOWAGE_LAYER_H

#include "stowage_windows.h"

typedef stowage_layer conv_layer;

/* Four output channels, and the sum of their inputs. */
typedef struct {
  const weight *weights[4];
  total of[4];
  total inputs;
} channel_sums;

static element result(const stowage_layer *layer, total sum, int32_t channel) {
  const total all = layer->bias == NULL ? sum : sum + (total)((const bias *)layer->bias)[channel];
  const int32_t steps = scaled(all, layer->multiplier[channel], layer->shift[channel]);
  return (element)stowage_clamp(stowage_add_wrapping(steps, layer->output_zero), layer->least, layer->most);
}

/* Inputs that follow each other, with the weights at `offset` of each channel. */
static STOWAGE_APART void add_inputs(const element *in, int32_t zero, int32_t offset, int32_t count,
                                     channel_sums *sums) {
  const weight *w0 = sums->weights[0] + offset, *w1 = sums->weights[1] + offset;
  const weight *w2 = sums->weights[2] + offset, *w3 = sums->weights[3] + offset;
  total s0 = sums->of[0], s1 = sums->of[1], s2 = sums->of[2], s3 = sums->of[3], inputs = sums->inputs;
  for (; count > 0; count--) {
    const int32_t x = (int32_t)*in++ - zero;
    s0 += (total)(x * *w0++);
    s1 += (total)(x * *w1++);
    s2 += (total)(x * *w2++);
    s3 += (total)(x * *w3++);
    inputs += (total)x;
  }
  sums->of[0] = s0;
  sums->of[1] = s1;
  sums->of[2] = s2;
  sums->of[3] = s3;
  sums->inputs = inputs;
}

/* All taps of the window that begins at `place`; input channels begin with `first`. */
static void add_window(const stowage_layer *layer, const void *const *rows, int32_t place, int32_t first,
                       channel_sums *sums) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t inputs = it->in_channels / layer->groups;
  int32_t k, tap;
  for (k = 0; k < it->taps_high; k++) {
    const element *const row = (const element *)rows[k];
    for (tap = 0; row != NULL && tap < it->taps_wide; tap++) {
      const int32_t x = place + tap * it->dilation;
      if (x >= 0 && x < it->in_width)
        add_inputs(row + x * it->in_channels + first, layer->input_zero, (k * it->taps_wide + tap) * inputs,
                   inputs, sums);
    }
  }
}

void LAYER(conv)(const stowage_layer *layer, const void *const *rows, element *output) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t inputs = it->in_channels / layer->groups, outputs = it->out_channels / layer->groups;
  const int32_t window = it->taps_high * it->taps_wide * inputs;
  int32_t x, c, j;
  for (x = 0; x < it->out_width; x++) {
    for (c = 0; c < it->out_channels;) {
      const int32_t left = outputs - c % outputs, together = left < 4 ? left : 4;
      channel_sums sums;
      for (j = 0; j < 4; j++) {
        sums.weights[j] = (const weight *)layer->weights + (c + (j < together ? j : 0)) * window;
        sums.of[j] = 0;
      }
      sums.inputs = 0;
      add_window(layer, rows, x * it->stride - it->before, c / outputs * inputs, &sums);
      for (j = 0; j < together; j++)
        output[c + j] = result(layer, sums.of[j] - sums.inputs * (total)layer->weights_zero, c + j);
      c += together;
    }
    output += it->out_channels;
  }
}

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

static total product(const stowage_layer *layer, element x, weight w) {
  return (total)(((int32_t)x - layer->input_zero) * ((int32_t)w - layer->weights_zero));
}

void LAYER(depthwise)(const stowage_layer *layer, const void *const *rows, element *output) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t multiplier = it->out_channels / it->in_channels, step = it->dilation * it->in_channels;
  int32_t x, c, k, tap;
  for (x = 0; x < it->out_width; x++) {
    const int32_t place = x * it->stride - it->before;
    const tap_range inside = taps_inside(it, place);
    for (c = 0; c < it->out_channels; c++) {
      total sum = 0;
      for (k = 0; k < it->taps_high; k++) {
        const element *in = (const element *)rows[k];
        const weight *w =
            (const weight *)layer->weights + (k * it->taps_wide + inside.begin) * it->out_channels + c;
        if (in == NULL) continue;
        in += place * it->in_channels + inside.begin * step + c / multiplier;
        for (tap = inside.begin; tap < inside.end; tap++, in += step, w += it->out_channels)
          sum += product(layer, *in, *w);
      }
      *output++ = result(layer, sum, c);
    }
  }
}

#define TRANSPOSED LAYER(transposed)
#include "stowage_transposed.h"

#endif
