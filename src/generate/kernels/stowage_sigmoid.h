/* SPDX-License-Identifier: Apache-2.0 */
/* The sigmoid and the hyperbolic tangent of numbers in units of 1 / 12288, with 15 fraction bits, by lines between the
 * values of a table: 256 values of the sigmoid, at multiples of 1/24. */
#ifndef STOWAGE_SIGMOID_H
#define STOWAGE_SIGMOID_H

#include <stdint.h>

static inline int32_t stowage_sigmoid(const uint16_t *table, int32_t x) {
  const uint32_t distance = (uint32_t)(x < 0 ? -x : x);
  const uint32_t index = distance >> 9;
  uint32_t result = UINT32_C(0x7FFF) << 10;
  if (index < 255)
    result =
        ((uint32_t)table[index] << 9) + (distance & 0x1FFU) * ((uint32_t)table[index + 1] - table[index]);
  result = x >= 0 ? result + (1U << 9) : (1U << 25) - result + (1U << 9) - 1;
  return (int32_t)(result >> 10);
}

static inline int32_t stowage_tanh(const uint16_t *table, int32_t x) {
  const uint32_t distance = (uint32_t)(x < 0 ? -x : x);
  const uint32_t index = distance >> 8;
  const int32_t half = INT32_C(1) << 23;
  int32_t result = INT32_C(0xFFFF) << 8;
  if (index < 255)
    result = (int32_t)(((uint32_t)table[index] << 8) +
                       (distance & 0xFFU) * ((uint32_t)table[index + 1] - table[index]));
  result = x >= 0 ? result - half + (1 << 7) : -result + half + (1 << 7) - 1;
  return result >> 8;
}

#endif
