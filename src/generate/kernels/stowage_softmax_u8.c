/* SPDX-License-Identifier: Apache-2.0 */
/* SOFTMAX of uint8. */
#include <stdint.h>

#define SOFTMAX stowage_softmax_u8
#define SOFTMAX_TO_S16 stowage_softmax_u8_s16
#define LEAST 0
#define MOST UINT8_MAX

typedef uint8_t element;

#include "stowage_softmax.h"
