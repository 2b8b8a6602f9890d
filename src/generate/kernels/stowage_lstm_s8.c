/* SPDX-License-Identifier: Apache-2.0 */
/* UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with an int16 cell state. Each of four gates is a layer of the input plus one of
 * the last output, in 12 fraction bits, squashed to 15 by lines between the values of a table. */
#include <string.h>

#include "stowage_kernels.h"

enum { input_gate, forget_gate, cell_gate, output_gate };

static int32_t saturated(int32_t x) { return stowage_clamp(x, INT16_MIN, INT16_MAX); }

static int32_t sigmoid(const uint16_t *table, int32_t x) {
  const int32_t thrice = 3 * x;
  const uint32_t distance = (uint32_t)(thrice < 0 ? -thrice : thrice);
  const uint32_t index = distance >> 9;
  uint32_t result = UINT32_C(0x7FFF) << 10;
  if (index < 255)
    result =
        ((uint32_t)table[index] << 9) + (distance & 0x1FFU) * ((uint32_t)table[index + 1] - table[index]);
  result = thrice >= 0 ? result + (1U << 9) : (1U << 25) - result + (1U << 9) - 1;
  return (int32_t)(result >> 10);
}

static int32_t hyperbolic_tangent(const uint16_t *table, int32_t x, int32_t shift) {
  const int32_t thrice = x * (3 << shift);
  const uint32_t distance = (uint32_t)(thrice < 0 ? -thrice : thrice);
  const uint32_t index = distance >> 8;
  const int32_t half = INT32_C(1) << 23;
  int32_t result = INT32_C(0xFFFF) << 8;
  if (index < 255)
    result = (int32_t)(((uint32_t)table[index] << 8) +
                       (distance & 0xFFU) * ((uint32_t)table[index + 1] - table[index]));
  result = thrice >= 0 ? result - half + (1 << 7) : -result + half + (1 << 7) - 1;
  return result >> 8;
}

static int32_t layer_number(const stowage_gate_layer *layer, const int8_t *input, int32_t length,
                            int32_t cell) {
  const int8_t *const weights = layer->weights + cell * length;
  uint32_t sum = layer->bias == NULL ? 0U : (uint32_t)layer->bias[cell];
  int32_t i;
  for (i = 0; i < length; i++) sum += (uint32_t)(weights[i] * (input[i] - layer->zero));
  return saturated(stowage_scale((int32_t)sum, layer->factor.multiplier, layer->factor.shift));
}

static int32_t gate_number(const stowage_lstm_layer *layer, int32_t gate, const int8_t *input,
                           const int8_t *last, int32_t cell) {
  const int32_t sum = saturated(layer_number(&layer->from_input[gate], input, layer->inputs, cell) +
                                layer_number(&layer->from_output[gate], last, layer->cells, cell));
  return gate == cell_gate ? hyperbolic_tangent(layer->table, sum, 0) : sigmoid(layer->table, sum);
}

static int32_t scaled(int32_t x, stowage_factor factor) {
  return stowage_scale(x, factor.multiplier, factor.shift);
}

static void one_step(const stowage_lstm_layer *layer, const int8_t *input, int8_t *last, int16_t *state,
                     int8_t *output) {
  int32_t c;
  for (c = 0; c < layer->cells; c++) {
    const int32_t forget = gate_number(layer, forget_gate, input, last, c);
    const int32_t kept = saturated(scaled(forget * state[c], layer->forget));
    const int32_t open = gate_number(layer, input_gate, input, last, c);
    const int32_t learnt =
        saturated(scaled(open * gate_number(layer, cell_gate, input, last, c), layer->learn));
    int32_t cell = saturated(kept + learnt);
    int32_t shown;
    if (layer->clip > 0) cell = stowage_clamp(cell, -layer->clip, layer->clip);
    state[c] = (int16_t)cell;
    shown = gate_number(layer, output_gate, input, last, c) *
            hyperbolic_tangent(layer->table, cell, layer->tanh_shift);
    output[c] = (int8_t)stowage_clamp(stowage_add_wrapping(scaled(shown, layer->show), layer->output_zero),
                                      INT8_MIN, INT8_MAX);
  }
  memcpy(last, output, (size_t)layer->cells);
}

void stowage_lstm_s8(const stowage_lstm_layer *layer, const int8_t *input, int8_t *last, int16_t *state,
                     int8_t *output) {
  int32_t t, b;
  for (t = 0; t < layer->steps; t++) {
    for (b = 0; b < layer->batches; b++) {
      const int32_t row = layer->is_time_major ? t * layer->batches + b : b * layer->steps + t;
      one_step(layer, input + row * layer->inputs, last + b * layer->cells, state + b * layer->cells,
               output + row * layer->cells);
    }
  }
}
