/* SPDX-License-Identifier: Apache-2.0 */
/* SVDF of int8: each filter keeps the last results of its features, and sums them up with weights of time. */
#include <string.h>

#include "stowage_kernels.h"

/* The newest result of a filter. */
static int32_t feature(const stowage_svdf_layer *layer, const int8_t *input, const int8_t *weights) {
  int32_t sum = 0, i;
  for (i = 0; i < layer->inputs; i++)
    sum = stowage_add_wrapping(sum, stowage_mul_wrapping(weights[i], input[i] - layer->input_zero));
  sum = stowage_scale(sum, layer->to_state.multiplier, layer->to_state.shift);
  return stowage_add_wrapping(sum, layer->state_zero);
}

static int8_t result(const stowage_svdf_layer *layer, int32_t sum) {
  sum = stowage_scale(sum, layer->to_output.multiplier, layer->to_output.shift);
  return (int8_t)stowage_clamp(stowage_add_wrapping(sum, layer->output_zero), INT8_MIN, INT8_MAX);
}

void stowage_svdf_s8(const stowage_svdf_layer *layer, const int8_t *time, const int8_t *input, int8_t *state,
                     int8_t *output) {
  const int32_t units = layer->filters / layer->rank, terms = layer->rank * layer->memory;
  int32_t f, u, k;
  memmove(state, state + 1, (size_t)(layer->filters * layer->memory - 1));
  for (f = 0; f < layer->filters; f++) {
    const int32_t newest = feature(layer, input, layer->features + f * layer->inputs);
    state[f * layer->memory + layer->memory - 1] = (int8_t)stowage_clamp(newest, INT8_MIN, INT8_MAX);
  }
  for (u = 0; u < units; u++, time += terms, state += terms) {
    int32_t sum = layer->bias != NULL ? layer->bias[u] : 0;
    for (k = 0; k < terms; k++)
      sum = stowage_add_wrapping(sum, stowage_mul_wrapping(time[k], state[k] - layer->state_zero));
    output[u] = result(layer, sum);
  }
}

void stowage_svdf_s16(const stowage_svdf_layer *layer, const int16_t *time, const int8_t *input,
                      int16_t *state, int8_t *output) {
  const int32_t units = layer->filters / layer->rank, terms = layer->rank * layer->memory;
  int32_t f, u, k;
  memmove(state, state + 1, (size_t)(layer->filters * layer->memory - 1) * sizeof *state);
  for (f = 0; f < layer->filters; f++) {
    const int32_t newest = feature(layer, input, layer->features + f * layer->inputs);
    state[f * layer->memory + layer->memory - 1] = (int16_t)stowage_clamp(newest, INT16_MIN, INT16_MAX);
  }
  for (u = 0; u < units; u++, time += terms, state += terms) {
    int32_t sum = layer->bias != NULL ? layer->bias[u] : 0;
    for (k = 0; k < terms; k++)
      sum = stowage_add_wrapping(sum, stowage_mul_wrapping(time[k], state[k] - layer->state_zero));
    output[u] = result(layer, sum);
  }
}
