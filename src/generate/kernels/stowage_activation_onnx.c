/* Activations of float32 as ONNX defines them. */
#include "stowage_kernels.h"

void stowage_hard_sigmoid_f32(float alpha, float beta, const float *input, float *output, int32_t count) {
  for (; count > 0; count--) {
    const float x = alpha * *input++ + beta;
    const float below = x < 1.0F ? x : 1.0F;
    *output++ = 0.0F < below ? below : 0.0F;
  }
}

void stowage_swish_by_sixths_f32(const float *input, float *output, int32_t count) {
  for (; count > 0; count--) {
    const float x = *input++;
    const float part = x / 6.0F + 0.5F;
    const float below = part < 1.0F ? part : 1.0F;
    *output++ = x * (0.0F < below ? below : 0.0F);
  }
}

void stowage_leaky_relu_f32(float alpha, const float *input, float *output, int32_t count) {
  for (; count > 0; count--) {
    const float x = *input++;
    *output++ = x < 0.0F ? alpha * x : x;
  }
}
