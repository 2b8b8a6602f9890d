#include <algorithm>
#include <array>

#include "kernel_calls.h"
#include "row_calls.h"

namespace stowage::testing {
namespace {

constexpr std::int64_t height = 13;
constexpr std::int64_t width = 5;

std::vector<Call> calls_of_rows(std::mt19937_64& random) {
  const Shape image{1, 6, 5, 4};
  return {
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
       .version = 1},
      {.type = "GATHER",
       .data = {{5, 3}},
       .constants = {narrow({4, 0, 2}, {3})},
       .output = {3, 3},
       .version = 1},
      {.type = "GATHER",
       .data = {{1, 4, 5, 3}},
       .constants = {narrow({3}, {})},
       .output = {1, 5, 3},
       .settings = {{"axis", std::int64_t{1}}},
       .version = 1},
      {.type = "GATHER",
       .data = {{4, 5, 3}},
       .constants = {narrow({4, 0, 1, 1, 3, 0, 2, 2}, {4, 2})},
       .output = {4, 2, 3},
       .settings = {{"axis", std::int64_t{1}}, {"batch_dims", std::int64_t{1}}},
       .version = 1},
      {.type = "GATHER",  // frames of a signal
       .data = {{1, 9, 2}},
       .constants = {narrow({0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8}, {4, 3})},
       .output = {1, 4, 3, 2},
       .settings = {{"axis", std::int64_t{1}}},
       .version = 1},
      {.type = "RFFT2D",
       .data = {{1, 5, 1, 8}},
       .constants = {narrow({1, 8}, {2})},
       .output = {1, 5, 1, 5},
       .version = 1,
       .output_dtype = DType::complex64},
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
      {.type = "MEAN", .data = {image}, .constants = {narrow({3}, {1})}, .output = {1, 6, 5}, .version = 1},
      {.type = "SPLIT",
       .data = {{1, 6, 4, 2}},
       .constants = {narrow({2}, {})},
       .output = {1, 6, 2, 2},
       .version = 1,
       .more_outputs = {{{1, 6, 2, 2}, DType::float32}},
       .are_constants_first = true},
      {.type = "SPLIT_V",
       .data = {{1, 6, 4, 2}},
       .constants = {narrow({1, 3}, {2}), narrow({2}, {})},
       .output = {1, 6, 1, 2},
       .version = 1,
       .more_outputs = {{{1, 6, 3, 2}, DType::float32}}},
      {.type = "STRIDED_SLICE",
       .data = {{1, 6, 5, 2}},
       .constants = {narrow({0, 1, 0, 0}, {4}), narrow({1, 6, 5, 2}, {4}), narrow({1, 2, 1, 1}, {4})},
       .output = {1, 3, 5, 2},
       .version = 1},
      {.type = "STRIDED_SLICE",
       .data = {{1, 6, 5, 2}},
       .constants = {narrow({0, -1, 0, 0}, {4}), narrow({1, -7, 5, 2}, {4}), narrow({1, -1, 1, 1}, {4})},
       .output = {1, 6, 5, 2},
       .version = 1},
      {.type = "MIRROR_PAD",
       .data = {{1, 6, 5, 2}},
       .constants = {narrow({0, 0, 2, 1, 0, 0, 0, 0}, {4, 2})},
       .output = {1, 9, 5, 2},
       .version = 1},
      {.type = "CONCATENATION",
       .data = {{1, 6, 5, 2}, {1, 3, 5, 2}},
       .output = {1, 9, 5, 2},
       .settings = {{"axis", std::int64_t{1}}},
       .version = 1},
      {.type = "BATCH_MATMUL",
       .data = {{2, 5, 7}, {2, 3, 5}},
       .output = {2, 7, 3},
       .settings = {{"adj_x", std::int64_t{1}}, {"adj_y", std::int64_t{1}}},
       .version = 1},
      {.type = "FULLY_CONNECTED",
       .data = {{2, 6, 5}},
       .constants = {random_array(random, {3, 5}), random_array(random, {3})},
       .output = {12, 3},
       .version = 1},
      {.type = "MEAN",
       .data = {{1, 6, 5, 2}},
       .constants = {narrow({}, {0})},
       .output = {1, 6, 5, 2},
       .version = 1}};
}

/// Policy 0 is SAME, 1 is VALID.
Settings window(std::int64_t policy, std::int64_t kernel, std::int64_t stride, std::int64_t dilation) {
  return {{"padding", policy},
          {"stride_h", stride},
          {"stride_w", std::int64_t{1}},
          {"dilation_h_factor", dilation},
          {"dilation_w_factor", std::int64_t{1}},
          {"depth_multiplier", std::int64_t{1}},
          {"filter_height", kernel},
          {"filter_width", std::int64_t{2}}};
}

void add_windows(std::vector<Call>& calls, std::mt19937_64& random) {
  for (const std::int64_t policy : {0, 1}) {
    for (const auto& [kernel, stride, dilation] : std::vector<std::array<std::int64_t, 3>>{
             {3, 1, 1}, {3, 2, 1}, {2, 3, 1}, {4, 2, 1}, {3, 1, 2}, {1, 2, 1}, {height, 1, 1}}) {
      const std::int64_t covered = policy == 0 ? height : height - (kernel - 1) * dilation;
      const Shape output{2, (covered + stride - 1) / stride, policy == 0 ? width : width - 1, 4};
      const Settings settings = window(policy, kernel, stride, dilation);
      calls.push_back({.type = "CONV_2D",
                       .data = {{2, height, width, 4}},
                       .constants = {random_array(random, {4, kernel, 2, 4}), random_array(random, {4})},
                       .output = output,
                       .settings = settings,
                       .version = 1});
      calls.push_back({.type = "DEPTHWISE_CONV_2D",
                       .data = {{2, height, width, 4}},
                       .constants = {random_array(random, {1, kernel, 2, 4}), random_array(random, {4})},
                       .output = output,
                       .settings = settings,
                       .version = 1});
      for (const char* const type : {"AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D"}) {
        if (dilation == 1)
          calls.push_back({.type = type,
                           .data = {{2, height, width, 4}},
                           .output = output,
                           .settings = settings,
                           .version = 1});
      }
    }
  }
}

void add_resizing(std::vector<Call>& calls) {
  for (const auto& [from, to] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {13, 26}, {13, 19}, {13, 5}, {13, 13}, {13, 1}, {1, 4}}) {
    for (const char* const flag : {"align_corners", "half_pixel_centers", "neither"}) {
      for (const char* const type : {"RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"}) {
        Call call{.type = type,
                  .data = {{2, from, width, 2}},
                  .constants = {narrow({static_cast<double>(to), 7}, {2})},
                  .output = {2, to, 7, 2},
                  .settings = {{flag, std::int64_t{1}}},
                  .version = 1};
        calls.push_back(call);
        call.dtypes = {DType::int8};
        call.output_dtype = DType::int8;
        call.quantization = Quantization{.scales = {0.1F}, .zero_points = {0}};
        calls.push_back(call);
      }
    }
  }
  // In units of 1/1024, hundreds of rows are not where their extents put them.
  calls.push_back({.type = "RESIZE_BILINEAR",
                   .data = {{1, 400, 1, 1}},
                   .constants = {narrow({1200, 1}, {2})},
                   .output = {1, 1200, 1, 1},
                   .version = 1,
                   .dtypes = {DType::int8},
                   .output_dtype = DType::int8,
                   .quantization = Quantization{.scales = {0.1F}, .zero_points = {0}}});
}

}  // namespace

std::vector<Call> tflite_row_calls() {
  std::mt19937_64 random(4);
  std::vector<Call> calls = calls_of_rows(random);
  add_windows(calls, random);
  add_resizing(calls);
  for (const char* const type : {"MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"})
    calls.push_back({.type = type,
                     .data = {{2, height, width, 4}},
                     .constants = {narrow({1, 2}, {2})},
                     .output = {2, 4},
                     .version = 1});
  return calls;
}

}  // namespace stowage::testing
