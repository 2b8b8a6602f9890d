// Operators between two convolutions over many rows: a window of rows of each tensor is enough, whatever the
// operator does to its rows.

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "kernel_calls.h"
#include "stowage/planner.h"
#include "stream_run_calls.h"

namespace stowage {
namespace {

using testing::Call;

constexpr std::int64_t image_rows = 64;

std::vector<Call> onnx_calls_between() {
  using testing::integers;
  const Shape image{1, 4, image_rows, 16};
  const auto reflect = std::string("reflect");
  return {
      {.type = "Slice",
       .data = {image},
       .constants = {integers({1}), integers({image_rows}), integers({2}), integers({2})},
       .output = {1, 4, image_rows / 2, 16}},
      {.type = "Pad",
       .data = {image},
       .constants = {integers({0, 0, 1, 1, 0, 0, 1, 1})},
       .output = {1, 4, image_rows + 2, 18},
       .settings = {{"mode", reflect}}},
      {.type = "Pad",
       .data = {image},
       .constants = {integers({0, 0, 1, 0, 0, 0, 1, 0})},
       .output = {1, 4, image_rows + 2, 16},
       .settings = {{"mode", std::string("edge")}}},
      {.type = "Upsample",
       .data = {image},
       .constants = {testing::array<float>({4}, {1, 1, 2, 1})},
       .output = {1, 4, 2 * image_rows, 16},
       .version = 9},
      {.type = "LpNormalization", .data = {image}, .output = image, .settings = {{"axis", std::int64_t{1}}}},
      {.type = "Tile",
       .data = {image},
       .constants = {integers({1, 1, 1, 2})},
       .output = {1, 4, image_rows, 32}},
      {.type = "CumSum", .data = {image}, .constants = {integers({3})}, .output = image}};
}

std::vector<Call> tflite_calls_between() {
  using testing::narrow;
  const Shape image{1, image_rows, 16, 4};
  std::mt19937_64 random(1);
  return {
      {.type = "MIRROR_PAD",
       .data = {image},
       .constants = {narrow({0, 0, 1, 1, 1, 1, 0, 0}, {4, 2})},
       .output = {1, image_rows + 2, 18, 4},
       .settings = {{"mode", std::int64_t{0}}},
       .version = 1},
      {.type = "STRIDED_SLICE",
       .data = {image},
       .constants = {narrow({0, 1}, {2}), narrow({1, image_rows}, {2}), narrow({1, 2}, {2})},
       .output = {1, image_rows / 2, 16, 4},
       .version = 1},
      {.type = "TRANSPOSE_CONV",
       .data = {image},
       .constants = {narrow({1, 2 * image_rows, 16, 4}, {4}), testing::random_array(random, {4, 3, 1, 4})},
       .output = {1, 2 * image_rows, 16, 4},
       .settings = {{"padding", std::int64_t{0}},
                    {"stride_h", std::int64_t{2}},
                    {"stride_w", std::int64_t{1}}},
       .version = 1,
       .are_constants_first = true},
      {.type = "SPACE_TO_BATCH_ND",
       .data = {image},
       .constants = {narrow({2, 2}, {2}), narrow({0, 0, 0, 0}, {2, 2})},
       .output = {4, image_rows / 2, 8, 4},
       .version = 1},
      {.type = "BATCH_TO_SPACE_ND",
       .data = {{4, image_rows, 16, 4}},
       .constants = {narrow({2, 2}, {2}), narrow({0, 0, 0, 0}, {2, 2})},
       .output = {1, 2 * image_rows, 32, 4},
       .version = 1},
      {.type = "L2_NORMALIZATION", .data = {image}, .output = image, .version = 1},
      {.type = "TILE",
       .data = {image},
       .constants = {narrow({1, 1, 2, 1}, {4})},
       .output = {1, image_rows, 32, 4},
       .version = 1}};
}

void expect_windows(const std::vector<Call>& calls) {
  for (const Call& call : calls) {
    const auto network = testing::network_between_convolutions(call);
    ASSERT_TRUE(network) << call.type;
    PlanOptions options;
    options.io = Io::rows;
    options.stream = StreamOptions{};
    options.solve.time_limit = std::chrono::seconds(1);
    const PlanResult result = make_plan(network->input, options);
    ASSERT_TRUE(result.faults.empty()) << call.type << ": " << result.faults[0].what;
    ASSERT_TRUE(result.plan.streaming) << call.type;
    EXPECT_LE(result.plan.summary.peak, result.plan.streaming->load_of_layers / 5) << call.type;
    ::testing::Test::RecordProperty(call.type, std::to_string(result.plan.summary.peak) + " of " +
                                                   std::to_string(result.plan.streaming->load_of_layers));
  }
}

TEST(PlanStreamRules, WindowsOfRowsAreEnoughInOnnx) { expect_windows(onnx_calls_between()); }

TEST(PlanStreamRules, WindowsOfRowsAreEnoughInTflite) { expect_windows(tflite_calls_between()); }

}  // namespace
}  // namespace stowage
