/* SPDX-License-Identifier: Apache-2.0 */
/* TFLite_Detection_PostProcess: the boxes of the best scores that do not overlap with one that was taken before. A heap
 * gives one box after the other, the first of those with equal scores. */
#include <math.h>

#include "stowage_kernels.h"

/* A box by its edges. */
enum { top, left, bottom, right, edges };

/* Boxes that may still be taken, by one score each. */
typedef struct {
  float *scores; /* of each box */
  int32_t *heap; /* a heap: box i is not better than box (i - 1) / 2 */
  int32_t count;
} candidates;

static float number_at(const void *from, const stowage_affine *bytes, int32_t i) {
  if (bytes == NULL) return ((const float *)from)[i];
  return (float)(((const uint8_t *)from)[i] - bytes->zero) * bytes->scale;
}

static float score_of(const stowage_detection_layer *layer, const void *scores, int32_t i, int32_t one) {
  return number_at(scores, layer->scores_are_bytes ? &layer->score_bytes : NULL,
                   i * layer->columns + layer->first + one);
}

static void decode(const stowage_detection_layer *layer, const void *codes, const void *anchors, int32_t i,
                   float *box) {
  double code[4], anchor[4];
  float y, x, half_height, half_width;
  int32_t k;
  for (k = 0; k < 4; k++) {
    code[k] =
        (double)number_at(codes, layer->boxes_are_bytes ? &layer->box_bytes : NULL, i * layer->length + k) /
        (double)layer->scales[k];
    anchor[k] = (double)number_at(anchors, layer->boxes_are_bytes ? &layer->anchor_bytes : NULL, i * 4 + k);
  }
  y = (float)(code[0] * anchor[2] + anchor[0]);
  x = (float)(code[1] * anchor[3] + anchor[1]);
  half_height = (float)(0.5 * exp(code[2]) * anchor[2]);
  half_width = (float)(0.5 * exp(code[3]) * anchor[3]);
  box[top] = y - half_height;
  box[left] = x - half_width;
  box[bottom] = y + half_height;
  box[right] = x + half_width;
}

static float area_of(const float *box) { return (box[bottom] - box[top]) * (box[right] - box[left]); }
static float least_of(float a, float b) { return b < a ? b : a; }
static float most_of(float a, float b) { return a < b ? b : a; }

/* The part that two boxes have in common, of both together. */
static float share_of(const float *a, const float *b) {
  const float height = least_of(a[bottom], b[bottom]) - most_of(a[top], b[top]);
  const float width = least_of(a[right], b[right]) - most_of(a[left], b[left]);
  const float common = most_of(height, 0.0F) * most_of(width, 0.0F);
  if (area_of(a) <= 0.0F || area_of(b) <= 0.0F) return 0.0F;
  return common / (area_of(a) + area_of(b) - common);
}

/* Whether it overlaps with one of these boxes, whose edges are `step` numbers apart. */
static int is_hidden(const stowage_detection_layer *layer, const float *taken, int32_t count, int32_t step,
                     const float *box) {
  for (; count > 0; count--, taken += step)
    if (share_of(taken, box) > layer->largest_share) return 1;
  return 0;
}

static int is_better(const float *scores, int32_t a, int32_t b) {
  return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
}

/* Moves the box at a place down to where it belongs. */
static void sink(candidates *all, int32_t at) {
  const int32_t box = all->heap[at];
  for (;;) {
    int32_t below = 2 * at + 1;
    if (below >= all->count) break;
    if (below + 1 < all->count && is_better(all->scores, all->heap[below + 1], all->heap[below])) below++;
    if (!is_better(all->scores, all->heap[below], box)) break;
    all->heap[at] = all->heap[below];
    at = below;
  }
  all->heap[at] = box;
}

/* All boxes whose scores are not too low. */
static void collect(const stowage_detection_layer *layer, candidates *all) {
  int32_t i;
  all->count = 0;
  for (i = 0; i < layer->boxes; i++)
    if (all->scores[i] >= layer->least_score) all->heap[all->count++] = i;
  for (i = all->count / 2; i-- > 0;) sink(all, i);
}

/* The best box that is left; -1 if there is none. */
static int32_t next_of(candidates *all) {
  const int32_t best = all->count > 0 ? all->heap[0] : -1;
  if (all->count == 0) return -1;
  all->heap[0] = all->heap[--all->count];
  if (all->count > 0) sink(all, 0);
  return best;
}

static candidates candidates_in(const stowage_detection_layer *layer, void *scratch) {
  candidates all;
  all.scores = (float *)scratch;
  all.heap = (int32_t *)(void *)(all.scores + layer->boxes);
  all.count = 0;
  return all;
}

