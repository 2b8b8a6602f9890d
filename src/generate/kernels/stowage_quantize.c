/* QUANTIZE and DEQUANTIZE. Reals out of range become the nearest number of the type, NaN becomes 0. */
#include <math.h>

#include "stowage_kernels.h"

static int32_t quantized(const stowage_affine *layer, float x, int32_t least, int32_t most) {
  const double rounded = (double)roundf(x / layer->scale);
  int64_t result = 0;
  if (rounded <= (double)INT32_MIN) {
    result = INT32_MIN;
  } else if (rounded >= (double)INT32_MAX) {
    result = INT32_MAX;
  } else if (!isnan(rounded)) {
    result = (int64_t)rounded;
  }
  result += layer->zero;
  return result < least ? least : (result > most ? most : (int32_t)result);
}

static float real(const stowage_affine *layer, int32_t x) {
  return (float)((double)layer->scale * (double)(x - layer->zero));
}

static int32_t requantized(const stowage_requantize_layer *layer, int32_t x, int32_t least, int32_t most) {
  const int32_t scaled = stowage_scale(x - layer->input_zero, layer->factor.multiplier, layer->factor.shift);
  return stowage_clamp(stowage_add_wrapping(scaled, layer->output_zero), least, most);
}

void stowage_quantize_s8(const stowage_affine *layer, const float *input, int8_t *output, int32_t count) {
  for (; count > 0; count--) *output++ = (int8_t)quantized(layer, *input++, INT8_MIN, INT8_MAX);
}

void stowage_quantize_u8(const stowage_affine *layer, const float *input, uint8_t *output, int32_t count) {
  for (; count > 0; count--) *output++ = (uint8_t)quantized(layer, *input++, 0, UINT8_MAX);
}

void stowage_quantize_s16(const stowage_affine *layer, const float *input, int16_t *output, int32_t count) {
  for (; count > 0; count--) *output++ = (int16_t)quantized(layer, *input++, INT16_MIN, INT16_MAX);
}

void stowage_dequantize_s8(const stowage_affine *layer, const int8_t *input, float *output, int32_t count) {
  for (; count > 0; count--) *output++ = real(layer, *input++);
}

void stowage_dequantize_u8(const stowage_affine *layer, const uint8_t *input, float *output, int32_t count) {
  for (; count > 0; count--) *output++ = real(layer, *input++);
}

void stowage_dequantize_s16(const stowage_affine *layer, const int16_t *input, float *output, int32_t count) {
  for (; count > 0; count--) *output++ = real(layer, *input++);
}

void stowage_requantize_s16_s8(const stowage_requantize_layer *layer, const int16_t *input, int8_t *output,
                               int32_t count) {
  for (; count > 0; count--) *output++ = (int8_t)requantized(layer, *input++, INT8_MIN, INT8_MAX);
}

void stowage_requantize_s8_s16(const stowage_requantize_layer *layer, const int8_t *input, int16_t *output,
                               int32_t count) {
  for (; count > 0; count--) *output++ = (int16_t)requantized(layer, *input++, INT16_MIN, INT16_MAX);
}

void stowage_requantize_s16_s32(const stowage_requantize_layer *layer, const int16_t *input, int32_t *output,
                                int32_t count) {
  for (; count > 0; count--) *output++ = requantized(layer, *input++, INT32_MIN, INT32_MAX);
}
