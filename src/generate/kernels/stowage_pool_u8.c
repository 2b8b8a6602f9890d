/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of uint8. Averages round halves away from zero. */
#include "stowage_windows.h"

#define POOL(name) stowage_##name##_u8
#define LEAST 0

typedef uint8_t element;
typedef int32_t total;
typedef stowage_pool_layer pool_layer;

static element limited(const pool_layer *layer, total number) {
  return (element)stowage_clamp(number, layer->least, layer->most);
}

static element average(const pool_layer *layer, total sum, int32_t count) {
  return limited(layer, (sum > 0 ? sum + count / 2 : sum - count / 2) / count);
}

#include "stowage_pool.h"