static void clear(const stowage_detection_layer *layer, float *boxes, float *classes, float *best,
                  float *number) {
  const int32_t rows = layer->most * layer->classes_per_box;
  int32_t i;
  for (i = 0; i < rows * edges; i++) boxes[i] = 0.0F;
  for (i = 0; i < rows; i++) classes[i] = best[i] = 0.0F;
  *number = 0.0F;
}

static void copy_box(const float *from, float *to) {
  int32_t k;
  for (k = 0; k < edges; k++) to[k] = from[k];
}

/* NaN is worse than any number. */
static int is_higher(float a, float b) { return a > b || (isnan(b) && !isnan(a)); }

/* The best class behind another one, by scores and then by numbers; the very best behind -1. */
static int32_t next_class_of(const stowage_detection_layer *layer, const void *scores, int32_t i,
                             int32_t before) {
  int32_t best = -1, one;
  const float last = before < 0 ? 0.0F : score_of(layer, scores, i, before);
  float best_score = 0.0F;
  for (one = 0; one < layer->classes; one++) {
    const float score = score_of(layer, scores, i, one);
    if (before >= 0 && !is_higher(last, score) && (is_higher(score, last) || one <= before)) continue;
    if (best >= 0 && !is_higher(score, best_score)) continue;
    best = one;
    best_score = score;
  }
  return best;
}

void stowage_detect(const stowage_detection_layer *layer, const void *codes, const void *scores,
                    const void *anchors, float *boxes, float *classes, float *best, float *number,
                    void *scratch) {
  candidates all;
  int32_t taken = 0, i, k;
  clear(layer, boxes, classes, best, number);
  if (layer->boxes == 0) return; /* then there is no scratch memory */
  all = candidates_in(layer, scratch);
  for (i = 0; i < layer->boxes; i++)
    all.scores[i] = score_of(layer, scores, i, next_class_of(layer, scores, i, -1));
  collect(layer, &all);
  while (taken < layer->most && (i = next_of(&all)) >= 0) {
    const int32_t row = taken * layer->classes_per_box;
    int32_t one = -1;
    float box[edges];
    decode(layer, codes, anchors, i, box);
    if (is_hidden(layer, boxes, taken, edges * layer->classes_per_box, box)) continue;
    for (k = 0; k < layer->classes_per_box; k++) {
      one = next_class_of(layer, scores, i, one);
      if (one < 0) break;
      copy_box(box, boxes + (row + k) * edges);
      classes[row + k] = (float)one;
      best[row + k] = score_of(layer, scores, i, one);
    }
    taken++;
  }
  *number = (float)taken;
}

/* Puts a result behind those that are not worse, of `count`, and returns how many there are then. */
static int32_t insert(const stowage_detection_layer *layer, int32_t count, const float *box, int32_t one,
                      float score, float *boxes, float *classes, float *best) {
  int32_t row = 0, at;
  while (row < count && !(best[row] < score)) row++;
  if (row == layer->most) return count;
  if (count < layer->most) count++;
  for (at = count - 1; at > row; at--) {
    copy_box(boxes + (at - 1) * edges, boxes + at * edges);
    classes[at] = classes[at - 1];
    best[at] = best[at - 1];
  }
  copy_box(box, boxes + row * edges);
  classes[row] = (float)one;
  best[row] = score;
  return count;
}

void stowage_detect_by_class(const stowage_detection_layer *layer, const void *codes, const void *scores,
                             const void *anchors, float *boxes, float *classes, float *best, float *number,
                             void *scratch) {
  candidates all;
  float *taken; /* boxes of a class */
  int32_t count = 0, one, i;
  clear(layer, boxes, classes, best, number);
  if (layer->boxes == 0) return; /* then there is no scratch memory */
  all = candidates_in(layer, scratch);
  taken = (float *)(void *)(all.heap + layer->boxes);
  for (one = 0; one < layer->classes; one++) {
    int32_t own = 0;
    for (i = 0; i < layer->boxes; i++) all.scores[i] = score_of(layer, scores, i, one);
    collect(layer, &all);
    while (own < layer->boxes_per_class && (i = next_of(&all)) >= 0) {
      float *const box = taken + own * edges;
      decode(layer, codes, anchors, i, box);
      if (is_hidden(layer, taken, own, edges, box)) continue;
      own++;
      count = insert(layer, count, box, one, all.scores[i], boxes, classes, best);
    }
  }
  *number = (float)count;
}
