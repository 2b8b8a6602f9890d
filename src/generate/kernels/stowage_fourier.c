/* SPDX-License-Identifier: Apache-2.0 */
/* RFFT2D: the Fourier transform of real images, of which half of the columns are kept. Rows are transformed, then
 * columns, each in place by halves, in float64. */
#include <string.h>

#include "stowage_kernels.h"

typedef struct {
  double re;
  double im;
} wide_complex;

/* Transforms a line of `size` elements, a power of two. */
static void transform(wide_complex *line, int32_t size, const double *roots) {
  int32_t i, j = 0, half;
  for (i = 1; i < size; i++) { /* order of reversed bits */
    int32_t bit = size / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) {
      const wide_complex other = line[i];
      line[i] = line[j];
      line[j] = other;
    }
  }
  for (half = 1; half < size; half *= 2) {
    for (i = 0; i < size; i += 2 * half) {
      for (j = 0; j < half; j++) {
        const double *const root = roots + (size_t)j * 2U * (size_t)(size / (2 * half));
        const wide_complex even = line[i + j], other = line[i + j + half];
        const double re = other.re * root[0] - other.im * root[1];
        const double im = other.re * root[1] + other.im * root[0];
        line[i + j].re = even.re + re;
        line[i + j].im = even.im + im;
        line[i + j + half].re = even.re - re;
        line[i + j + half].im = even.im - im;
      }
    }
  }
}

static void store(stowage_complex *to, const wide_complex *from) {
  to->re = (float)from->re;
  to->im = (float)from->im;
}

static void transform_image(const stowage_fourier_shape *shape, const float *input, stowage_complex *output,
                            wide_complex *line) {
  const int32_t kept = shape->width / 2 + 1;
  wide_complex *const all = line + (shape->width > shape->height ? shape->width : shape->height);
  int32_t x, y;
  for (y = 0; y < shape->height; y++) {
    for (x = 0; x < shape->width; x++) {
      const int is_in = y < shape->rows && x < shape->columns;
      line[x].re = is_in ? (double)input[(size_t)y * (size_t)shape->columns + (size_t)x] : 0.0;
      line[x].im = 0.0;
    }
    transform(line, shape->width, shape->along);
    for (x = 0; x < kept && shape->height == 1; x++) store(output + x, line + x);
    if (shape->height > 1) memcpy(all + (size_t)y * (size_t)kept, line, (size_t)kept * sizeof *line);
  }
  for (x = 0; x < kept && shape->height > 1; x++) {
    for (y = 0; y < shape->height; y++) line[y] = all[(size_t)y * (size_t)kept + (size_t)x];
    transform(line, shape->height, shape->across);
    for (y = 0; y < shape->height; y++) store(output + (size_t)y * (size_t)kept + (size_t)x, line + y);
  }
}

void stowage_fourier(const stowage_fourier_shape *shape, const float *input, stowage_complex *output,
                     void *scratch) {
  int32_t i;
  for (i = 0; i < shape->images; i++) {
    transform_image(shape, input, output, (wide_complex *)scratch);
    input += (size_t)shape->rows * (size_t)shape->columns;
    output += (size_t)shape->height * (size_t)(shape->width / 2 + 1);
  }
}
