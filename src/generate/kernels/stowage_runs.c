/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that a table of runs puts in order. */
#include <string.h>

#include "stowage_kernels.h"

void stowage_copy_from_runs(const stowage_runs_shape *shape, const void *input, void *output) {
  const size_t bytes = (size_t)shape->count * shape->element;
  const uint8_t *const from = (const uint8_t *)input;
  uint8_t *to = (uint8_t *)output;
  int32_t run;
  size_t i;
  for (run = 0; run < shape->runs; run++, to += bytes) {
    if (shape->from[run] >= 0) {
      stowage_copy(to, from + (size_t)shape->from[run] * shape->element, bytes);
    } else {
      for (i = 0; i < bytes; i += shape->element) memcpy(to + i, shape->fill, shape->element);
    }
  }
}
