/* SPDX-License-Identifier: Apache-2.0 */
/* L2_NORMALIZATION of int8. */
#include <stdint.h>

#define UNIT_LENGTH stowage_unit_length_s8
#define MIDDLE 0
#define BEFORE 1
#define BITS 7
#define LEAST INT8_MIN
#define MOST INT8_MAX

typedef int8_t element;

#include "stowage_unit_length.h"
