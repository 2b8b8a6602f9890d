/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that call CMSIS-NN, which is not part of this package: add it to the project, and the folder of
 * arm_nnfunctions.h to the include path.
 *
 * One call computes one row of the output, or all of them. CMSIS-NN wants the rows under a window one after the other.
 * Where they are apart, they are copied to scratch memory. Rows above the image are its padding; rows below follow from
 * the number of rows that there are.
 */
#ifndef STOWAGE_CMSIS_NN_H
#define STOWAGE_CMSIS_NN_H

#include "stowage_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  stowage_window_shape shape;
  int32_t stride_high;
  int32_t dilation_high;
  const int8_t *weights; /* null for pools, like the next three */
  const int32_t *bias;
  const int32_t *multiplier; /* per output channel */
  const int32_t *shift;      /* per output channel */
  int32_t input_zero;
  int32_t output_zero;
  int32_t least;
  int32_t most;
} stowage_cmsis_nn_layer;

/* Rows of the input that are in the image, one after the other. */
typedef struct {
  const int8_t *data;
  int32_t rows;
  int32_t above; /* rows of padding */
} stowage_cmsis_nn_rows;

/* Memory that CMSIS-NN uses during a call. */
typedef struct {
  void *data;
  int32_t bytes;
} stowage_cmsis_nn_scratch;

/* Rows [first, first + count), as far as they exist, in place or in the copy. */
stowage_cmsis_nn_rows stowage_cmsis_nn_window(uint8_t *const *memory, const stowage_place *place,
                                              int32_t first, int32_t count, uint32_t row_bytes, int8_t *copy);

typedef void stowage_cmsis_nn_kernel(const stowage_cmsis_nn_layer *layer, stowage_cmsis_nn_rows input,
                                     stowage_cmsis_nn_scratch scratch, int32_t output_rows, int8_t *output);

stowage_cmsis_nn_kernel stowage_cmsis_nn_conv;
stowage_cmsis_nn_kernel stowage_cmsis_nn_depthwise;
stowage_cmsis_nn_kernel stowage_cmsis_nn_average_pool;
stowage_cmsis_nn_kernel stowage_cmsis_nn_max_pool;
/* The places of a row are the rows of a matrix. */
stowage_cmsis_nn_kernel stowage_cmsis_nn_fully_connected;

/* Bytes that CMSIS-NN wants for a call with so many rows. */
typedef int32_t stowage_cmsis_nn_wish(const stowage_cmsis_nn_layer *layer, int32_t input_rows,
                                      int32_t output_rows);

stowage_cmsis_nn_wish stowage_cmsis_nn_conv_wish;
stowage_cmsis_nn_wish stowage_cmsis_nn_depthwise_wish;
stowage_cmsis_nn_wish stowage_cmsis_nn_average_pool_wish;
stowage_cmsis_nn_wish stowage_cmsis_nn_fully_connected_wish;

#ifdef __cplusplus
}
#endif

#endif
