#include "row_sketch.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace stowage::cases {

using oracle::Choices;

namespace {

Bytes count_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), Bytes{1}, std::multiplies<>());
}

}  // namespace

RowSketch::RowSketch() { graph.subgraphs.emplace_back(); }

TensorId RowSketch::input(const std::string& name, const Shape& shape) {
  graph.tensors.push_back({name, TensorKind::input, DType::uint8, shape, count_of(shape)});
  graph.subgraphs[0].inputs.push_back(last());
  return last();
}

Operator& RowSketch::add(const std::string& type, const std::vector<TensorId>& inputs, const Shape& output) {
  std::string name = type + std::to_string(graph.tensors.size());
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return static_cast<char>(std::tolower(c)); });
  graph.tensors.push_back({name, TensorKind::temporary, DType::uint8, output, count_of(output)});
  Operator op{
      .name = type + "-" + std::to_string(last()), .type = type, .outputs = {last()}, .multiplies = 0};
  op.inputs.assign(inputs.begin(), inputs.end());
  graph.subgraphs[0].operators.push_back(std::move(op));
  return graph.subgraphs[0].operators.back();
}

void RowSketch::finish() {
  std::set<TensorId> read;
  for (const Operator& op : graph.subgraphs[0].operators) {
    for (const auto& input : op.inputs) read.insert(*input);
  }
  for (const Operator& op : graph.subgraphs[0].operators) {
    for (const auto& output : op.outputs) {
      if (read.contains(*output)) continue;
      graph.tensors[*output].kind = TensorKind::output;
      graph.subgraphs[0].outputs.push_back(*output);
    }
  }
}

TensorId RowSketch::elementwise(const std::string& type, const std::vector<TensorId>& inputs,
                                std::size_t axis) {
  RowAxis along{.axis = axis};
  for (std::size_t i = 0; i < inputs.size(); ++i) along.reads.push_back({.input = i, .axis = axis});
  add(type, inputs, shape(inputs[0])).row_axes = {along};
  return last();
}

TensorId RowSketch::convolve(TensorId input, std::size_t axis, std::int64_t rows, const RowMap& map) {
  Shape output = shape(input);
  output[axis] = rows;
  output.back() += axis + 1 == output.size() ? 0 : 1;
  add("Conv", {input}, output).row_axes = {{.axis = axis, .reads = {{.axis = axis, .rows = map}}}};
  return last();
}

TensorId RowSketch::pad(TensorId input, std::size_t axis, std::int64_t rows, std::int64_t elements) {
  Shape output = shape(input);
  output[axis] += 2 * rows;
  output.back() += 2 * elements;
  RowRead read{.axis = axis, .rows = {.offset = -rows}};
  const bool is_run = axis == 0 || output[0] == 1;
  if (is_run) read.kept_at = elements;
  add("Pad", {input}, output).row_axes = {{.axis = axis, .reads = {read}}};
  return last();
}

TensorId RowSketch::reshape(TensorId input, std::size_t axis) {
  Shape output = shape(input);
  const bool takes_away = output.size() == 3 && output[0] == 1 && axis == 1;
  if (takes_away) {
    output.erase(output.begin());
  } else {
    output.insert(output.begin(), 1);
  }
  const std::size_t output_axis = takes_away ? axis - 1 : axis + 1;
  add("Reshape", {input}, output).row_axes = {
      {.axis = output_axis, .reads = {{.axis = axis, .rows = {}, .kept_at = 0}}}};
  return last();
}

TensorId RowSketch::pool(TensorId input, std::size_t axis) {
  Shape output = shape(input);
  output[axis] = 1;
  add("Pool", {input}, output).sums_over = {axis};
  return last();
}

namespace {

/// Adds operators at random; knows along which axis each tensor has rows.
class RandomRows {
 public:
  explicit RandomRows(Choices& choices) : choices_(choices) {}

