/* SPDX-License-Identifier: Apache-2.0 */
/* RESIZE_BILINEAR of float32. */
#include "stowage_kernels.h"

#define BILINEAR stowage_resize_bilinear_f32

typedef float element;
typedef float number;
typedef stowage_resize_f32_layer resize_layer;

static element mixed(float a, float b, float c, float d, number y, number x) {
  return a * (1.0F - y) * (1.0F - x) + b * y * (1.0F - x) + c * (1.0F - y) * x + d * y * x;
}

#include "stowage_bilinear.h"
