/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are computed again. Whoever reads one finds it a few steps back: few rows wait. */
#include "stowage_kernels.h"

void *stowage_next_row_again(uint8_t *const *memory, const stowage_again *again, int32_t done, int32_t row) {
  return stowage_row(memory, again->place, done * again->granule + row % again->granule);
}

void *stowage_row_again(uint8_t *const *memory, const stowage_again *again, int32_t done, int32_t row) {
  const int32_t block = row / again->granule;
  do done--;
  while (done > 0 && again->blocks[done] != block);
  return stowage_next_row_again(memory, again, done, row);
}

void stowage_window_again(uint8_t *const *memory, const stowage_again *again, int32_t done, int32_t first,
                          int32_t taps, int32_t dilation, const void **rows) {
  int32_t k;
  for (k = 0; k < taps; k++) {
    const int32_t row = first + k * dilation;
    rows[k] = row >= 0 && row < again->rows ? stowage_row_again(memory, again, done, row) : NULL;
  }
}
