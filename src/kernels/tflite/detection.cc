// TFLite_Detection_PostProcess: of encoded boxes and their scores, the boxes of the best scores that do not overlap
// with one that was taken before; for all classes together, or class by class.
//
// Equal scores are taken in the order of the boxes, then of the classes; NaN is worse than any number. Rows without a
// result are zeros.
//
// Cost: n log n in boxes and boxes times those that are taken, for each class if they are taken class by class.
// Source: the options of the operator, and the results of LiteRT.

#include "kernels/tflite/detection.h"

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "kernels/tflite/families.h"
#include "stowage/error.h"

namespace stowage::kernels {
namespace {

/// A box by its edges.
struct Box {
  float top = 0;
  float left = 0;
  float bottom = 0;
  float right = 0;

  [[nodiscard]] float area() const { return (bottom - top) * (right - left); }
};

/// The part that two boxes have in common, of both together.
float share_of(const Box& a, const Box& b) {
  if (a.area() <= 0 || b.area() <= 0) return 0;
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float common = std::max(height, 0.0F) * std::max(width, 0.0F);
  return common / (a.area() + b.area() - common);
}

float number_at(const std::byte* data, const std::optional<Affine>& bytes, std::int64_t i) {
  if (!bytes) return reinterpret_cast<const float*>(data)[i];
  return static_cast<float>(std::to_integer<std::int32_t>(data[i]) - bytes->zero_point) * bytes->scale;
}

/// NaN is worse than any number.
bool is_better(float a, float b) { return a > b || (std::isnan(b) && !std::isnan(a)); }

/// One run.
class Detector {
 public:
  Detector(const Detections& it, const Pointers& at) : it_(it), at_(at) {
    for (std::int64_t i = 0; i < it.boxes; ++i) boxes_.push_back(box(i));
    std::fill_n(at.output<float>(0), it.rows() * 4, 0.0F);
    std::fill_n(at.output<float>(1), it.rows(), 0.0F);
    std::fill_n(at.output<float>(2), it.rows(), 0.0F);
  }

  /// A box counts with its best class.
  void take_together() {
    std::vector<std::vector<std::int64_t>> classes;
    std::vector<float> best;
    for (std::int64_t i = 0; i < it_.boxes; ++i) {
      classes.push_back(best_classes(i));
      best.push_back(score(i, classes.back().front()));
    }
    const std::vector<std::int64_t> taken = taken_of(best, it_.most);
    for (std::size_t k = 0; k < taken.size(); ++k) {
      std::int64_t row = static_cast<std::int64_t>(k) * it_.classes_per_box;
      for (const std::int64_t one : classes[static_cast<std::size_t>(taken[k])])
        put(row++, taken[k], one, score(taken[k], one));
    }
    at_.output<float>(3)[0] = static_cast<float>(taken.size());
  }

  /// The best boxes of all classes, the first class first where scores are equal.
  void take_class_by_class() {
    std::int64_t count = 0;
    for (std::int64_t one = 0; one < it_.classes; ++one) {
      std::vector<float> scores;
      for (std::int64_t i = 0; i < it_.boxes; ++i) scores.push_back(score(i, one));
      for (const std::int64_t i : taken_of(scores, it_.boxes_of_class()))
        count += insert(count, i, one, scores[static_cast<std::size_t>(i)]);
    }
    at_.output<float>(3)[0] = static_cast<float>(count);
  }

 private:
  [[nodiscard]] Box box(std::int64_t i) const {
    std::array<double, 4> code{};
    std::array<double, 4> anchor{};
    for (std::size_t k = 0; k < 4; ++k) {
      const auto at = static_cast<std::int64_t>(k);
      code[k] = static_cast<double>(number_at(at_.inputs[0], it_.box_bytes, i * it_.length + at)) /
                static_cast<double>(it_.scales[k]);
      anchor[k] = static_cast<double>(number_at(at_.inputs[2], it_.anchor_bytes, i * 4 + at));
    }
    const auto y = static_cast<float>(code[0] * anchor[2] + anchor[0]);
    const auto x = static_cast<float>(code[1] * anchor[3] + anchor[1]);
    const auto half_height = static_cast<float>(0.5 * std::exp(code[2]) * anchor[2]);
    const auto half_width = static_cast<float>(0.5 * std::exp(code[3]) * anchor[3]);
    const Box result{y - half_height, x - half_width, y + half_height, x + half_width};
    if (result.top > result.bottom || result.left > result.right)
      throw Error("TFLite_Detection_PostProcess", fmt::format("box {} has a negative size", i));
    return result;
  }

  [[nodiscard]] float score(std::int64_t i, std::int64_t one) const {
    return number_at(at_.inputs[1], it_.score_bytes, i * it_.columns + it_.first + one);
  }

  [[nodiscard]] std::vector<std::int64_t> best_classes(std::int64_t i) const {
    std::vector<std::int64_t> best;
    for (std::int64_t one = 0; one < it_.classes; ++one) {
      const auto worse = std::ranges::find_if(
          best, [&](std::int64_t other) { return is_better(score(i, one), score(i, other)); });
      best.insert(worse, one);
      if (static_cast<std::int64_t>(best.size()) > it_.best_classes()) best.pop_back();
    }
    return best;
  }

