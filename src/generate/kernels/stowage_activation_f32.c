/* Activations of float32. */
#include <math.h>

#include "stowage_kernels.h"

void stowage_clamp_run_f32(const stowage_limits_f32 *layer, const float *input, float *output,
                           int32_t count) {
  for (; count > 0; count--) {
    const float x = *input++;
    *output++ = x > layer->most ? layer->most : (x < layer->least ? layer->least : x);
  }
}

void stowage_logistic_f32(const float *input, float *output, int32_t count) {
  for (; count > 0; count--) *output++ = 1.0F / (1.0F + expf(-*input++));
}

void stowage_tanh_f32(const float *input, float *output, int32_t count) {
  for (; count > 0; count--) *output++ = tanhf(*input++);
}

void stowage_hard_swish_f32(const float *input, float *output, int32_t count) {
  for (; count > 0; count--) {
    const float x = *input++;
    const float shifted = x + 3.0F;
    const float above = shifted > 0.0F ? shifted : 0.0F;
    *output++ = x * (above < 6.0F ? above : 6.0F) / 6.0F;
  }
}
