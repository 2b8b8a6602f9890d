/* SPDX-License-Identifier: Apache-2.0 */
/* RNN, GRU and LSTM on float32. A whole run that has an output needs no memory, unless a GRU of more than 128 cells
 * resets early: the output before is in it, and the numbers of cells are where the very last one will be, unless they
 * are an output, too. */
#include "stowage_recurrent.h"

enum { most_gates = 4, of_update = 0, of_reset = 1, of_new = 2 };

/* Memory of one item. What is before the first step may be null. */
typedef struct {
  const float *input;
  const float *last;
  const float *before;
  float *next; /* may be at `before` */
  float *output;
  float *left; /* of the last output; null: there is room on the stack */
} item_memory;

static float product(const float *weights, const float *numbers, int32_t count) {
  float sum = 0.0F;
  int32_t i;
  if (numbers == NULL) return sum;
  for (i = 0; i < count; i++) sum += weights[i] * numbers[i];
  return sum;
}

static void sum_gates(const stowage_recurrent_f32_layer *layer, int32_t direction, int32_t cell,
                      const item_memory *at, float *of_input, float *of_last) {
  const stowage_recurrent_layer *const it = &layer->shape;
  int32_t gate;
  for (gate = 0; gate < it->gates; gate++) {
    const int32_t number = gate * it->cells + cell, row = direction * it->gates * it->cells + number;
    of_input[gate] = product(layer->input_weights + row * it->inputs, at->input, it->inputs) +
                     stowage_bias(it, direction, number);
    of_last[gate] = product(layer->last_weights + row * it->cells, at->last, it->cells) +
                    stowage_bias(it, direction, it->gates * it->cells + number);
  }
}

/* The new number is made of what is left of the last one. */
static float gated_cell(const stowage_recurrent_layer *it, int32_t direction, const float *of_input,
                        const float *of_last, float last) {
  const float update = (float)stowage_gate(it, direction, (double)(of_input[of_update] + of_last[of_update]));
  const float reset = (float)stowage_gate(it, direction, (double)(of_input[of_reset] + of_last[of_reset]));
  const float part = reset * of_last[of_new];
  const float fresh = (float)stowage_fresh(it, direction, (double)(of_input[of_new] + part));
  return (1.0F - update) * fresh + update * last;
}

/* The same, where what is left of the last output is multiplied: all of it is needed for each cell. */
static STOWAGE_APART void run_early_reset(const stowage_recurrent_f32_layer *layer, int32_t direction,
                                          const item_memory *at) {
  const stowage_recurrent_layer *const it = &layer->shape;
  const int32_t rows = direction * it->gates * it->cells;
  float few[stowage_most_reset];
  float *const left = at->left == NULL ? few : at->left;
  int32_t cell;
  for (cell = 0; cell < it->cells; cell++) {
    float of_input[most_gates] = {0.0F}, of_last[most_gates] = {0.0F};
    sum_gates(layer, direction, cell, at, of_input, of_last);
    left[cell] = (float)stowage_gate(it, direction, (double)(of_input[of_reset] + of_last[of_reset])) *
                 (at->last == NULL ? 0.0F : at->last[cell]);
  }
  for (cell = 0; cell < it->cells; cell++) {
    const int32_t number = of_new * it->cells + cell;
    float of_input[most_gates] = {0.0F}, of_last[most_gates] = {0.0F}, update, part, fresh;
    sum_gates(layer, direction, cell, at, of_input, of_last);
    update = (float)stowage_gate(it, direction, (double)(of_input[of_update] + of_last[of_update]));
    part = product(layer->last_weights + (rows + number) * it->cells, left, it->cells) +
           stowage_bias(it, direction, it->gates * it->cells + number);
    fresh = (float)stowage_fresh(it, direction, (double)(of_input[of_new] + part));
    at->output[cell] = (1.0F - update) * fresh + update * (at->last == NULL ? 0.0F : at->last[cell]);
  }
}

static void run_step(const stowage_recurrent_f32_layer *layer, int32_t direction, const item_memory *at) {
  const stowage_recurrent_layer *const it = &layer->shape;
  int32_t cell, gate;
  if (it->resets_early) {
    run_early_reset(layer, direction, at);
    return;
  }
  for (cell = 0; cell < it->cells; cell++) {
    float of_input[most_gates] = {0.0F}, of_last[most_gates] = {0.0F}, gates[most_gates];
    sum_gates(layer, direction, cell, at, of_input, of_last);
    if (it->gates == 4) {
      const float before = at->before == NULL ? 0.0F : at->before[cell];
      float now;
      for (gate = 0; gate < it->gates; gate++) gates[gate] = of_input[gate] + of_last[gate];
      at->output[cell] = stowage_lstm_cell(it, direction, cell, gates, before, &now);
      if (at->next != at->output) at->next[cell] = now;
    } else if (it->gates == 3) {
      at->output[cell] =
          gated_cell(it, direction, of_input, of_last, at->last == NULL ? 0.0F : at->last[cell]);
    } else {
      at->output[cell] = (float)stowage_fresh(it, direction, (double)(of_input[0] + of_last[0]));
    }
  }
}

