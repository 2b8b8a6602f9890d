/* SPDX-License-Identifier: Apache-2.0 */
/* L2_NORMALIZATION of numbers of 8 bits, for a file that defines the type `element`, its limits LEAST and MOST, MIDDLE,
 * which stands for 0, the name UNIT_LENGTH, and how 128 comes in: BEFORE the factor, or by BITS of it. Results are in
 * units of 1/128. */
#ifndef STOWAGE_UNIT_LENGTH_H
#define STOWAGE_UNIT_LENGTH_H

#include "stowage_kernels.h"

/* x * 2^bits, at most the greatest number. */
static int32_t shifted(int32_t x, int32_t bits) {
  return x > INT32_MAX >> bits ? INT32_MAX : (int32_t)((uint32_t)x << bits);
}

/* 1 / sqrt(x): Newton's iteration from 1, five times, with 28 bits behind the point. */
static stowage_factor inverse_root(int32_t x) {
  const int32_t three_halves = (1 << 28) + (1 << 27), half_root_of_2 = 1518500250;
  stowage_factor result = {INT32_MAX, 0};
  int32_t root = 1 << 28, shift = 11, i;
  if (x <= 1) return result;
  for (; x >= 1 << 29; shift++) x /= 4;
  for (; x < 1 << 27; shift--) x *= 4;
  x = ((x >> 1) + 1) >> 1;
  for (i = 0; i < 5; i++) {
    const int32_t cube = shifted(stowage_multiply_high(stowage_multiply_high(root, root), root), 6);
    root = shifted(stowage_multiply_high(three_halves, root) - stowage_multiply_high(x, cube), 3);
  }
  root = stowage_multiply_high(root, half_root_of_2);
  result.multiplier = shift < 0 ? (int32_t)((uint32_t)root << -shift) : root;
  result.shift = shift < 0 ? 0 : -shift;
  return result;
}

void UNIT_LENGTH(int32_t zero, const element *input, element *output, int32_t runs, int32_t count) {
  int32_t run, i;
  for (run = 0; run < runs; run++, input += count, output += count) {
    int32_t squares = 0;
    stowage_factor factor;
    for (i = 0; i < count; i++) squares += (input[i] - zero) * (input[i] - zero);
    factor = inverse_root(squares);
    for (i = 0; i < count; i++) {
      const int32_t steps = stowage_scale((input[i] - zero) * BEFORE, factor.multiplier, factor.shift + BITS);
      output[i] = (element)stowage_clamp(steps + MIDDLE, LEAST, MOST);
    }
  }
}

#endif
