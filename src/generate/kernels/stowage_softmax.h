/* SPDX-License-Identifier: Apache-2.0 */
/* SOFTMAX, for a file that defines the type `element` of 8 bits, its limits LEAST and MOST, and the names SOFTMAX
 * and SOFTMAX_TO_S16. Exponentials come from a table; their sum has 12 integer bits, and its reciprocal is found
 * by Newton's method in fixed point. Source: gemmlowp's fixed-point arithmetic. */
#ifndef STOWAGE_SOFTMAX_H
#define STOWAGE_SOFTMAX_H

#include "stowage_kernels.h"

enum { sum_bits = 12 };

/* 1 / sum = fraction / 2^31 / 2^shift, the fraction from 1/2 to 1. */
typedef struct {
  int32_t fraction;
  int32_t shift;
} reciprocal;

static int32_t shift_left_saturating(int32_t x, int32_t bits) {
  const int32_t most = INT32_MAX >> bits;
  const int32_t least = INT32_MIN >> bits;
  return x > most ? INT32_MAX : (x < least ? INT32_MIN : (int32_t)((uint32_t)x << bits));
}

static reciprocal reciprocal_of(int32_t sum) {
  const int32_t one_with_2_bits = INT32_C(1) << 29;
  uint32_t bits = (uint32_t)sum;
  reciprocal result;
  int32_t free_bits = 0, half_denominator, x, i;
  while (free_bits < 32 && (bits & UINT32_C(0x80000000)) == 0U) {
    bits <<= 1;
    free_bits++;
  }
  half_denominator = (int32_t)(((int64_t)(int32_t)(bits - UINT32_C(0x80000000)) + INT32_MAX + 1) / 2);
  x = INT32_C(1515870810) + stowage_multiply_high(half_denominator, INT32_C(-1010580540));
  for (i = 0; i < 3; i++) {
    const int32_t rest = one_with_2_bits - stowage_multiply_high(half_denominator, x);
    x += shift_left_saturating(stowage_multiply_high(x, rest), 2);
  }
  result.fraction = shift_left_saturating(x, 1);
  result.shift = sum_bits - free_bits;
  return result;
}

/* The reciprocal of the sum of all exponentials; `largest` is the largest number. */
static reciprocal sum_up(const stowage_softmax_layer *layer, const element *input, int32_t count,
                         int32_t *largest) {
  int32_t sum = 0, i;
  *largest = LEAST;
  for (i = 0; i < count; i++) {
    if (input[i] > *largest) *largest = input[i];
  }
  for (i = 0; i < count; i++) {
    const int32_t below = *largest - input[i];
    if (below < layer->exponentials)
      sum = stowage_add_wrapping(sum, stowage_divide(layer->exponential[below], sum_bits));
  }
  return reciprocal_of(sum);
}

static int32_t quotient(const stowage_softmax_layer *layer, reciprocal by, int32_t below, int32_t shift) {
  if (below >= layer->exponentials || shift > 31) return 0;
  return stowage_divide(stowage_multiply_high(by.fraction, layer->exponential[below]), shift);
}

void SOFTMAX(const stowage_softmax_layer *layer, const element *input, element *output, int32_t count) {
  int32_t largest, i;
  const reciprocal by = sum_up(layer, input, count, &largest);
  for (i = 0; i < count; i++) {
    const int32_t result = quotient(layer, by, largest - input[i], by.shift + 23);
    output[i] = (element)stowage_clamp(result + LEAST, LEAST, MOST);
  }
}

void SOFTMAX_TO_S16(const stowage_softmax_layer *layer, const element *input, int16_t *output,
                    int32_t count) {
  int32_t largest, i;
  const reciprocal by = sum_up(layer, input, count, &largest);
  for (i = 0; i < count; i++) {
    const int32_t result = quotient(layer, by, largest - input[i], by.shift + 15);
    output[i] = (int16_t)stowage_clamp(result + INT16_MIN, INT16_MIN, INT16_MAX);
  }
}

#endif
