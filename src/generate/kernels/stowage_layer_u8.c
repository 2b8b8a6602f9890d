/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of uint8, whose weights may have a zero point. */
#include "stowage_windows.h"

#define LAYER(name) stowage_##name##_u8

typedef uint8_t element;
typedef uint8_t weight;
typedef uint32_t total;
typedef int32_t bias;

static int32_t scaled(total sum, int32_t multiplier, int32_t shift) {
  return stowage_scale((int32_t)sum, multiplier, shift);
}

#include "stowage_layer.h"
