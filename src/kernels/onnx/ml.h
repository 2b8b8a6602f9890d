#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernel.h"

namespace stowage::kernels::onnx_ops {

enum class PostTransform : std::uint8_t { none, logistic, softmax };

/// ai.onnx.ml.LinearClassifier: a score of each sample for each target, and the label of the best one. A single target
/// is the second of two classes.
struct LinearClassifier {
  std::int64_t samples = 0;
  std::int64_t features = 0;
  std::int64_t targets = 0;
  std::vector<float> coefficients{};  ///< [targets][features]
  std::vector<float> intercepts{};
  std::vector<std::int64_t> labels{};
  PostTransform transform = PostTransform::none;

  [[nodiscard]] std::int64_t classes() const { return static_cast<std::int64_t>(labels.size()); }
};

/// Throws Unsupported.
[[nodiscard]] LinearClassifier linear_classifier_of(const Signature& signature);

/// What ai.onnx.ml.Normalizer divides a row by.
enum class RowNorm : std::uint8_t { most, sizes, squares };

[[nodiscard]] RowNorm row_norm_of(const Signature& signature);

}  // namespace stowage::kernels::onnx_ops
