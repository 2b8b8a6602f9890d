/* SPDX-License-Identifier: Apache-2.0 */
/* RESIZE_BILINEAR of int8, in units of 1/1024. */
#include "stowage_kernels.h"

#define BILINEAR stowage_resize_bilinear_s8

typedef int8_t element;
typedef int32_t total;

#include "stowage_integer_bilinear.h"
