/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of uint8. Averages round halves away from zero. */
#include "stowage_windows.h"

#define POOL(name) stowage_##name##_u8
#define LEAST 0

typedef uint8_t element;

#include "stowage_integer_pool.h"
