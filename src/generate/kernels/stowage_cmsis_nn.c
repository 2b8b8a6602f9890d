/* SPDX-License-Identifier: Apache-2.0 */
#include "stowage_cmsis_nn.h"

#include "arm_nnfunctions.h"

/* Windows */

stowage_cmsis_nn_rows stowage_cmsis_nn_window(uint8_t *const *memory, const stowage_place *place,
                                              int32_t first, int32_t count, uint32_t row_bytes,
                                              int8_t *copy) {
  const int32_t begin = first < 0 ? 0 : first;
  const int32_t end = first + count < place->rows ? first + count : place->rows;
  stowage_cmsis_nn_rows rows = {copy, end - begin, begin - first};
  const int8_t *next = NULL;
  int32_t row;
  for (row = begin; row < end; row++) {
    const int8_t *const at = (const int8_t *)stowage_row(memory, place, row);
    if (next != NULL && at != next) break;
    next = at + row_bytes;
  }
  if (row == end && next != NULL) {
    rows.data = next - (uint32_t)rows.rows * row_bytes;
    return rows;
  }
  for (row = begin; row < end; row++, copy += row_bytes)
    stowage_copy(copy, stowage_row(memory, place, row), row_bytes);
  return rows;
}

/* What CMSIS-NN calls dimensions and parameters */

static cmsis_nn_dims dims(int32_t n, int32_t h, int32_t w, int32_t c) {
  cmsis_nn_dims it;
  it.n = n;
  it.h = h;
  it.w = w;
  it.c = c;
  return it;
}

static cmsis_nn_dims input_dims(const stowage_cmsis_nn_layer *layer, int32_t rows) {
  return dims(1, rows, layer->shape.in_width, layer->shape.in_channels);
}

static cmsis_nn_dims output_dims(const stowage_cmsis_nn_layer *layer, int32_t rows) {
  return dims(1, rows, layer->shape.out_width, layer->shape.out_channels);
}

static cmsis_nn_dims bias_dims(const stowage_cmsis_nn_layer *layer) {
  return dims(1, 1, 1, layer->shape.out_channels);
}

static cmsis_nn_dims filter_dims(const stowage_cmsis_nn_layer *layer, int32_t n, int32_t c) {
  return dims(n, layer->shape.taps_high, layer->shape.taps_wide, c);
}

static cmsis_nn_tile tile(int32_t h, int32_t w) {
  cmsis_nn_tile it;
  it.h = h;
  it.w = w;
  return it;
}

static cmsis_nn_activation limits(const stowage_cmsis_nn_layer *layer) {
  cmsis_nn_activation it;
  it.min = layer->least;
  it.max = layer->most;
  return it;
}

static cmsis_nn_context context(stowage_cmsis_nn_scratch scratch) {
  cmsis_nn_context it;
  it.buf = scratch.data;
  it.size = scratch.bytes;
  return it;
}

/* CMSIS-NN does not write factors, although it takes pointers to variables. */
static cmsis_nn_per_channel_quant_params factors(const stowage_cmsis_nn_layer *layer) {
  cmsis_nn_per_channel_quant_params it;
  it.multiplier = (int32_t *)(uintptr_t)layer->multiplier;
  it.shift = (int32_t *)(uintptr_t)layer->shift;
  return it;
}

static cmsis_nn_conv_params conv_params(const stowage_cmsis_nn_layer *layer, int32_t above) {
  cmsis_nn_conv_params it;
  it.input_offset = -layer->input_zero;
  it.output_offset = layer->output_zero;
  it.stride = tile(layer->stride_high, layer->shape.stride);
  it.padding = tile(above, layer->shape.before);
  it.dilation = tile(layer->dilation_high, layer->shape.dilation);
  it.activation = limits(layer);
  return it;
}

static cmsis_nn_dw_conv_params depthwise_params(const stowage_cmsis_nn_layer *layer, int32_t above) {
  cmsis_nn_dw_conv_params it;
  it.input_offset = -layer->input_zero;
  it.output_offset = layer->output_zero;
  it.ch_mult = layer->shape.out_channels / layer->shape.in_channels;
  it.stride = tile(layer->stride_high, layer->shape.stride);
  it.padding = tile(above, layer->shape.before);
  it.dilation = tile(layer->dilation_high, layer->shape.dilation);
  it.activation = limits(layer);
  return it;
}

/* What both pools are called with. */
typedef struct {
  cmsis_nn_context context;
  cmsis_nn_pool_params params;
  cmsis_nn_dims in;
  cmsis_nn_dims filter;
  cmsis_nn_dims out;
} pool_call;

static pool_call pool_of(const stowage_cmsis_nn_layer *layer, const stowage_cmsis_nn_rows *input,
                         stowage_cmsis_nn_scratch scratch, int32_t output_rows) {
  pool_call it;
  it.context = context(scratch);
  it.params.stride = tile(layer->stride_high, layer->shape.stride);
  it.params.padding = tile(input->above, layer->shape.before);
  it.params.activation = limits(layer);
  it.in = input_dims(layer, input->rows);
  it.filter = filter_dims(layer, 1, 1);
  it.out = output_dims(layer, output_rows);
  return it;
}

/* Kernels */

