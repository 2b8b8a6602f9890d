// Which rows operators read, against kernels: where a row of an input is changed, only rows of the output may
// change that say they read it.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>

#include "kernel_calls.h"
#include "stowage/error.h"
#include "stream/bound.h"
#include "stream/instances.h"
#include "stream/regions.h"
#include "stream/replay.h"
#include "stream/search.h"

namespace stowage::stream {
namespace {

using testing::KernelCall;
using testing::outputs_of;

using Settings = std::vector<std::pair<std::string, Attributes::Value>>;

/// An operator on float32; the first inputs are data, the others constants. The extents of each data tensor
/// differ, so that the extent tells the axis.
struct Call {
  std::string type{};
  std::vector<Shape> data{};
  std::vector<Array> constants{};
  Shape output{};
  Settings settings{};
  std::int64_t version = 17;
};

Array random_array(std::mt19937_64& random, const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(bytes_of(DType::float32, shape) / 4));
  for (double& value : values) value = std::uniform_real_distribution<double>(-1, 1)(random);
  return testing::array<float>(shape, values);
}

Array integers(const std::vector<double>& values, bool is_wide = true) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  return is_wide ? testing::array<std::int64_t>(shape, values) : testing::array<std::int32_t>(shape, values);
}

Network network_of(const Call& call) {
  Network network;
  Graph graph;
  const auto add = [&](TensorKind kind, DType dtype, const Shape& shape) {
    graph.tensors.push_back({.name = "t" + std::to_string(graph.tensors.size()),
                             .kind = kind,
                             .dtype = dtype,
                             .shape = shape,
                             .bytes = bytes_of(dtype, shape)});
    return graph.tensors.size() - 1;
  };
  stowage::Operator op{.name = "op", .type = call.type};
  stowage::Subgraph subgraph;
  for (const Shape& shape : call.data) {
    op.inputs.emplace_back(add(TensorKind::input, DType::float32, shape));
    subgraph.inputs.push_back(*op.inputs.back());
  }
  for (const Array& array : call.constants) {
    op.inputs.emplace_back(add(TensorKind::weight, array.dtype, array.shape));
    network.input.constants.set(*op.inputs.back(), array.data);
  }
  op.outputs.emplace_back(add(TensorKind::output, DType::float32, call.output));
  subgraph.outputs = {*op.outputs[0]};
  subgraph.operators = {op};
  graph.subgraphs = {subgraph};
  network.details = {{{.version = call.version}}};
  for (const auto& [name, value] : call.settings) network.details[0][0].attributes.set(name, value);
  network.input.content = graph;
  add_rows(network);
  return network;
}

std::size_t axis_of(const Shape& shape, std::int64_t rows) {
  return static_cast<std::size_t>(std::find(shape.begin(), shape.end(), rows) - shape.begin());
}

/// Calls `visit(i)` for the elements of one row.
template <typename Visit>
void for_each_element(const Shape& shape, std::size_t axis, std::int64_t row, Visit visit) {
  std::int64_t inner = 1;
  std::int64_t all = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    all *= shape[d];
    if (d > axis) inner *= shape[d];
  }
  for (std::int64_t i = 0; i < all; ++i) {
    if (i / inner % shape[axis] == row) visit(static_cast<std::size_t>(i));
  }
}

bool is_read(const RowModel& model, std::size_t tensor, std::int64_t r, std::int64_t row) {
  bool found = false;
  for (const Access& access : model.operators[0].reads) {
    if (access.tensor == tensor)
      for_each_row(access.rows, model.tensors[tensor].rows, r,
                   [&](std::int64_t it) { found = found || it == row; });
  }
  return found;
}