static void copy_or_clear(const float *from, float *to, int32_t count) {
  int32_t i;
  if (to == NULL) return;
  for (i = 0; i < count; i++) to[i] = from == NULL ? 0.0F : from[i];
}

static const float *place_in(const float *all, int32_t at) { return all == NULL ? NULL : all + at; }

static int32_t length_of(const stowage_recurrent_layer *it, const int32_t *lengths, int32_t item) {
  return lengths == NULL ? it->steps : stowage_clamp(lengths[item], 0, it->steps);
}

/* Memory behind the outputs, if these are scratch, too. */
static float *left_in(const stowage_recurrent_layer *it, const stowage_recurrent_operands *at) {
  if (!it->resets_early || it->cells <= stowage_most_reset) return NULL;
  return at->output == NULL ? at->scratch + 2 * it->cells : at->scratch;
}

static void run_item(const stowage_recurrent_f32_layer *layer, const stowage_recurrent_operands *at,
                     int32_t direction, int32_t item) {
  const stowage_recurrent_layer *const it = &layer->shape;
  const int32_t state = direction * it->state_direction + item * it->state_item;
  const int32_t length = length_of(it, at->lengths, item), backward = stowage_is_backward(it, direction);
  float *const outputs =
      at->output == NULL ? NULL : at->output + direction * it->output_direction + item * it->output_item;
  const int32_t end = backward || length == 0 ? 0 : length - 1;
  item_memory own;
  int32_t i;
  own.last = place_in(at->first_output, state);
  own.before = place_in(at->first_state, state);
  own.left = left_in(it, at);
  own.next = at->last_state != NULL ? at->last_state + state
             : outputs != NULL      ? outputs + end * it->output_step
                                    : at->scratch + 2 * it->cells;
  for (i = 0; i < it->steps; i++) {
    const int32_t step = backward ? it->steps - 1 - i : i;
    if (step >= length) {
      if (outputs != NULL) copy_or_clear(NULL, outputs + step * it->output_step, it->cells);
      continue;
    }
    own.output = outputs != NULL ? outputs + step * it->output_step : at->scratch + (i & 1) * it->cells;
    own.input = at->input + step * it->input_step + item * it->input_item;
    run_step(layer, direction, &own);
    own.last = own.output;
    own.before = own.next;
  }
  if (at->last_output != NULL) copy_or_clear(own.last, at->last_output + state, it->cells);
  if (at->last_state != NULL && length == 0) copy_or_clear(own.before, own.next, it->cells);
}

void stowage_recurrent_f32(const stowage_recurrent_f32_layer *layer, const stowage_recurrent_operands *at) {
  int32_t direction, item;
  for (direction = 0; direction < layer->shape.directions; direction++)
    for (item = 0; item < layer->shape.batches; item++) run_item(layer, at, direction, item);
}

void stowage_recurrent_step_f32(const stowage_recurrent_f32_layer *layer, int32_t y,
                                const stowage_recurrent_operands *at, float *carried) {
  const stowage_recurrent_layer *const it = &layer->shape;
  const int32_t cells = it->cells, has_cells = it->gates == 4;
  int32_t item;
  for (item = 0; item < it->batches; item++) {
    float *const last = carried + item * cells, *const state = last + it->batches * cells;
    const int32_t own = item * it->state_item;
    item_memory memory;
    memory.input = at->input + item * it->inputs;
    memory.last = last;
    memory.before = memory.next = state;
    memory.output = at->output + item * cells;
    memory.left = left_in(it, at);
    if (y == 0) copy_or_clear(place_in(at->first_output, own), last, cells);
    if (y == 0 && has_cells) copy_or_clear(place_in(at->first_state, own), state, cells);
    if (y < length_of(it, at->lengths, item)) {
      run_step(layer, 0, &memory);
      copy_or_clear(memory.output, last, cells);
    } else {
      copy_or_clear(NULL, memory.output, cells);
    }
    if (y != it->steps - 1) continue;
    if (at->last_output != NULL) copy_or_clear(last, at->last_output + own, cells);
    if (at->last_state != NULL) copy_or_clear(state, at->last_state + own, cells);
  }
}
