// Operators of ai.onnx.ml: LinearClassifier and Normalizer. Sums are in float64; where the document leaves it open, as
// onnxruntime has it: a single target gives scores of two classes, coefficients beyond those of all targets do not
// count, and a row whose norm is 0 stays as it is.

#include "kernels/onnx/ml.h"

#include <algorithm>
#include <cmath>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"

namespace stowage::kernels::onnx_ops {

LinearClassifier linear_classifier_of(const Signature& signature) {
  const Attributes& attributes = signature.attributes;
  const Shape& shape = input_of(signature, 0).shape;
  if (shape.empty() || shape.size() > 2) refuse("its samples are {}", show(shape));
  LinearClassifier it{.samples = shape.size() == 2 ? shape[0] : 1,
                      .features = shape.back(),
                      .coefficients = attributes.reals("coefficients", {}),
                      .intercepts = attributes.reals("intercepts", {}),
                      .labels = attributes.integers("classlabels_ints", {})};
  it.targets = extent(it.intercepts.size());
  if (it.labels.empty()) refuse("its labels are text");
  if (it.targets == 0 || extent(it.coefficients.size()) / it.targets < it.features)
    refuse("it has {} coefficients and {} intercepts for {} features", it.coefficients.size(), it.targets,
           it.features);
  it.coefficients.resize(index(it.targets * it.features));
  if (it.classes() != it.targets && (it.targets != 1 || it.classes() != 2))
    refuse("it has {} labels for {} targets", it.classes(), it.targets);
  const std::string transform = attributes.text("post_transform", "NONE");
  if (transform == "LOGISTIC") {
    it.transform = PostTransform::logistic;
  } else if (transform == "SOFTMAX") {
    it.transform = PostTransform::softmax;
  } else if (transform != "NONE") {
    refuse("its post_transform is {}", transform);
  }
  expect_dtype(output_of(signature, 0), DType::int64, "the labels");
  expect_shape(output_of(signature, 0), {it.samples}, "the labels");
  expect_dtype(output_of(signature, 1), DType::float32, "the scores");
  expect_shape(output_of(signature, 1), {it.samples, it.classes()}, "the scores");
  return it;
}

RowNorm row_norm_of(const Signature& signature) {
  const std::string norm = signature.attributes.text("norm", "MAX");
  if (norm == "MAX") return RowNorm::most;
  if (norm == "L1") return RowNorm::sizes;
  if (norm == "L2") return RowNorm::squares;
  refuse("its norm is {}", norm);
}

namespace {

float logistic(float x) {
  const float share = 1.0F / (1.0F + std::exp(-std::abs(x)));
  return x < 0.0F ? 1.0F - share : share;
}

void divide_by_sum_of_powers(float* scores, std::int64_t count) {
  const float most = *std::max_element(scores, scores + count);
  float total = 0.0F;
  for (std::int64_t c = 0; c < count; ++c) {
    scores[c] = std::exp(scores[c] - most);
    total += scores[c];
  }
  for (std::int64_t c = 0; c < count; ++c) scores[c] /= total;
}

/// Makes the scores of a sample what they are for its user, once the label is known.
void transform(const LinearClassifier& it, float* scores) {
  if (it.targets == 1 && it.classes() == 2) {
    const float score = scores[0];
    const bool is_logistic = it.transform == PostTransform::logistic;
    scores[0] = is_logistic ? logistic(-score) : 1.0F - score;
    scores[1] = is_logistic ? logistic(score) : score;
  } else if (it.transform == PostTransform::logistic) {
    std::transform(scores, scores + it.targets, scores, logistic);
  } else if (it.transform == PostTransform::softmax) {
    divide_by_sum_of_powers(scores, it.targets);
  }
}

/// The number of the label.
std::size_t best_of(const LinearClassifier& it, const float* scores) {
  if (it.targets == 1) return it.classes() == 2 && scores[0] > 0.0F ? 1 : 0;
  return index(std::max_element(scores, scores + it.targets) - scores);
}

Kernel linear_classifier(const Signature& signature) {
  const LinearClassifier it = linear_classifier_of(signature);
  return for_type(
      input_of(signature, 0).dtype, exact_floats + index_types, [&]<typename Element>() -> Kernel {
        return {.run = [it](const Pointers& pointers) {
          const auto* from = pointers.input<Element>(0);
          auto* const labels = pointers.output<std::int64_t>(0);
          auto* scores = pointers.output<float>(1);
          for (std::int64_t i = 0; i < it.samples; ++i, from += it.features, scores += it.classes()) {
            const float* weight = it.coefficients.data();
            for (std::int64_t c = 0; c < it.targets; ++c, weight += it.features) {
              auto total = static_cast<double>(it.intercepts[index(c)]);
              for (std::int64_t j = 0; j < it.features; ++j)
                total = total + static_cast<double>(from[j]) * static_cast<double>(weight[j]);
              scores[c] = static_cast<float>(total);
            }
            labels[i] = it.labels[best_of(it, scores)];
            transform(it, scores);
          }
        }};
      });
}

template <typename Element>
double norm_of_row(RowNorm norm, const Element* row, std::int64_t count) {
  double total = norm == RowNorm::most ? -std::numeric_limits<double>::infinity() : 0.0;
  for (std::int64_t j = 0; j < count; ++j) {
    const auto x = static_cast<double>(row[j]);
    total = norm == RowNorm::most    ? (x > total ? x : total)
            : norm == RowNorm::sizes ? total + std::abs(x)
                                     : total + x * x;
  }
  return norm == RowNorm::squares ? std::sqrt(total) : total;
}

Kernel normalizer(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  if (input.shape.empty() || input.shape.size() > 2) refuse("its samples are {}", show(input.shape));
  expect_dtype(output, DType::float32, "the output");
  expect_shape(output, input.shape, "the output");
  const RowNorm norm = row_norm_of(signature);
  const std::int64_t size = input.shape.back();
  const std::int64_t count = count_of(input.shape);
  return for_type(input.dtype, exact_floats + index_types, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const auto* const from = pointers.input<Element>(0);
      auto* const to = pointers.output<float>(0);
      for (std::int64_t i = 0; i < count; i += size) {
        const double by = norm_of_row(norm, from + i, size);
        for (std::int64_t j = i; j < i + size; ++j)
          to[j] = static_cast<float>(static_cast<double>(from[j]) / (by == 0.0 ? 1.0 : by));
      }
    }};
  });
}

}  // namespace

TablePart ml_kernels() {
  return {{"ai.onnx.ml.LinearClassifier", linear_classifier}, {"ai.onnx.ml.Normalizer", normalizer}};
}

}  // namespace stowage::kernels::onnx_ops