/// How many pairs (row of the output, row of data) are read.
std::int64_t expect_honest(const Call& call, std::mt19937_64& random) {
  const RowModel model = instances_of(network_of(call).graph(), {});
  const Operator& op = model.operators.at(0);
  KernelCall kernel{.type = call.type,
                    .outputs = {testing::result<float>(call.output)},
                    .attributes = call.settings,
                    .version = call.version};
  for (const Shape& shape : call.data) kernel.inputs.emplace_back(random_array(random, shape));
  for (const Array& array : call.constants) kernel.inputs.emplace_back(array);
  const auto before = testing::values_of<float>(outputs_of(kernel).at(0));
  if (op.writing == Writing::at_the_end) return -1;
  const std::size_t out_axis = axis_of(call.output, op.rows);
  std::int64_t pairs = 0;
  for (std::size_t t = 0; t < call.data.size(); ++t) {
    const std::size_t axis = axis_of(call.data[t], model.tensors[t].rows);
    for (std::int64_t row = 0; row < model.tensors[t].rows; ++row) {
      KernelCall changed = kernel;
      auto* const values = reinterpret_cast<float*>(changed.inputs[t]->data.data());
      for_each_element(call.data[t], axis, row, [&](std::size_t i) { values[i] += 1; });
      const auto after = testing::values_of<float>(outputs_of(changed).at(0));
      for (std::int64_t r = 0; r < op.rows; ++r) {
        bool differs = false;
        for_each_element(call.output, out_axis, r,
                         [&](std::size_t i) { differs = differs || before[i] != after[i]; });
        const bool says_so = is_read(model, t, r, row);
        pairs += says_so ? 1 : 0;
        EXPECT_TRUE(says_so || !differs) << call.type << " row " << r << " reads row " << row << " of " << t;
      }
    }
  }
  return pairs;
}

std::int64_t pick(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

constexpr std::int64_t height = 13;

TEST(StreamInstances, OnnxWindowsNameAllRowsTheyRead) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 150; ++i) {
    const std::int64_t kernel = pick(random, 1, 4);
    const std::int64_t stride = pick(random, 1, 3);
    const std::int64_t dilation = pick(random, 1, 2);
    const std::int64_t before = pick(random, 0, kernel - 1);
    const std::int64_t after = pick(random, 0, kernel - 1);
    const std::int64_t reach = (kernel - 1) * dilation + 1;
    const std::int64_t free = height + before + after - reach;
    const bool is_same = i % 5 == 0;
    const std::int64_t rows = is_same ? (height + stride - 1) / stride : free / stride + 1;
    Settings settings{{"strides", Shape{stride, 1}}, {"dilations", Shape{dilation, 1}}};
    if (is_same) {
      settings.emplace_back("auto_pad", std::string(i % 2 == 0 ? "SAME_UPPER" : "SAME_LOWER"));
    } else {
      settings.emplace_back("pads", Shape{before, 0, after, 0});
    }
    const bool is_pool = i % 2 == 1 && dilation == 1;
    Call call{.type = is_pool ? "MaxPool" : "Conv", .data = {{1, 2, height, 29}}, .output = {1, 2, rows, 29}};
    if (is_pool) {
      settings.emplace_back("kernel_shape", Shape{kernel, 1});
    } else {
      settings.emplace_back("group", std::int64_t{i % 3 == 0 ? 2 : 1});
      call.constants = {random_array(random, {2, i % 3 == 0 ? 1 : 2, kernel, 1})};
    }
    if (rows <= 2) continue;  // not to be told from channels
    call.settings = settings;
    const std::int64_t pairs = expect_honest(call, random);
    EXPECT_LE(pairs, rows * kernel);  // and not one too many
  }
}

TEST(StreamInstances, TfliteWindowsNameAllRowsTheyRead) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 100; ++i) {
    const std::int64_t kernel = pick(random, 1, 4);
    const std::int64_t stride = pick(random, 1, 3);
    const std::int64_t dilation = stride == 1 ? pick(random, 1, 2) : 1;
    const bool is_same = i % 2 == 0;
    const std::int64_t covered = is_same ? height : height - (kernel - 1) * dilation;
    const std::int64_t rows = (covered + stride - 1) / stride;
    const bool is_depthwise = i % 3 == 0;
    const Call call{
        .type = is_depthwise ? "DEPTHWISE_CONV_2D" : "CONV_2D",
        .data = {{1, height, 29, 2}},
        .constants = {random_array(random, {is_depthwise ? 1 : 2, kernel, 1, 2}), random_array(random, {2})},
        .output = {1, rows, 29, 2},
        .settings = {{"padding", std::int64_t{is_same ? 0 : 1}},
                     {"stride_h", stride},
                     {"stride_w", std::int64_t{1}},
                     {"dilation_h_factor", dilation},
                     {"dilation_w_factor", std::int64_t{1}},
                     {"depth_multiplier", std::int64_t{1}}},
        .version = 1};
    if (rows <= 2) continue;
    EXPECT_LE(expect_honest(call, random), rows * kernel);
  }
}

