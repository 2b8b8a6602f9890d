/* SPDX-License-Identifier: Apache-2.0 */
/* UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with an int16 cell state. Each of four gates is a layer of the input plus one of
 * the last output, in 12 fraction bits, squashed to 15 by lines between the values of a table. */
#include <string.h>

#include "stowage_kernels.h"
#include "stowage_sigmoid.h"

enum { input_gate, forget_gate, cell_gate, output_gate };

static int32_t saturated(int32_t x) { return stowage_clamp(x, INT16_MIN, INT16_MAX); }

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
  return gate == cell_gate ? stowage_tanh(layer->table, 3 * sum) : stowage_sigmoid(layer->table, 3 * sum);
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
            stowage_tanh(layer->table, cell * (3 << layer->tanh_shift));
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
