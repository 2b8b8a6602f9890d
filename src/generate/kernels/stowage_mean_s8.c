/* SPDX-License-Identifier: Apache-2.0 */
/* MEAN and SUM of int8. */
#include <stdint.h>

#define MEAN(name) stowage_##name##_s8
#define LEAST INT8_MIN
#define MOST INT8_MAX

typedef int8_t element;

#include "stowage_mean.h"
