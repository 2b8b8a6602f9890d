/* SPDX-License-Identifier: Apache-2.0 */
/* Each element of the output, in order, is one of the input. */
#include <string.h>

#include "stowage_kernels.h"

/* Goes on to the next element of the output; 0 behind the last one. */
static int to_next(const stowage_mirror_shape *shape, int32_t *index) {
  int32_t d;
  for (d = shape->dimensions - 1; d >= 0; d--) {
    if (++index[d] < shape->extent[d] + shape->after[d]) return 1;
    index[d] = -shape->before[d];
  }
  return 0;
}

void stowage_mirror_pad(const stowage_mirror_shape *shape, const void *input, void *output) {
  uint8_t *to = (uint8_t *)output;
  int32_t index[stowage_most_dimensions];
  int32_t d;
  for (d = 0; d < shape->dimensions; d++) index[d] = -shape->before[d];
  do {
    int32_t place = 0;
    for (d = 0; d < shape->dimensions; d++)
      place = place * shape->extent[d] + stowage_mirrored(index[d], shape->extent[d], shape->edge);
    memcpy(to, (const uint8_t *)input + (size_t)place * shape->element, shape->element);
    to += shape->element;
  } while (to_next(shape, index));
}
