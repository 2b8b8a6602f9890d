/* SPDX-License-Identifier: Apache-2.0 */
/* MEAN and SUM of int16. */
#include <stdint.h>

#define MEAN(name) stowage_##name##_s16
#define LEAST INT16_MIN
#define MOST INT16_MAX

typedef int16_t element;

#include "stowage_mean.h"
