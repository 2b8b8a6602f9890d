/* SPDX-License-Identifier: Apache-2.0 */
/* QLinearSoftmax: powers of e are a table, the largest number of a run has its last one. */
#include <math.h>

#include "stowage_q8.h"

/* The power of e for a number of a run. */
static float power_of(const stowage_q8_softmax_layer *layer, const uint8_t *run, int32_t i, int32_t most) {
  return layer->powers[255 - most + (run[i * layer->inner] ^ layer->flip)];
}

/* In steps of the output. The product may be infinite if steps are small and numbers are few. */
static float share_of(float power, float all, float total) {
  const float product = power * all;
  return isfinite(product) ? product / total : power / total * all;
}

void stowage_q8_softmax(const stowage_q8_softmax_layer *layer, const uint8_t *input, uint8_t *output) {
  const int32_t inner = layer->inner;
  int32_t run, i;
  for (run = 0; run < layer->outer * inner; run++) {
    const int32_t first = run / inner * inner * layer->size + run % inner;
    const uint8_t *const from = input + first;
    uint8_t *const to = output + first;
    int32_t most = 0;
    float total = 0.0F;
    for (i = 0; i < layer->size; i++) {
      const int32_t number = from[i * inner] ^ layer->flip;
      if (number > most) most = number;
    }
    for (i = 0; i < layer->size; i++) total += power_of(layer, from, i, most);
    for (i = 0; i < layer->size; i++) {
      const float steps = nearbyintf(share_of(power_of(layer, from, i, most), layer->all, total));
      to[i * inner] = stowage_q8_stored(steps < 512.0F ? (int32_t)steps : 512, layer->zero, layer->flip);
    }
  }
}
