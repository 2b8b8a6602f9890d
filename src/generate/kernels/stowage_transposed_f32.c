/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolutions of float32. */
#include "stowage_windows.h"

#define TRANSPOSED stowage_transposed_f32

typedef float element;
typedef float weight;
typedef float total;
typedef stowage_conv_f32_layer conv_layer;

static total product(const conv_layer *layer, element x, weight w) {
  (void)layer;
  return x * w;
}

static element result(const conv_layer *layer, total sum, int32_t channel) {
  return stowage_clamp_f32(sum + (layer->bias != NULL ? layer->bias[channel] : 0.0F), layer->least,
                           layer->most);
}

#include "stowage_transposed.h"