  Graph run() {
    const Shape shapes[] = {{choices_.between(1, 5), choices_.between(1, 3)},
                            {1, choices_.between(1, 5), choices_.between(1, 2)},
                            {2, choices_.between(1, 4), choices_.between(1, 2)}};
    const Shape shape = shapes[choices_.below(3)];
    axes_[sketch_.input("x", shape)] = shape.size() - 2;
    if (choices_.chance(30)) axes_[sketch_.input("y", shape)] = shape.size() - 2;
    const std::size_t count = 1 + choices_.below(5);
    for (std::size_t i = 0; i < count; ++i) add();
    sketch_.finish();
    return std::move(sketch_.graph);
  }

 private:
  TensorId any() {
    if (choices_.chance(70)) return latest_;
    std::vector<TensorId> tensors;
    for (const auto& [t, axis] : axes_) tensors.push_back(t);
    return choices_.one_of(tensors);
  }

  void add() {
    const TensorId in = any();
    const std::size_t axis = axes_.at(in);
    const std::int64_t rows = sketch_.shape(in)[axis];
    std::size_t output_axis = axis;
    switch (choices_.below(10)) {
      case 0:
      case 1:
        sketch_.elementwise("Relu", {in}, axis);
        break;
      case 2:
        add_sum(in, axis);
        break;
      case 3:
        add_convolution(in, axis, rows);
        break;
      case 4:
        sketch_.pad(in, axis, choices_.between(0, 1), choices_.between(0, 1));
        break;
      case 5: {
        const TensorId out = sketch_.reshape(in, axis);
        output_axis = sketch_.shape(out).size() < sketch_.shape(in).size() ? axis - 1 : axis + 1;
        break;
      }
      case 6:
        sketch_.pool(in, axis);
        break;
      case 7:
        sketch_.add(choices_.chance(50) ? "Dense" : "Relu", {in}, sketch_.shape(in));
        break;  // as a whole
      case 8:
        sketch_.convolve(in, axis, 2 * rows, {.divisor = 2});
        break;
      default:
        add_two_outputs(in, axis);
        break;
    }
    latest_ = sketch_.graph.subgraphs[0].operators.back().outputs[0].value();
    axes_[latest_] = output_axis;
    if (choices_.chance(15)) {
      sketch_.graph.tensors.push_back(
          {"scratch" + std::to_string(latest_), TensorKind::scratch, DType::uint8, Shape{2}, 2});
      sketch_.graph.subgraphs[0].operators.back().scratch = {sketch_.last()};
    }
  }

  /// Two tensors of one shape, one of them perhaps read whole.
  void add_sum(TensorId in, std::size_t axis) {
    TensorId other = in;
    for (const auto& [t, its_axis] : axes_) {
      if (its_axis == axis && sketch_.shape(t) == sketch_.shape(in) && choices_.chance(60)) other = t;
    }
    sketch_.elementwise("Add", {in, other}, axis);
    if (choices_.chance(25)) sketch_.graph.subgraphs[0].operators.back().row_axes[0].reads.pop_back();
  }

  void add_convolution(TensorId in, std::size_t axis, std::int64_t rows) {
    const std::int64_t stride = choices_.between(1, 2);
    sketch_.convolve(in, axis, std::max<std::int64_t>(1, rows / stride),
                     {.scale = choices_.chance(10) ? -stride : stride,
                      .offset = choices_.between(-1, 1),
                      .taps = choices_.between(1, 3),
                      .dilation = choices_.between(1, 2)});
    sketch_.graph.subgraphs[0].operators.back().row_axes[0].adds_rows = choices_.chance(50);
  }

  void add_two_outputs(TensorId in, std::size_t axis) {
    sketch_.elementwise("Split", {in}, axis);
    const Tensor& first = sketch_.graph.tensors.back();
    Tensor second = first;
    second.name += "b";
    sketch_.graph.tensors.push_back(second);
    sketch_.graph.subgraphs[0].operators.back().outputs.push_back(sketch_.last());
    axes_[sketch_.last()] = axis;
  }

  Choices& choices_;
  RowSketch sketch_;
  std::map<TensorId, std::size_t> axes_;
  TensorId latest_ = 0;
};

}  // namespace

Graph random_row_graph(Choices& choices) { return RandomRows(choices).run(); }

}  // namespace stowage::cases
