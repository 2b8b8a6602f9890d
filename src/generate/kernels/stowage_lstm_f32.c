/* LSTM of ONNX, forward, with the functions sigmoid and tanh. */
#include <math.h>

#include "stowage_kernels.h"

enum { input_gate, output_gate, forget_gate, cell_gate };

static float product(const float *weights, const float *numbers, int32_t count) {
  float sum = 0.0F;
  int32_t i;
  if (numbers == NULL) return sum;
  for (i = 0; i < count; i++) sum += weights[i] * numbers[i];
  return sum;
}

static double gate_number(const stowage_lstm_f32_layer *layer, int32_t gate, const float *input,
                          const float *last, int32_t cell) {
  const int32_t row = gate * layer->cells + cell;
  const float *const biases = layer->bias;
  const float of_input = product(layer->input_weights + row * layer->inputs, input, layer->inputs);
  const float of_last = product(layer->last_weights + row * layer->cells, last, layer->cells);
  if (biases == NULL) return (double)(of_input + of_last);
  return (double)((of_input + biases[row]) + (of_last + biases[4 * layer->cells + row]));
}

static double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

void stowage_lstm_f32(const stowage_lstm_f32_layer *layer, const float *input, const float *last,
                      const float *state, float *next_state, float *output) {
  int32_t b, c;
  for (b = 0; b < layer->batches; b++) {
    const float *const own_input = input + b * layer->inputs;
    const float *const own_last = last == NULL ? NULL : last + b * layer->cells;
    for (c = 0; c < layer->cells; c++) {
      const int32_t at = b * layer->cells + c;
      const double before = state == NULL ? 0.0 : (double)state[at];
      const double open = sigmoid(gate_number(layer, input_gate, own_input, own_last, c));
      const double keep = sigmoid(gate_number(layer, forget_gate, own_input, own_last, c));
      const double fresh = tanh(gate_number(layer, cell_gate, own_input, own_last, c));
      const float now = (float)(keep * before + open * fresh);
      const double show = sigmoid(gate_number(layer, output_gate, own_input, own_last, c));
      if (next_state != NULL) next_state[at] = now;
      output[at] = (float)(show * tanh((double)now));
    }
  }
}
