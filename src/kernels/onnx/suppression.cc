// NonMaxSuppression: of each class, the boxes of the best scores that do not overlap with one that was taken before.
//
// How many there are depends on data, and the output has as many rows as the plan gives it: a run that takes another
// number ends. Equal scores are taken in the order of their boxes.
//
// Cost of a class: n log n in boxes, and boxes times those that are taken. Source: the ONNX operator specification.

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/onnx/operands.h"
#include "kernels/onnx/tables.h"
#include "stowage/error.h"

namespace stowage::kernels::onnx_ops {
namespace {

/// A box by its edges.
struct Edges {
  float left = 0;
  float top = 0;
  float right = 0;
  float bottom = 0;

  [[nodiscard]] float area() const { return (right - left) * (bottom - top); }
};

/// Two corners [y, x, y, x] in any order, or the center and the size [x, y, width, height].
Edges edges_of(const float* box, bool has_center) {
  if (!has_center) {
    const auto [left, right] = std::minmax(box[1], box[3]);
    const auto [top, bottom] = std::minmax(box[0], box[2]);
    return {left, top, right, bottom};
  }
  const float half_width = box[2] / 2;
  const float half_height = box[3] / 2;
  return {box[0] - half_width, box[1] - half_height, box[0] + half_width, box[1] + half_height};
}

/// Whether the part that they have in common is more than this share of both together.
bool overlaps(const Edges& a, const Edges& b, float share) {
  const Edges common{std::max(a.left, b.left), std::max(a.top, b.top), std::min(a.right, b.right),
                     std::min(a.bottom, b.bottom)};
  if (common.right <= common.left || common.bottom <= common.top) return false;
  const float both = common.area();
  const float all = a.area() + b.area() - both;
  return a.area() > 0 && b.area() > 0 && both > 0 && all > 0 && both / all > share;
}

struct Suppression {
  std::int64_t batches = 0;
  std::int64_t classes = 0;
  std::int64_t boxes = 0;
  bool has_center = false;
};

/// The boxes of one class that are taken, the best first.
std::vector<std::int64_t> taken_of(const Suppression& it, const float* boxes, const float* scores,
                                   std::int64_t most, float share, const float* least) {
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < it.boxes; ++i)
    if (least == nullptr || scores[i] > *least) order.push_back(i);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) { return scores[a] > scores[b]; });
  std::vector<std::int64_t> taken;
  std::vector<Edges> edges;
  for (const std::int64_t i : order) {
    if (extent(taken.size()) >= most) break;
    const Edges own = edges_of(boxes + 4 * i, it.has_center);
    if (std::ranges::any_of(edges, [&](const Edges& other) { return overlaps(own, other, share); })) continue;
    taken.push_back(i);
    edges.push_back(own);
  }
  return taken;
}

Kernel non_max_suppression(const Signature& signature) {
  const Argument& boxes = input_of(signature, 0);
  const Argument& scores = input_of(signature, 1);
  const Argument& output = output_of(signature);
  expect_dtype(boxes, DType::float32, "the boxes");
  expect_dtype(scores, DType::float32, "the scores");
  expect_dtype(output, DType::int64, "the output");
  if (boxes.shape.size() != 3 || scores.shape.size() != 3 || boxes.shape[2] != 4 ||
      boxes.shape[0] != scores.shape[0] || boxes.shape[1] != scores.shape[2])
    refuse("boxes and scores do not fit: [{}] and [{}]", fmt::join(boxes.shape, ","),
           fmt::join(scores.shape, ","));
  if (output.shape.size() != 2 || output.shape[1] != 3) refuse("its output has no 3 columns");
  for (const auto& [i, dtype] : {std::pair{2, DType::int64}, {3, DType::float32}, {4, DType::float32}}) {
    const auto at = static_cast<std::size_t>(i);
    if (!signature.has_input(at)) continue;
    expect_dtype(input_of(signature, at), dtype, "a limit");
    if (count_of(input_of(signature, at).shape) != 1) refuse("input {} is not one number", i);
  }
  const Suppression it{.batches = scores.shape[0],
                       .classes = scores.shape[1],
                       .boxes = scores.shape[2],
                       .has_center = signature.attributes.integer("center_point_box", 0) != 0};
  const std::int64_t rows = output.shape[0];
  return {.run = [=](const Pointers& at) {
    const auto* const most = at.input<std::int64_t>(2);
    const auto* const share = at.input<float>(3);
    const auto* const least = at.input<float>(4);
    auto* to = at.output<std::int64_t>(0);
    std::int64_t count = 0;
    for (std::int64_t batch = 0; batch < it.batches; ++batch) {
      for (std::int64_t one = 0; one < it.classes; ++one) {
        const auto taken = taken_of(it, at.input<float>(0) + batch * it.boxes * 4,
                                    at.input<float>(1) + (batch * it.classes + one) * it.boxes,
                                    most == nullptr ? 0 : *most, share == nullptr ? 0 : *share, least);
        for (const std::int64_t box : taken) {
          if (count++ >= rows) continue;
          to = std::ranges::copy(std::array{batch, one, box}, to).out;
        }
      }
    }
    if (count != rows)
      throw Error(
          "NonMaxSuppression",
          fmt::format("takes {} boxes, expected {}, the rows of its output in the plan", count, rows));
  }};
}

}  // namespace

TablePart suppression_kernels() { return {{"NonMaxSuppression", non_max_suppression}}; }

}  // namespace stowage::kernels::onnx_ops
