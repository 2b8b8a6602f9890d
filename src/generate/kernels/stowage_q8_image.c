/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over images of 8 bits whose channels follow each other in each row, and rows of matrices. Padding counts as
 * the zero point. Two output channels are summed together, eight places at a time. */
#include "stowage_q8.h"

enum { most_places = 8 };

typedef struct {
  uint32_t of[2][most_places]; /* two channels; modulo 2^32 */
} block_sums;

/* Places [begin, end) of the output. */
typedef struct {
  int32_t begin;
  int32_t end;
} places;

/* Those for which a tap is in the image. */
static places places_inside(const stowage_window_shape *it, int32_t tap, places block) {
  const int32_t offset = tap * it->dilation - it->before;
  places inside;
  inside.begin = offset >= 0 ? 0 : (it->stride - 1 - offset) / it->stride;
  inside.end = offset >= it->in_width ? 0 : (it->in_width - 1 - offset) / it->stride + 1;
  if (inside.begin < block.begin) inside.begin = block.begin;
  if (inside.end > block.end) inside.end = block.end;
  return inside;
}

/* Adds products of numbers with a weight for each channel. */
static STOWAGE_APART void add_products(const stowage_q8_conv_layer *layer, const uint8_t *in, int32_t weight0,
                                       int32_t weight1, int32_t first, int32_t count, block_sums *sums) {
  const int32_t stride = layer->shape.stride, zero = layer->input_zero;
  const uint8_t flip = layer->input_flip;
  uint32_t *s0 = sums->of[0] + first, *s1 = sums->of[1] + first;
  for (; count > 0; count--, in += stride) {
    const int32_t x = (int32_t)(*in ^ flip) - zero;
    *s0++ += (uint32_t)(x * weight0);
    *s1++ += (uint32_t)(x * weight1);
  }
}

static uint8_t result(const stowage_q8_conv_layer *layer, uint32_t sum, int32_t channel) {
  const uint32_t all = sum + (layer->bias != NULL ? (uint32_t)layer->bias[channel] : 0);
  const int32_t steps = stowage_q8_scale((int32_t)all, layer->mantissa[channel], layer->shift[channel]);
  return stowage_q8_stored(steps, layer->output_zero, layer->output_flip);
}

/* Sums of channels c and c + 1, or of c alone if both weights are the same. */
static void sum_block(const stowage_q8_conv_layer *layer, const void *const *rows, int32_t c, int32_t next,
                      places block, block_sums *sums) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t inputs = it->in_channels / layer->groups;
  const int32_t window = inputs * it->taps_high * it->taps_wide;
  const int32_t first = c / (it->out_channels / layer->groups) * inputs;
  const int8_t *w0 = layer->weights + c * window, *w1 = layer->weights + next * window;
  int32_t i, k, tap;
  for (i = 0; i < most_places; i++) sums->of[0][i] = sums->of[1][i] = 0;
  for (i = 0; i < inputs; i++) {
    for (k = 0; k < it->taps_high; k++) {
      const uint8_t *const row = (const uint8_t *)rows[k];
      for (tap = 0; tap < it->taps_wide; tap++, w0++, w1++) {
        const places inside = places_inside(it, tap, block);
        if (row == NULL || inside.begin >= inside.end) continue;
        add_products(
            layer,
            row + (first + i) * layer->in_plane + inside.begin * it->stride + tap * it->dilation - it->before,
            *w0, *w1, inside.begin - block.begin, inside.end - inside.begin, sums);
      }
    }
  }
}

void stowage_q8_conv(const stowage_q8_conv_layer *layer, const void *const *rows, uint8_t *output) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t of_group = it->out_channels / layer->groups;
  int32_t c, x;
  for (c = 0; c < it->out_channels;) {
    const int32_t next = c % of_group + 1 < of_group ? c + 1 : c;
    places block;
    for (block.begin = 0; block.begin < it->out_width; block.begin = block.end) {
      block_sums sums;
      block.end = it->out_width - block.begin < most_places ? it->out_width : block.begin + most_places;
      sum_block(layer, rows, c, next, block, &sums);
      for (x = block.begin; x < block.end; x++) {
        output[c * layer->out_plane + x] = result(layer, sums.of[0][x - block.begin], c);
        output[next * layer->out_plane + x] = result(layer, sums.of[next - c][x - block.begin], next);
      }
    }
    c = next + 1;
  }
}