TEST(StreamInstances, OtherOperatorsNameAllRowsTheyRead) {
  std::mt19937_64 random(3);
  using Text = std::string;
  constexpr std::int64_t all = -1;  // no rows
  const std::vector<std::pair<Call, std::int64_t>> calls{
      {{.type = "Relu", .data = {{1, 2, 13, 29}}, .output = {1, 2, 13, 29}}, 13},
      {{.type = "Add", .data = {{1, 2, 13, 29}, {13, 1}}, .output = {1, 2, 13, 29}}, 26},
      {{.type = "Add", .data = {{1, 2, 13, 29}, {29}}, .output = {1, 2, 13, 29}}, 13 + 13 * 29},
      {{.type = "MatMul", .data = {{7, 5}, {5, 3}}, .output = {7, 3}}, 7 + 7 * 5},
      {{.type = "MatMul", .data = {{1, 7, 5}, {1, 5, 3}}, .output = {1, 7, 3}}, 7 + 7 * 5},
      {{.type = "Gemm",
        .data = {{7, 5}, {3, 5}, {3}},
        .output = {7, 3},
        .settings = {{"transB", std::int64_t{1}}}},
       7 + 7 * 3 + 7 * 3},
      {{.type = "Gemm",
        .data = {{5, 7}, {5, 3}},
        .output = {7, 3},
        .settings = {{"transA", std::int64_t{1}}}},
       7 * 7 + 7 * 5},
      {{.type = "Softmax", .data = {{2, 13, 29}}, .output = {2, 13, 29}}, 13},
      {{.type = "Softmax",
        .data = {{2, 13, 29}},
        .output = {2, 13, 29},
        .settings = {{"axis", std::int64_t{1}}}},
       all},  // in two passes, see stream_carried_test.cc
      {{.type = "LayerNormalization",
        .data = {{2, 13, 29}},
        .constants = {random_array(random, {29})},
        .output = {2, 13, 29}},
       13},
      {{.type = "Concat",
        .data = {{1, 2, 13}, {1, 2, 13}},
        .output = {1, 2, 26},
        .settings = {{"axis", std::int64_t{2}}}},
       4},
      {{.type = "Concat",
        .data = {{1, 7, 13}, {1, 5, 13}},
        .output = {1, 12, 13},
        .settings = {{"axis", std::int64_t{1}}}},
       12},
      {{.type = "Slice",
        .data = {{1, 13, 29}},
        .constants = {integers({3}), integers({9}), integers({1})},
        .output = {1, 6, 29}},
       6},
      {{.type = "Slice",
        .data = {{1, 13, 29}},
        .constants = {integers({-1}), integers({-14}), integers({1}), integers({-1})},
        .output = {1, 13, 29}},
       13 * 13},
      {{.type = "Pad",
        .data = {{1, 13, 29}},
        .constants = {integers({0, 2, 0, 0, 3, 1})},
        .output = {1, 18, 30}},
       13},
      {{.type = "Pad",
        .data = {{1, 13, 29}},
        .constants = {integers({0, 2, 0, 0, 3, 1})},
        .output = {1, 18, 30},
        .settings = {{"mode", Text("reflect")}}},
       18 * 13},
      {{.type = "Transpose",
        .data = {{1, 5, 7, 13}},
        .output = {1, 7, 13, 5},
        .settings = {{"perm", Shape{0, 2, 3, 1}}}},
       13},
      {{.type = "Reshape", .data = {{1, 7, 6}}, .constants = {integers({1, 14, 3})}, .output = {1, 14, 3}},
       14},
      {{.type = "Reshape", .data = {{1, 14, 3}}, .constants = {integers({1, 7, 6})}, .output = {1, 7, 6}},
       14},
      {{.type = "ReduceMean", .data = {{2, 13, 29}}, .output = {2, 13, 1}, .settings = {{"axes", Shape{2}}}},
       13},
      {{.type = "GlobalAveragePool", .data = {{1, 2, 13, 29}}, .output = {1, 2, 1, 1}}, all},
      {{.type = "DepthToSpace",
        .data = {{1, 4, 13, 29}},
        .output = {1, 1, 26, 58},
        .settings = {{"blocksize", std::int64_t{2}}}},
       26},
      {{.type = "SpaceToDepth",
        .data = {{1, 1, 26, 58}},
        .output = {1, 4, 13, 29},
        .settings = {{"blocksize", std::int64_t{2}}}},
       26},
      {{.type = "ConvTranspose",
        .data = {{1, 2, 13, 29}},
        .constants = {random_array(random, {2, 2, 3, 1})},
        .output = {1, 2, 27, 29},
        .settings = {{"strides", Shape{2, 1}}}},
       2 * 27},
      {{.type = "CumSum", .data = {{2, 13, 29}}, .constants = {integers({1})}, .output = {2, 13, 29}}, all}};
  for (const auto& [call, most] : calls) {
    const std::int64_t pairs = expect_honest(call, random);
    EXPECT_TRUE(most == all ? pairs == all : pairs >= 0 && pairs <= most) << call.type << ": " << pairs;
  }
}

