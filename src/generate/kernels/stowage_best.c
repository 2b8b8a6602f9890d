/* SPDX-License-Identifier: Apache-2.0 */
/* TopK. NaN is above all numbers; equal ones are in their order. Each next one is the best of those that come behind the
 * one before it, so that no list of places is needed. */
#include <math.h>

#include "stowage_kernels.h"

#define stowage_is_less(a, b) ((a) < (b))
#define stowage_is_less_real(a, b) ((a) < (b) || (isnan(b) && !isnan(a)))

/* is_before: whether place i comes before place j. */
#define STOWAGE_BEST(suffix, element, is_less)                                                       \
  static int is_before_##suffix(const element *run, int32_t step, int32_t is_largest, int32_t i,     \
                                int32_t j) {                                                         \
    const element a = run[i * step], b = run[j * step];                                              \
    if (is_less(a, b)) return is_largest == 0;                                                       \
    if (is_less(b, a)) return is_largest != 0;                                                       \
    return i < j;                                                                                    \
  }                                                                                                  \
                                                                                                     \
  void stowage_best_##suffix(const stowage_best_shape *shape, const element *input, element *values, \
                             int64_t *places) {                                                      \
    const int32_t step = shape->inner, largest = shape->is_largest;                                  \
    int32_t o, i, k, j;                                                                              \
    for (o = 0; o < shape->outer; o++) {                                                             \
      for (i = 0; i < step; i++) {                                                                   \
        const element *const run = input + o * shape->count * step + i;                              \
        int32_t last = -1;                                                                           \
        for (k = 0; k < shape->wanted; k++) {                                                        \
          const int32_t to = (o * shape->wanted + k) * step + i;                                     \
          int32_t best = -1;                                                                         \
          for (j = 0; j < shape->count; j++) {                                                       \
            if (last >= 0 && !is_before_##suffix(run, step, largest, last, j)) continue;             \
            if (best < 0 || is_before_##suffix(run, step, largest, j, best)) best = j;               \
          }                                                                                          \
          values[to] = run[best * step];                                                             \
          places[to] = best;                                                                         \
          last = best;                                                                               \
        }                                                                                            \
      }                                                                                              \
    }                                                                                                \
  }

STOWAGE_BEST(f32, float, stowage_is_less_real)
STOWAGE_BEST(f64, double, stowage_is_less_real)
STOWAGE_BEST(s8, int8_t, stowage_is_less)
STOWAGE_BEST(u8, uint8_t, stowage_is_less)
STOWAGE_BEST(s16, int16_t, stowage_is_less)
STOWAGE_BEST(u16, uint16_t, stowage_is_less)
STOWAGE_BEST(s32, int32_t, stowage_is_less)
STOWAGE_BEST(s64, int64_t, stowage_is_less)
