/* SPDX-License-Identifier: Apache-2.0 */
/* SOFTMAX of float32. */
#include <float.h>
#include <math.h>

#include "stowage_kernels.h"

void stowage_softmax_f32(float beta, const float *input, float *output, int32_t count) {
  float largest = -FLT_MAX, sum = 0.0F;
  int32_t i;
  for (i = 0; i < count; i++) {
    if (largest < input[i]) largest = input[i];
  }
  for (i = 0; i < count; i++) {
    output[i] = expf((input[i] - largest) * beta);
    sum += output[i];
  }
  for (i = 0; i < count; i++) output[i] /= sum;
}
