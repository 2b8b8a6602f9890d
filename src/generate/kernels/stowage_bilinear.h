/* SPDX-License-Identifier: Apache-2.0 */
/* RESIZE_BILINEAR, one row of the output, for a file that defines the types `element`, `number` (of distances) and
 * `resize_layer`, the function `mixed` (of the first and second row in the first column, then in the second, and of
 * distances), and the macro BILINEAR, the name. */
#ifndef STOWAGE_BILINEAR_H
#define STOWAGE_BILINEAR_H

#include "stowage_kernels.h"

void BILINEAR(const resize_layer *layer, const element *first, const element *second, number distance,
              element *output) {
  int32_t i, c;
  for (i = 0; i < layer->width; i++) {
    const int32_t left = layer->first[i] * layer->channels, right = layer->second[i] * layer->channels;
    for (c = 0; c < layer->channels; c++)
      *output++ = mixed(first[left + c], second[left + c], first[right + c], second[right + c], distance,
                        layer->distance[i]);
  }
}

#endif
