/* SPDX-License-Identifier: Apache-2.0 */
/* RESIZE_BILINEAR of uint8, in single precision. */
#include "stowage_kernels.h"

#define BILINEAR stowage_resize_bilinear_u8

typedef uint8_t element;
typedef float number;
typedef stowage_resize_f32_layer resize_layer;

static element mixed(float a, float b, float c, float d, number y, number x) {
  const float mix = a * (1.0F - y) * (1.0F - x) + b * y * (1.0F - x) + c * (1.0F - y) * x + d * y * x;
  return (element)(mix + 0.5F);
}

#include "stowage_bilinear.h"
