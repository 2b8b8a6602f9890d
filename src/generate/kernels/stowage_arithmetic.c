/* ADD, SUB and MUL of int8 and int16. Sums bring both numbers to twice the larger scale, with bits to spare. */
#include "stowage_kernels.h"

static inline int32_t sum_of(const stowage_add_layer *layer, int32_t a, int32_t b) {
  const int32_t first = stowage_scale((int32_t)((uint32_t)(a - layer->a_zero) << layer->spare_bits),
                                      layer->a.multiplier, layer->a.shift);
  const int32_t second = stowage_scale((int32_t)((uint32_t)(b - layer->b_zero) << layer->spare_bits),
                                       layer->b.multiplier, layer->b.shift);
  const int32_t sum =
      stowage_add_wrapping(first, layer->subtracts ? stowage_mul_wrapping(second, -1) : second);
  const int32_t scaled = stowage_scale(sum, layer->output.multiplier, layer->output.shift);
  return stowage_clamp(stowage_add_wrapping(scaled, layer->output_zero), layer->least, layer->most);
}

static inline int32_t product_of(const stowage_mul_layer *layer, int32_t a, int32_t b) {
  const int32_t product = stowage_mul_wrapping(a - layer->a_zero, b - layer->b_zero);
  const int32_t scaled = stowage_scale(product, layer->output.multiplier, layer->output.shift);
  return stowage_clamp(stowage_add_wrapping(scaled, layer->output_zero), layer->least, layer->most);
}

void stowage_add_s8(const stowage_add_layer *layer, const int8_t *a, int32_t step_a, const int8_t *b,
                    int32_t step_b, int8_t *output, int32_t count) {
  for (; count > 0; count--, a += step_a, b += step_b) *output++ = (int8_t)sum_of(layer, *a, *b);
}

void stowage_add_s16(const stowage_add_layer *layer, const int16_t *a, int32_t step_a, const int16_t *b,
                     int32_t step_b, int16_t *output, int32_t count) {
  for (; count > 0; count--, a += step_a, b += step_b) *output++ = (int16_t)sum_of(layer, *a, *b);
}

void stowage_mul_s8(const stowage_mul_layer *layer, const int8_t *a, int32_t step_a, const int8_t *b,
                    int32_t step_b, int8_t *output, int32_t count) {
  for (; count > 0; count--, a += step_a, b += step_b) *output++ = (int8_t)product_of(layer, *a, *b);
}

void stowage_mul_s16(const stowage_mul_layer *layer, const int16_t *a, int32_t step_a, const int16_t *b,
                     int32_t step_b, int16_t *output, int32_t count) {
  for (; count > 0; count--, a += step_a, b += step_b) *output++ = (int16_t)product_of(layer, *a, *b);
}
