/* SPDX-License-Identifier: Apache-2.0 */
/* InstanceNormalization and GroupNormalization. Mean and variance of a channel are updated with each element; channels
 * of a group are joined by the number of their elements. Sources: B. P. Welford, 1962; T. F. Chan, G. H. Golub, R. J.
 * LeVeque, 1979. */
#include <math.h>

#include "stowage_kernels.h"

static void add_run(const float *from, int32_t count, int32_t done, int32_t is_raw, stowage_moments *sums) {
  int32_t i;
  for (i = 0; i < count; i++) {
    const double x = (double)from[i], away = x - sums->mean;
    if (is_raw == 0) sums->mean += away / (double)(done + i + 1);
    sums->squares += away * (x - sums->mean);
  }
}

void stowage_norm_add_f32(const float *row, int32_t channels, int32_t in_plane, int32_t count, int32_t done,
                          stowage_moments *sums) {
  int32_t c;
  for (c = 0; c < channels; c++) {
    if (done == 0) sums[c].mean = sums[c].squares = 0.0;
    add_run(row + c * in_plane, count, done, 0, &sums[c]);
  }
}

/* Adds the moments of a channel to those of `before` channels of the same group. */
static void join(const stowage_norm_layer *layer, stowage_moments *all, const stowage_moments *next,
                 int32_t before) {
  const double one = (double)layer->elements, done = one * (double)before;
  const double away = next->mean - all->mean;
  all->mean += away * (one / (done + one));
  all->squares += next->squares + away * away * (done * one / (done + one));
}

/* Writes runs of all channels of a group, with the moments of the whole group. */
static void write_group(const stowage_norm_layer *layer, const stowage_moments *group, int32_t first,
                        const float *input, int32_t in_plane, float *output, int32_t out_plane,
                        int32_t count) {
  const double variance = group->squares / ((double)layer->elements * (double)layer->share);
  const double by = 1.0 / sqrt(variance + layer->epsilon);
  int32_t c, i;
  for (c = first; c < first + layer->share; c++) {
    const double factor = (double)layer->scale[c] * by;
    const double shift = (double)layer->bias[c] - group->mean * factor;
    for (i = 0; i < count; i++)
      output[c * out_plane + i] = (float)((double)input[c * in_plane + i] * factor + shift);
  }
}

void stowage_norm_row_f32(const stowage_norm_layer *layer, const stowage_moments *sums, const float *row,
                          int32_t in_plane, float *output, int32_t out_plane, int32_t count) {
  int32_t first, c;
  for (first = 0; first < layer->channels; first += layer->share) {
    stowage_moments group = sums[first];
    for (c = 1; c < layer->share; c++) join(layer, &group, &sums[first + c], c);
    write_group(layer, &group, first, row, in_plane, output, out_plane, count);
  }
}

void stowage_norm_f32(const stowage_norm_layer *layer, const float *input, float *output) {
  const int32_t plane = layer->elements;
  int32_t first, c;
  for (first = 0; first < layer->channels; first += layer->share) {
    stowage_moments group = {0.0, 0.0};
    add_run(input + first * plane, plane, 0, layer->is_raw, &group);
    for (c = 1; c < layer->share; c++) {
      stowage_moments next = {0.0, 0.0};
      add_run(input + (first + c) * plane, plane, 0, layer->is_raw, &next);
      join(layer, &group, &next, c);
    }
    write_group(layer, &group, first, input, plane, output, plane, plane);
  }
}

void stowage_layer_norm_f32(const stowage_norm_layer *layer, const float *input, float *output,
                            int32_t groups) {
  const int32_t length = layer->elements, size = layer->share * length;
  int32_t group, lane, i;
  for (group = 0; group < groups; group++, input += size, output += size) {
    stowage_moments all = {0.0, 0.0};
    double by;
    add_run(input, length, 0, layer->is_raw, &all);
    for (lane = 1; lane < layer->share; lane++) {
      stowage_moments next = {0.0, 0.0};
      add_run(input + lane * length, length, 0, layer->is_raw, &next);
      join(layer, &all, &next, lane);
    }
    by = 1.0 / sqrt(all.squares / ((double)length * (double)layer->share) + layer->epsilon);
    for (i = 0; i < size; i++) output[i] = (float)(((double)input[i] - all.mean) * by);
  }
}
