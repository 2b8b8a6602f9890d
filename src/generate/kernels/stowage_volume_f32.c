/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and pools of float32 over one, two or three dimensions, of whole tensors: for weights that are computed,
 * and for three dimensions. Sums are in the order of the window, channel after channel. */
#include <math.h>

#include "stowage_kernels.h"

/* A place of the output, by dimension. */
typedef struct {
  int32_t at[3];
} place;

static int32_t count_of(const int32_t *extents) { return extents[0] * extents[1] * extents[2]; }

static place place_of(const stowage_volume_shape *shape, int32_t number) {
  place it;
  it.at[2] = number % shape->out[2];
  it.at[1] = number / shape->out[2] % shape->out[1];
  it.at[0] = number / shape->out[2] / shape->out[1];
  return it;
}

/* The element of a plane of the input under element `tap` of the window; -1 in the padding. */
static int32_t under(const stowage_volume_shape *shape, const place *to, int32_t tap) {
  int32_t taps[3], element = 0, d;
  taps[2] = tap % shape->taps[2];
  taps[1] = tap / shape->taps[2] % shape->taps[1];
  taps[0] = tap / shape->taps[2] / shape->taps[1];
  for (d = 0; d < 3; d++) {
    const int32_t at = to->at[d] * shape->stride[d] + taps[d] * shape->dilation[d] - shape->before[d];
    if (at < 0 || at >= shape->in[d]) return -1;
    element = element * shape->in[d] + at;
  }
  return element;
}

void stowage_volume_conv_f32(const stowage_volume_shape *shape, const float *input, const float *weights,
                             const float *bias, float *output) {
  const int32_t in = count_of(shape->in), out = count_of(shape->out), taps = count_of(shape->taps);
  const int32_t channels = shape->groups * shape->outputs;
  int32_t b, o, i, c, k;
  for (b = 0; b < shape->batches; b++, input += (size_t)(shape->groups * shape->inputs) * (size_t)in) {
    for (o = 0; o < channels; o++) {
      const float *const first = input + (size_t)(o / shape->outputs * shape->inputs) * (size_t)in;
      const float *const own = weights + (size_t)o * (size_t)shape->inputs * (size_t)taps;
      for (i = 0; i < out; i++) {
        const place to = place_of(shape, i);
        float sum = bias == NULL ? 0.0F : bias[o];
        for (c = 0; c < shape->inputs; c++) {
          for (k = 0; k < taps; k++) {
            const int32_t from = under(shape, &to, k);
            if (from >= 0) sum = sum + own[c * taps + k] * first[(size_t)c * (size_t)in + (size_t)from];
          }
        }
        *output++ = sum;
      }
    }
  }
}

void stowage_volume_max_f32(const stowage_volume_shape *shape, const float *input, float *output) {
  const int32_t in = count_of(shape->in), out = count_of(shape->out), taps = count_of(shape->taps);
  int32_t plane, i, k;
  for (plane = shape->batches * shape->groups; plane > 0; plane--, input += in) {
    for (i = 0; i < out; i++) {
      const place to = place_of(shape, i);
      float most = -INFINITY;
      for (k = 0; k < taps; k++) {
        const int32_t from = under(shape, &to, k);
        if (from >= 0) most = input[from] <= most ? most : input[from];
      }
      *output++ = most;
    }
  }
}

void stowage_volume_average_f32(const stowage_volume_shape *shape, int32_t counted, const float *input,
                                float *output) {
  const int32_t in = count_of(shape->in), out = count_of(shape->out), taps = count_of(shape->taps);
  int32_t plane, i, k;
  for (plane = shape->batches * shape->groups; plane > 0; plane--, input += in) {
    for (i = 0; i < out; i++) {
      const place to = place_of(shape, i);
      double sum = 0.0;
      int32_t count = 0;
      for (k = 0; k < taps; k++) {
        const int32_t from = under(shape, &to, k);
        if (from < 0) continue;
        sum = sum + (double)input[from];
        count++;
      }
      if (counted > 0) count = counted;
      *output++ = count == 0 ? 0.0F : (float)(sum / (double)count);
    }
  }
}

void stowage_volume_norm_f32(const stowage_volume_shape *shape, double power, const float *input,
                             float *output) {
  const int32_t in = count_of(shape->in), out = count_of(shape->out), taps = count_of(shape->taps);
  const int is_square = power > 1.5 && power < 2.5 && floor(power) >= power;
  int32_t plane, i, k;
  for (plane = shape->batches * shape->groups; plane > 0; plane--, input += in) {
    for (i = 0; i < out; i++) {
      const place to = place_of(shape, i);
      double sum = 0.0;
      for (k = 0; k < taps; k++) {
        const int32_t from = under(shape, &to, k);
        const double x = from < 0 ? 0.0 : (double)input[from];
        if (from >= 0) sum = sum + (is_square ? x * x : pow(fabs(x), power));
      }
      *output++ = (float)(is_square ? sqrt(sum) : pow(sum, 1.0 / power));
    }
  }
}
