// Operators that run row by row: in whatever order, and wherever their rows lie, they give what they give
// alone.

#include <gtest/gtest.h>

#include <random>

#include "kernel_calls.h"
#include "stream_run_calls.h"

namespace stowage {
namespace {

using testing::Call;
using testing::expect_streams;
using testing::integers;
using testing::narrow;
using testing::random_array;
using testing::Settings;

const Settings same_window{{"padding", std::int64_t{0}},           {"stride_h", std::int64_t{2}},
                           {"stride_w", std::int64_t{1}},          {"dilation_h_factor", std::int64_t{1}},
                           {"dilation_w_factor", std::int64_t{1}}, {"depth_multiplier", std::int64_t{1}},
                           {"filter_height", std::int64_t{3}},     {"filter_width", std::int64_t{2}}};

TEST(RunStream, TfliteWindows) {
  std::mt19937_64 random(1);
  for (const std::int64_t batches : {1, 2}) {
    const Shape image{batches, 13, 5, 4};
    const Shape half{batches, 7, 5, 4};
    EXPECT_GT(expect_streams({.type = "CONV_2D",
                              .data = {image},
                              .constants = {random_array(random, {4, 3, 2, 4}), random_array(random, {4})},
                              .output = half,
                              .settings = same_window,
                              .version = 1}),
              0);
    EXPECT_GT(expect_streams({.type = "DEPTHWISE_CONV_2D",
                              .data = {image},
                              .constants = {random_array(random, {1, 3, 2, 4}), random_array(random, {4})},
                              .output = half,
                              .settings = same_window,
                              .version = 1}),
              0);
    for (const char* const type : {"AVERAGE_POOL_2D", "MAX_POOL_2D"})
      EXPECT_GT(expect_streams(
                    {.type = type, .data = {image}, .output = half, .settings = same_window, .version = 1}),
                0);
    for (const char* const type : {"RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"})
      EXPECT_GT(expect_streams({.type = type,
                                .data = {image},
                                .constants = {narrow({26, 7}, {2})},
                                .output = {batches, 26, 7, 4},
                                .settings = {{"half_pixel_centers", std::int64_t{1}}},
                                .version = 1}),
                0);
  }
}

TEST(RunStream, TfliteSums) {
  const Shape image{2, 13, 5, 4};
  for (const char* const type : {"MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"}) {
    EXPECT_GT(expect_streams({.type = type,
                              .data = {image},
                              .constants = {narrow({1, 2}, {2})},
                              .output = {2, 4},
                              .version = 1}),
              0);
  }
  const Settings all{{"padding", std::int64_t{1}},
                     {"stride_h", std::int64_t{1}},
                     {"stride_w", std::int64_t{1}},
                     {"filter_height", std::int64_t{13}},
                     {"filter_width", std::int64_t{2}}};
  for (const char* const type : {"AVERAGE_POOL_2D", "MAX_POOL_2D"})
    EXPECT_GT(expect_streams(
                  {.type = type, .data = {image}, .output = {2, 1, 4, 4}, .settings = all, .version = 1}),
              0);
}

TEST(RunStream, Rows) {
  std::mt19937_64 random(3);
  using Text = std::string;
  const std::vector<Call> calls{
      {.type = "Relu", .data = {{1, 2, 13, 29}}, .output = {1, 2, 13, 29}},
      {.type = "Add", .data = {{1, 2, 13, 29}, {13, 1}}, .output = {1, 2, 13, 29}},
      {.type = "Add", .data = {{1, 2, 13, 29}, {29}}, .output = {1, 2, 13, 29}},
      {.type = "Mul",
       .data = {{1, 2, 13, 29}},
       .constants = {random_array(random, {13, 1})},
       .output = {1, 2, 13, 29}},
      {.type = "BatchNormalization",
       .data = {{1, 2, 5, 3}},
       .constants = {random_array(random, {2}), random_array(random, {2}), random_array(random, {2}),
                     testing::array<float>({2}, {1, 2})},
       .output = {1, 2, 5, 3}},
      {.type = "MatMul", .data = {{7, 5}, {5, 3}}, .output = {7, 3}},
      {.type = "MatMul", .data = {{2, 7, 5}, {2, 5, 3}}, .output = {2, 7, 3}},
      {.type = "Gemm",
       .data = {{7, 5}, {3, 5}, {3}},
       .output = {7, 3},
       .settings = {{"transB", std::int64_t{1}}}},
      {.type = "Gemm", .data = {{5, 7}, {5, 3}}, .output = {7, 3}, .settings = {{"transA", std::int64_t{1}}}},
      {.type = "Softmax", .data = {{2, 13, 29}}, .output = {2, 13, 29}},
      {.type = "Softmax",
       .data = {{2, 13, 29}},
       .output = {2, 13, 29},
       .settings = {{"axis", std::int64_t{1}}}},
      {.type = "LayerNormalization",
       .data = {{2, 13, 29}},
       .constants = {random_array(random, {29})},
       .output = {2, 13, 29}},
      {.type = "Concat",
       .data = {{1, 2, 13}, {1, 2, 13}},
       .output = {1, 2, 26},
       .settings = {{"axis", std::int64_t{2}}}},
      {.type = "Concat",
       .data = {{1, 7, 13}, {1, 5, 13}},
       .output = {1, 12, 13},
       .settings = {{"axis", std::int64_t{1}}}},
      {.type = "Slice",
       .data = {{1, 13, 29}},
       .constants = {integers({3}), integers({9}), integers({1})},
       .output = {1, 6, 29}},
      {.type = "Slice",
       .data = {{1, 13, 29}},
       .constants = {integers({-1}), integers({-14}), integers({1}), integers({-1})},
       .output = {1, 13, 29}},
      {.type = "Pad",
       .data = {{1, 13, 29}},
       .constants = {integers({0, 2, 0, 0, 3, 1}), testing::array<float>({}, {5})},
       .output = {1, 18, 30}},
      {.type = "Pad",
       .data = {{1, 13, 29}},
       .constants = {integers({0, 2, 0, 0, 3, 1})},
       .output = {1, 18, 30},
       .settings = {{"mode", Text("reflect")}}},
      {.type = "Transpose",
       .data = {{1, 5, 7, 13}},
       .output = {1, 7, 13, 5},
       .settings = {{"perm", Shape{0, 2, 3, 1}}}},
      {.type = "Reshape", .data = {{1, 7, 6}}, .constants = {integers({1, 14, 3})}, .output = {1, 14, 3}},
      {.type = "Reshape", .data = {{1, 14, 3}}, .constants = {integers({1, 7, 6})}, .output = {1, 7, 6}},
      {.type = "Reshape",
       .data = {{1, 14, 6}},
       .constants = {integers({1, 14, 2, 3})},
       .output = {1, 14, 2, 3}},
      {.type = "ReduceMean", .data = {{2, 13, 29}}, .output = {2, 13, 1}, .settings = {{"axes", Shape{2}}}},
      {.type = "DepthToSpace",
       .data = {{1, 4, 13, 3}},
       .output = {1, 1, 26, 6},
       .settings = {{"blocksize", std::int64_t{2}}}},
      {.type = "SpaceToDepth",
       .data = {{1, 1, 26, 6}},
       .output = {1, 4, 13, 3},
       .settings = {{"blocksize", std::int64_t{2}}}},
      {.type = "LRN",
       .data = {{2, 4, 5, 3}},
       .output = {2, 4, 5, 3},
       .settings = {{"size", std::int64_t{3}}}},
      {.type = "PADV2",
       .data = {{1, 6, 5, 2}},
       .constants = {narrow({0, 0, 1, 2, 1, 0, 0, 0}, {4, 2}), testing::array<float>({1}, {3})},
       .output = {1, 9, 6, 2},
       .version = 1},
      {.type = "PAD",
       .data = {{1, 6, 5, 2}},
       .constants = {narrow({0, 0, 0, 0, 0, 0, 0, 2}, {4, 2})},
       .output = {1, 6, 5, 4},
       .version = 1},
      {.type = "FULLY_CONNECTED",
       .data = {{1, 6, 5}},
       .constants = {random_array(random, {3, 5}), random_array(random, {3})},
       .output = {1, 6, 3},
       .settings = {{"keep_num_dims", std::int64_t{1}}},
       .version = 1},
      {.type = "BATCH_MATMUL", .data = {{2, 7, 5}, {2, 5, 3}}, .output = {2, 7, 3}, .version = 1},
      {.type = "CONCATENATION",
       .data = {{1, 6, 5, 2}, {1, 6, 5, 3}},
       .output = {1, 6, 5, 5},
       .settings = {{"axis", std::int64_t{3}}},
       .version = 1},
      {.type = "SOFTMAX", .data = {{6, 5}}, .output = {6, 5}, .settings = {{"beta", 1.0F}}, .version = 1},
      {.type = "TRANSPOSE",
       .data = {{1, 6, 5, 2}},
       .constants = {narrow({0, 2, 1, 3}, {4})},
       .output = {1, 5, 6, 2},
       .version = 1},
      {.type = "SLICE",
       .data = {{1, 6, 5, 2}},
       .constants = {narrow({0, 1, 2, 0}, {4}), narrow({1, 4, 3, 2}, {4})},
       .output = {1, 4, 3, 2},
       .version = 1},
      {.type = "RESHAPE",
       .data = {{1, 6, 5, 2}},
       .constants = {narrow({6, 10}, {2})},
       .output = {6, 10},
       .version = 1}};
  for (const Call& call : calls) EXPECT_GT(expect_streams(call), 0) << call.type;
}

TEST(RunStream, RowsOfOtherOperators) {
  std::mt19937_64 random(4);
  const Shape image{1, 6, 5, 4};
  const std::vector<Call> calls{
      {.type = "Gather", .data = {{5, 3}}, .constants = {integers({4, 0, 2, 1, 1, 3})}, .output = {6, 3}},
      {.type = "GATHER",
       .data = {{5, 3}},
       .constants = {narrow({4, 0, 2}, {3})},
       .output = {3, 3},
       .version = 1},
      {.type = "LogSoftmax", .data = {{2, 5, 3}}, .output = {2, 5, 3}},
      {.type = "Flatten", .data = {{4, 3, 2}}, .output = {4, 6}},
      {.type = "Squeeze", .data = {{1, 4, 3}}, .constants = {integers({0})}, .output = {4, 3}},
      {.type = "Unsqueeze", .data = {{4, 3}}, .constants = {integers({0})}, .output = {1, 4, 3}},
      {.type = "EXPAND_DIMS",
       .data = {{4, 3}},
       .constants = {narrow({0}, {1})},
       .output = {1, 4, 3},
       .version = 1},
      {.type = "SQUEEZE", .data = {{1, 4, 3}}, .output = {4, 3}, .version = 1},
      {.type = "MIRROR_PAD",
       .data = {image},
       .constants = {narrow({0, 0, 0, 0, 1, 1, 0, 0}, {4, 2})},
       .output = {1, 6, 7, 4},
       .version = 1},
      {.type = "DEPTH_TO_SPACE",
       .data = {image},
       .output = {1, 12, 10, 1},
       .settings = {{"block_size", std::int64_t{2}}},
       .version = 1},
      {.type = "SPACE_TO_DEPTH",
       .data = {{1, 6, 4, 3}},
       .output = {1, 3, 2, 12},
       .settings = {{"block_size", std::int64_t{2}}},
       .version = 1},
      {.type = "ADD", .data = {image, {4}}, .output = image, .version = 1},
      {.type = "PRELU",
       .data = {image},
       .constants = {random_array(random, {1, 1, 4})},
       .output = image,
       .version = 1},
      {.type = "Max", .data = {image, image, image}, .output = image},
      {.type = "ReduceMax",
       .data = {image},
       .output = {1, 6, 4},
       .settings = {{"axes", Shape{2}}, {"keepdims", std::int64_t{0}}}},
      {.type = "MEAN", .data = {image}, .constants = {narrow({3}, {1})}, .output = {1, 6, 5}, .version = 1}};
  for (const Call& call : calls) EXPECT_GT(expect_streams(call), 0) << call.type;
}

TEST(RunStream, OnnxWindows) {
  std::mt19937_64 random(1);
  for (const std::int64_t batches : {1, 2}) {
    const Shape image{batches, 4, 13, 5};
    const Settings window{
        {"kernel_shape", Shape{3, 2}}, {"strides", Shape{2, 1}}, {"pads", Shape{1, 0, 1, 1}}};
    EXPECT_GT(expect_streams({.type = "Conv",
                              .data = {image},
                              .constants = {random_array(random, {6, 2, 3, 2}), random_array(random, {6})},
                              .output = {batches, 6, 7, 5},
                              .settings = {{"kernel_shape", Shape{3, 2}},
                                           {"strides", Shape{2, 1}},
                                           {"pads", Shape{1, 0, 1, 1}},
                                           {"group", std::int64_t{2}}}}),
              0);
    EXPECT_GT(expect_streams({.type = "Conv",
                              .data = {image},
                              .constants = {random_array(random, {6, 4, 1, 1})},
                              .output = {batches, 6, 13, 5}}),
              0);
    for (const char* const type : {"MaxPool", "AveragePool", "LpPool"})
      EXPECT_GT(
          expect_streams({.type = type, .data = {image}, .output = {batches, 4, 7, 5}, .settings = window}),
          0);
    EXPECT_GT(expect_streams({.type = "ConvTranspose",
                              .data = {image},
                              .constants = {random_array(random, {4, 2, 3, 1})},
                              .output = {batches, 2, 27, 5},
                              .settings = {{"strides", Shape{2, 1}}}}),
              0);
    for (const char* const mode : {"nearest", "linear"})
      EXPECT_GT(expect_streams({.type = "Resize",
                                .data = {image},
                                .constants = {testing::array<float>({0}, {}), testing::array<float>({0}, {}),
                                              integers({static_cast<double>(batches), 4, 26, 7})},
                                .output = {batches, 4, 26, 7},
                                .settings = {{"mode", std::string(mode)}}}),
                0);
  }
}

TEST(RunStream, OnnxSums) {
  const Shape image{2, 4, 13, 5};
  for (const char* const type : {"GlobalAveragePool", "GlobalMaxPool"})
    EXPECT_GT(expect_streams({.type = type, .data = {image}, .output = {2, 4, 1, 1}}), 0);
  for (const char* const type : {"MaxPool", "AveragePool", "LpPool"})
    EXPECT_GT(expect_streams({.type = type,
                              .data = {image},
                              .output = {2, 4, 1, 4},
                              .settings = {{"kernel_shape", Shape{13, 2}}}}),
              0);
  for (const char* const type : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"})
    EXPECT_GT(expect_streams({.type = type,
                              .data = {image},
                              .output = {2, 4},
                              .settings = {{"axes", Shape{2, 3}}, {"keepdims", std::int64_t{0}}},
                              .version = 11}),
              0);
}

}  // namespace
}  // namespace stowage
