/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of 8 bits element by element. */
#include "stowage_q8.h"

/* x / 2^bits, rounded, halves to even. */
static uint64_t rounded(uint64_t x, int32_t bits) {
  const uint64_t whole = x >> bits;
  const uint64_t rest = x - (whole << bits), half = bits > 0 ? UINT64_C(1) << (bits - 1) : 1;
  return whole + (rest > half || (rest == half && (whole & 1) != 0) ? 1 : 0);
}

/* The bits beyond 24. */
static int32_t excess(uint64_t x) {
  int32_t bits = 0;
  while (x >> bits >= UINT64_C(1) << 24) bits++;
  return bits;
}

int32_t stowage_q8_scale_exactly(int32_t x, int32_t mantissa, int32_t shift) {
  const uint64_t size = x < 0 ? (uint64_t)(-(int64_t)x) : (uint64_t)x;
  const int32_t spare = excess(size);
  const uint64_t product = (rounded(size, spare) << spare) * (uint64_t)mantissa;
  const int32_t bits = excess(product);
  const int32_t steps = (int32_t)rounded(rounded(product, bits), shift - bits);
  return x < 0 ? -steps : steps;
}

/* To the nearest integer, halves to even; for numbers up to 1024. */
static int32_t nearest(float x) {
  const int32_t whole = (int32_t)x;
  const float rest = x - (float)whole;
  const int is_odd = (whole & 1) != 0;
  if (rest > 0.5F || (is_odd && rest >= 0.5F)) return whole + 1;
  if (rest < -0.5F || (is_odd && rest <= -0.5F)) return whole - 1;
  return whole;
}

void stowage_q8_quantize(const stowage_q8_affine *layer, const float *input, uint8_t *output, int32_t count) {
  int32_t i;
  for (i = 0; i < count; i++) {
    const float ratio = input[i] / layer->scale;
    const float near = stowage_clamp_f32(ratio, -1024.0F, 1024.0F);
    output[i] = ratio != ratio ? (uint8_t)0 : stowage_q8_stored(nearest(near), layer->zero, layer->flip);
  }
}

void stowage_q8_dequantize(const stowage_q8_affine *layer, const uint8_t *input, float *output,
                           int32_t count) {
  int32_t i;
  for (i = 0; i < count; i++)
    output[i] = (float)((int32_t)(input[i] ^ layer->flip) - layer->zero) * layer->scale;
}

void stowage_q8_add(const stowage_q8_add_layer *layer, const uint8_t *a, int32_t step_a, const uint8_t *b,
                    int32_t step_b, uint8_t *output, int32_t count) {
  for (; count > 0; count--, a += step_a, b += step_b) {
    const int32_t x = (int32_t)(*a ^ layer->flip) - layer->a_zero,
                  y = (int32_t)(*b ^ layer->flip) - layer->b_zero;
    const int32_t steps = stowage_round_to_even(x * layer->a + y * layer->b, layer->shift);
    *output++ = stowage_q8_stored(steps, layer->output_zero, layer->flip);
  }
}

void stowage_q8_mul(const stowage_q8_mul_layer *layer, const uint8_t *a, int32_t step_a, const uint8_t *b,
                    int32_t step_b, uint8_t *output, int32_t count) {
  for (; count > 0; count--, a += step_a, b += step_b) {
    const int32_t x = (int32_t)(*a ^ layer->flip) - layer->a_zero,
                  y = (int32_t)(*b ^ layer->flip) - layer->b_zero;
    const int32_t steps = stowage_q8_scale(x * y, layer->factor.mantissa, layer->factor.shift);
    *output++ = stowage_q8_stored(steps, layer->output_zero, layer->flip);
  }
}
