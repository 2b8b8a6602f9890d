/* SPDX-License-Identifier: Apache-2.0 */
/* RESIZE_BILINEAR of integers in units of 1/1024, for a file that defines the types `element` and `total` (of sums), and
 * the macro BILINEAR, the name. */
#ifndef STOWAGE_INTEGER_BILINEAR_H
#define STOWAGE_INTEGER_BILINEAR_H

#include "stowage_kernels.h"

typedef int32_t number;
typedef stowage_resize_integer_layer resize_layer;

static element mixed(total a, total b, total c, total d, number y, number x) {
  enum { unit = 1024 };
  const total half = unit * unit / 2;
  const total sum = a * (unit - y) * (unit - x) + b * y * (unit - x) + c * (unit - y) * x + d * y * x;
  return (element)((sum + (sum > 0 ? half : -half)) / (unit * unit));
}

#include "stowage_bilinear.h"

#endif
