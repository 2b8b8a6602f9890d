/* SPDX-License-Identifier: Apache-2.0 */
/* MEAN and SUM of uint8. */
#include <stdint.h>

#define MEAN(name) stowage_##name##_u8
#define LEAST 0
#define MOST UINT8_MAX

typedef uint8_t element;

#include "stowage_mean.h"
