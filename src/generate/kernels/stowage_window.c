/* SPDX-License-Identifier: Apache-2.0 */
#include "stowage_kernels.h"

void stowage_window(uint8_t *const *memory, const stowage_place *place, int32_t first, int32_t taps,
                    int32_t dilation, const void **rows) {
  int32_t k;
  for (k = 0; k < taps; k++) {
    const int32_t row = first + k * dilation;
    rows[k] = row >= 0 && row < place->rows ? stowage_row(memory, place, row) : NULL;
  }
}

void stowage_window_of_blocks(uint8_t *const *memory, const stowage_place *blocks, int32_t count,
                              int32_t first, int32_t taps, int32_t dilation, const void **rows) {
  int32_t k, b;
  for (k = 0; k < taps; k++) {
    for (b = 0; b < count; b++) stowage_window(memory, &blocks[b], first + k * dilation, 1, 1, rows++);
  }
}

void stowage_window_in(const void *image, int32_t pitch, int32_t image_rows, int32_t first, int32_t taps,
                       int32_t dilation, const void **rows) {
  int32_t k;
  for (k = 0; k < taps; k++) {
    const int32_t row = first + k * dilation;
    rows[k] = row >= 0 && row < image_rows ? (const uint8_t *)image + row * pitch : NULL;
  }
}

void stowage_advance_rows(const void **rows, int32_t taps, int32_t bytes) {
  int32_t k;
  for (k = 0; k < taps; k++) {
    if (rows[k] != NULL) rows[k] = (const uint8_t *)rows[k] + bytes;
  }
}
