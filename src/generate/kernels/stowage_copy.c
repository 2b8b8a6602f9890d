/* SPDX-License-Identifier: Apache-2.0 */
/* Small C libraries copy byte by byte. */
#include <string.h>

#include "stowage_places.h"

#if defined(__ARM_FEATURE_MVE)

#include <arm_mve.h>

static void copy_forward(uint8_t *to, const uint8_t *from, size_t bytes) {
  for (; bytes > 16; bytes -= 16, from += 16, to += 16) vst1q_u8(to, vld1q_u8(from));
  {
    const mve_pred16_t rest = vctp8q((uint32_t)bytes);
    vstrbq_p_u8(to, vldrbq_z_u8(from, rest), rest);
  }
}

#elif defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'

/* A load of several words is one instruction, but must be aligned. */
static void copy_forward(uint8_t *to, const uint8_t *from, size_t bytes) {
#ifdef __GNUC__
  if ((((uintptr_t)to | (uintptr_t)from) & 3U) == 0) {
    for (; bytes >= 32; bytes -= 32, from += 32, to += 32)
      memcpy(__builtin_assume_aligned(to, 4), __builtin_assume_aligned(from, 4), 32);
  }
#endif
  for (; bytes >= 16; bytes -= 16, from += 16, to += 16) {
    uint32_t a, b, c, d;
    memcpy(&a, from, 4);
    memcpy(&b, from + 4, 4);
    memcpy(&c, from + 8, 4);
    memcpy(&d, from + 12, 4);
    memcpy(to, &a, 4);
    memcpy(to + 4, &b, 4);
    memcpy(to + 8, &c, 4);
    memcpy(to + 12, &d, 4);
  }
  for (; bytes > 0; bytes--) *to++ = *from++;
}

#else

static void copy_forward(uint8_t *to, const uint8_t *from, size_t bytes) { memcpy(to, from, bytes); }

#endif

void stowage_copy(void *to, const void *from, size_t bytes) {
  const uintptr_t a = (uintptr_t)to, b = (uintptr_t)from;
  if (a == b || bytes == 0) return;
  if ((a > b ? a - b : b - a) < bytes) {
    memmove(to, from, bytes);
  } else {
    copy_forward((uint8_t *)to, (const uint8_t *)from, bytes);
  }
}
