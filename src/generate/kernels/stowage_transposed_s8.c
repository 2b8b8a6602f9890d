/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolutions of int8. */
#include "stowage_windows.h"

#define TRANSPOSED stowage_transposed_s8

typedef int8_t element;
typedef int8_t weight;
typedef uint32_t total; /* modulo 2^32 */
typedef stowage_conv_s8_layer conv_layer;

static total product(const conv_layer *layer, element x, weight w) {
  return (total)((x - layer->input_zero) * w);
}

static element result(const conv_layer *layer, total sum, int32_t channel) {
  const total all = sum + (total)layer->bias[channel];
  const int32_t scaled = stowage_scale((int32_t)all, layer->multiplier[channel], layer->shift[channel]);
  return (element)stowage_clamp(stowage_add_wrapping(scaled, layer->output_zero), layer->least, layer->most);
}

#include "stowage_transposed.h"
