/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of integers, for a file that defines the type `element`, its least number LEAST, and the macro POOL, which makes
 * names. Averages round halves away from zero. */
#ifndef STOWAGE_INTEGER_POOL_H
#define STOWAGE_INTEGER_POOL_H

#include "stowage_windows.h"

typedef int32_t total;
typedef stowage_pool_layer pool_layer;

static element limited(const pool_layer *layer, total number) {
  return (element)stowage_clamp(number, layer->least, layer->most);
}

static element average(const pool_layer *layer, total sum, int32_t count) {
  return limited(layer, (sum > 0 ? sum + count / 2 : sum - count / 2) / count);
}

#include "stowage_pool.h"

#endif
