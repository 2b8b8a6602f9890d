// What is read of a TFLite model for running it: options, quantizations, data.

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <variant>

#include "import/tflite.h"
#include "stowage/error.h"
#include "stowage/network.h"
#include "tflite_models.h"
#include "tflite_samples.h"

namespace stowage {
namespace {

using testing::TfliteSpec;
using testing::TfliteTensor;

/// A model of one addition, of an int8 input and the given tensor.
std::string model_with(const TfliteTensor& tensor) {
  return testing::tflite_model(
      {.subgraphs = {{.tensors = {{.name = "x", .shape = {1, 4}, .dtype = DType::int8},
                                  tensor,
                                  {.name = "y", .shape = {1, 4}, .dtype = DType::int8}},
                      .operators = {{.type = "ADD", .inputs = {0, 1}, .outputs = {2}}},
                      .inputs = {0},
                      .outputs = {2}}}});
}

TfliteTensor weight() { return {.name = "w", .shape = {1, 4}, .dtype = DType::int8, .data = "abcd"}; }

std::string problem_of(const TfliteTensor& tensor) {
  try {
    (void)import::read_tflite_network({model_with(tensor)}, {});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<std::byte> data_of(const Network& network, TensorId tensor) {
  const auto bytes = network.input.constants.of(tensor);
  return {bytes.begin(), bytes.end()};
}

TEST(TfliteNetworkTest, HasTheSameGraphAsPlanning) {
  const std::string bytes = model_with(weight());
  EXPECT_EQ(import::read_tflite_network({bytes}, {}).graph(),
            std::get<Graph>(import::read_tflite({bytes}, {}).content));
}

TEST(TfliteNetworkTest, ReadsDataOfWeights) {
  const Network network = import::read_tflite_network({model_with(weight())}, {});
  EXPECT_TRUE(network.input.constants.of(0).empty());
  EXPECT_EQ(data_of(network, 1),
            (std::vector<std::byte>{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}, std::byte{'d'}}));
}

TEST(TfliteNetworkTest, RefusesDataOfAnotherSize) {
  TfliteTensor tensor = weight();
  tensor.data = "abc";
  EXPECT_EQ(problem_of(tensor), "tensor 'w': has 3 bytes of data, expected 4");
  tensor.data = "abcde";
  EXPECT_EQ(problem_of(tensor), "tensor 'w': has 5 bytes of data, expected 4");
  tensor.data = "";
  tensor.external_buffer = 1;
  EXPECT_EQ(problem_of(tensor), "tensor 'w': has its data in another file, expected it in this one");
}

TEST(TfliteNetworkTest, ReadsQuantizations) {
  TfliteTensor tensor = weight();
  tensor.scale = {0.5F, 0.25F, 1, 2};
  tensor.zero_point = {0, 1, -128, 127};
  tensor.quantized_dimension = 1;
  const Network network = import::read_tflite_network({model_with(tensor)}, {});
  EXPECT_FALSE(network.quantizations[0]);
  EXPECT_EQ(network.quantizations[1], (Quantization{{0.5F, 0.25F, 1, 2}, {0, 1, -128, 127}, 1}));
  tensor.zero_point = {3};
  EXPECT_EQ(import::read_tflite_network({model_with(tensor)}, {}).quantizations[1]->zero_points,
            (std::vector<std::int64_t>{3, 3, 3, 3}));
  // One without the other is none.
  tensor.zero_point = {};
  EXPECT_FALSE(import::read_tflite_network({model_with(tensor)}, {}).quantizations[1]);
}

TEST(TfliteNetworkTest, RefusesQuantizationsThatDoNotFit) {
  TfliteTensor tensor = weight();
  tensor.scale = {-1};
  tensor.zero_point = {0};
  EXPECT_EQ(problem_of(tensor), "tensor 'w': has scale -1, expected a finite one of 0 or more");
  tensor.scale = {std::numeric_limits<float>::infinity()};
  EXPECT_EQ(problem_of(tensor), "tensor 'w': has scale inf, expected a finite one of 0 or more");
  tensor.scale = {1};
  tensor.zero_point = {128};
  EXPECT_EQ(problem_of(tensor), "tensor 'w': has zero point 128, expected one from -128 to 127");
  tensor.scale = {1, 1, 1};
  tensor.zero_point = {0, 0};
  EXPECT_EQ(problem_of(tensor), "tensor 'w': has 3 scales and 2 zero points, expected as many");
  tensor.zero_point = {0, 0, 0};
  tensor.quantized_dimension = 1;
  EXPECT_EQ(problem_of(tensor), "tensor 'w': has 3 scales for dimension 1 of 4, expected one for each");
  tensor.quantized_dimension = 2;
  EXPECT_EQ(problem_of(tensor), "tensor 'w': has scales for dimension 2, expected one of its 2");
}

TEST(TfliteNetworkTest, StartsVariablesWithWhatTheFileSaysOrZero) {
  TfliteTensor tensor = weight();
  tensor.is_variable = true;
  EXPECT_EQ(data_of(import::read_tflite_network({model_with(tensor)}, {}), 1)[0], std::byte{'a'});
  tensor.data = "";
  EXPECT_EQ(data_of(import::read_tflite_network({model_with(tensor)}, {}), 1), std::vector<std::byte>(4));
  tensor.scale = {1};
  tensor.zero_point = {7};
  EXPECT_EQ(data_of(import::read_tflite_network({model_with(tensor)}, {}), 1),
            std::vector<std::byte>(4, std::byte{7}));
  tensor.shape = {1 << 16, 1 << 15};
  EXPECT_EQ(problem_of(tensor),
            "tensor 'w': is a variable of 2147483648 bytes without data, expected at most 1073741824 in all");
}

TEST(TfliteNetworkTest, RefusesToRepeatDataForEver) {
  TfliteSpec spec{
      .subgraphs = {
          {.tensors = {
               {.name = "x", .shape = {4096}, .dtype = DType::int8, .data = std::string(4096, 'x')}}}}};
  // Tensors that all have the first one's data: a small file, and a large network.
  for (int i = 0; i < 64; ++i)
    spec.subgraphs[0].tensors.push_back({.shape = {4096}, .dtype = DType::int8, .buffer = 1});
  EXPECT_NO_THROW((void)import::read_tflite({testing::tflite_model(spec)}, {}));
  EXPECT_THROW((void)import::read_tflite_network({testing::tflite_model(spec)}, {}), Error);
}

TEST(TfliteNetworkTest, ReadsOptionsByName) {
  const std::string bytes = testing::tflite_model(
      {.subgraphs = {
           {.tensors = {{.name = "x", .shape = {2, 4}}, {.name = "y", .shape = {4, 4}}},
            .operators = {{.type = "CONCATENATION", .inputs = {0, 0}, .outputs = {1}, .numbers = {-2, 3}},
                          {.type = "ABS", .inputs = {0}, .outputs = {}}},
            .inputs = {0},
            .outputs = {1}}}});
  const Network network = import::read_tflite_network({bytes}, {});
  ASSERT_EQ(network.details.size(), 1U);
  ASSERT_EQ(network.details[0].size(), 2U);
  EXPECT_EQ(network.details[0][0].attributes.integer("axis", 0), -2);
  EXPECT_EQ(network.details[0][0].attributes.integer("fused_activation_function", 0), 3);
  EXPECT_FALSE(network.details[0][1].attributes.has("axis"));
  EXPECT_EQ(network.details[0][0].version, 1);
}

TEST(TfliteNetworkTest, ReadsOptionsOfRealModels) {
  const std::filesystem::path models = std::filesystem::path(STOWAGE_DATA_DIR) / "models" / "tflite";
  if (!std::filesystem::exists(models)) GTEST_SKIP() << "no " << models;
  const Network network = read_network(models / "keyword_scrambled_8bit.tflite");
  const auto& operators = network.graph().subgraphs.at(0).operators;
  for (std::size_t o = 0; o < operators.size(); ++o) {
    const Attributes& attributes = network.details.at(0).at(o).attributes;
    if (operators[o].type == "SVDF") {
      EXPECT_GT(attributes.integer("rank", 0), 0);
    } else if (operators[o].type == "SOFTMAX") {
      EXPECT_GT(attributes.real("beta", 0), 0.0F);
    }
  }
}

/// Options of a custom operator, whose form is its own.
TEST(TfliteNetworkTest, ReadsOptionsOfDetections) {
  const auto attributes_with = [](const std::string& options) {
    const std::string bytes = testing::tflite_model(
        {.subgraphs = {{.tensors = {{.name = "x", .shape = {1}}, {.name = "y", .shape = {1}}},
                        .operators = {{.type = "TFLite_Detection_PostProcess",
                                       .inputs = {0},
                                       .outputs = {1},
                                       .custom_options = options}},
                        .inputs = {0},
                        .outputs = {1}}}});
    return import::read_tflite_network({bytes}, {}).details[0][0].attributes;
  };
  const std::string options = testing::bytes_of_options({.is_by_class = true, .most = 7});
  const Attributes attributes = attributes_with(options);
  EXPECT_EQ(attributes.integer("max_detections", 0), 7);
  EXPECT_EQ(attributes.integer("use_regular_nms", 0), 1);
  EXPECT_EQ(attributes.real("nms_iou_threshold", 0), 0.5F);
  EXPECT_EQ(attributes.real("h_scale", 0), 5.0F);
  for (const std::string& damaged : {std::string("abc"), options.substr(0, options.size() - 1)})
    EXPECT_FALSE(attributes_with(damaged).has("max_detections")) << damaged;
}

}  // namespace
}  // namespace stowage
