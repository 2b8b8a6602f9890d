/* SPDX-License-Identifier: Apache-2.0 */
/* ADD, SUB and MUL of int8 and int16, SQUARED_DIFFERENCE of int8. Sums and differences bring both numbers to twice
 * the larger scale, with bits to spare. */
#include "stowage_kernels.h"

/* On the common scale. */
static inline int32_t common_sum_of(const stowage_add_layer *layer, int32_t a, int32_t b) {
  const int32_t first = stowage_scale((int32_t)((uint32_t)(a - layer->a_zero) << layer->spare_bits),
                                      layer->a.multiplier, layer->a.shift);
  const int32_t second = stowage_scale((int32_t)((uint32_t)(b - layer->b_zero) << layer->spare_bits),
                                       layer->b.multiplier, layer->b.shift);
  return stowage_add_wrapping(first, layer->subtracts ? stowage_mul_wrapping(second, -1) : second);
}

static inline int32_t to_output(const stowage_add_layer *layer, int32_t common) {
  const int32_t scaled = stowage_scale(common, layer->output.multiplier, layer->output.shift);
  return stowage_clamp(stowage_add_wrapping(scaled, layer->output_zero), layer->least, layer->most);
}

static inline int32_t sum_of(const stowage_add_layer *layer, int32_t a, int32_t b) {
  return to_output(layer, common_sum_of(layer, a, b));
}

static inline int32_t product_of(const stowage_mul_layer *layer, int32_t a, int32_t b) {
  const int32_t product = stowage_mul_wrapping(a - layer->a_zero, b - layer->b_zero);
  const int32_t scaled = stowage_scale(product, layer->output.multiplier, layer->output.shift);
  return stowage_clamp(stowage_add_wrapping(scaled, layer->output_zero), layer->least, layer->most);
}

#if defined(__ARM_FEATURE_MVE)

#include <arm_mve.h>

/* Four numbers at once, by the same formulas. */

static inline int32x4_t four_of(const int8_t *at, int32_t step, mve_pred16_t there) {
  return step == 0 ? vdupq_n_s32(*at) : vldrbq_z_s32(at, there);
}

static inline int32x4_t scale_four(int32x4_t x, stowage_factor by) {
  int32x4_t high;
  if (by.shift >= 0) return vqrdmulhq_n_s32(vshlq_r_s32(x, by.shift), by.multiplier);
  high = vqrdmulhq_n_s32(x, by.multiplier);
  return vrshlq_n_s32(vaddq_s32(high, vshrq_n_s32(high, 31)), by.shift);
}

static inline void store_four(int8_t *at, int32x4_t x, int32_t least, int32_t most, mve_pred16_t there) {
  vstrbq_p_s32(at, vminq_s32(vmaxq_s32(x, vdupq_n_s32(least)), vdupq_n_s32(most)), there);
}

void stowage_add_s8(const stowage_add_layer *layer, const int8_t *a, int32_t step_a, const int8_t *b,
                    int32_t step_b, int8_t *output, int32_t count) {
  for (; count > 0; count -= 4, a += 4 * step_a, b += 4 * step_b, output += 4) {
    const mve_pred16_t there = vctp32q((uint32_t)count);
    const int32x4_t of_a = vsubq_n_s32(four_of(a, step_a, there), layer->a_zero);
    const int32x4_t of_b = vsubq_n_s32(four_of(b, step_b, there), layer->b_zero);
    const int32x4_t first = scale_four(vshlq_r_s32(of_a, layer->spare_bits), layer->a);
    const int32x4_t second = scale_four(vshlq_r_s32(of_b, layer->spare_bits), layer->b);
    const int32x4_t sum = layer->subtracts ? vsubq_s32(first, second) : vaddq_s32(first, second);
    store_four(output, vaddq_n_s32(scale_four(sum, layer->output), layer->output_zero), layer->least,
               layer->most, there);
  }
}

void stowage_mul_s8(const stowage_mul_layer *layer, const int8_t *a, int32_t step_a, const int8_t *b,
                    int32_t step_b, int8_t *output, int32_t count) {
  for (; count > 0; count -= 4, a += 4 * step_a, b += 4 * step_b, output += 4) {
    const mve_pred16_t there = vctp32q((uint32_t)count);
    const int32x4_t of_a = vsubq_n_s32(four_of(a, step_a, there), layer->a_zero);
    const int32x4_t of_b = vsubq_n_s32(four_of(b, step_b, there), layer->b_zero);
    store_four(output, vaddq_n_s32(scale_four(vmulq_s32(of_a, of_b), layer->output), layer->output_zero),
               layer->least, layer->most, there);
  }
}

#else

void stowage_add_s8(const stowage_add_layer *layer, const int8_t *a, int32_t step_a, const int8_t *b,
                    int32_t step_b, int8_t *output, int32_t count) {
  for (; count > 0; count--, a += step_a, b += step_b) *output++ = (int8_t)sum_of(layer, *a, *b);
}

void stowage_mul_s8(const stowage_mul_layer *layer, const int8_t *a, int32_t step_a, const int8_t *b,
                    int32_t step_b, int8_t *output, int32_t count) {
  for (; count > 0; count--, a += step_a, b += step_b) *output++ = (int8_t)product_of(layer, *a, *b);
}

#endif

void stowage_add_s16(const stowage_add_layer *layer, const int16_t *a, int32_t step_a, const int16_t *b,
                     int32_t step_b, int16_t *output, int32_t count) {
  for (; count > 0; count--, a += step_a, b += step_b) *output++ = (int16_t)sum_of(layer, *a, *b);
}

void stowage_mul_s16(const stowage_mul_layer *layer, const int16_t *a, int32_t step_a, const int16_t *b,
                     int32_t step_b, int16_t *output, int32_t count) {
  for (; count > 0; count--, a += step_a, b += step_b) *output++ = (int16_t)product_of(layer, *a, *b);
}

void stowage_squared_difference_s8(const stowage_add_layer *layer, const int8_t *a, int32_t step_a,
                                   const int8_t *b, int32_t step_b, int8_t *output, int32_t count) {
  for (; count > 0; count--, a += step_a, b += step_b) {
    const int32_t difference = common_sum_of(layer, *a, *b);
    *output++ = (int8_t)to_output(layer, stowage_mul_wrapping(difference, difference));
  }
}
