/* SPDX-License-Identifier: Apache-2.0 */
/* L2_NORMALIZATION of float32. */
#include <math.h>

#include "stowage_kernels.h"

void stowage_unit_length_f32(const float *input, float *output, int32_t runs, int32_t count) {
  const float least = 1e-6F;
  int32_t run, i;
  for (run = 0; run < runs; run++, input += count, output += count) {
    float squares = 0.0F, norm;
    for (i = 0; i < count; i++) squares += input[i] * input[i];
    norm = sqrtf(squares);
    if (norm < least) norm = least;
    for (i = 0; i < count; i++) output[i] = input[i] / norm;
  }
}
