/* SPDX-License-Identifier: Apache-2.0 */
/* RNN, GRU and LSTM of ONNX. Every item of a batch is a sequence with a state of its own: its last output, and of an LSTM
 * the numbers of its cells. */
#ifndef STOWAGE_RECURRENT_H
#define STOWAGE_RECURRENT_H

#include <math.h>

#include "stowage_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  stowage_most_reset = 128, /* a GRU that resets early with more cells needs scratch memory */
  stowage_most_functions = 6
};

/* Functions instead of sigmoid and tanh: of each direction one for its gates (a GRU and an LSTM only), one for new numbers,
 * and one for what an LSTM shows of its cells. */
typedef struct {
  double (*at)(double x, double alpha, double beta);
  double alpha;
  double beta;
} stowage_recurrent_function;

typedef struct {
  stowage_recurrent_function of[stowage_most_functions];
} stowage_recurrent_functions;

typedef struct {
  int32_t gates; /* 1: RNN; 3, GRU: update, reset, new; 4, LSTM: input, output, forgetting, new */
  int32_t steps;
  int32_t batches;
  int32_t inputs;
  int32_t cells;
  int32_t directions;
  int32_t is_reverse;                           /* 1: the first direction runs from the end */
  int32_t forgets_input;                        /* 1: an LSTM forgets as much as it takes in */
  int32_t resets_early;                         /* 1: a GRU resets its last output before it multiplies it */
  double limit;                                 /* of the numbers that functions get; 0: none */
  const stowage_recurrent_functions *functions; /* null: sigmoid and tanh */
  const float *bias; /* [directions][2][gates][cells], of the input and of the last output; may be null */
  const float *peepholes; /* [directions][3][cells]: input, output, forgetting; may be null */
  int32_t input_step;     /* elements from one step to the next, from one item to the next, and so on */
  int32_t input_item;
  int32_t output_step;
  int32_t output_direction;
  int32_t output_item;
  int32_t state_direction;
  int32_t state_item;
} stowage_recurrent_layer;

typedef struct {
  stowage_recurrent_layer shape;
  const float *input_weights; /* [directions][gates][cells][inputs] */
  const float *last_weights;  /* [directions][gates][cells][cells] */
} stowage_recurrent_f32_layer;

/* What comes before the first step may be null, which counts as zeros, and what is left after the last one, too. Without
 * `output`, there is scratch memory: of one item two outputs, then the cells unless there is a `last_state`; where weights
 * are bytes, of all items. It also has what is left of the last output, if a GRU resets more than that on the stack. */
typedef struct {
  const float *input;
  const int32_t *lengths; /* of sequences; null: all have all steps */
  const float *first_output;
  const float *first_state;
  float *output;
  float *last_output;
  float *last_state;
  float *scratch;
} stowage_recurrent_operands;

void stowage_recurrent_f32(const stowage_recurrent_f32_layer *layer, const stowage_recurrent_operands *at);
/* Step y of a network that only runs forward: input and output are its rows. Last outputs and states of all items are carried. */
void stowage_recurrent_step_f32(const stowage_recurrent_f32_layer *layer, int32_t y,
                                const stowage_recurrent_operands *at, float *carried);

/* LSTM whose weights are bytes, turned: [inputs][4][cells] and [cells][4][cells]. */

typedef struct {
  const int8_t *numbers; /* of all directions */
  const float *scales;   /* [directions], or [directions][4][cells] */
  const int32_t *zeros;  /* [directions] */
  int32_t scale_step;    /* 1: a scale for each column */
} stowage_byte_weights;

typedef struct {
  stowage_recurrent_layer shape;
  stowage_byte_weights input_weights;
  stowage_byte_weights last_weights;
} stowage_recurrent_q8_layer;

void stowage_recurrent_q8(const stowage_recurrent_q8_layer *layer, const stowage_recurrent_operands *at);

