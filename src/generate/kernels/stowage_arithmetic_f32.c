/* ADD, SUB, MUL and DIV of float32. */
#include "stowage_kernels.h"

void stowage_add_f32(const stowage_limits_f32 *layer, const float *a, int32_t step_a, const float *b,
                     int32_t step_b, float *output, int32_t count) {
  for (; count > 0; count--, a += step_a, b += step_b)
    *output++ = stowage_clamp_f32(*a + *b, layer->least, layer->most);
}

void stowage_sub_f32(const stowage_limits_f32 *layer, const float *a, int32_t step_a, const float *b,
                     int32_t step_b, float *output, int32_t count) {
  for (; count > 0; count--, a += step_a, b += step_b)
    *output++ = stowage_clamp_f32(*a - *b, layer->least, layer->most);
}

void stowage_mul_f32(const stowage_limits_f32 *layer, const float *a, int32_t step_a, const float *b,
                     int32_t step_b, float *output, int32_t count) {
  for (; count > 0; count--, a += step_a, b += step_b)
    *output++ = stowage_clamp_f32(*a * *b, layer->least, layer->most);
}

void stowage_div_f32(const stowage_limits_f32 *layer, const float *a, int32_t step_a, const float *b,
                     int32_t step_b, float *output, int32_t count) {
  for (; count > 0; count--, a += step_a, b += step_b)
    *output++ = stowage_clamp_f32(*a / *b, layer->least, layer->most);
}
