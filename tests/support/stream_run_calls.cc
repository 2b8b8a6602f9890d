#include "stream_run_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "kernel_calls.h"
#include "stowage/error.h"
#include "stowage/planner.h"
#include "stowage/run.h"
#include "stream_run_plans.h"

namespace stowage::testing {
namespace {

/// A network, tensor by tensor and operator by operator.
class Maker {
 public:
  Maker() {
    graph_.subgraphs.emplace_back();
    network_.details.emplace_back();
  }

  TensorId add(TensorKind kind, DType dtype, const Shape& shape,
               const std::optional<Quantization>& quantization = {}) {
    graph_.tensors.push_back({.name = "t" + std::to_string(graph_.tensors.size()),
                              .kind = kind,
                              .dtype = dtype,
                              .shape = shape,
                              .bytes = bytes_of(dtype, shape)});
    network_.quantizations.push_back(quantization);
    auto& main = graph_.subgraphs[0];
    if (kind == TensorKind::input) main.inputs.push_back(graph_.tensors.size() - 1);
    if (kind == TensorKind::output) main.outputs.push_back(graph_.tensors.size() - 1);
    return graph_.tensors.size() - 1;
  }

  TensorId add(const Array& array) {
    const TensorId t = add(TensorKind::weight, array.dtype, array.shape);
    network_.input.constants.set(t, array.data);
    return t;
  }

  void apply(const std::string& type, const std::vector<std::optional<TensorId>>& inputs,
             const std::vector<std::optional<TensorId>>& outputs, const Settings& settings,
             std::int64_t version) {
    graph_.subgraphs[0].operators.push_back(
        {.name = type, .type = type, .inputs = inputs, .outputs = outputs});
    network_.details[0].push_back({.version = version});
    for (const auto& [name, value] : settings) network_.details[0].back().attributes.set(name, value);
  }

  /// The operator of a call; its first data is there, its first output is of that kind.
  TensorId apply(const Call& call, std::optional<TensorId> first, TensorKind kind) {
    std::vector<std::optional<TensorId>> data;
    for (std::size_t i = 0; i < call.data.size(); ++i) {
      const DType dtype = i < call.dtypes.size() ? call.dtypes[i] : DType::float32;
      data.emplace_back(i == 0 && first ? *first
                                        : add(TensorKind::input, dtype, call.data[i], call.quantization));
    }
    std::vector<std::optional<TensorId>> inputs;
    for (const Array& array : call.constants) inputs.emplace_back(add(array));
    inputs.insert(call.are_constants_first ? inputs.end() : inputs.begin(), data.begin(), data.end());
    for (const std::size_t i : call.left_out) inputs[i].reset();
    std::vector<std::optional<TensorId>> outputs{
        add(kind, call.output_dtype, call.output, call.quantization)};
    for (const auto& [shape, dtype] : call.more_outputs)
      outputs.emplace_back(add(TensorKind::output, dtype, shape, call.quantization));
    apply(call.type, inputs, outputs, call.settings, call.version);
    return *outputs[0];
  }

  Network take() {
    network_.input.content = graph_;
    add_rows(network_);
    validate(network_.graph());
    return std::move(network_);
  }

