/* SPDX-License-Identifier: Apache-2.0 */
/* Where tensors are in memory, and fixed-point numbers: what all kernels build on. */
#ifndef STOWAGE_PLACES_H
#define STOWAGE_PLACES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For inner loops: registers are then theirs alone; or what they sum up stays in registers. */
#ifdef __GNUC__
#define STOWAGE_APART __attribute__((noinline))
#define STOWAGE_WITHIN inline __attribute__((always_inline))
#else
#define STOWAGE_APART
#define STOWAGE_WITHIN inline
#endif

/* Places */

/* Where the rows of a tensor are. Row r begins at offset + slot * pitch of the memory, where slot is slots[r], or
 * r % ring if there is no list of slots. */
typedef struct {
  const void *slots; /* uint16_t if they are wide, else uint8_t */
  uint32_t offset;
  uint32_t pitch; /* bytes */
  int32_t rows;
  uint16_t ring;
  uint8_t memory;
  uint8_t is_wide;
} stowage_place;

static inline uint32_t stowage_slot(const stowage_place *place, uint32_t row) {
  if (place->slots == NULL) return row < place->ring ? row : row % place->ring;
  return place->is_wide ? ((const uint16_t *)place->slots)[row] : ((const uint8_t *)place->slots)[row];
}

/* The same place of another number of rows. */
static inline stowage_place stowage_with_rows(const stowage_place *place, int32_t rows) {
  stowage_place it = *place;
  it.rows = rows;
  return it;
}

static inline void *stowage_row(uint8_t *const *memory, const stowage_place *place, int32_t row) {
  return memory[place->memory] + place->offset + stowage_slot(place, (uint32_t)row) * place->pitch;
}

/* The rows under a window; null where there are none. */
void stowage_window(uint8_t *const *memory, const stowage_place *place, int32_t first, int32_t taps,
                    int32_t dilation, const void **rows);
/* The same for a tensor that is stored in blocks: the row of each block, for each tap. */
void stowage_window_of_blocks(uint8_t *const *memory, const stowage_place *blocks, int32_t count,
                              int32_t first, int32_t taps, int32_t dilation, const void **rows);
/* The same for an image with rows of `pitch` bytes, one after the other. */
void stowage_window_in(const void *image, int32_t pitch, int32_t image_rows, int32_t first, int32_t taps,
                       int32_t dilation, const void **rows);
/* To the next image of a batch, if a row has parts of all images. */
void stowage_advance_rows(const void **rows, int32_t taps, int32_t bytes);

/* Bytes, which may overlap; nothing is done if they are in their place. */
void stowage_copy(void *to, const void *from, size_t bytes);

/* Rows that are computed again. The place has those of all steps, in their order; step k computes row block blocks[k].
 * `done` steps have run. */
typedef struct {
  const stowage_place *place;
  const uint16_t *blocks;
  uint16_t granule; /* rows of a block */
  uint16_t rows;
} stowage_again;

/* The row as it was computed last, and as the next step computes it. */
void *stowage_row_again(uint8_t *const *memory, const stowage_again *again, int32_t done, int32_t row);
void *stowage_next_row_again(uint8_t *const *memory, const stowage_again *again, int32_t done, int32_t row);
void stowage_window_again(uint8_t *const *memory, const stowage_again *again, int32_t done, int32_t first,
                          int32_t taps, int32_t dilation, const void **rows);

/* Rows [begin, end) of its input that a step adds to a row of its output. */
typedef struct {
  uint16_t begin;
  uint16_t end;
  uint8_t is_first; /* else the row has the sums so far */
} stowage_part;

/* Rows that move between memories, in blocks of `granule` rows. Block b has the stays first[b] to first[b + 1] - 1, one
 * after the other; it leaves stay k when until[k] steps have run. Without these
 * lists each block has one stay. Its place is row k of places[in[k]]. */
typedef struct {
  const uint16_t *first;
  const uint16_t *until;
  const uint8_t *in;
  const stowage_place *places; /* one for each memory */
  uint32_t row_bytes;
  uint16_t granule;
  uint16_t rows;
} stowage_moving;

/* The row when `now` steps have run. */
void *stowage_row_now(uint8_t *const *memory, const stowage_moving *moving, int32_t now, int32_t row);
void stowage_window_now(uint8_t *const *memory, const stowage_moving *moving, int32_t now, int32_t first,
                        int32_t taps, int32_t dilation, const void **rows);
/* Constants that are staged: a copy of `home` is in another memory for some of the time. */
enum { stowage_stays_at_home = 255 }; /* in stowage_moving::in */
const void *stowage_constant_now(uint8_t *const *memory, const stowage_moving *moving, int32_t now,
                                 const void *home);
void stowage_stage(uint8_t *const *memory, const stowage_moving *moving, int32_t now, const void *home);
/* Copies rows from where they are to their next stay. */
void stowage_move_rows(uint8_t *const *memory, const stowage_moving *moving, int32_t now, int32_t row,
                       int32_t count);

/* Fixed point */

/* A real factor: multiplier / 2^31 * 2^shift. The multiplier is not negative. */
typedef struct {
  int32_t multiplier;
  int32_t shift;
} stowage_factor;

static inline int32_t stowage_add_wrapping(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a + (uint32_t)b);
}
static inline int32_t stowage_mul_wrapping(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a * (uint32_t)b);
}

/* x / 2^bits, rounded to the nearest, halves away from zero. Not for 0 bits, nor for the least and greatest numbers.
 */
static inline int32_t stowage_divide(int32_t x, int32_t bits) {
  return (((x + (x >> 31)) >> (bits - 1)) + 1) >> 1;
}

/* a * b / 2^31, rounded to the nearest. Not both may be the least number. If b is not negative, the result is neither
 * the least number nor the greatest. */
static inline int32_t stowage_multiply_high(int32_t a, int32_t b) {
  return (int32_t)(((int64_t)a * b + (INT64_C(1) << 30)) >> 31);
}

static inline int32_t stowage_scale(int32_t x, int32_t multiplier, int32_t shift) {
  if (shift >= 0) return stowage_multiply_high((int32_t)((uint32_t)x << shift), multiplier);
  return stowage_divide(stowage_multiply_high(x, multiplier), -shift);
}

/* The same for a sum of 64 bits, rounded once: of the multiplier 15 bits count. */
static inline int32_t stowage_scale_wide(int64_t x, int32_t multiplier, int32_t shift) {
  const int32_t fraction = multiplier < 0x7FFF0000 ? (multiplier + (1 << 15)) >> 16 : 0x7FFF;
  const int32_t bits = 15 - shift;
  const uint64_t product = (uint64_t)x * (uint64_t)fraction;
  return (int32_t)((int64_t)(product + (UINT64_C(1) << (bits - 1))) >> bits);
}

static inline int32_t stowage_clamp(int32_t x, int32_t least, int32_t most) {
  return x < least ? least : (x > most ? most : x);
}

static inline float stowage_clamp_f32(float x, float least, float most) {
  const float above = x < least ? least : x;
  return most < above ? most : above;
}

#ifdef __cplusplus
}
#endif

#endif
