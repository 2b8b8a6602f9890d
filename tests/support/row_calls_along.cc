#include "kernel_calls.h"
#include "row_calls.h"

namespace stowage::testing {
namespace {

using Text = std::string;

/// Slices with steps, forwards and backwards.
void add_slices(std::vector<Call>& calls) {
  struct Steps {
    double start, end, step;
    std::int64_t rows;
  };
  for (const auto& [start, end, step, rows] :
       {Steps{1, 12, 3, 4}, Steps{-1, -100, -2, 7}, Steps{9, 3, -1, 6}, Steps{2, 13, 100, 1},
        Steps{40, 0, -5, 3}, Steps{-11, 13, 2, 6}})
    calls.push_back({.type = "Slice",
                     .data = {{4, 13, 6}},
                     .constants = {integers({start}), integers({end}), integers({1}), integers({step})},
                     .output = {4, rows, 6}});
  struct Masks {
    Steps rows;
    std::int64_t begin, end, shrink;
    Shape output;
  };
  for (const auto& [rows, begin, end, shrink, output] :
       {Masks{{1, 12, 3, 4}, 0, 0, 0, {4, 4, 6}}, Masks{{5, 0, 2, 7}, 2, 2, 0, {4, 7, 6}},
        Masks{{5, 0, -1, 6}, 0, 2, 0, {4, 6, 6}}, Masks{{0, 0, -3, 5}, 2, 2, 0, {4, 5, 6}},
        Masks{{1, 12, 3, 4}, 0, 0, 1, {4, 6}}})
    calls.push_back({.type = "STRIDED_SLICE",
                     .data = {{4, 13, 6}},
                     .constants = {narrow({shrink == 1 ? 2.0 : 0.0, rows.start}, {2}),
                                   narrow({4, rows.end}, {2}), narrow({1, rows.step}, {2})},
                     .output = output,
                     .settings = {{"begin_mask", begin}, {"end_mask", end}, {"shrink_axis_mask", shrink}},
                     .version = 1});
}

void add_pads(std::vector<Call>& calls) {
  struct Pads {
    const char* mode;
    std::int64_t before, behind;
  };
  for (const auto& [mode, before, behind] :
       {Pads{"reflect", 2, 3}, Pads{"reflect", 0, 1}, Pads{"reflect", 7, 7}, Pads{"reflect", 9, 12},
        Pads{"reflect", -2, 1}, Pads{"reflect", 3, -1}, Pads{"edge", 2, 3}, Pads{"edge", 0, 9},
        Pads{"edge", -1, 2}, Pads{"wrap", 2, 3}, Pads{"wrap", 11, 19}, Pads{"wrap", -2, 9}})
    calls.push_back(
        {.type = "Pad",
         .data = {{3, 8, 2}},
         .constants = {integers({0, static_cast<double>(before), 0, 0, static_cast<double>(behind), 1})},
         .output = {3, 8 + before + behind, 3},
         .settings = {{"mode", Text(mode)}},
         .version = 19});
  for (const auto& [mode, before, behind] : {Pads{"", 2, 1}, Pads{"", 0, 3}, Pads{"", 7, 7}}) {
    for (const std::int64_t kind : {0, 1})
      calls.push_back({.type = "MIRROR_PAD",
                       .data = {{3, 8, 2}},
                       .constants = {narrow(
                           {0, 0, static_cast<double>(before), static_cast<double>(behind), 0, 0}, {3, 2})},
                       .output = {3, 8 + before + behind, 2},
                       .settings = {{"mode", kind}},
                       .version = 1});
  }
}

/// Elements that are repeated, or places that come and go.
void add_shapes(std::vector<Call>& calls) {
  calls.push_back(
      {.type = "Tile", .data = {{2, 3, 4}}, .constants = {integers({1, 3, 2})}, .output = {2, 9, 8}});
  calls.push_back({.type = "Tile", .data = {{1, 3}}, .constants = {integers({4, 1})}, .output = {4, 3}});
  calls.push_back({.type = "TILE",
                   .data = {{2, 3, 4}},
                   .constants = {narrow({2, 1, 3}, {3})},
                   .output = {4, 3, 12},
                   .version = 1});
  calls.push_back(
      {.type = "Expand", .data = {{3, 1, 4}}, .constants = {integers({2, 1, 5, 4})}, .output = {2, 3, 5, 4}});
  calls.push_back({.type = "BROADCAST_TO",
                   .data = {{3, 1, 4}},
                   .constants = {narrow({2, 3, 5, 4}, {4})},
                   .output = {2, 3, 5, 4},
                   .version = 1});
  for (const std::int64_t is_upper : {0, 1})
    calls.push_back({.type = "Trilu",
                     .data = {{2, 5, 6}},
                     .constants = {testing::array<std::int64_t>({}, {1})},
                     .output = {2, 5, 6},
                     .settings = {{"upper", is_upper}}});
  for (const std::int64_t axis : {0, 1, -1}) {
    Shape whole{2, 5};
    whole.insert(axis < 0 ? whole.end() : whole.begin() + axis, 3);
    calls.push_back({.type = "PACK",
                     .data = {{2, 5}, {2, 5}, {2, 5}},
                     .output = whole,
                     .settings = {{"axis", axis}},
                     .version = 1});
    calls.push_back({.type = "UNPACK",
                     .data = {whole},
                     .output = {2, 5},
                     .settings = {{"axis", axis}},
                     .version = 1,
                     .more_outputs = {{{2, 5}, DType::float32}, {{2, 5}, DType::float32}}});
  }
}

void add_blocks(std::vector<Call>& calls, std::mt19937_64& random) {
  for (const std::int64_t batch : {1, 3}) {
    calls.push_back({.type = "SPACE_TO_BATCH_ND",
                     .data = {{batch, 7, 4, 2}},
                     .constants = {narrow({3, 2}, {2}), narrow({1, 1, 0, 2}, {2, 2})},
                     .output = {6 * batch, 3, 3, 2},
                     .version = 1});
    calls.push_back({.type = "BATCH_TO_SPACE_ND",
                     .data = {{6 * batch, 3, 3, 2}},
                     .constants = {narrow({3, 2}, {2}), narrow({2, 1, 1, 0}, {2, 2})},
                     .output = {batch, 6, 5, 2},
                     .version = 1});
  }
  for (const std::int64_t policy : {0, 1}) {
    for (const auto& [kernel, stride] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{3, 2}, {2, 2}, {4, 2}, {5, 3}, {3, 1}, {1, 2}}) {
      const std::int64_t full = 6 * stride + kernel;
      const Shape output{2, policy == 0 ? 7 * stride : full, 5, 3};
      calls.push_back({.type = "TRANSPOSE_CONV",
                       .data = {{2, 7, 5, 2}},
                       .constants = {narrow({2, static_cast<double>(output[1]), 5, 3}, {4}),
                                     random_array(random, {3, kernel, 1, 2})},
                       .output = output,
                       .settings = {{"padding", policy}, {"stride_h", stride}, {"stride_w", std::int64_t{1}}},
                       .version = 1,
                       .are_constants_first = true});
      calls.push_back({.type = "Convolution2DTransposeBias",
                       .data = {{2, 7, 5, 2}},
                       .constants = {random_array(random, {3, kernel, 1, 2}), random_array(random, {3})},
                       .output = output,
                       .settings = {{"padding", policy}, {"stride_h", stride}, {"stride_w", std::int64_t{1}}},
                       .version = 1});
    }
  }
  for (const char* const mode : {"nearest", "linear"}) {
    Call call{.type = "Upsample",
              .data = {{1, 2, 7, 3}},
              .constants = {testing::array<float>({4}, {1, 1, 2.5, 2})},
              .output = {1, 2, 17, 6},
              .settings = {{"mode", Text(mode)}},
              .version = 9};
    calls.push_back(call);
    call.constants.clear();
    call.version = 7;
    call.settings.emplace_back("scales", std::vector<float>{1, 1, 2.5, 2});
    calls.push_back(call);
  }
}

void add_norms(std::vector<Call>& calls, std::mt19937_64& random) {
  const Shape image{2, 4, 7, 3};
  calls.push_back({.type = "InstanceNormalization",
                   .data = {image},
                   .constants = {random_array(random, {4}), random_array(random, {4})},
                   .output = image});
  for (const std::int64_t version : {18, 21}) {
    const Shape scales{version < 21 ? 2 : 4};
    calls.push_back({.type = "GroupNormalization",
                     .data = {image},
                     .constants = {random_array(random, scales), random_array(random, scales)},
                     .output = image,
                     .settings = {{"num_groups", std::int64_t{2}}},
                     .version = version});
  }
  calls.push_back({.type = "MeanVarianceNormalization", .data = {image}, .output = image, .version = 13});
  calls.push_back({.type = "MeanVarianceNormalization",
                   .data = {image},
                   .output = image,
                   .settings = {{"axes", Shape{-1}}},
                   .version = 13});
  for (const std::int64_t axis : {-1, 1})
    calls.push_back({.type = "LpNormalization",
                     .data = {{4, 5, 3}},
                     .output = {4, 5, 3},
                     .settings = {{"axis", axis}, {"p", std::int64_t{axis < 0 ? 2 : 1}}}});
  for (const char* const type : {"L2_NORMALIZATION", "LOG_SOFTMAX"})
    calls.push_back({.type = type, .data = {{1, 6, 5, 4}}, .output = {1, 6, 5, 4}, .version = 1});
  calls.push_back(
      {.type = "Hardmax", .data = {{4, 5, 3}}, .output = {4, 5, 3}, .settings = {{"axis", std::int64_t{1}}}});
  for (const char* const type : {"RMSNormalization", "SimplifiedLayerNormalization"})
    calls.push_back({.type = type,
                     .data = {{4, 5, 3}},
                     .constants = {random_array(random, {3})},
                     .output = {4, 5, 3},
                     .version = 23});
  calls.push_back(
      {.type = "com.microsoft.SkipLayerNormalization",
       .data = {{2, 5, 3}, {1, 5, 3}},
       .constants = {random_array(random, {3}), random_array(random, {3}), random_array(random, {3})},
       .output = {2, 5, 3},
       .version = 1});
  calls.push_back({.type = "com.microsoft.SkipSimplifiedLayerNormalization",
                   .data = {{2, 5, 3}, {2, 5, 3}},
                   .constants = {random_array(random, {3})},
                   .output = {2, 5, 3},
                   .version = 1});
}

/// Over the rows themselves: sums of all rows first.
void add_norms_over_rows(std::vector<Call>& calls, std::mt19937_64& random) {
  for (const Shape& image : {Shape{1, 3, 1, 9}, Shape{2, 3, 5, 1}, Shape{1, 2, 3, 4, 2}, Shape{2, 3, 9}})
    calls.push_back({.type = "InstanceNormalization",
                     .data = {image},
                     .constants = {random_array(random, {image[1]}), random_array(random, {image[1]})},
                     .output = image});
  for (const Shape& shape : {Shape{2, 9, 3}, Shape{2, 3, 7, 5}, Shape{1, 1, 6}, Shape{2, 1, 7, 2}}) {
    const Shape scales(shape.begin() + 1, shape.end());
    for (const char* const type : {"LayerNormalization", "RMSNormalization"}) {
      Call call{.type = type,
                .data = {shape},
                .constants = {random_array(random, scales)},
                .output = shape,
                .settings = {{"axis", std::int64_t{1}}},
                .version = 23};
      if (call.type == "LayerNormalization") call.constants.push_back(random_array(random, {shape.back()}));
      calls.push_back(call);
    }
  }
  for (const char* const type : {"Softmax", "LogSoftmax"}) {
    for (const std::int64_t axis : {0, 1, 2})
      calls.push_back({.type = type, .data = {{7, 6, 5}}, .output = {7, 6, 5}, .settings = {{"axis", axis}}});
  }
}

/// The best along an axis, and sums of what comes before.
void add_orders(std::vector<Call>& calls) {
  for (const std::int64_t axis : {0, 1, -1}) {
    const Shape shape{4, 6, 5};
    const std::size_t own = axis < 0 ? 2 : static_cast<std::size_t>(axis);
    Shape best = shape;
    best[own] = 2;
    calls.push_back({.type = "TopK",
                     .data = {shape},
                     .constants = {integers({2})},
                     .output = best,
                     .settings = {{"axis", axis}},
                     .more_outputs = {{best, DType::int64}}});
    const double number = static_cast<double>(axis);
    for (const std::int64_t flag : {0, 1}) {
      calls.push_back({.type = "CumSum",
                       .data = {shape},
                       .constants = {testing::array<std::int64_t>({}, {number})},
                       .output = shape,
                       .settings = {{"exclusive", flag}, {"reverse", flag}}});
      calls.push_back({.type = "CUMSUM",
                       .data = {shape},
                       .constants = {narrow({number}, {})},
                       .output = shape,
                       .settings = {{"exclusive", flag}, {"reverse", flag}},
                       .version = 1});
      Shape places = shape;
      places[own] = 1;
      if (flag == 0) places.erase(places.begin() + static_cast<std::ptrdiff_t>(own));
      for (const char* const type : {"ArgMax", "ArgMin"})
        calls.push_back({.type = type,
                         .data = {shape},
                         .output = places,
                         .settings = {{"axis", axis}, {"keepdims", flag}},
                         .output_dtype = DType::int64});
      if (flag == 1) continue;
      for (const char* const type : {"ARG_MAX", "ARG_MIN"})
        calls.push_back({.type = type,
                         .data = {shape},
                         .constants = {narrow({number}, {})},
                         .output = places,
                         .version = 1,
                         .output_dtype = DType::int32});
    }
  }
}

void add_reductions(std::vector<Call>& calls) {
  for (const char* const type : {"ReduceL1", "ReduceL2", "ReduceProd", "ReduceLogSum", "ReduceLogSumExp",
                                 "ReduceSumSquare", "ReduceMean"}) {
    Call call{.type = type,
              .data = {{2, 4, 13, 5}},
              .constants = {integers({2, 3})},
              .output = {2, 4, 1, 1},
              .version = 18};
    calls.push_back(call);
    call.dtypes = {DType::int32};
    call.output_dtype = DType::int32;
    calls.push_back(call);
    call.dtypes = {DType::int8};
    call.output_dtype = DType::int8;
    if (call.type != "ReduceLogSumExp") calls.push_back(call);
  }
}

void add_products(std::vector<Call>& calls, std::mt19937_64& random) {
  const Array weights = random_array(random, {5, 3}, DType::int8);
  const Array scale = testing::array<float>({}, {0.25});
  for (const Shape& rows : {Shape{}, Shape{7}}) {
    for (const Shape& columns : {Shape{}, Shape{3}}) {
      const Array zero = random_array(random, rows, DType::uint8);
      const Array zero_of_weights = random_array(random, columns, DType::int8);
      calls.push_back({.type = "MatMulInteger",
                       .data = {{2, 7, 5}},
                       .constants = {weights, zero, zero_of_weights},
                       .output = {2, 7, 3},
                       .version = 10,
                       .dtypes = {DType::uint8},
                       .output_dtype = DType::int32});
      calls.push_back({.type = "QLinearMatMul",
                       .data = {{2, 7, 5}},
                       .constants = {random_array(random, rows), zero, weights, random_array(random, columns),
                                     zero_of_weights, scale, random_array(random, {}, DType::uint8)},
                       .output = {2, 7, 3},
                       .version = 10,
                       .dtypes = {DType::uint8},
                       .output_dtype = DType::uint8});
    }
  }
  calls.push_back({.type = "MatMulInteger",
                   .data = {{7, 5}, {5, 3}},
                   .output = {7, 3},
                   .version = 10,
                   .dtypes = {DType::uint8, DType::int8},
                   .output_dtype = DType::int32});
}

/// Three sequences of five steps.
void add_recurrent(std::vector<Call>& calls, std::mt19937_64& random) {
  for (const auto& [type, gates] :
       {std::pair<const char*, std::int64_t>{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}}) {
    for (const char* const direction : {"forward", "reverse", "bidirectional"}) {
      const std::int64_t directions = direction == std::string_view("bidirectional") ? 2 : 1;
      Call call{.type = type,
                .data = {{5, 3, 4}},
                .constants = {random_array(random, {directions, 2 * gates, 4}),
                              random_array(random, {directions, 2 * gates, 2}),
                              random_array(random, {directions, 4 * gates})},
                .output = {5, directions, 3, 2},
                .settings = {{"direction", Text(direction)}},
                .version = 14};
      calls.push_back(call);
      call.constants.push_back(narrow({5, 2, 3}, {3}));
      call.constants.push_back(random_array(random, {directions, 3, 2}));
      calls.push_back(call);
      call.constants.resize(3);
      call.data = {{3, 5, 4}};
      call.output = {3, 5, directions, 2};
      call.settings.emplace_back("layout", std::int64_t{1});
      call.more_outputs = {{{3, directions, 2}, DType::float32}};
      calls.push_back(call);
    }
    // States have as many elements as there are sequences.
    calls.push_back(
        {.type = type,
         .data = {{5, 3, 4}},
         .constants = {random_array(random, {1, 3 * gates, 4}), random_array(random, {1, 3 * gates, 3})},
         .output = {5, 1, 3, 3},
         .version = 14,
         .more_outputs = {{{1, 3, 3}, DType::float32}}});
  }
}

}  // namespace

std::vector<Call> calls_along_axes() {
  std::mt19937_64 random(6);
  std::vector<Call> calls;
  add_slices(calls);
  add_pads(calls);
  add_shapes(calls);
  add_blocks(calls, random);
  add_norms(calls, random);
  add_norms_over_rows(calls, random);
  add_orders(calls);
  add_reductions(calls);
  add_products(calls, random);
  add_recurrent(calls, random);
  return calls;
}

std::vector<Call> all_row_calls() {
  std::vector<Call> all;
  for (const auto calls : {elementwise_calls, onnx_window_calls, onnx_resize_calls, onnx_row_calls,
                           tflite_row_calls, calls_along_axes}) {
    for (Call& call : calls()) all.push_back(std::move(call));
  }
  return all;
}

}  // namespace stowage::testing