 private:
  Graph graph_{};
  Network network_{};
};

bool is_tflite(const Call& call) {
  return std::ranges::none_of(call.type, [](char c) { return c >= 'a' && c <= 'z'; });
}

/// Over rows only, three of them; of as many channels.
void convolve(Maker& maker, bool is_tflite, TensorId from, TensorId to, std::int64_t channels) {
  std::mt19937_64 random(11);
  if (is_tflite) {
    maker.apply("CONV_2D",
                {from, maker.add(random_array(random, {channels, 3, 1, channels})),
                 maker.add(random_array(random, {channels}))},
                {to},
                {{"padding", std::int64_t{0}}, {"stride_h", std::int64_t{1}}, {"stride_w", std::int64_t{1}}},
                1);
  } else {
    maker.apply("Conv", {from, maker.add(random_array(random, {channels, channels, 3, 1}))}, {to},
                {{"pads", Shape{1, 0, 1, 0}}}, 11);
  }
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
    for (const auto& output : op.outputs) axes[*output] = along.axis;
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
  for (const CarriedAxis& along : op.carries) {
    Axes axes(network.graph().tensors.size());
    axes[*op.outputs[0]] = along.axis;
    axes[*op.inputs[0]] = along.input_axis;
    all.push_back(axes);
  }
  return all;
}

/// Sums by rows add up in another order.
bool has_real_sums(const Network& network) {
  return std::ranges::any_of(network.graph().subgraphs[0].operators,
                             [](const Operator& op) { return !op.sums_over.empty(); });
}

/// The number of elements of a row of one index before the axis.
std::int64_t count_behind(const Shape& shape, std::size_t axis) {
  std::int64_t product = 1;
  for (std::size_t d = axis + 1; d < shape.size(); ++d) product *= shape[d];
  return product;
}

void expect_equal(const Array& found, const Array& expected, bool is_exact, const std::string& what) {
  ASSERT_EQ(found.shape, expected.shape) << what;
  if (is_exact || expected.dtype != DType::float32) {
    EXPECT_EQ(found.data, expected.data) << what;
    return;
  }
  const auto a = values_of<float>(found);
  const auto b = values_of<float>(expected);
  ASSERT_EQ(a.size(), b.size()) << what;
  double largest = 0;
  for (const double value : b) largest = std::max(largest, std::abs(std::isnan(value) ? 0 : value));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    ASSERT_NEAR(a[i], b[i], 1e-5 * largest) << what << ' ' << i;
  }
}

std::string show(const RunResult& result) { return result.fault ? result.fault->what : ""; }

/// Inputs for a run in which every tensor is compared.
RunOptions run_options(const Network& network) {
  std::mt19937_64 random(7);
  RunOptions options{.check = RunCheck::tensors};
  for (const TensorId t : network.graph().subgraphs[0].inputs) {
    const Tensor& tensor = network.graph().tensors[t];
    options.inputs[tensor.name] = random_array(random, *tensor.shape, tensor.dtype);
  }
  return options;
}

std::vector<NamedArray> unstreamed(const Network& network, const Runner& runner, const RunOptions& options) {
  const Plan plan = streamed_plan(network, Axes(network.graph().tensors.size()), {});
  RunResult result = runner.run(plan, options);
  EXPECT_EQ(show(result), "");
  return std::move(result.outputs);
}

void expect_equal(const RunResult& found, const std::vector<NamedArray>& expected, bool is_exact,
                  const std::string& what) {
  EXPECT_EQ(show(found), "") << what;
  if (found.fault) return;
  ASSERT_EQ(found.outputs.size(), expected.size()) << what;
  for (std::size_t o = 0; o < expected.size(); ++o)
    expect_equal(found.outputs[o].array, expected[o].array, is_exact, what);
}

}  // namespace

Array random_array(std::mt19937_64& random, const Shape& shape, DType dtype) {
  const auto count = static_cast<std::size_t>(bytes_of(DType::int8, shape));
  if (dtype == DType::float32) {
    std::vector<double> values(count);
    for (double& value : values) value = std::uniform_real_distribution<double>(-1, 1)(random);
    return array<float>(shape, values);
  }
  Array result{.dtype = dtype, .shape = shape, .data = {}};
  result.data.resize(static_cast<std::size_t>(bytes_of(dtype, shape)));
  const auto element = static_cast<std::size_t>(std::max(bits_of(dtype).value() / 8, 1));
  const bool is_packed = bits_of(dtype).value() < 8;
  const std::uint64_t most = dtype == DType::boolean ? 1 : is_packed ? 255 : 3;
  for (std::size_t at = 0; at < result.data.size(); at += element)
    result.data[at] = std::byte(std::uniform_int_distribution<std::uint64_t>(0, most)(random));
  return result;
}

