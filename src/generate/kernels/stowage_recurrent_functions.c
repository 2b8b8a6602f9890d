/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of recurrent networks other than the usual ones, and these beside others. */
#include "stowage_recurrent.h"

double stowage_recurrent_affine(double x, double alpha, double beta) { return alpha * x + beta; }

double stowage_recurrent_elu(double x, double alpha, double beta) {
  (void)beta;
  return x < 0.0 ? alpha * expm1(x) : x;
}

double stowage_recurrent_hardsigmoid(double x, double alpha, double beta) {
  const double line = alpha * x + beta;
  return line < 0.0 ? 0.0 : line > 1.0 ? 1.0 : line;
}

double stowage_recurrent_leakyrelu(double x, double alpha, double beta) {
  (void)beta;
  return x < 0.0 ? alpha * x : x;
}

double stowage_recurrent_relu(double x, double alpha, double beta) {
  (void)alpha;
  (void)beta;
  return x < 0.0 ? 0.0 : x;
}

double stowage_recurrent_scaledtanh(double x, double alpha, double beta) { return alpha * tanh(beta * x); }

double stowage_recurrent_sigmoid(double x, double alpha, double beta) {
  (void)alpha;
  (void)beta;
  return 1.0 / (1.0 + exp(-x));
}

double stowage_recurrent_softplus(double x, double alpha, double beta) {
  (void)alpha;
  (void)beta;
  return log1p(exp(x));
}

double stowage_recurrent_softsign(double x, double alpha, double beta) {
  (void)alpha;
  (void)beta;
  return x / (1.0 + fabs(x));
}

double stowage_recurrent_tanh(double x, double alpha, double beta) {
  (void)alpha;
  (void)beta;
  return tanh(x);
}

double stowage_recurrent_thresholdedrelu(double x, double alpha, double beta) {
  (void)beta;
  return x > alpha ? x : 0.0;
}