void stowage_q8_product(const stowage_q8_conv_layer *layer, const uint8_t *input, uint8_t *output) {
  const int32_t terms = layer->shape.in_channels, channels = layer->shape.out_channels;
  int32_t c, i;
  for (c = 0; c < channels; c += 2) {
    const int32_t next = c + 1 < channels ? c + 1 : c;
    const int8_t *const w0 = layer->weights + c * terms, *const w1 = layer->weights + next * terms;
    uint32_t s0 = 0, s1 = 0;
    for (i = 0; i < terms; i++) {
      const int32_t x = (int32_t)(input[i] ^ layer->input_flip) - layer->input_zero;
      s0 += (uint32_t)(x * w0[i]);
      s1 += (uint32_t)(x * w1[i]);
    }
    output[c] = result(layer, s0, c);
    output[next] = result(layer, s1, next);
  }
}

void stowage_q8_max_pool(const stowage_q8_pool_layer *layer, const void *const *rows, uint8_t *output) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t c, k, tap, x;
  for (c = 0; c < it->out_channels; c++, output += layer->out_plane) {
    for (x = 0; x < it->out_width; x++) {
      int32_t most = 0;
      for (k = 0; k < it->taps_high; k++) {
        const uint8_t *const row = (const uint8_t *)rows[k];
        for (tap = 0; row != NULL && tap < it->taps_wide; tap++) {
          const int32_t place = x * it->stride - it->before + tap * it->dilation;
          const int32_t number =
              place >= 0 && place < it->in_width ? row[c * layer->in_plane + place] ^ layer->flip : 0;
          if (number > most) most = number;
        }
      }
      output[x] = (uint8_t)(most ^ layer->flip);
    }
  }
}

void stowage_q8_average_pool(const stowage_q8_average_layer *layer, const void *const *rows,
                             uint8_t *output) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t c, k, tap, x;
  for (c = 0; c < it->out_channels; c++, output += layer->out_plane) {
    for (x = 0; x < it->out_width; x++) {
      int32_t sum = 0, count = 0, steps = 0;
      for (k = 0; k < it->taps_high; k++) {
        const uint8_t *const row = (const uint8_t *)rows[k];
        for (tap = 0; row != NULL && tap < it->taps_wide; tap++) {
          const int32_t place = x * it->stride - it->before + tap * it->dilation;
          if (place < 0 || place >= it->in_width) continue;
          sum += (int32_t)(row[c * layer->in_plane + place] ^ layer->flip) - layer->input_zero;
          count++;
        }
      }
      if (layer->counted != 0) count = layer->counted;
      if (count > 0) steps = stowage_q8_scale(sum, layer->mantissa[count - 1], layer->shift[count - 1]);
      output[x] = stowage_q8_stored(steps, layer->output_zero, layer->flip);
    }
  }
}

void stowage_q8_matrix(const stowage_q8_matrix_layer *layer, const uint8_t *a, const uint8_t *b,
                       uint8_t *output, int32_t rows, int32_t terms, int32_t columns) {
  int32_t i, j, k;
  for (i = 0; i < rows; i++, a += terms) {
    for (j = 0; j < columns; j++) {
      uint32_t sum = 0; /* modulo 2^32 */
      for (k = 0; k < terms; k++)
        sum += (uint32_t)(((int32_t)(a[k] ^ layer->a_flip) - layer->a_zero) *
                          ((int32_t)(b[k * columns + j] ^ layer->b_flip) - layer->b_zero));
      *output++ =
          stowage_q8_stored(stowage_q8_scale((int32_t)sum, layer->factor.mantissa, layer->factor.shift),
                            layer->output_zero, layer->output_flip);
    }
  }
}

void stowage_q8_mean_add(const stowage_q8_mean_layer *layer, const uint8_t *row, int32_t in_plane,
                         int32_t count, int32_t *sums) {
  int32_t c, x;
  for (c = 0; c < layer->channels; c++, row += in_plane)
    for (x = 0; x < count; x++)
      sums[c] = stowage_add_wrapping(sums[c], (int32_t)(row[x] ^ layer->flip) - layer->input_zero);
}

void stowage_q8_mean_end(const stowage_q8_mean_layer *layer, const int32_t *sums, uint8_t *output) {
  int32_t c;
  for (c = 0; c < layer->channels; c++)
    output[c] = stowage_q8_stored(stowage_q8_scale(sums[c], layer->factor.mantissa, layer->factor.shift),
                                  layer->output_zero, layer->flip);
}

void stowage_q8_mean(const stowage_q8_mean_layer *layer, const uint8_t *input, int32_t count,
                     uint8_t *output) {
  stowage_q8_mean_layer one = *layer;
  int32_t c;
  one.channels = 1;
  for (c = 0; c < layer->channels; c++) {
    int32_t sum = 0;
    stowage_q8_mean_add(&one, input + c * count, count, count, &sum);
    stowage_q8_mean_end(&one, &sum, output + c);
  }
}
