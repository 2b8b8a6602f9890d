// TFLite_Detection_PostProcess: what it takes, what it refuses, and its C. Expected results are those of LiteRT 2.3.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "c_packages.h"
#include "many_calls.h"
#include "stowage/error.h"
#include "stowage/network.h"
#include "temporary.h"
#include "tflite_cases.h"
#include "tflite_models.h"
#include "tflite_samples.h"

namespace stowage::kernels {
namespace {

using namespace cases;
using testing::DetectionOptions;

// Boxes 0, 1 and 5 overlap; 5 is moved down. Some scores are equal.
const Floats anchors_of_six{0.5F,  0.5F,  0.5F,  0.5F,  0.5F,  0.5625F, 0.5F,  0.5F,
                            0.25F, 0.25F, 0.25F, 0.25F, 0.75F, 0.75F,   0.25F, 0.25F,
                            0.25F, 0.75F, 0.25F, 0.25F, 0.5F,  0.5F,    0.5F,  0.5F};
const Floats codes_of_six{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0};
const Floats scores_of_six{0, 0.5F,   0.75F, 0, 0.8125F, 0.25F,   0,       0.75F,  0.5F,
                           0, 0.125F, 0.75F, 0, 0.0625F, 0.1875F, 0.9375F, 0.375F, 0.5F};

Value bytes_for(Shape shape, float scale, std::int64_t zero_point, const Floats& reals) {
  std::vector<std::uint8_t> numbers;
  for (const float x : reals)
    numbers.push_back(static_cast<std::uint8_t>(x / scale + static_cast<float>(zero_point)));
  return scaled(DType::uint8, std::move(shape), scale, zero_point, numbers);
}

std::vector<Value> operands_of_six(bool is_quantized) {
  if (!is_quantized)
    return {real({1, 6, 4}, codes_of_six), real({1, 6, 3}, scores_of_six), real({6, 4}, anchors_of_six)};
  return {bytes_for({1, 6, 4}, 0.5F, 128, codes_of_six), bytes_for({1, 6, 3}, 1.0F / 16, 0, scores_of_six),
          bytes_for({6, 4}, 1.0F / 16, 0, anchors_of_six)};
}

Options options_of(const DetectionOptions& it) {
  return {{"max_detections", it.most},
          {"max_classes_per_detection", it.classes_per_box},
          {"detections_per_class", it.boxes_per_class},
          {"num_classes", std::int64_t{2}},
          {"use_regular_nms", std::int64_t{it.is_by_class ? 1 : 0}},
          {"nms_score_threshold", 0.25F},
          {"nms_iou_threshold", 0.5F},
          {"y_scale", 10.0F},
          {"x_scale", 10.0F},
          {"h_scale", 5.0F},
          {"w_scale", 5.0F}};
}

std::vector<Value> results_of(const DetectionOptions& it) {
  const std::int64_t rows = it.most * it.classes_per_box;
  return {real({1, rows, 4}), real({1, rows}), real({1, rows}), real({1})};
}

struct Expected {
  std::vector<std::size_t> boxes{};  ///< In `edges`.
  Floats classes{};
  Floats scores{};
  float number = 0;
};

const std::vector<Floats> edges{{0, 0, 0, 0},
                                {0.25F, 0.3125F, 0.75F, 0.8125F},
                                {0.125F, 0.125F, 0.375F, 0.375F},
                                {0.625F, 0.625F, 0.875F, 0.875F},
                                {0.25F, 0.25F, 0.75F, 0.75F},
                                {0.5F, 0.25F, 1, 0.75F}};

void expect_detected(const DetectionOptions& options, const Expected& expected) {
  Floats boxes;
  for (const std::size_t box : expected.boxes)
    boxes.insert(boxes.end(), edges[box].begin(), edges[box].end());
  for (const bool is_quantized : {false, true}) {
    const Case call("TFLite_Detection_PostProcess", operands_of_six(is_quantized), results_of(options),
                    options_of(options));
    EXPECT_EQ(call.get<float>(0), boxes);
    EXPECT_EQ(call.get<float>(1), expected.classes);
    EXPECT_EQ(call.get<float>(2), expected.scores);
    EXPECT_EQ(call.get<float>(3), Floats{expected.number});
  }
}

TEST(TfliteDetections, TakeTheBestBoxesThatDoNotOverlap) {
  expect_detected({}, {{1, 2, 3}, {0, 0, 1}, {0.8125F, 0.75F, 0.75F}, 3});
  expect_detected({.classes_per_box = 2},
                  {{1, 1, 2, 2, 3, 3}, {0, 1, 0, 1, 1, 0}, {0.8125F, 0.25F, 0.75F, 0.5F, 0.75F, 0.125F}, 3});
}

TEST(TfliteDetections, TakeBoxesClassByClass) {
  expect_detected({.is_by_class = true}, {{1, 2, 4}, {0, 0, 1}, {0.8125F, 0.75F, 0.75F}, 3});
  expect_detected({.is_by_class = true, .most = 6},
                  {{1, 2, 4, 3, 0, 0}, {0, 0, 1, 1, 0, 0}, {0.8125F, 0.75F, 0.75F, 0.75F, 0, 0}, 4});
}

TEST(TfliteDetections, TakeNoMoreBoxesOfAClassThanOfAll) {
  const Expected best{{1}, {0}, {0.8125F}, 1};
  for (const std::int64_t of_class : {std::int64_t{1}, std::int64_t{1} << 30})
    expect_detected({.is_by_class = true, .most = 1, .boxes_per_class = of_class}, best);
}

TEST(TfliteDetections, TakeNaNForTheWorstScore) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<Value> operands = operands_of_six(false);
  Floats scores = scores_of_six;
  scores[7] = scores[10] = scores[11] = nan;  // a class of box 2, and both of box 3
  operands[1] = real({1, 6, 3}, scores);
  const Case best("TFLite_Detection_PostProcess", operands, results_of({}), options_of({}));
  Floats boxes;
  for (const std::size_t box : {1U, 2U, 5U}) boxes.insert(boxes.end(), edges[box].begin(), edges[box].end());
  EXPECT_EQ(best.get<float>(0), boxes);
  EXPECT_EQ(best.get<float>(1), (Floats{0, 1, 1}));
  EXPECT_EQ(best.get<float>(2), (Floats{0.8125F, 0.5F, 0.5F}));
  const DetectionOptions two{.classes_per_box = 2};
  const Case both("TFLite_Detection_PostProcess", operands, results_of(two), options_of(two));
  EXPECT_EQ(both.get<float>(1), (Floats{0, 1, 1, 0, 1, 0}));
  EXPECT_TRUE(std::isnan(both.get<float>(2)[3]));
}

TEST(TfliteDetections, FindNothingAmongNoBoxes) {
  for (const bool is_by_class : {false, true}) {
    const DetectionOptions options{.is_by_class = is_by_class, .most = 1};
    const Case call("TFLite_Detection_PostProcess", {real({1, 0, 4}), real({1, 0, 3}), real({0, 4})},
                    results_of(options), options_of(options));
    EXPECT_EQ(call.get<float>(0), Floats(4));
    EXPECT_EQ(call.get<float>(3), Floats{0});
  }
}

TEST(TfliteDetections, RefuseWhatDoesNotFit) {
  const auto refused = [](std::vector<Value> operands, const Options& options) {
    return refusal("TFLite_Detection_PostProcess", operands, results_of({}), options);
  };
  const std::vector<Value> six = operands_of_six(false);
  Options options = options_of({});
  EXPECT_EQ(refused(six, options), "");
  EXPECT_EQ(refused({six[0], six[1], real({5, 4})}, options), "its anchors has shape [5,4], expected [6,4]");
  EXPECT_EQ(refused({six[0], six[1], operands_of_six(true)[2]}, options),
            "its boxes are float32, its anchors uint8");
  EXPECT_EQ(refused({int8({1, 6, 4}, 1, 0), six[1], six[2]}, options), "element type int8 is not supported");
  options["num_classes"] = std::int64_t{1};
  EXPECT_EQ(refused(six, options), "it has 3 scores of 1 classes");
  options = options_of({});
  options["nms_iou_threshold"] = 0.0F;
  EXPECT_EQ(refused(six, options), "its nms_iou_threshold is 0, expected one in (0, 1]");
  options = options_of({});
  options["max_detections"] = std::int64_t{-1};
  EXPECT_EQ(refused(six, options), "its max_detections is -1, expected 0 to 1048576");
}

TEST(TfliteDetections, EndWithABoxOfNegativeSize) {
  std::vector<Value> operands = operands_of_six(false);
  operands[2] = real({6, 4}, Floats(24, -1));
  const Case call("TFLite_Detection_PostProcess", operands, results_of({}), options_of({}));
  try {
    static_cast<void>(call.run());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("box 0 has a negative size"), std::string::npos) << error.what();
  }
}