void stowage_cmsis_nn_conv(const stowage_cmsis_nn_layer *layer, stowage_cmsis_nn_rows input,
                           stowage_cmsis_nn_scratch scratch, int32_t output_rows, int8_t *output) {
  const cmsis_nn_context ctx = context(scratch);
  const cmsis_nn_conv_params params = conv_params(layer, input.above);
  const cmsis_nn_per_channel_quant_params by = factors(layer);
  const cmsis_nn_dims in = input_dims(layer, input.rows), out = output_dims(layer, output_rows);
  const cmsis_nn_dims filter = filter_dims(layer, layer->shape.out_channels, layer->shape.in_channels);
  const cmsis_nn_dims bias = bias_dims(layer);
  (void)arm_convolve_wrapper_s8(&ctx, &params, &by, &in, input.data, &filter, layer->weights, &bias,
                                layer->bias, &out, output);
}

void stowage_cmsis_nn_depthwise(const stowage_cmsis_nn_layer *layer, stowage_cmsis_nn_rows input,
                                stowage_cmsis_nn_scratch scratch, int32_t output_rows, int8_t *output) {
  const cmsis_nn_context ctx = context(scratch);
  const cmsis_nn_dw_conv_params params = depthwise_params(layer, input.above);
  const cmsis_nn_per_channel_quant_params by = factors(layer);
  const cmsis_nn_dims in = input_dims(layer, input.rows), out = output_dims(layer, output_rows);
  const cmsis_nn_dims filter = filter_dims(layer, 1, layer->shape.out_channels), bias = bias_dims(layer);
  (void)arm_depthwise_conv_wrapper_s8(&ctx, &params, &by, &in, input.data, &filter, layer->weights, &bias,
                                      layer->bias, &out, output);
}

void stowage_cmsis_nn_average_pool(const stowage_cmsis_nn_layer *layer, stowage_cmsis_nn_rows input,
                                   stowage_cmsis_nn_scratch scratch, int32_t output_rows, int8_t *output) {
  const pool_call it = pool_of(layer, &input, scratch, output_rows);
  (void)arm_avgpool_s8(&it.context, &it.params, &it.in, input.data, &it.filter, &it.out, output);
}

void stowage_cmsis_nn_max_pool(const stowage_cmsis_nn_layer *layer, stowage_cmsis_nn_rows input,
                               stowage_cmsis_nn_scratch scratch, int32_t output_rows, int8_t *output) {
  const pool_call it = pool_of(layer, &input, scratch, output_rows);
  (void)arm_max_pool_s8(&it.context, &it.params, &it.in, input.data, &it.filter, &it.out, output);
}

void stowage_cmsis_nn_fully_connected(const stowage_cmsis_nn_layer *layer, stowage_cmsis_nn_rows input,
                                      stowage_cmsis_nn_scratch scratch, int32_t output_rows, int8_t *output) {
  const cmsis_nn_context ctx = context(scratch);
  const int32_t places = layer->shape.out_width;
  const cmsis_nn_dims in = dims(places, 1, 1, layer->shape.in_channels);
  const cmsis_nn_dims out = dims(places, 1, 1, layer->shape.out_channels);
  const cmsis_nn_dims filter = dims(layer->shape.in_channels, 1, 1, layer->shape.out_channels);
  const cmsis_nn_dims bias = bias_dims(layer);
  cmsis_nn_fc_params params;
  cmsis_nn_per_tensor_quant_params by;
  (void)output_rows;
  params.input_offset = -layer->input_zero;
  params.filter_offset = 0;
  params.output_offset = layer->output_zero;
  params.activation = limits(layer);
  by.multiplier = layer->multiplier[0];
  by.shift = layer->shift[0];
  (void)arm_fully_connected_s8(&ctx, &params, &by, &in, input.data, &filter, layer->weights, &bias,
                               layer->bias, &out, output);
}

/* Scratch memory */

int32_t stowage_cmsis_nn_conv_wish(const stowage_cmsis_nn_layer *layer, int32_t input_rows,
                                   int32_t output_rows) {
  const cmsis_nn_conv_params params = conv_params(layer, 0);
  const cmsis_nn_dims in = input_dims(layer, input_rows), out = output_dims(layer, output_rows);
  const cmsis_nn_dims filter = filter_dims(layer, layer->shape.out_channels, layer->shape.in_channels);
  return arm_convolve_wrapper_s8_get_buffer_size(&params, &in, &filter, &out);
}

int32_t stowage_cmsis_nn_depthwise_wish(const stowage_cmsis_nn_layer *layer, int32_t input_rows,
                                        int32_t output_rows) {
  const cmsis_nn_dw_conv_params params = depthwise_params(layer, 0);
  const cmsis_nn_dims in = input_dims(layer, input_rows), out = output_dims(layer, output_rows);
  const cmsis_nn_dims filter = filter_dims(layer, 1, layer->shape.out_channels);
#if !defined(ARM_MATH_MVEI)
  /* Some versions state the size of the general kernel for windows of 3x3, but run one without scratch memory. */
  if (layer->shape.taps_high == 3 && layer->shape.taps_wide == 3 && layer->shape.before <= 1) return 0;
#endif
  return arm_depthwise_conv_wrapper_s8_get_buffer_size(&params, &in, &filter, &out);
}

int32_t stowage_cmsis_nn_average_pool_wish(const stowage_cmsis_nn_layer *layer, int32_t input_rows,
                                           int32_t output_rows) {
  (void)input_rows;
  (void)output_rows;
  return arm_avgpool_s8_get_buffer_size(layer->shape.out_width, layer->shape.in_channels);
}

int32_t stowage_cmsis_nn_fully_connected_wish(const stowage_cmsis_nn_layer *layer, int32_t input_rows,
                                              int32_t output_rows) {
  const cmsis_nn_dims filter = dims(layer->shape.in_channels, 1, 1, layer->shape.out_channels);
  (void)input_rows;
  (void)output_rows;
  return arm_fully_connected_s8_get_buffer_size(&filter);
}
