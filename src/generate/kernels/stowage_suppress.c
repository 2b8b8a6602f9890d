/* SPDX-License-Identifier: Apache-2.0 */
/* NonMaxSuppression: of each class, the boxes of the best scores that do not overlap with one that was taken before.
 * The next one is searched for in all scores: without memory of its own, this takes boxes times candidates. */
#include "stowage_kernels.h"

/* A box by its edges. */
typedef struct {
  float left;
  float top;
  float right;
  float bottom;
} edges;

static float least_of(float a, float b) { return b < a ? b : a; }
static float most_of(float a, float b) { return a < b ? b : a; }
static float area_of(const edges *box) { return (box->right - box->left) * (box->bottom - box->top); }

/* Two corners [y, x, y, x] in any order, or the center and the size [x, y, width, height]. */
static edges edges_of(const float *box, int32_t has_center) {
  edges it;
  if (has_center) {
    const float half_width = box[2] / 2.0F, half_height = box[3] / 2.0F;
    it.left = box[0] - half_width;
    it.top = box[1] - half_height;
    it.right = box[0] + half_width;
    it.bottom = box[1] + half_height;
  } else {
    it.left = least_of(box[1], box[3]);
    it.top = least_of(box[0], box[2]);
    it.right = most_of(box[1], box[3]);
    it.bottom = most_of(box[0], box[2]);
  }
  return it;
}

/* Whether the part that they have in common is more than this share of both together. */
static int overlaps(const edges *a, const edges *b, float share) {
  edges common;
  float both, all;
  common.left = most_of(a->left, b->left);
  common.top = most_of(a->top, b->top);
  common.right = least_of(a->right, b->right);
  common.bottom = least_of(a->bottom, b->bottom);
  if (common.right <= common.left || common.bottom <= common.top) return 0;
  both = area_of(&common);
  all = area_of(a) + area_of(b) - both;
  return area_of(a) > 0.0F && area_of(b) > 0.0F && both > 0.0F && all > 0.0F && both / all > share;
}

/* The best box behind another one, by scores and then by numbers; -1 if there is none. */
static int32_t next_of(const float *scores, int32_t boxes, int32_t before, const float *least) {
  int32_t best = -1, i;
  for (i = 0; i < boxes; i++) {
    if (least != NULL && !(scores[i] > *least)) continue;
    if (before >= 0 && !(scores[i] < scores[before] || (scores[i] == scores[before] && i > before))) continue;
    if (scores[i] == scores[i] && (best < 0 || scores[i] > scores[best])) best = i;
  }
  return best;
}

void stowage_suppress(const stowage_suppress_shape *shape, const float *boxes, const float *scores,
                      const int64_t *most, const float *share, const float *least, int64_t *output) {
  const float own_share = share == NULL ? 0.0F : *share;
  int64_t *to = output;
  int64_t *const end = output + (size_t)shape->rows * 3U;
  int32_t batch, one;
  for (batch = 0; batch < shape->batches; batch++, boxes += (size_t)shape->boxes * 4U) {
    for (one = 0; one < shape->classes; one++, scores += shape->boxes) {
      const int64_t *const begin = to;
      const int64_t wanted = most == NULL ? 0 : *most;
      int32_t i = -1;
      while (to < end && (to - begin) / 3 < wanted &&
             (i = next_of(scores, shape->boxes, i, least)) >= 0) {
        const edges own = edges_of(boxes + (size_t)i * 4U, shape->has_center);
        const int64_t *taken = begin;
        for (; taken < to; taken += 3) {
          const edges other = edges_of(boxes + (size_t)taken[2] * 4U, shape->has_center);
          if (overlaps(&own, &other, own_share)) break;
        }
        if (taken < to) continue;
        *to++ = batch;
        *to++ = one;
        *to++ = i;
      }
    }
  }
  while (to < end) *to++ = -1;
}
