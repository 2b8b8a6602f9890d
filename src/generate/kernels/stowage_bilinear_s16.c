/* SPDX-License-Identifier: Apache-2.0 */
/* RESIZE_BILINEAR of int16, in units of 1/1024. */
#include "stowage_kernels.h"

#define BILINEAR stowage_resize_bilinear_s16

typedef int16_t element;
typedef int64_t total;

#include "stowage_integer_bilinear.h"
