/* Runs person_detect row by row, as its camera delivers lines; there is no frame buffer. Build it with the
 * files of
 *
 *     stowage generate person_detect.tflite --stream --io rows -o person_detect
 *     cc -std=c99 -Iperson_detect person_detect_rows.c person_detect/person_detect.c \
 *       person_detect/person_detect_weights.c person_detect/stowage_*.c -lm
 */
#include <stdio.h>

#include "person_detect.h"

/* A camera that sees a bright disc. */
static void read_camera_line(int8_t *pixels, int32_t line) {
  int32_t x;
  for (x = 0; x < PERSON_DETECT_INPUT_ROW_BYTES; x++) {
    const int32_t across = x - PERSON_DETECT_INPUT_ROW_BYTES / 2, down = line - PERSON_DETECT_INPUT_ROWS / 2;
    pixels[x] = across * across + down * down < 900 ? 100 : -100;
  }
}

int main(void) {
  static uint64_t memory[(PERSON_DETECT_ARENA_SIZE + PERSON_DETECT_ARENA_ALIGNMENT) / 8 + 1];
  const uintptr_t begin = (uintptr_t)memory + PERSON_DETECT_ARENA_ALIGNMENT - 1;
  void *const arena = (void *)(begin / PERSON_DETECT_ARENA_ALIGNMENT * PERSON_DETECT_ARENA_ALIGNMENT);
  person_detect_state state;
  person_detect_status status = person_detect_begin(&state, arena);
  while (status != PERSON_DETECT_DONE) {
    if (status == PERSON_DETECT_WANTS_ROW) {
      read_camera_line((int8_t *)person_detect_row(&state), person_detect_row_number(&state));
    } else {
      const int8_t *const scores = (const int8_t *)person_detect_row(&state);
      printf("no person %d, person %d\n", scores[0], scores[1]);
    }
    status = person_detect_advance(&state);
  }
  return 0;
}
