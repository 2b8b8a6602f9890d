/* SPDX-License-Identifier: Apache-2.0 */
/* Slices whose begins and steps are computed. What is out of range is zeros. */
#include <string.h>

#include "stowage_kernels.h"

/* As far as it matters: further ones are behind the ends. */
static int64_t clamped(int64_t number, int64_t least, int64_t most) {
  return number < least ? least : number > most ? most : number;
}

static int64_t step_of(const stowage_slice_shape *shape, const int64_t *steps, int32_t d) {
  return clamped(steps[d], -(int64_t)shape->extent[d] - 1, (int64_t)shape->extent[d] + 1);
}

static int64_t begin_of(const stowage_slice_shape *shape, const int64_t *begins, int64_t step, int32_t d) {
  const int64_t extent = shape->extent[d];
  const int64_t least = step < 0 ? -1 : 0;
  const int64_t given = clamped(begins[d], -extent - 1, extent);
  return clamped(given < 0 ? given + extent : given, least, step < 0 ? extent - 1 : extent);
}

void stowage_slice(const stowage_slice_shape *shape, const int64_t *begins, const int64_t *steps,
                   const void *input, void *output) {
  const uint8_t *const from = (const uint8_t *)input;
  uint8_t *to = (uint8_t *)output;
  int32_t index[stowage_most_dimensions] = {0};
  int32_t d;
  do {
    int64_t place = 0;
    int is_in = 1;
    for (d = 0; d < shape->dimensions; d++) {
      const int64_t step = step_of(shape, steps, d);
      const int64_t at = begin_of(shape, begins, step, d) + index[d] * step;
      is_in = is_in && at >= 0 && at < shape->extent[d];
      place = place * shape->extent[d] + at;
    }
    if (is_in) {
      memcpy(to, from + (size_t)place * shape->bytes, shape->bytes);
    } else {
      memset(to, 0, shape->bytes);
    }
    to += shape->bytes;
    for (d = shape->dimensions - 1; d >= 0; d--) {
      if (++index[d] < shape->count[d]) break;
      index[d] = 0;
    }
  } while (d >= 0);
}