TEST(StreamInstances, ResizingNamesAllRowsItReads) {
  std::mt19937_64 random(4);
  for (const char* const coordinates : {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"}) {
    for (const char* const mode : {"nearest", "linear"}) {
      for (const std::int64_t rows : {26, 39, 17, 5}) {
        Call call{.type = "Resize",
                  .data = {{1, 2, height, 3}},
                  .constants = {testing::array<float>({0}, {}), testing::array<float>({0}, {}),
                                integers({1, 2, static_cast<double>(rows), 3})},
                  .output = {1, 2, rows, 3},
                  .settings = {{"mode", std::string(mode)},
                               {"coordinate_transformation_mode", std::string(coordinates)}}};
        EXPECT_LE(expect_honest(call, random), 2 * rows) << coordinates << ' ' << mode << ' ' << rows;
      }
    }
  }
}

TEST(StreamInstances, SumsRunOverTheRowsOfTheirInput) {
  const Call call{.type = "GlobalAveragePool", .data = {{1, 2, 13, 29}}, .output = {1, 2, 1, 1}};
  const RowModel model = instances_of(network_of(call).graph(), {.granule = 4});
  ASSERT_EQ(model.operators.size(), 1U);
  EXPECT_EQ(model.operators[0].instances(), 4);
  EXPECT_EQ(model.operators[0].accumulator, 8);
  const RowProgram program = unroll(model);
  constexpr Bytes row = 2 * 29 * 4;
  EXPECT_EQ(replay(program, layer_by_layer(program)).loads,
            (std::vector<Bytes>{13 * row + 8, 9 * row + 8, 5 * row + 8, row + 16}));
}

TEST(StreamInstances, AnInputByRowsIsAnOperator) {
  const Call call{.type = "Relu", .data = {{1, 2, 13, 29}}, .output = {1, 2, 13, 29}};
  const RowModel model = instances_of(network_of(call).graph(), {.io = Io::rows});
  ASSERT_EQ(model.operators.size(), 2U);
  EXPECT_FALSE(model.operators[0].source);
  const RowProgram program = unroll(model);
  constexpr Bytes row = 2 * 29 * 4;
  EXPECT_EQ(improve(program, layer_by_layer(program), {}).size(), 26U);
  EXPECT_EQ(order_by_regions(program, 1000).peak, row);  // in place
  const RowProgram apart =
      unroll(instances_of(network_of(call).graph(), {.io = Io::rows, .in_place = InPlace::never}));
  EXPECT_EQ(order_by_regions(apart, 1000).peak, 2 * row);
  EXPECT_THROW((void)instances_of(network_of(call).graph(), {.granule = 0}), UsageError);
}

struct Figures {
  const char* model;
  Io io;
  Bytes live;
};

TEST(StreamInstances, RealNetworksReachTheirBound) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "models" / "tflite";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  for (const auto& [name, io, live] :
       {Figures{"person_detect", Io::arena, 12288}, Figures{"person_detect", Io::rows, 9696},
        Figures{"vww_96_int8", Io::arena, 28032}, Figures{"vww_96_int8", Io::rows, 9888},
        Figures{"mobilenet_v2_int8_224", Io::arena, 192678},
        Figures{"mobilenet_v2_int8_224", Io::rows, 96326}}) {
    const Network network = read_network(folder / (std::string(name) + ".tflite"));
    const RowProgram program = unroll(instances_of(network.graph(), {.io = io}));
    const auto start = order_by_regions(program, 10'000'000).steps;
    const Bound bound = lower_bound(program, start, {.most_cuts = 100});
    EXPECT_EQ(bound.bytes, live) << name;
    const RowReplay found = replay(program, improve(program, start, {.target = bound.bytes}));
    EXPECT_EQ(found.fault, std::nullopt);
    EXPECT_EQ(found.peak, live) << name;
  }
}

}  // namespace
}  // namespace stowage::stream
