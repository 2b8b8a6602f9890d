#include <algorithm>

#include "kernel_calls.h"
#include "row_calls.h"

namespace stowage::testing {
namespace {

constexpr std::int64_t height = 11;
constexpr std::int64_t width = 5;

/// Along the height; along the width there is a window of two with nothing in front and one column behind.
struct Window {
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;
  std::int64_t after = 0;
  bool ceils = false;
  std::string policy{};

  [[nodiscard]] std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
  [[nodiscard]] std::int64_t rows() const {
    if (policy.starts_with("SAME")) return (height + stride - 1) / stride;
    const std::int64_t free = height + before + after - reach();
    const std::int64_t up = free / stride + 1 + (ceils && free % stride != 0 ? 1 : 0);
    // The last window begins in the input, or in the padding in front.
    return ceils && (up - 1) * stride >= height + before ? up - 1 : up;
  }
  [[nodiscard]] Settings settings() const {
    Settings all{
        {"kernel_shape", Shape{kernel, 2}}, {"strides", Shape{stride, 1}}, {"dilations", Shape{dilation, 1}}};
    if (policy.empty()) {
      all.emplace_back("pads", Shape{before, 0, after, 1});
    } else {
      all.emplace_back("auto_pad", policy);
    }
    if (ceils) all.emplace_back("ceil_mode", std::int64_t{1});
    return all;
  }
};

std::vector<Window> windows() {
  return {{},
          {.stride = 2, .before = 1, .after = 1},
          {.kernel = 1, .stride = 3},
          {.kernel = 4, .stride = 2, .before = 3},
          {.stride = 2, .dilation = 2, .before = 1, .after = 2},
          {.kernel = 2, .stride = 3, .policy = "SAME_UPPER"},
          {.kernel = 4, .stride = 2, .policy = "SAME_LOWER"},
          {.kernel = 4, .policy = "SAME_UPPER"},
          {.kernel = 2, .policy = "VALID"}};
}

void add_convolutions(std::vector<Call>& calls) {
  std::mt19937_64 random(21);
  for (const Window& window : windows()) {
    const std::int64_t columns = window.policy == "VALID" ? width - 1 : width;
    for (const std::int64_t groups : {1, 2}) {
      Call call{
          .type = "Conv",
          .data = {{2, 4, height, width}},
          .constants = {random_array(random, {4, 4 / groups, window.kernel, 2}), random_array(random, {4})},
          .output = {2, 4, window.rows(), columns},
          .settings = window.settings()};
      call.settings.emplace_back("group", groups);
      calls.push_back(call);
      call.type = "ConvInteger";
      call.version = 10;
      call.constants = {random_array(random, call.constants[0].shape, DType::int8),
                        random_array(random, {}, DType::uint8)};
      call.dtypes = {DType::uint8};
      call.output_dtype = DType::int32;
      calls.push_back(call);
      call.type = "QLinearConv";
      const Array scale = array<float>({}, {0.25});
      const Array zero = random_array(random, {}, DType::uint8);
      call.constants = {scale, zero, call.constants[0], scale, random_array(random, {}, DType::int8),
                        scale, zero};
      call.output_dtype = DType::uint8;
      calls.push_back(call);
    }
  }
  // Weights that are computed, and images of one and three dimensions.
  calls.push_back(
      {.type = "Conv", .data = {{1, 2, height, width}, {3, 2, 3, 1}}, .output = {1, 3, height - 2, width}});
  calls.push_back({.type = "Conv",
                   .data = {{1, 2, height}},
                   .constants = {random_array(random, {3, 2, 3})},
                   .output = {1, 3, 5},
                   .settings = {{"strides", Shape{2}}}});
  calls.push_back({.type = "Conv",
                   .data = {{1, 2, 5, 4, 3}},
                   .constants = {random_array(random, {2, 2, 2, 3, 1})},
                   .output = {1, 2, 4, 4, 3},
                   .settings = {{"pads", Shape{0, 1, 0, 0, 1, 0}}}});
}

void add_pools(std::vector<Call>& calls) {
  std::vector<Window> all = windows();
  all.push_back({.stride = 2, .ceils = true});
  all.push_back({.kernel = 4, .stride = 3, .before = 1, .after = 1, .ceils = true});
  all.push_back({.kernel = height});                           // a sum
  all.push_back({.kernel = height, .stride = 4, .after = 2});  // a sum, and one row behind
  all.push_back({.kernel = height + 2, .before = 1, .after = 1});
  for (const Window& window : all) {
    const std::int64_t columns = window.policy == "VALID" ? width - 1 : width;
    const Shape output{2, 4, window.rows(), columns};
    for (const char* const type : {"MaxPool", "AveragePool", "LpPool"}) {
      Call call{.type = type,
                .data = {{2, 4, height, width}},
                .output = output,
                .settings = window.settings(),
                .version = 22};
      calls.push_back(call);
      if (call.type == "AveragePool") {
        call.settings.emplace_back("count_include_pad", std::int64_t{1});
        calls.push_back(call);
      }
      if (call.type != "MaxPool") continue;
      call.more_outputs = {{output, DType::int64}};  // where the greatest are
      calls.push_back(call);
      call.settings.emplace_back("storage_order", std::int64_t{1});
      calls.push_back(call);
    }
  }
  for (const char* const type : {"GlobalAveragePool", "GlobalMaxPool"})
    calls.push_back({.type = type, .data = {{2, 4, height, width}}, .output = {2, 4, 1, 1}});
}

void add_transposed(std::vector<Call>& calls) {
  std::mt19937_64 random(22);
  struct Spread {
    std::int64_t kernel, stride, dilation, before, after, more;
  };
  for (const auto& [kernel, stride, dilation, before, after, more] :
       {Spread{3, 2, 1, 0, 0, 0}, Spread{3, 2, 1, 1, 1, 1}, Spread{2, 3, 1, 0, 0, 2},
        Spread{4, 2, 1, 2, 1, 0}, Spread{3, 1, 2, 1, 2, 0}, Spread{3, 2, 2, 0, 1, 1},
        Spread{1, 2, 1, 0, 0, 1}, Spread{5, 3, 1, 4, 3, 0}}) {
    const std::int64_t full = stride * (height - 1) + more + (kernel - 1) * dilation + 1;
    for (const std::int64_t groups : {1, 2}) {
      const Call call{
          .type = "ConvTranspose",
          .data = {{2, 4, height, width}},
          .constants = {random_array(random, {4, 4 / groups, kernel, 1}), random_array(random, {4})},
          .output = {2, 4, full - before - after, width},
          .settings = {{"strides", Shape{stride, 1}}, {"dilations", Shape{dilation, 1}}, {"group", groups}}};
      Call padded = call;
      padded.settings.emplace_back("pads", Shape{before, 0, after, 0});
      padded.settings.emplace_back("output_padding", Shape{more, 0});
      calls.push_back(padded);
      for (const char* const policy : {"SAME_UPPER", "SAME_LOWER"}) {
        Call same = call;
        same.output[2] = height * stride;
        same.settings.emplace_back("auto_pad", std::string(policy));
        calls.push_back(same);
      }
      Call told = call;
      told.output[2] = full - 1;
      told.settings.emplace_back("output_shape", Shape{full - 1, width});
      told.settings.emplace_back("output_padding", Shape{more, 0});
      calls.push_back(told);
    }
  }
}

}  // namespace

std::vector<Call> onnx_window_calls() {
  std::vector<Call> calls;
  add_convolutions(calls);
  add_pools(calls);
  add_transposed(calls);
  return calls;
}

}  // namespace stowage::testing
