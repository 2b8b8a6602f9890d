/* SPDX-License-Identifier: Apache-2.0 */
/* QUANTIZE and DEQUANTIZE. Reals out of range become the nearest number of the type, NaN becomes 0. */
#include <math.h>
#include <string.h>

#include "stowage_kernels.h"

/* A float32 rounded to an integer, halves away from zero; at most 2^30 away from it. */
static int32_t rounded(float x) {
  uint32_t bits;
  int32_t exponent, number;
  memcpy(&bits, &x, sizeof bits);
  exponent = (int32_t)(bits >> 23 & 255U) - 127;
  number = (int32_t)((bits & 0x7FFFFFU) | 0x800000U);
  if (exponent < -1 || isnan(x)) return 0;
  if (exponent >= 30) {
    number = INT32_C(1) << 30;
  } else if (exponent >= 23) {
    number = (int32_t)((uint32_t)number << (exponent - 23));
  } else {
    number = (number + (INT32_C(1) << (22 - exponent))) >> (23 - exponent);
  }
  return bits >> 31 != 0U ? -number : number;
}

static int32_t quantized(const stowage_affine *layer, float x, int32_t least, int32_t most) {
  return stowage_clamp(rounded(x / layer->scale) + layer->zero, least, most);
}

static float real(const stowage_affine *layer, int32_t x) { return layer->scale * (float)(x - layer->zero); }

static int32_t requantized(const stowage_requantize_layer *layer, int32_t x, int32_t least, int32_t most) {
  const int32_t scaled = stowage_scale(x - layer->input_zero, layer->factor.multiplier, layer->factor.shift);
  return stowage_clamp(stowage_add_wrapping(scaled, layer->output_zero), least, most);
}

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)

#include <arm_mve.h>

/* Four numbers at once. The conversion rounds halves away from zero, and gives 0 for NaN. */
void stowage_quantize_s8(const stowage_affine *layer, const float *input, int8_t *output, int32_t count) {
  for (; count > 0; count -= 4, input += 4, output += 4) {
    const mve_pred16_t there = vctp32q((uint32_t)count);
    const float32x4_t scaled = vldrwq_z_f32(input, there) / vdupq_n_f32(layer->scale);
    const int32x4_t steps = vqaddq_n_s32(vcvtaq_s32_f32(scaled), layer->zero);
    vstrbq_p_s32(output, vminq_s32(vmaxq_s32(steps, vdupq_n_s32(INT8_MIN)), vdupq_n_s32(INT8_MAX)), there);
  }
}

#else

void stowage_quantize_s8(const stowage_affine *layer, const float *input, int8_t *output, int32_t count) {
  for (; count > 0; count--) *output++ = (int8_t)quantized(layer, *input++, INT8_MIN, INT8_MAX);
}

#endif

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

void stowage_requantize_s16_u8(const stowage_requantize_layer *layer, const int16_t *input, uint8_t *output,
                               int32_t count) {
  for (; count > 0; count--) *output++ = (uint8_t)requantized(layer, *input++, 0, UINT8_MAX);
}

void stowage_requantize_u8_s16(const stowage_requantize_layer *layer, const uint8_t *input, int16_t *output,
                               int32_t count) {
  for (; count > 0; count--) *output++ = (int16_t)requantized(layer, *input++, INT16_MIN, INT16_MAX);
}

void stowage_requantize_s16_s16(const stowage_requantize_layer *layer, const int16_t *input, int16_t *output,
                                int32_t count) {
  for (; count > 0; count--) *output++ = (int16_t)requantized(layer, *input++, INT16_MIN, INT16_MAX);
}

void stowage_requantize_s16_s32(const stowage_requantize_layer *layer, const int16_t *input, int32_t *output,
                                int32_t count) {
  for (; count > 0; count--) *output++ = requantized(layer, *input++, INT32_MIN, INT32_MAX);
}
