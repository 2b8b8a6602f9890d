/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of int16. Averages round halves away from zero. */
#include "stowage_windows.h"

#define POOL(name) stowage_##name##_s16
#define LEAST INT16_MIN

typedef int16_t element;

#include "stowage_integer_pool.h"
