/* SPDX-License-Identifier: Apache-2.0 */
#include "stowage_activation_s16.h"

#include "stowage_sigmoid.h"

/* In units of 1 / 12288. */
static int32_t input_of(const stowage_squash_layer *layer, int32_t x) {
  const int32_t half = layer->shift > 0 ? INT32_C(1) << (layer->shift - 1) : 0;
  return (x * layer->factor + half) >> layer->shift;
}

void stowage_logistic_s16(const stowage_squash_layer *layer, const int16_t *input, int16_t *output,
                          int32_t count) {
  for (; count > 0; count--) *output++ = (int16_t)stowage_sigmoid(layer->table, input_of(layer, *input++));
}

void stowage_tanh_s16(const stowage_squash_layer *layer, const int16_t *input, int16_t *output,
                      int32_t count) {
  for (; count > 0; count--) *output++ = (int16_t)stowage_tanh(layer->table, input_of(layer, *input++));
}

void stowage_slopes_s16(const stowage_slopes_layer *layer, const int16_t *input, int16_t *output,
                        int32_t count) {
  for (; count > 0; count--) {
    const int32_t x = *input++ - layer->input_zero;
    const stowage_factor factor = x >= 0 ? layer->above : layer->below;
    const int32_t scaled = stowage_scale(x, factor.multiplier, factor.shift);
    *output++ =
        (int16_t)stowage_clamp(stowage_add_wrapping(scaled, layer->output_zero), layer->least, layer->most);
  }
}
