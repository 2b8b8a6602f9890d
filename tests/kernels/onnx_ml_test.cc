// LinearClassifier and Normalizer of ai.onnx.ml: numbers of onnxruntime 1.32.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernel_calls.h"

namespace stowage {
namespace {

using testing::array;
using testing::KernelCall;
using testing::outputs_of;
using testing::refusal_of;
using testing::result;

KernelCall classifier(const std::string& transform, std::int64_t classes, std::vector<float> coefficients,
                      std::vector<float> intercepts) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < classes; ++i) labels.push_back(4 + i);
  return {.type = "ai.onnx.ml.LinearClassifier",
          .inputs = {array<float>({4, 2}, {0.5, -1, 1, 2, -3, 0.25, 0, 0})},
          .outputs = {result<std::int64_t>({4}), result<float>({4, classes})},
          .attributes = {{"post_transform", transform},
                         {"classlabels_ints", labels},
                         {"coefficients", std::move(coefficients)},
                         {"intercepts", std::move(intercepts)}},
          .version = 1};
}

void expect_scores(const KernelCall& call, const std::vector<double>& labels,
                   const std::vector<double>& scores) {
  const std::vector<Array> outputs = outputs_of(call);
  EXPECT_EQ(testing::values_of<std::int64_t>(outputs.at(0)), labels);
  const std::vector<double> own = testing::values_of<float>(outputs.at(1));
  ASSERT_EQ(own.size(), scores.size());
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(own[i], scores[i], 1e-6) << i;
}

TEST(OnnxMl, ScoresOfTwoClasses) {
  const std::vector<double> labels{4, 5, 4, 4};
  const std::vector<double> plain{1.05, -0.05, 0.3, 0.7, 1.85, -0.85, 1, 0};
  expect_scores(classifier("NONE", 2, {0.3F, 0.2F}, {0}), labels, plain);
  expect_scores(classifier("SOFTMAX", 2, {0.3F, 0.2F}, {0}), labels, plain);
  expect_scores(classifier("LOGISTIC", 2, {0.3F, 0.2F}, {0}), labels,
                {0.51249737, 0.48750263, 0.3318122, 0.6681878, 0.7005672, 0.2994328, 0.5, 0.5});
}

TEST(OnnxMl, ScoresOfThreeClasses) {
  const std::vector<float> coefficients{0.3F, 0.2F, -0.1F, 0.2F, 0.1F, 0.3F};
  const std::vector<float> intercepts{0.5F, 0.2F, 0};
  const std::vector<double> labels{4, 4, 5, 4};
  expect_scores(classifier("NONE", 3, coefficients, intercepts), labels,
                {0.45, -0.05, -0.25, 1.2, 0.5, 0.7, -0.35, 0.55, -0.225, 0.5, 0.2, 0});
  expect_scores(classifier("LOGISTIC", 3, coefficients, intercepts), labels,
                {0.6106392, 0.4875026, 0.4378235, 0.76852477, 0.6224593, 0.66818774, 0.4133824, 0.6341356,
                 0.44398612, 0.6224593, 0.549834, 0.5});
  expect_scores(classifier("SOFTMAX", 3, coefficients, intercepts), labels,
                {0.47548494, 0.2883962, 0.23611884, 0.47548494, 0.23611882, 0.2883962, 0.2177344, 0.5355402,
                 0.24672538, 0.42601252, 0.31559783, 0.25838965});
}

TEST(OnnxMl, ClassifiersThatDoNotFitAreRefused) {
  EXPECT_NE(refusal_of(classifier("PROBIT", 2, {0.3F, 0.2F}, {0})).find("its post_transform is PROBIT"),
            std::string::npos);
  EXPECT_NE(refusal_of(classifier("NONE", 3, {0.3F, 0.2F}, {0})).find("it has 3 labels for 1 targets"),
            std::string::npos);
  EXPECT_NE(refusal_of(classifier("NONE", 2, {0.3F}, {0})).find("it has 1 coefficients"), std::string::npos);
  KernelCall text = classifier("NONE", 2, {0.3F, 0.2F}, {0});
  text.attributes.erase(text.attributes.begin() + 1);
  EXPECT_NE(refusal_of(text).find("its labels are text"), std::string::npos);
}

TEST(OnnxMl, RowsByTheirNorm) {
  const auto norm = [](const std::string& name) {
    return testing::values_of<float>(
        outputs_of({.type = "ai.onnx.ml.Normalizer",
                    .inputs = {array<std::int64_t>({3, 3}, {1, -4, 2, 0, 0, 0, -1, -2, -3})},
                    .outputs = {result<float>({3, 3})},
                    .attributes = {{"norm", name}},
                    .version = 1})
            .at(0));
  };
  EXPECT_EQ(norm("MAX"), (std::vector<double>{0.5, -2, 1, 0, 0, 0, 1, 2, 3}));
  const std::vector<double> sizes{0.14285715, -0.5714286, 0.2857143, 0, 0, 0, -0.16666667, -0.33333334, -0.5};
  const std::vector<double> squares{0.2182179, -0.8728716,  0.4364358,  0,          0,
                                    0,         -0.26726124, -0.5345225, -0.80178374};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_NEAR(norm("L1")[i], sizes[i], 1e-7) << i;
    EXPECT_NEAR(norm("L2")[i], squares[i], 1e-7) << i;
  }
}

}  // namespace
}  // namespace stowage
