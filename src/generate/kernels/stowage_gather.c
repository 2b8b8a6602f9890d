/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that read at places which indices give. What is out of range is zeros. */
#include <string.h>

#include "stowage_kernels.h"

/* The place of an index; -1 if it is out of range. */
static int64_t place_of(int64_t index, int32_t extent, int32_t wraps) {
  const int64_t place = index < 0 && wraps != 0 ? index + extent : index;
  return place < 0 || place >= extent ? -1 : place;
}

static void copy_run(uint8_t *to, const uint8_t *from, int64_t place, size_t bytes) {
  if (place < 0) {
    memset(to, 0, bytes);
  } else {
    memcpy(to, from + place, bytes);
  }
}

/* Either kind of indices; the other pointer is null. */
static void gather(const stowage_gather_shape *shape, const uint8_t *data, const int32_t *short_indices,
                   const int64_t *indices, uint8_t *to) {
  const size_t bytes = shape->bytes;
  int32_t b, o, i;
  for (b = 0; b < shape->batches; b++) {
    for (o = 0; o < shape->outer; o++, data += (size_t)shape->extent * bytes) {
      for (i = 0; i < shape->picks; i++, to += bytes) {
        const size_t at = (size_t)b * (size_t)shape->picks + (size_t)i;
        const int64_t place =
            place_of(indices != NULL ? indices[at] : short_indices[at], shape->extent, shape->wraps);
        copy_run(to, data, place < 0 ? -1 : place * (int64_t)bytes, bytes);
      }
    }
  }
}

void stowage_gather_32(const stowage_gather_shape *shape, const void *data, const int32_t *indices,
                       void *output) {
  gather(shape, (const uint8_t *)data, indices, NULL, (uint8_t *)output);
}

void stowage_gather_64(const stowage_gather_shape *shape, const void *data, const int64_t *indices,
                       void *output) {
  gather(shape, (const uint8_t *)data, NULL, indices, (uint8_t *)output);
}

static void gather_tuples(const stowage_tuples_shape *shape, const uint8_t *data,
                          const int32_t *short_indices, const int64_t *indices, uint8_t *to) {
  const int32_t depth = shape->depth;
  int32_t b, i, d;
  for (b = 0; b < shape->batches; b++, data += shape->batch_bytes) {
    for (i = 0; i < shape->tuples; i++, to += shape->bytes) {
      const size_t at = ((size_t)b * (size_t)shape->tuples + (size_t)i) * (size_t)depth;
      int64_t from = 0;
      for (d = 0; d < depth && from >= 0; d++) {
        const int64_t index = indices != NULL ? indices[at + (size_t)d] : short_indices[at + (size_t)d];
        const int64_t place = place_of(index, shape->extent[d], shape->wraps);
        from = place < 0 ? -1 : from + place * shape->stride[d];
      }
      copy_run(to, data, from, shape->bytes);
    }
  }
}

void stowage_gather_tuples_32(const stowage_tuples_shape *shape, const void *data, const int32_t *indices,
                              void *output) {
  gather_tuples(shape, (const uint8_t *)data, indices, NULL, (uint8_t *)output);
}

void stowage_gather_tuples_64(const stowage_tuples_shape *shape, const void *data, const int64_t *indices,
                              void *output) {
  gather_tuples(shape, (const uint8_t *)data, NULL, indices, (uint8_t *)output);
}
