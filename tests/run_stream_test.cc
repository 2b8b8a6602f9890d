// Plans that run row by row: whatever the order of rows and wherever they lie, the same comes out as in a run
// without rows; and a plan that loses a row ends with a fault that says which and to whom.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>

#include "kernel_calls.h"
#include "stowage/run.h"
#include "stream_run_plans.h"

namespace stowage {
namespace {

using testing::Axes;
using testing::Form;
using testing::KernelCall;
using testing::streamed_plan;
using testing::StreamedOptions;
using Settings = std::vector<std::pair<std::string, Attributes::Value>>;

/// An operator on float32; the first inputs are data, the others constants.
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

Array integers(const std::vector<double>& values) {
  return testing::array<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

Array narrow(const std::vector<double>& values, const Shape& shape) {
  return testing::array<std::int32_t>(shape, values);
}

Network network_of(const Call& call) {
  Network network;
  Graph graph;
  Operator op{.name = "op", .type = call.type};
  Subgraph subgraph;
  const auto add = [&](const std::string& name, TensorKind kind, DType dtype, const Shape& shape) {
    graph.tensors.push_back(
        {.name = name, .kind = kind, .dtype = dtype, .shape = shape, .bytes = bytes_of(dtype, shape)});
    return graph.tensors.size() - 1;
  };
  for (const Shape& shape : call.data) {
    op.inputs.emplace_back(
        add("x" + std::to_string(op.inputs.size()), TensorKind::input, DType::float32, shape));
    subgraph.inputs.push_back(*op.inputs.back());
  }
  for (const Array& array : call.constants) {
    op.inputs.emplace_back(
        add("c" + std::to_string(op.inputs.size()), TensorKind::weight, array.dtype, array.shape));
    network.input.constants.set(*op.inputs.back(), array.data);
  }
  op.outputs.emplace_back(add("y", TensorKind::output, DType::float32, call.output));
  subgraph.outputs = {*op.outputs[0]};
  subgraph.operators = {op};
  graph.subgraphs = {subgraph};
  network.details = {{{.version = call.version}}};
  for (const auto& [name, value] : call.settings) network.details[0][0].attributes.set(name, value);
  network.quantizations.resize(graph.tensors.size());
  network.input.content = graph;
  add_rows(network);
  return network;
}

/// Axes of the tensors, so that the operator runs by rows along each of its axes, or sums up along one.
std::vector<Axes> axes_of_calls(const Network& network) {
  const Operator& op = network.graph().subgraphs[0].operators[0];
  std::vector<Axes> all;
  for (const std::size_t axis : op.sums_over) {
    Axes axes(network.graph().tensors.size());
    axes[*op.inputs[0]] = axis;
    all.push_back(axes);
  }
  for (const RowAxis& along : op.row_axes) {
    Axes axes(network.graph().tensors.size());
    axes[*op.outputs[0]] = along.axis;
    bool sums_up = false;
    for (const RowRead& read : along.reads) {
      if (network.graph().tensors[*op.inputs[read.input]].kind != TensorKind::input) continue;
      axes[*op.inputs[read.input]] = read.axis;
      sums_up = sums_up || (read.input == 0 && std::ranges::count(op.sums_over, read.axis) > 0);
    }
    // Rows along such an axis are those of the first input, not of the output.
    sums_up = sums_up || std::ranges::count(op.sums_over, along.axis) > 0;
    if (!sums_up) all.push_back(axes);
  }
  return all;
}

void expect_close(const Array& found, const Array& expected, const std::string& what) {
  const auto a = testing::values_of<float>(found);
  const auto b = testing::values_of<float>(expected);
  ASSERT_EQ(a.size(), b.size()) << what;
  double largest = 0;
  for (const double value : b) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5 * largest) << what << ' ' << i;
}

std::string show(const RunResult& result) { return result.fault ? result.fault->what : ""; }

/// Runs the call in plans of all forms; returns how many there were.
int expect_streams(const Call& call) {
  std::mt19937_64 random(7);
  const Network network = network_of(call);
  KernelCall kernel{.type = call.type,
                    .outputs = {testing::result<float>(call.output)},
                    .attributes = call.settings,
                    .version = call.version};
  RunOptions run{.check = RunCheck::tensors};
  for (std::size_t i = 0; i < call.data.size(); ++i) {
    kernel.inputs.emplace_back(random_array(random, call.data[i]));
    run.inputs["x" + std::to_string(i)] = *kernel.inputs.back();
  }
  for (const Array& array : call.constants) kernel.inputs.emplace_back(array);
  const Array expected = testing::outputs_of(kernel).at(0);
  const Runner runner(network, {.kernels = KernelSet::plain});
  int count = 0;
  for (const Axes& axes : axes_of_calls(network)) {
    for (const std::int64_t granule : {1, 3}) {
      for (const Form form : {Form::whole, Form::rows, Form::ring}) {
        for (const bool is_other : {false, true}) {
          const StreamedOptions options{
              .granule = granule,
              .form = form,
              .io_by_rows = is_other,
              .in_place = is_other,
              .seed = is_other ? std::optional<std::uint64_t>(granule) : std::nullopt};
          const Plan plan = streamed_plan(network, axes, options);
          const RunResult result = runner.run(plan, run);
          const std::string what =
              call.type + " granule " + std::to_string(granule) + " form " +
              std::to_string(static_cast<int>(form)) + (is_other ? " rows" : "") + " axis " +
              std::to_string(axes[call.data.size() + call.constants.size()].value_or(99));
          EXPECT_EQ(show(result), "") << what;
          if (!result.fault) expect_close(result.outputs.at(0).array, expected, what);
          ++count;
        }
      }
    }
  }
  return count;
}

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
    for (const char* const type : {"MaxPool", "AveragePool"})
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
  for (const char* const type : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"})
    EXPECT_GT(expect_streams({.type = type,
                              .data = {image},
                              .output = {2, 4},
                              .settings = {{"axes", Shape{2, 3}}, {"keepdims", std::int64_t{0}}},
                              .version = 11}),
              0);
}

/// Streams a network in plans of several forms.
void expect_streams(const Network& network, bool is_long) {
  const Runner runner(network, {.kernels = KernelSet::plain});
  for (const std::uint64_t seed : {1, 2, 3}) {
    const StreamedOptions options{.granule = seed == 2 ? 3 : 1,
                                  .form = seed == 1   ? Form::ring
                                          : seed == 2 ? Form::rows
                                                      : Form::any,
                                  .io_by_rows = seed != 2,
                                  .in_place = true,
                                  .seed = seed == 3 ? std::nullopt : std::optional(seed)};
    if (is_long && seed == 3) continue;
    const RunResult result = runner.run(streamed_plan(network, options), {.check = RunCheck::tensors});
    EXPECT_EQ(show(result), "");
    EXPECT_EQ(result.multiplies, result.multiplies_of_network);
  }
}

TEST(RunStream, RealNetworks) {
  const std::filesystem::path folder = std::filesystem::path(STOWAGE_DATA_DIR) / "models";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  for (const char* const name : {"tflite/person_detect.tflite", "tflite/vww_96_int8.tflite"})
    expect_streams(read_network(folder / name), true);
}

}  // namespace
}  // namespace stowage
