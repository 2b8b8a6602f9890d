/* SPDX-License-Identifier: Apache-2.0 */
/* For test programs: memory between guards; in QEMU (STOWAGE_QEMU) also the depth of the stack and the number of
 * instructions of a run. */
#ifndef STOWAGE_TEST_H
#define STOWAGE_TEST_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { stowage_guard = 64, stowage_pattern = 0xA5 };

/* The begin of a run's memory, behind a guard. `memory` has alignment + 2 * stowage_guard bytes more than `size`. */
static inline unsigned char *stowage_guarded(unsigned char *memory, size_t size, size_t alignment) {
  unsigned char *const first = memory + stowage_guard;
  const size_t excess = (size_t)((uintptr_t)first % alignment);
  memset(memory, stowage_pattern, size + alignment + 2 * (size_t)stowage_guard);
  return excess == 0 ? first : first + (alignment - excess);
}

/* Whether a byte before or behind the memory was written. */
static inline int stowage_is_spoilt(const unsigned char *begin, size_t size) {
  size_t i;
  for (i = 1; i <= stowage_guard; i++) {
    if (begin[-(ptrdiff_t)i] != stowage_pattern || begin[size + i - 1] != stowage_pattern) return 1;
  }
  return 0;
}

/* Whether real numbers differ. All that are no numbers are alike: their sign is the compiler's choice. */
static inline int stowage_differs_f32(const void *one, const void *other, size_t bytes) {
  const unsigned char *const a = (const unsigned char *)one;
  const unsigned char *const b = (const unsigned char *)other;
  size_t i;
  for (i = 0; i + 4 <= bytes; i += 4) {
    uint32_t x, y;
    memcpy(&x, a + i, 4);
    memcpy(&y, b + i, 4);
    if (x != y && ((x & 0x7FFFFFFFU) <= 0x7F800000U || (y & 0x7FFFFFFFU) <= 0x7F800000U)) return 1;
  }
  return 0;
}

/* The same of double numbers. */
static inline int stowage_differs_f64(const void *one, const void *other, size_t bytes) {
  const uint64_t infinity = UINT64_C(0x7FF0000000000000), magnitude = UINT64_C(0x7FFFFFFFFFFFFFFF);
  const unsigned char *const a = (const unsigned char *)one;
  const unsigned char *const b = (const unsigned char *)other;
  size_t i;
  for (i = 0; i + 8 <= bytes; i += 8) {
    uint64_t x, y;
    memcpy(&x, a + i, 8);
    memcpy(&y, b + i, 8);
    if (x != y && ((x & magnitude) <= infinity || (y & magnitude) <= infinity)) return 1;
  }
  return 0;
}

#ifdef STOWAGE_QEMU

typedef struct {
  uint32_t ticks;
  uint32_t stack;
} stowage_usage;

enum { stowage_painted = 4096, stowage_own_frame = 32 };

/* Paints the memory below its own frame. */
static __attribute__((noinline)) void stowage_paint_stack(void) {
  volatile unsigned char *const end =
      (volatile unsigned char *)__builtin_frame_address(0) - stowage_own_frame;
  int32_t i;
  for (i = 1; i <= stowage_painted; i++) end[-i] = stowage_pattern;
}

/* How much of it was written since. */
static __attribute__((noinline)) uint32_t stowage_stack_used(void) {
  volatile unsigned char *const end =
      (volatile unsigned char *)__builtin_frame_address(0) - stowage_own_frame;
  int32_t i = stowage_painted;
  while (i > 0 && end[-i] == stowage_pattern) i--;
  return (uint32_t)i + stowage_own_frame;
}

/* A counter that counts down: the timer of an MPS2 board, which has 32 bits, or SysTick, which has 24. */
static inline volatile uint32_t *stowage_register(uint32_t address) {
  return (volatile uint32_t *)(uintptr_t)address;
}

#ifdef STOWAGE_MPS2
static inline uint32_t stowage_ticks(void) { return *stowage_register(0x40000004U); }
static inline uint32_t stowage_ticks_since(uint32_t begin) { return begin - stowage_ticks(); }
static inline void stowage_start_ticks(void) {
  *stowage_register(0x40000008U) = 0xFFFFFFFFU;
  *stowage_register(0x40000004U) = 0xFFFFFFFFU;
  *stowage_register(0x40000000U) = 1U;
}
#else
static inline uint32_t stowage_ticks(void) { return *stowage_register(0xE000E018U); }
static inline uint32_t stowage_ticks_since(uint32_t begin) { return (begin - stowage_ticks()) & 0xFFFFFFU; }
static inline void stowage_start_ticks(void) {
  *stowage_register(0xE000E014U) = 0xFFFFFFU;
  *stowage_register(0xE000E018U) = 0U;
  *stowage_register(0xE000E010U) = 5U;
}
#endif

/* A loop of two million instructions says what a tick is. */
static inline uint32_t stowage_ticks_of_two_million(void) {
  uint32_t count = 1000000U;
  const uint32_t begin = stowage_ticks();
  __asm__ volatile("1: subs %0, %0, #1\n bne 1b" : "+l"(count) : : "cc");
  return stowage_ticks_since(begin);
}

static inline void stowage_begin_usage(stowage_usage *usage) {
  stowage_start_ticks();
  stowage_paint_stack();
  usage->ticks = stowage_ticks();
}

static inline void stowage_end_usage(stowage_usage *usage) {
  usage->ticks = stowage_ticks_since(usage->ticks);
  usage->stack = stowage_stack_used();
  printf("stack %lu bytes, %lu thousand instructions\n", (unsigned long)usage->stack,
         (unsigned long)((uint64_t)usage->ticks * 2000U / stowage_ticks_of_two_million()));
}

#else

typedef struct {
  int nothing;
} stowage_usage;

static inline void stowage_begin_usage(stowage_usage *usage) { usage->nothing = 0; }
static inline void stowage_end_usage(stowage_usage *usage) { (void)usage; }

#endif

#endif
