#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "kernels/kernel.h"
#include "kernels/tflite/fixed_point.h"

namespace stowage::kernels {

/// TFLite_Detection_PostProcess: what its options and operands say.
struct Detections {
  std::int64_t boxes = 0;
  std::int64_t length = 0;   ///< Numbers of an encoded box, of which the first four count.
  std::int64_t columns = 0;  ///< Scores of a box.
  std::int64_t first = 0;    ///< The column of the first class: 1 behind that of the background.
  std::int64_t classes = 0;
  std::int64_t most = 0;  ///< Boxes to be taken.
  std::int64_t classes_per_box = 0;
  std::int64_t boxes_per_class = 0;  ///< As the options say.
  bool is_by_class = false;  ///< Boxes of each class are taken alone; else each box has its best class.
  float least_score = 0;
  float largest_share = 0;            ///< Of what two boxes have in common in both together.
  std::array<float, 4> scales{};      ///< Of y, x, height and width.
  std::optional<Affine> box_bytes{};  ///< Numbers of boxes and anchors are uint8: then these.
  std::optional<Affine> anchor_bytes{};
  std::optional<Affine> score_bytes{};

  /// Rows of the outputs.
  [[nodiscard]] std::int64_t rows() const { return most * classes_per_box; }
  /// Boxes that are taken of a class if each is taken alone.
  [[nodiscard]] std::int64_t boxes_of_class() const { return std::min({boxes, boxes_per_class, most}); }
  /// Classes that a box has among the results.
  [[nodiscard]] std::int64_t best_classes() const {
    return is_by_class ? 1 : std::min(classes_per_box, classes);
  }
};

[[nodiscard]] Detections detections_of(const Signature& signature);

}  // namespace stowage::kernels
