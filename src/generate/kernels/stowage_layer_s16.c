/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of int16 with weights of int8 and biases of 64 bits. */
#include "stowage_windows.h"

#define LAYER(name) stowage_##name##_s16

typedef int16_t element;
typedef int8_t weight;
typedef uint64_t total;
typedef int64_t bias;

static int32_t scaled(total sum, int32_t multiplier, int32_t shift) {
  return stowage_scale_wide((int64_t)sum, multiplier, shift);
}

#include "stowage_layer.h"
