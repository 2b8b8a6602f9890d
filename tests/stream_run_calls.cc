#include "stream_run_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernel_calls.h"
#include "stowage/run.h"
#include "stream_run_plans.h"

namespace stowage::testing {
namespace {

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
  const auto a = values_of<float>(found);
  const auto b = values_of<float>(expected);
  ASSERT_EQ(a.size(), b.size()) << what;
  double largest = 0;
  for (const double value : b) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5 * largest) << what << ' ' << i;
}

std::string show(const RunResult& result) { return result.fault ? result.fault->what : ""; }

}  // namespace

Array random_array(std::mt19937_64& random, const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(bytes_of(DType::float32, shape) / 4));
  for (double& value : values) value = std::uniform_real_distribution<double>(-1, 1)(random);
  return array<float>(shape, values);
}

Array integers(const std::vector<double>& values) {
  return array<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

Array narrow(const std::vector<double>& values, const Shape& shape) {
  return array<std::int32_t>(shape, values);
}

int expect_streams(const Call& call) {
  std::mt19937_64 random(7);
  const Network network = network_of(call);
  KernelCall kernel{.type = call.type,
                    .outputs = {result<float>(call.output)},
                    .attributes = call.settings,
                    .version = call.version};
  RunOptions run{.check = RunCheck::tensors};
  for (std::size_t i = 0; i < call.data.size(); ++i) {
    kernel.inputs.emplace_back(random_array(random, call.data[i]));
    run.inputs["x" + std::to_string(i)] = *kernel.inputs.back();
  }
  for (const Array& array : call.constants) kernel.inputs.emplace_back(array);
  const std::string refusal = refusal_of(kernel);
  EXPECT_EQ(refusal, "") << call.type;
  if (!refusal.empty()) return 0;
  const Array expected = outputs_of(kernel).at(0);
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

}  // namespace stowage::testing