  /// The boxes that are taken by these scores, the best first.
  [[nodiscard]] std::vector<std::int64_t> taken_of(const std::vector<float>& scores,
                                                   std::int64_t most) const {
    const auto score_of = [&](std::int64_t i) { return scores[static_cast<std::size_t>(i)]; };
    const auto box_of = [&](std::int64_t i) { return boxes_[static_cast<std::size_t>(i)]; };
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < it_.boxes; ++i)
      if (score_of(i) >= it_.least_score) order.push_back(i);
    std::ranges::stable_sort(order,
                             [&](std::int64_t a, std::int64_t b) { return score_of(a) > score_of(b); });
    std::vector<std::int64_t> taken;
    for (const std::int64_t i : order) {
      if (static_cast<std::int64_t>(taken.size()) >= most) break;
      const auto is_hidden = [&](std::int64_t other) {
        return share_of(box_of(other), box_of(i)) > it_.largest_share;
      };
      if (std::ranges::none_of(taken, is_hidden)) taken.push_back(i);
    }
    return taken;
  }

  void put(std::int64_t row, std::int64_t i, std::int64_t one, float score) {
    const Box& own = boxes_[static_cast<std::size_t>(i)];
    std::ranges::copy(std::array{own.top, own.left, own.bottom, own.right}, at_.output<float>(0) + row * 4);
    at_.output<float>(1)[row] = static_cast<float>(one);
    at_.output<float>(2)[row] = score;
  }

  /// Puts a result behind the `count` that are there and are not worse. Returns whether there is one more then.
  std::int64_t insert(std::int64_t count, std::int64_t i, std::int64_t one, float score) {
    auto* const boxes = at_.output<float>(0);
    auto* const scores = at_.output<float>(2);
    const std::int64_t row =
        std::find_if(scores, scores + count, [&](float s) { return s < score; }) - scores;
    if (row == it_.most) return 0;
    const std::int64_t kept = std::min(count, it_.most - 1);
    std::copy_backward(boxes + row * 4, boxes + kept * 4, boxes + (kept + 1) * 4);
    for (const std::size_t output : {1U, 2U}) {
      auto* const numbers = at_.output<float>(output);
      std::copy_backward(numbers + row, numbers + kept, numbers + kept + 1);
    }
    put(row, i, one, score);
    return kept == count ? 1 : 0;
  }

  const Detections& it_;
  const Pointers& at_;
  std::vector<Box> boxes_{};
};

Kernel prepare_detections(const Signature& signature) {
  return {.run = [it = detections_of(signature)](const Pointers& at) {
    Detector detector(it, at);
    if (it.is_by_class) {
      detector.take_class_by_class();
    } else {
      detector.take_together();
    }
  }};
}

constexpr std::int64_t largest_option = 1 << 20;

/// None of real numbers.
std::optional<Affine> affine_of_bytes(const Argument& argument) {
  if (argument.dtype == DType::float32) return std::nullopt;
  if (argument.dtype != DType::uint8) refuse("element type {} is not supported", name_of(argument.dtype));
  return affine_of(argument);
}

}  // namespace

Detections detections_of(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(3, 4);
  const Argument& codes = operands.input(0);
  const Argument& scores = operands.input(1);
  const Argument& anchors = operands.input(2);
  if (codes.shape.size() != 3 || codes.shape[0] != 1 || codes.shape[2] < 4)
    refuse("its boxes are {}, expected [1,N,4]", show(codes.shape));
  if (scores.shape.size() != 3) refuse("its scores are {}, expected [1,N,C]", show(scores.shape));
  const auto option = [&](std::string_view name, std::int64_t least, std::int64_t most = largest_option) {
    const std::int64_t value = operands.integer(name);
    if (value < least || value > most) refuse("its {} is {}, expected {} to {}", name, value, least, most);
    return value;
  };
  Detections it{
      .boxes = codes.shape[1],
      .length = codes.shape[2],
      .columns = scores.shape[2],
      .classes = option("num_classes", 1),
      .most = option("max_detections", 0),
      .classes_per_box = option("max_classes_per_detection", 1),
      .boxes_per_class = option("detections_per_class", 1, std::numeric_limits<std::int32_t>::max()),
      .is_by_class = operands.flag("use_regular_nms"),
      .least_score = operands.real("nms_score_threshold"),
      .largest_share = operands.real("nms_iou_threshold"),
      .box_bytes = affine_of_bytes(codes),
      .anchor_bytes = affine_of_bytes(anchors),
      .score_bytes = affine_of_bytes(scores)};
  it.first = it.columns - it.classes;
  if (it.first != 0 && it.first != 1) refuse("it has {} scores of {} classes", it.columns, it.classes);
  if (codes.dtype != anchors.dtype)
    refuse("its boxes are {}, its anchors {}", name_of(codes.dtype), name_of(anchors.dtype));
  if (!(it.largest_share > 0 && it.largest_share <= 1))
    refuse("its nms_iou_threshold is {}, expected one in (0, 1]", it.largest_share);
  const std::array names{"y_scale", "x_scale", "h_scale", "w_scale"};
  std::ranges::transform(names, it.scales.begin(), [&](const char* name) { return operands.real(name); });
  operands.expect_shape(scores, {1, it.boxes, it.columns}, "scores");
  operands.expect_shape(anchors, {it.boxes, 4}, "anchors");
  const std::array<Shape, 4> shapes{Shape{1, it.rows(), 4}, {1, it.rows()}, {1, it.rows()}, {1}};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    operands.expect_shape(operands.output(i), shapes[i], "output");
    if (operands.output(i).dtype != DType::float32)
      refuse("its output {} is {}, expected float32", i, name_of(operands.output(i).dtype));
  }
  return it;
}

TablePart detection_kernels() { return {{"TFLite_Detection_PostProcess", prepare_detections}}; }

}  // namespace stowage::kernels
