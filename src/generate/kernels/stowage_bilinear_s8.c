/* SPDX-License-Identifier: Apache-2.0 */
/* RESIZE_BILINEAR of int8, in units of 1/1024. */
#include "stowage_kernels.h"

#define BILINEAR stowage_resize_bilinear_s8

typedef int8_t element;
typedef int32_t number;
typedef int32_t total;
typedef stowage_resize_integer_layer resize_layer;

static element mixed(total a, total b, total c, total d, number y, number x) {
  enum { unit = 1024 };
  const total half = unit * unit / 2;
  const total sum = a * (unit - y) * (unit - x) + b * y * (unit - x) + c * (unit - y) * x + d * y * x;
  return (element)((sum + (sum > 0 ? half : -half)) / (unit * unit));
}

#include "stowage_bilinear.h"
