/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of int16. */
#ifndef STOWAGE_ACTIVATION_S16_H
#define STOWAGE_ACTIVATION_S16_H

#include "stowage_places.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers of int16 by lines between the 256 values of a table of the sigmoid. */
typedef struct {
  const uint16_t *table;
  int32_t factor; /* to units of 1 / 12288, times 2^shift */
  int32_t shift;
} stowage_squash_layer;

void stowage_logistic_s16(const stowage_squash_layer *layer, const int16_t *input, int16_t *output,
                          int32_t count);
void stowage_tanh_s16(const stowage_squash_layer *layer, const int16_t *input, int16_t *output,
                      int32_t count);

/* RELU and its like: a factor above zero, and one below. */
typedef struct {
  int32_t input_zero;
  int32_t output_zero;
  stowage_factor above;
  stowage_factor below;
  int32_t least;
  int32_t most;
} stowage_slopes_layer;

void stowage_slopes_s16(const stowage_slopes_layer *layer, const int16_t *input, int16_t *output,
                        int32_t count);

/* SOFTMAX, one run of numbers: by lines between the 513 values of two tables. */
typedef struct {
  const int16_t *exponential; /* of -10 to 0 */
  const int16_t *reciprocal;  /* of 1 to 2 */
  stowage_factor factor;      /* from differences to units of 10 / 65535 */
} stowage_softmax_s16_layer;

void stowage_softmax_s16(const stowage_softmax_s16_layer *layer, const int16_t *input, int16_t *output,
                         int32_t count);

#ifdef __cplusplus
}
#endif

#endif
