/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of elements that are more than an expression. */
#include <math.h>

#include "stowage_kernels.h"

float stowage_unit_f32(float x) {
  const float below = 1.0F < x ? 1.0F : x;
  return below < 0.0F ? 0.0F : below;
}

float stowage_round_f32(float x) {
  const float down = floorf(x);
  const float rest = x - down;
  if (rest < 0.5F) return copysignf(down, x);
  if (rest > 0.5F) return copysignf(down + 1.0F, x);
  return copysignf(2.0F * floorf((down + 1.0F) / 2.0F), x);
}

float stowage_floor_mod_f32(float a, float b) {
  const float rest = fmodf(a, b);
  return rest != 0.0F && (b < 0.0F) != (rest < 0.0F) ? rest + b : rest;
}
