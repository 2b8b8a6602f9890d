/* SPDX-License-Identifier: Apache-2.0 */
/* SOFTMAX of int8. */
#include <stdint.h>

#define SOFTMAX stowage_softmax_s8
#define SOFTMAX_TO_S16 stowage_softmax_s8_s16
#define LEAST INT8_MIN
#define MOST INT8_MAX

typedef int8_t element;

#include "stowage_softmax.h"
