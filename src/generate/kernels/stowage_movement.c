/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that only move elements. */
#include <string.h>

#include "stowage_kernels.h"

void stowage_copy_runs(const void *input, size_t input_stride, void *output, size_t output_stride, size_t run,
                       int32_t runs) {
  const uint8_t *from = (const uint8_t *)input;
  uint8_t *to = (uint8_t *)output;
  for (; runs > 0; runs--, from += input_stride, to += output_stride) {
    stowage_copy(to, from, run);
  }
}

/* Elements with a distance between them, one after the other. */
static void gather(uint8_t *to, const uint8_t *from, ptrdiff_t stride, int32_t count, uint32_t element) {
  if (stride == (ptrdiff_t)element) {
    stowage_copy(to, from, (size_t)count * element);
  } else if (element == 1U) {
    for (; count > 0; count--, from += stride) *to++ = *from;
  } else if (element == 4U) {
    for (; count > 0; count--, from += stride, to += 4) memcpy(to, from, 4);
  } else {
    for (; count > 0; count--, from += stride, to += element) memcpy(to, from, element);
  }
}

void stowage_move(const stowage_move_shape *shape, const void *input, void *output) {
  const uint8_t *const from = (const uint8_t *)input;
  uint8_t *to = (uint8_t *)output;
  const int32_t last = shape->dimensions - 1;
  int32_t index[stowage_most_dimensions] = {0};
  int32_t place = shape->begin, d;
  do {
    gather(to, from + (size_t)place * shape->element,
           (ptrdiff_t)shape->stride[last] * (ptrdiff_t)shape->element, shape->extent[last], shape->element);
    to += (size_t)shape->extent[last] * shape->element;
    for (d = last - 1; d >= 0; d--) {
      place += shape->stride[d];
      if (++index[d] < shape->extent[d]) break;
      place -= index[d] * shape->stride[d];
      index[d] = 0;
    }
  } while (d >= 0);
}

void stowage_fill(const stowage_pad_shape *shape, void *output, int32_t count) {
  uint8_t *to = (uint8_t *)output;
  if (shape->element == 1U) {
    memset(to, shape->fill[0], (size_t)count);
    return;
  }
  for (; count > 0; count--, to += shape->element) memcpy(to, shape->fill, shape->element);
}

/* One row with what is before and after it; the row is null in the padding. */
static uint8_t *padded_row(const stowage_pad_shape *shape, const uint8_t *row, uint8_t *to) {
  const uint32_t run = (uint32_t)shape->columns * shape->element;
  const uint32_t before = (uint32_t)shape->columns_before * shape->element;
  const uint32_t after = (uint32_t)shape->columns_after * shape->element;
  if (row == NULL) {
    stowage_fill(shape, to, shape->columns_before + shape->columns + shape->columns_after);
  } else {
    stowage_copy(to + before, row, run);
    stowage_fill(shape, to, shape->columns_before);
    stowage_fill(shape, to + before + run, shape->columns_after);
  }
  return to + before + run + after;
}

void stowage_pad(const stowage_pad_shape *shape, const void *input, void *output) {
  const uint32_t run = (uint32_t)shape->columns * shape->element;
  const uint8_t *from = (const uint8_t *)input;
  uint8_t *to = (uint8_t *)output;
  int32_t plane, row;
  for (plane = -shape->planes_before; plane < shape->planes + shape->planes_after; plane++) {
    const int is_plane = plane >= 0 && plane < shape->planes;
    for (row = -shape->rows_before; row < shape->rows + shape->rows_after; row++) {
      const int is_row = is_plane && row >= 0 && row < shape->rows;
      to = padded_row(shape, is_row ? from : NULL, to);
      if (is_row) from += run;
    }
  }
}
