/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of 8 bits whose scales are known only when they are there, and sums of products of such numbers. */
#include "stowage_dynamic.h"

void stowage_dynamic_quantize(const float *input, int32_t count, uint8_t *output, float *scale,
                              uint8_t *zero) {
  float low = 0.0F, high = 0.0F;
  stowage_byte_range range;
  stowage_widen(&low, &high, input, count);
  range = stowage_range_of(low, high);
  for (; count > 0; count--) *output++ = (uint8_t)stowage_byte_of(&range, *input++);
  if (scale != NULL) *scale = range.scale;
  if (zero != NULL) *zero = (uint8_t)range.zero;
}

static int32_t number(uint8_t byte, uint8_t flip) { return (int32_t)(byte ^ flip) - (int32_t)flip; }

static int32_t zero_at(const uint8_t *zeros, int32_t i, uint8_t flip) {
  return zeros == NULL ? 0 : number(zeros[i], flip);
}

/* Adds a number times a row of numbers. */
static void add_row(int32_t x, const uint8_t *row, uint8_t flip, int32_t count, int32_t *sums) {
  int32_t i;
  if (flip != 0) {
    for (i = 0; i < count; i++) sums[i] += x * ((int32_t)(row[i] ^ 128U) - 128);
  } else {
    for (i = 0; i < count; i++) sums[i] += x * (int32_t)row[i];
  }
}

void stowage_integer_product(const stowage_integer_product_layer *layer, const uint8_t *left,
                             const uint8_t *left_zero, const uint8_t *right, const uint8_t *right_zeros,
                             int32_t *output) {
  const int32_t terms = layer->terms, columns = layer->columns;
  const int32_t zero = zero_at(left_zero, 0, layer->left_flip);
  int32_t row, i;
  for (row = 0; row < layer->rows; row++, left += terms, output += columns) {
    int32_t sum = 0;
    for (i = 0; i < columns; i++) output[i] = 0;
    for (i = 0; i < terms; i++) {
      const int32_t x = number(left[i], layer->left_flip) - zero;
      sum += x;
      add_row(x, right + i * columns, layer->right_flip, columns, output);
    }
    for (i = 0; right_zeros != NULL && i < columns; i++)
      output[i] -= sum * zero_at(right_zeros, i * layer->zero_step, layer->right_flip);
  }
}

/* Adds a weight times all numbers of a row that are under it; it is `offset` from the first place of the window. */
static void add_tap(const stowage_integer_conv_layer *layer, const uint8_t *row, int32_t zero, int32_t weight,
                    int32_t offset, int32_t *sums) {
  const stowage_window_shape *const it = &layer->shape;
  int32_t x = offset >= 0 ? 0 : (it->stride - 1 - offset) / it->stride;
  for (; x < it->out_width && x * it->stride + offset < it->in_width; x++)
    sums[x] += weight * (number(row[x * it->stride + offset], layer->input_flip) - zero);
}

void stowage_integer_conv(const stowage_integer_conv_layer *layer, const void *const *rows,
                          const uint8_t *input_zero, int32_t *output) {
  const stowage_window_shape *const it = &layer->shape;
  const int32_t inputs = it->in_channels / layer->groups, of_group = it->out_channels / layer->groups;
  const int32_t zero = zero_at(input_zero, 0, layer->input_flip);
  const uint8_t *weight = layer->weights;
  int32_t channel, i, high, wide;
  for (channel = 0; channel < it->out_channels; channel++, output += layer->out_plane) {
    const int32_t weights_zero = zero_at(layer->zeros, channel * layer->zero_step, layer->weights_flip);
    for (i = 0; i < it->out_width; i++) output[i] = 0;
    for (i = 0; i < inputs; i++) {
      for (high = 0; high < it->taps_high; high++) {
        const uint8_t *const row = (const uint8_t *)rows[high];
        for (wide = 0; wide < it->taps_wide; wide++, weight++)
          if (row != NULL)
            add_tap(layer, row + (channel / of_group * inputs + i) * layer->in_plane, zero,
                    number(*weight, layer->weights_flip) - weights_zero, wide * it->dilation - it->before,
                    output);
      }
    }
  }
}
