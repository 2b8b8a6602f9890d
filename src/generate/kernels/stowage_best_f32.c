/* TopK. NaN is above all numbers; equal ones are in their order. Each next one is the best of those that come behind the
 * one before it, so that no list of places is needed. */
#include <math.h>

#include "stowage_kernels.h"

static int is_less(float a, float b) { return a < b || (isnan(b) && !isnan(a)); }

/* Whether place i comes before place j. */
static int is_before(const float *run, int32_t step, int32_t is_largest, int32_t i, int32_t j) {
  const float a = run[i * step], b = run[j * step];
  if (is_less(a, b)) return is_largest == 0;
  if (is_less(b, a)) return is_largest != 0;
  return i < j;
}

void stowage_best_f32(const stowage_best_shape *shape, const float *input, float *values, int64_t *places) {
  const int32_t step = shape->inner, largest = shape->is_largest;
  int32_t o, i, k, j;
  for (o = 0; o < shape->outer; o++) {
    for (i = 0; i < step; i++) {
      const float *const run = input + o * shape->count * step + i;
      int32_t last = -1;
      for (k = 0; k < shape->wanted; k++) {
        const int32_t to = (o * shape->wanted + k) * step + i;
        int32_t best = -1;
        for (j = 0; j < shape->count; j++) {
          if (last >= 0 && !is_before(run, step, largest, last, j)) continue;
          if (best < 0 || is_before(run, step, largest, j, best)) best = j;
        }
        values[to] = run[best * step];
        places[to] = best;
        last = best;
      }
    }
  }
}
