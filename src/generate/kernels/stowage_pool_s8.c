/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of int8. Averages round halves away from zero. */
#include "stowage_windows.h"

#define POOL(name) stowage_##name##_s8
#define LEAST INT8_MIN

typedef int8_t element;

#include "stowage_integer_pool.h"