double stowage_recurrent_affine(double x, double alpha, double beta);
double stowage_recurrent_elu(double x, double alpha, double beta);
double stowage_recurrent_hardsigmoid(double x, double alpha, double beta);
double stowage_recurrent_leakyrelu(double x, double alpha, double beta);
double stowage_recurrent_relu(double x, double alpha, double beta);
double stowage_recurrent_scaledtanh(double x, double alpha, double beta);
double stowage_recurrent_sigmoid(double x, double alpha, double beta);
double stowage_recurrent_softplus(double x, double alpha, double beta);
double stowage_recurrent_softsign(double x, double alpha, double beta);
double stowage_recurrent_tanh(double x, double alpha, double beta);
double stowage_recurrent_thresholdedrelu(double x, double alpha, double beta);

/* Parts */

static inline double stowage_limited(const stowage_recurrent_layer *layer, double x) {
  if (!(layer->limit > 0.0)) return x;
  return x < -layer->limit ? -layer->limit : x > layer->limit ? layer->limit : x;
}

/* The functions of a direction; null if they are the usual ones. */
static inline const stowage_recurrent_function *stowage_functions(const stowage_recurrent_layer *layer,
                                                                  int32_t direction) {
  const int32_t count = layer->gates == 4 ? 3 : layer->gates == 3 ? 2 : 1;
  return layer->functions == NULL ? NULL : layer->functions->of + direction * count;
}

static inline double stowage_applied(const stowage_recurrent_function *function, double x) {
  return function->at(x, function->alpha, function->beta);
}

static inline double stowage_gate(const stowage_recurrent_layer *layer, int32_t direction, double x) {
  const stowage_recurrent_function *const functions = stowage_functions(layer, direction);
  const double limited = stowage_limited(layer, x);
  return functions == NULL ? 1.0 / (1.0 + exp(-limited)) : stowage_applied(functions, limited);
}

/* A new number of what the last gate, or the only one, has summed up. */
static inline double stowage_fresh(const stowage_recurrent_layer *layer, int32_t direction, double x) {
  const stowage_recurrent_function *const functions = stowage_functions(layer, direction);
  const double limited = stowage_limited(layer, x);
  return functions == NULL ? tanh(limited)
                           : stowage_applied(functions + (layer->gates == 1 ? 0 : 1), limited);
}

/* Whether a direction runs from the end. */
static inline int stowage_is_backward(const stowage_recurrent_layer *layer, int32_t direction) {
  return layer->is_reverse != 0 || direction == 1;
}

static inline float stowage_bias(const stowage_recurrent_layer *layer, int32_t direction, int32_t number) {
  return layer->bias == NULL ? 0.0F : layer->bias[direction * 2 * layer->gates * layer->cells + number];
}

/* Gives the output of an LSTM's cell, and its next number, from what its gates have summed up. */
static inline float stowage_lstm_cell(const stowage_recurrent_layer *layer, int32_t direction, int32_t cell,
                                      const float *gates, float before, float *next) {
  const float *const peepholes =
      layer->peepholes == NULL ? NULL : layer->peepholes + direction * 3 * layer->cells + cell;
  const double to_input = peepholes == NULL ? 0.0 : (double)(peepholes[0] * before);
  const double to_forget = peepholes == NULL ? 0.0 : (double)(peepholes[2 * layer->cells] * before);
  const stowage_recurrent_function *const functions = stowage_functions(layer, direction);
  const double open = stowage_gate(layer, direction, (double)gates[0] + to_input);
  const double keep =
      layer->forgets_input ? 1.0 - open : stowage_gate(layer, direction, (double)gates[2] + to_forget);
  const double fresh = stowage_fresh(layer, direction, (double)gates[3]);
  const float now = (float)(keep * (double)before + open * fresh);
  const double to_output = peepholes == NULL ? 0.0 : (double)(peepholes[layer->cells] * now);
  const double show = stowage_gate(layer, direction, (double)gates[1] + to_output);
  *next = now;
  return (float)(show *
                 (functions == NULL ? tanh((double)now) : stowage_applied(functions + 2, (double)now)));
}

#ifdef __cplusplus
}
#endif

#endif
