#include <cmath>

#include "kernel_calls.h"
#include "row_calls.h"

namespace stowage::testing {
namespace {

constexpr std::int64_t height = 11;
constexpr std::int64_t width = 3;
const Array nothing = array<float>({0}, {});

using Text = std::string;

struct Way {
  const char* mode;
  const char* coordinates;
  const char* rounding;
};

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const char* const coordinates :
       {"asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners", "tf_half_pixel_for_nn",
        "half_pixel_symmetric", "tf_crop_and_resize"}) {
    for (const char* const mode : {"linear", "cubic"}) all.push_back({mode, coordinates, "floor"});
    for (const char* const rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
      all.push_back({"nearest", coordinates, rounding});
  }
  return all;
}

Settings settings_of(const Way& way) {
  return {{"mode", Text(way.mode)},
          {"coordinate_transformation_mode", Text(way.coordinates)},
          {"nearest_mode", Text(way.rounding)}};
}

Array region_of(const Way& way) {
  return Text(way.coordinates) == "tf_crop_and_resize" ? array<float>({8}, {0, 0, 0.2, 0, 1, 1, 0.7, 1})
                                                       : nothing;
}

Call by_scale(const Way& way, double scale) {
  const auto rows = static_cast<std::int64_t>(std::floor(static_cast<double>(height) * scale));
  return {.type = "Resize",
          .data = {{1, 2, height, width}},
          .constants = {region_of(way), array<float>({4}, {1, 1, scale, 1})},
          .output = {1, 2, rows, width},
          .settings = settings_of(way),
          .version = 19};
}

Call by_size(const Way& way, std::int64_t rows) {
  return {.type = "Resize",
          .data = {{1, 2, height, width}},
          .constants = {region_of(way), nothing, integers({1, 2, static_cast<double>(rows), width})},
          .output = {1, 2, rows, width},
          .settings = settings_of(way),
          .version = 19};
}

}  // namespace

std::vector<Call> onnx_resize_calls() {
  std::vector<Call> calls;
  for (const Way& way : ways()) {
    // 1.05 leaves as many rows, but each of them elsewhere.
    for (const double scale : {1.5, 2.0, 2.6, 0.7, 0.3, 1.05}) calls.push_back(by_scale(way, scale));
    for (const std::int64_t rows : {1, 5, 17, 22}) calls.push_back(by_size(way, rows));
  }
  Call outside = by_scale({"cubic", "half_pixel", "floor"}, 1.5);
  outside.settings.emplace_back("exclude_outside", std::int64_t{1});
  calls.push_back(outside);
  // One scale for all axes, a tenth, which is not that of the extents.
  for (const char* const policy : {"not_larger", "not_smaller"}) {
    const std::int64_t rows = Text(policy) == "not_larger" ? 3 : 1;
    calls.push_back({.type = "Resize",
                     .data = {{1, 2, 15, 20}},
                     .constants = {nothing, nothing, integers({static_cast<double>(rows), 2})},
                     .output = {1, 2, 2, 2},
                     .settings = {{"axes", Shape{2, 3}},
                                  {"keep_aspect_ratio_policy", Text(policy)},
                                  {"mode", Text("linear")}},
                     .version = 19});
  }
  // Named axes, a row of images along their width, and the first operator set with one.
  calls.push_back({.type = "Resize",
                   .data = {{1, 2, height, width}},
                   .constants = {nothing, array<float>({1}, {1.5})},
                   .output = {1, 2, 16, width},
                   .settings = {{"axes", Shape{2}}, {"mode", Text("linear")}},
                   .version = 18});
  calls.push_back({.type = "Resize",
                   .data = {{2, 2, 4, 5}},
                   .constants = {nothing, array<float>({4}, {1.5, 1, 1, 1.7})},
                   .output = {3, 2, 4, 8},
                   .settings = {{"mode", Text("linear")}},
                   .version = 13});
  for (const char* const mode : {"nearest", "linear"})
    calls.push_back({.type = "Resize",
                     .data = {{1, 2, height, width}},
                     .constants = {array<float>({4}, {1, 1, 1.5, 1})},
                     .output = {1, 2, 16, width},
                     .settings = {{"mode", Text(mode)}},
                     .version = 10});
  return calls;
}

}  // namespace stowage::testing