Array integers(const std::vector<double>& values) {
  return array<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

Array narrow(const std::vector<double>& values, const Shape& shape) {
  return array<std::int32_t>(shape, values);
}

Network network_of(const Call& call) {
  Maker maker;
  static_cast<void>(maker.apply(call, std::nullopt, TensorKind::output));
  return maker.take();
}

std::optional<Network> network_between_convolutions(const Call& call) {
  const bool is_image = !call.data.empty() && call.data[0].size() == 4 && call.output.size() == 4 &&
                        call.output_dtype == DType::float32 && call.dtypes.empty() && !call.quantization;
  if (!is_image) return std::nullopt;
  const std::size_t channel = is_tflite(call) ? 3 : 1;
  Maker maker;
  const TensorId input = maker.add(TensorKind::input, DType::float32, call.data[0]);
  const TensorId first = maker.add(TensorKind::temporary, DType::float32, call.data[0]);
  convolve(maker, is_tflite(call), input, first, call.data[0][channel]);
  const TensorId second = maker.apply(call, first, TensorKind::temporary);
  const TensorId output = maker.add(TensorKind::output, DType::float32, call.output);
  convolve(maker, is_tflite(call), second, output, call.output[channel]);
  return maker.take();
}

int expect_streams(const Call& call) {
  const Network network = network_of(call);
  const RunOptions run = run_options(network);
  const Runner runner(network, {.kernels = KernelSet::plain});
  const std::vector<NamedArray> expected = unstreamed(network, runner, run);
  int count = 0;
  for (const Axes& axes : axes_of_calls(network)) {
    for (const std::int64_t granule : {1, 2, 3}) {
      for (const Form form : {Form::whole, Form::rows, Form::ring}) {
        for (const bool is_other : {false, true}) {
          const StreamedOptions options{
              .granule = granule,
              .form = form,
              .io_by_rows = is_other,
              .in_place = is_other,
              .seed = is_other ? std::optional<std::uint64_t>(granule) : std::nullopt};
          const Plan plan = streamed_plan(network, axes, options);
          const TensorId output = *network.graph().subgraphs[0].operators[0].outputs[0];
          const std::string what = call.type + " granule " + std::to_string(granule) + " form " +
                                   std::to_string(static_cast<int>(form)) + (is_other ? " rows" : "") +
                                   " axis " + std::to_string(axes[output].value_or(99));
          expect_equal(runner.run(plan, run), expected, !has_real_sums(network), what);
          ++count;
        }
      }
    }
  }
  return count;
}

namespace {

/// Elements of one row of an array get other values.
void change_row(Array& array, std::size_t axis, std::int64_t row, std::mt19937_64& random) {
  const Array other = random_array(random, array.shape, array.dtype);
  const std::int64_t inner = count_behind(array.shape, axis);
  const std::size_t element =
      array.data.size() / static_cast<std::size_t>(bytes_of(DType::int8, array.shape));
  for (std::size_t at = 0; at < array.data.size(); ++at) {
    if (static_cast<std::int64_t>(at / element) / inner % array.shape[axis] == row)
      array.data[at] = other.data[at];
  }
}

/// The rows along an axis in which two arrays differ.
std::vector<bool> changed_rows(const Array& before, const Array& after, std::size_t axis) {
  std::vector<bool> changed(static_cast<std::size_t>(before.shape[axis]));
  const std::int64_t inner = count_behind(before.shape, axis);
  const std::size_t element =
      before.data.size() / static_cast<std::size_t>(bytes_of(DType::int8, before.shape));
  for (std::size_t at = 0; at < before.data.size(); ++at) {
    const std::int64_t row = static_cast<std::int64_t>(at / element) / inner % before.shape[axis];
    if (before.data[at] != after.data[at]) changed[static_cast<std::size_t>(row)] = true;
  }
  return changed;
}

bool is_read(const RowRead& read, std::int64_t rows, std::int64_t r, std::int64_t row) {
  bool found = false;
  for_each_row(read.rows, rows, r, [&](std::int64_t it) { found = found || it == row; });
  return found;
}

}  // namespace

int expect_honest(const Call& call) {
  const Network network = network_of(call);
  const RunOptions run = run_options(network);
  const Runner runner(network, {.kernels = KernelSet::plain});
  const std::vector<NamedArray> before = unstreamed(network, runner, run);
  const Operator& op = network.graph().subgraphs[0].operators[0];
  std::mt19937_64 random(12);
  int count = 0;
  for (const RowAxis& along : op.row_axes) {
    for (const RowRead& read : along.reads) {
      const Tensor& input = network.graph().tensors[*op.inputs[read.input]];
      if (input.kind != TensorKind::input) continue;
      const std::int64_t rows = (*input.shape)[read.axis];
      for (std::int64_t row = 0; row < rows; ++row) {
        RunOptions changed = run;
        change_row(changed.inputs.at(input.name), read.axis, row, random);
        const std::vector<NamedArray> after = unstreamed(network, runner, changed);
        for (std::size_t o = 0; o < before.size(); ++o) {
          const std::vector<bool> differs = changed_rows(before[o].array, after[o].array, along.axis);
          for (std::size_t r = 0; r < differs.size(); ++r, ++count)
            EXPECT_TRUE(!differs[r] || is_read(read, rows, static_cast<std::int64_t>(r), row))
                << call.type << ": row " << r << " along axis " << along.axis << " reads row " << row
                << " of input " << read.input;
        }
      }
    }
  }
  return count;
}

int expect_honest_states(const Call& call) {
  const Network network = network_of(call);
  const RunOptions run = run_options(network);
  const Runner runner(network, {.kernels = KernelSet::plain});
  const Operator& op = network.graph().subgraphs[0].operators[0];
  const std::vector<NamedArray> before = unstreamed(network, runner, run);
  std::mt19937_64 random(13);
  int count = 0;
  for (const CarriedAxis& along : op.carries) {
    const Tensor& input = network.graph().tensors[*op.inputs[0]];
    const std::int64_t rows = (*input.shape)[along.input_axis];
    for (std::int64_t row = 0; row < rows && !along.reads_twice; ++row) {
      RunOptions changed = run;
      change_row(changed.inputs.at(input.name), along.input_axis, row, random);
      const std::vector<NamedArray> after = unstreamed(network, runner, changed);
      const std::vector<bool> differs = changed_rows(before[0].array, after[0].array, along.axis);
      const std::int64_t first = along.backward ? row + 1 : 0;  // of the rows that are made before
      const std::int64_t end = along.backward ? rows : row;
      for (std::int64_t r = first; r < end; ++r, ++count)
        EXPECT_FALSE(differs[static_cast<std::size_t>(r)]) << call.type << ": row " << r << " reads " << row;
    }
  }
  return count;
}

bool expect_planned_stream(const Network& network, std::size_t way, const std::string& what) {
  const RunOptions run = run_options(network);
  const Runner runner(network, {.kernels = KernelSet::plain});
  PlanOptions options;
  options.io = way % 2 == 0 ? Io::rows : Io::arena;
  options.order = Order::keep;
  options.stream = StreamOptions{.granule = static_cast<std::int64_t>(way / 2) + 1};
  options.solve.time_limit = std::chrono::milliseconds(20);
  const PlanResult planned = make_plan(network.input, options);
  const std::string own = what + ", way " + std::to_string(way);
  EXPECT_TRUE(planned.faults.empty()) << own << ": " << planned.faults[0].what;
  if (!planned.faults.empty()) return false;
  expect_equal(runner.run(planned.plan, run), unstreamed(network, runner, run), !has_real_sums(network), own);
  return planned.plan.streaming.has_value();
}

}  // namespace stowage::testing
