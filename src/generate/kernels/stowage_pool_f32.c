/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of float32. */
#include <float.h>

#include "stowage_windows.h"

#define POOL(name) stowage_##name##_f32
#define LEAST (-FLT_MAX)

typedef float element;
typedef float total;
typedef stowage_pool_f32_layer pool_layer;

static element limited(const pool_layer *layer, total number) {
  return stowage_clamp_f32(number, layer->least, layer->most);
}

static element average(const pool_layer *layer, total sum, int32_t count) {
  return limited(layer, sum / (total)count);
}

#include "stowage_pool.h"
