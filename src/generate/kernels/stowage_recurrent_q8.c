/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM whose weights are bytes. The input becomes bytes with the range of all its numbers, and before each step so does
 * the last output, with that of all items. Each number becomes a byte again for each block of cells, for which there
 * is no other memory. */
#include "stowage_dynamic.h"
#include "stowage_recurrent.h"

enum { gate_count = 4, most_cells = 8 };

/* Of some cells that follow each other. */
typedef struct {
  float of[gate_count][most_cells];
} gate_numbers;

typedef struct {
  int32_t direction;
  int32_t first;
  int32_t count;
} cell_block;

static void sum_products(const stowage_recurrent_layer *it, const stowage_byte_weights *weights,
                         int32_t terms, const cell_block *cells, const float *numbers,
                         const stowage_byte_range *range, gate_numbers *result) {
  const int32_t columns = gate_count * it->cells, zero = weights->zeros[cells->direction];
  const int8_t *row = weights->numbers + cells->direction * terms * columns + cells->first;
  int32_t sums[gate_count][most_cells] = {{0}};
  int32_t i, gate, c;
  for (i = 0; numbers != NULL && i < terms; i++, row += columns) {
    const int32_t x = stowage_byte_of(range, numbers[i]) - range->zero;
    for (gate = 0; gate < gate_count; gate++)
      for (c = 0; c < cells->count; c++) sums[gate][c] += x * (row[gate * it->cells + c] - zero);
  }
  for (gate = 0; gate < gate_count; gate++) {
    for (c = 0; c < cells->count; c++) {
      const int32_t column = gate * it->cells + cells->first + c;
      const float scale =
          weights->scales[weights->scale_step == 0 ? cells->direction : cells->direction * columns + column];
      result->of[gate][c] = (float)sums[gate][c] * (range->scale * scale);
    }
  }
}

/* What one item has before a step and after it; `next` may be at `before`. */
typedef struct {
  const float *input;
  const float *last;
  const float *before;
  float *next;
  float *output;
} item_memory;

static void run_item(const stowage_recurrent_q8_layer *layer, int32_t direction, const item_memory *at,
                     const stowage_byte_range *of_input, const stowage_byte_range *of_last) {
  const stowage_recurrent_layer *const it = &layer->shape;
  cell_block cells = {0, 0, 0};
  cells.direction = direction;
  for (; cells.first < it->cells; cells.first += cells.count) {
    gate_numbers inputs, lasts;
    int32_t c, gate;
    cells.count = it->cells - cells.first < most_cells ? it->cells - cells.first : most_cells;
    sum_products(it, &layer->input_weights, it->inputs, &cells, at->input, of_input, &inputs);
    sum_products(it, &layer->last_weights, it->cells, &cells, at->last, of_last, &lasts);
    for (c = 0; c < cells.count; c++) {
      const int32_t cell = cells.first + c;
      float gates[gate_count], now;
      for (gate = 0; gate < gate_count; gate++) {
        const int32_t number = gate * it->cells + cell;
        gates[gate] = (inputs.of[gate][c] + stowage_bias(it, direction, number)) +
                      (lasts.of[gate][c] + stowage_bias(it, direction, gate_count * it->cells + number));
      }
      at->output[cell] =
          stowage_lstm_cell(it, direction, cell, gates, at->before == NULL ? 0.0F : at->before[cell], &now);
      if (at->next != at->output) at->next[cell] = now;
    }
  }
}

static stowage_byte_range range_of_items(const stowage_recurrent_layer *it, const float *last, int32_t step) {
  float low = 0.0F, high = 0.0F;
  int32_t item;
  for (item = 0; last != NULL && item < it->batches; item++)
    stowage_widen(&low, &high, last + item * step, it->cells);
  return stowage_range_of(low, high);
}

static void run_direction(const stowage_recurrent_q8_layer *layer, const stowage_recurrent_operands *at,
                          int32_t direction, const stowage_byte_range *of_input) {
  const stowage_recurrent_layer *const it = &layer->shape;
  const int32_t backward = stowage_is_backward(it, direction), begin = direction * it->state_direction;
  const int32_t all = it->batches * it->cells;
  float *const outputs = at->output == NULL ? NULL : at->output + direction * it->output_direction;
  float *const states = at->last_state != NULL ? at->last_state + begin
                        : outputs != NULL      ? outputs + (backward ? 0 : it->steps - 1) * it->output_step
                                               : at->scratch + 2 * all;
  const float *last = at->first_output == NULL ? NULL : at->first_output + begin;
  const float *before = at->first_state == NULL ? NULL : at->first_state + begin;
  int32_t i, item;
  for (i = 0; i < it->steps; i++) {
    const int32_t step = backward ? it->steps - 1 - i : i;
    const stowage_byte_range of_last = range_of_items(it, last, it->cells);
    float *const now = outputs != NULL ? outputs + step * it->output_step : at->scratch + (i & 1) * all;
    for (item = 0; item < it->batches; item++) {
      const int32_t own = item * it->cells;
      item_memory memory;
      memory.input = at->input + step * it->input_step + item * it->input_item;
      memory.last = last == NULL ? NULL : last + own;
      memory.before = before == NULL ? NULL : before + own;
      memory.next = states + own;
      memory.output = now + own;
      run_item(layer, direction, &memory, of_input, &of_last);
    }
    last = now;
    before = states;
  }
  for (i = 0; at->last_output != NULL && i < all; i++)
    at->last_output[begin + i] = last == NULL ? 0.0F : last[i];
}

void stowage_recurrent_q8(const stowage_recurrent_q8_layer *layer, const stowage_recurrent_operands *at) {
  const stowage_recurrent_layer *const it = &layer->shape;
  float low = 0.0F, high = 0.0F;
  stowage_byte_range of_input;
  int32_t direction;
  stowage_widen(&low, &high, at->input, it->steps * it->batches * it->inputs);
  of_input = stowage_range_of(low, high);
  for (direction = 0; direction < it->directions; direction++) run_direction(layer, at, direction, &of_input);
}
