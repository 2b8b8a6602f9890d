/* SPDX-License-Identifier: Apache-2.0 */
/* L2_NORMALIZATION of uint8. */
#include <stdint.h>

#define UNIT_LENGTH stowage_unit_length_u8
#define MIDDLE 128
#define BEFORE 128
#define BITS 0
#define LEAST 0
#define MOST UINT8_MAX

typedef uint8_t element;

#include "stowage_unit_length.h"
