/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that a plan moves between memories. Most rows move never or twice, so their stays are looked through. */
#include <string.h>

#include "stowage_kernels.h"

/* The number of the stay that a block is in. */
static uint32_t stay_of(const stowage_moving *moving, int32_t now, int32_t block) {
  uint32_t stay = (uint32_t)block;
  if (moving->first == NULL) return stay;
  stay = moving->first[block];
  while (stay + 1U < moving->first[block + 1] && moving->until[stay] <= now) stay++;
  return stay;
}

static uint8_t *place_of(uint8_t *const *memory, const stowage_moving *moving, uint32_t stay) {
  return (uint8_t *)stowage_row(memory, &moving->places[moving->in[stay]], (int32_t)stay);
}

void *stowage_row_now(uint8_t *const *memory, const stowage_moving *moving, int32_t now, int32_t row) {
  const int32_t block = row / moving->granule;
  const int32_t within = row % moving->granule;
  return place_of(memory, moving, stay_of(moving, now, block)) + (uint32_t)within * moving->row_bytes;
}

void stowage_window_now(uint8_t *const *memory, const stowage_moving *moving, int32_t now, int32_t first,
                        int32_t taps, int32_t dilation, const void **rows) {
  int32_t k;
  for (k = 0; k < taps; k++) {
    const int32_t row = first + k * dilation;
    rows[k] = row >= 0 && row < moving->rows ? stowage_row_now(memory, moving, now, row) : NULL;
  }
}

void stowage_move_rows(uint8_t *const *memory, const stowage_moving *moving, int32_t now, int32_t row,
                       int32_t count) {
  const int32_t end = row + count < moving->rows ? row + count : moving->rows;
  for (; row < end; row += moving->granule) {
    const uint32_t stay = stay_of(moving, now, row / moving->granule);
    const int32_t rows = end - row < moving->granule ? end - row : moving->granule;
    memcpy(place_of(memory, moving, stay + 1U), place_of(memory, moving, stay),
           (size_t)rows * moving->row_bytes);
  }
}

const void *stowage_constant_now(uint8_t *const *memory, const stowage_moving *moving, int32_t now,
                                 const void *home) {
  const uint32_t stay = stay_of(moving, now, 0);
  return moving->in[stay] == stowage_stays_at_home ? home : place_of(memory, moving, stay);
}

void stowage_stage(uint8_t *const *memory, const stowage_moving *moving, int32_t now, const void *home) {
  memcpy(place_of(memory, moving, stay_of(moving, now, 0)), home, moving->row_bytes);
}