/// Scores of three classes, of which some are no numbers.
std::string scores_with_nan(std::int32_t boxes) {
  std::string bytes;
  for (std::int32_t i = 0; i < boxes * 3; ++i) {
    const bool is_number = i % 7 > 1 && i / 3 % 5 > 0;
    const float score =
        is_number ? static_cast<float>(i * 37 % 64) / 64 : std::numeric_limits<float>::quiet_NaN();
    bytes.append(reinterpret_cast<const char*>(&score), sizeof score);
  }
  return bytes;
}

/// Of float32 or bytes, with so many boxes. Scores are an input unless there are some.
Network detector(const DetectionOptions& options, bool is_quantized, std::int32_t boxes,
                 const std::string& scores = {}) {
  const DType dtype = is_quantized ? DType::uint8 : DType::float32;
  std::string anchors;
  for (std::int32_t i = 0; i < boxes * 4; ++i) {
    const auto number = static_cast<std::uint8_t>(1 + i * 37 % 16);
    const float share = static_cast<float>(number) / 16;
    anchors += is_quantized ? std::string(1, static_cast<char>(number))
                            : std::string(reinterpret_cast<const char*>(&share), sizeof share);
  }
  const std::vector<float> scale = is_quantized ? std::vector<float>{1.0F / 16} : std::vector<float>{};
  const auto zero = [&](std::int64_t number) {
    return is_quantized ? std::vector<std::int64_t>{number} : std::vector<std::int64_t>{};
  };
  testing::TfliteSubgraph main;
  main.tensors = {
      {.name = "codes", .shape = {1, boxes, 5}, .dtype = dtype, .scale = scale, .zero_point = zero(128)},
      {.name = "scores",
       .shape = {1, boxes, 3},
       .dtype = dtype,
       .data = scores,
       .scale = scale,
       .zero_point = zero(9)},
      {.name = "anchors",
       .shape = {boxes, 4},
       .dtype = dtype,
       .data = anchors,
       .scale = scale,
       .zero_point = zero(0)}};
  main.operators = {{.type = "TFLite_Detection_PostProcess",
                     .inputs = {0, 1, 2},
                     .outputs = {3, 4, 5, 6},
                     .custom_options = testing::bytes_of_options(options)}};
  const auto rows = static_cast<std::int32_t>(options.most * options.classes_per_box);
  main.tensors.push_back({.name = "boxes", .shape = {1, rows, 4}});
  main.tensors.push_back({.name = "classes", .shape = {1, rows}});
  main.tensors.push_back({.name = "best", .shape = {1, rows}});
  main.tensors.push_back({.name = "number", .shape = {1}});
  main.inputs = {0};
  if (scores.empty()) main.inputs.push_back(1);
  if (anchors.empty()) main.inputs.push_back(2);
  main.outputs = {3, 4, 5, 6};
  return parse_network(testing::tflite_model({.subgraphs = {main}}), "m.tflite", {.constants = true});
}

TEST(TfliteDetections, AreTheSameAsC) {
  const testing::TemporaryDirectory folder;
  testing::Packages packages(folder.path());
  for (const DetectionOptions& options :
       {DetectionOptions{.most = 20, .classes_per_box = 3}, DetectionOptions{.is_by_class = true},
        DetectionOptions{.is_by_class = true, .most = 9},
        DetectionOptions{.is_by_class = true, .most = 2, .boxes_per_class = 100}}) {
    const auto add = [&](const Network& network) {
      const std::string name = "detector_" + std::to_string(packages.count());
      packages.add(name, testing::package_of(network, name));
    };
    for (const bool is_quantized : {false, true}) add(detector(options, is_quantized, 60));
    add(detector(options, false, 60, scores_with_nan(60)));
    add(detector(options, false, 0));
  }
  for (const std::string& fault : packages.run()) ADD_FAILURE() << fault;
}

}  // namespace
}  // namespace stowage::kernels
