// How operators can run row by row. The rules in their rows (facts.h) answer for every axis of an
// operator's outputs and every input. Like writing in place, this is a fact about operators: planner, checker
// and runner take it from the graph.
//
// Cost: operators * axes * inputs.

#include <algorithm>

#include "operators/rows.h"

namespace stowage {
namespace {

using operators::Keeps;
using operators::Reach;
using operators::Reading;
using operators::Site;

/// The dimensions of a row: without the axis that rows are along.
Shape row_shape(const Shape& shape, std::size_t axis) {
  Shape row = shape;
  row.erase(row.begin() + static_cast<std::ptrdiff_t>(axis));
  return row;
}

std::int64_t count_of(const Shape& shape, std::size_t begin) {
  std::int64_t product = 1;
  for (std::size_t d = begin; d < shape.size(); ++d) product *= shape[d];
  return product;
}

/// The number of elements before an input row inside its padded row; none if it does not stay contiguous.
std::optional<std::int64_t> padding_in_front(const Site& site, std::size_t axis) {
  const bool is_tflite = site.is_tflite();
  const auto pads = is_tflite ? site.integers(1) : site.integers("pads", 1);
  const std::size_t rank = site.output_shape().size();
  if (!pads || pads->size() != 2 * rank || (!is_tflite && site.has_input(3))) return std::nullopt;
  Shape before;
  for (std::size_t d = 0; d < rank; ++d) before.push_back((*pads)[is_tflite ? 2 * d : d]);
  const Shape in = row_shape(site.input_shape(0), axis);
  const Shape out = row_shape(site.output_shape(), axis);
  const Shape in_front = row_shape(before, axis);
  std::size_t first = 0;  // the outermost dimension of a row that is more than one
  while (first < out.size() && out[first] == 1) ++first;
  for (std::size_t d = 0; d < out.size(); ++d) {
    // Rows that are cut at one end are equally long.
    if (d != first && (in[d] != out[d] || in_front[d] != 0)) return std::nullopt;
  }
  if (first == out.size()) return 0;
  const std::int64_t front = in_front[first];
  if (front < 0 || front + in[first] > out[first]) return std::nullopt;
  return front * count_of(out, first + 1);
}

/// The offset at which an input row appears unchanged in the output row.
std::optional<Bytes> kept_at(const Site& site, const Reading& read, std::size_t axis, DType dtype) {
  const Keeps keeps = site.facts().keeps;
  const auto bits = bits_of(dtype);
  if (!bits || *bits % 8 != 0 || read.rows.taps != 1 || read.rows.scale != 1 || read.rows.divisor != 1)
    return std::nullopt;
  if (keeps == Keeps::elements) return 0;
  if (keeps != Keeps::padded || read.axis != axis) return std::nullopt;
  const auto front = padding_in_front(site, axis);
  return front ? std::optional(*front * *bits / 8) : std::nullopt;
}

/// Whether it is a floating-point convolution, whose sums have the type of its elements.
bool adds_rows(const Network& network, const Site& site, const RowAxis& along) {
  if (!site.facts().adds_taps || along.axis != operators::window_axis(site) || along.reads.size() != 1 ||
      along.reads[0].input != 0)
    return false;
  const DType dtype = network.graph().tensors[*site.op().inputs[0]].dtype;
  return site.input_shape(0).size() == 4 && (dtype == DType::float32 || dtype == DType::float64);
}

RowAxis row_axis_of(const Network& network, const Site& site, std::size_t axis) {
  RowAxis result{.axis = axis, .is_windows = operators::moves_windows_along(site, axis)};
  const auto& inputs = site.op().inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    const Reading read = operators::reading_of(site, i, axis);
    if (read.reach != Reach::rows) continue;
    const DType dtype = network.graph().tensors[*inputs[i]].dtype;
    result.reads.push_back({i, read.axis, read.rows, kept_at(site, read, axis, dtype)});
  }
  result.adds_rows = adds_rows(network, site, result);
  result.splits = operators::splits_into_blocks(site, axis);
  return result;
}

bool has_open_operand(const Graph& graph, const Operator& op) {
  const auto any_open = [&](const auto& operands) {
    return std::ranges::any_of(operands, [&](const auto& it) { return it && is_open(graph.tensors[*it]); });
  };
  return any_open(op.inputs) || any_open(op.outputs);
}

}  // namespace

void add_rows(Network& network) {
  auto& graph = std::get<Graph>(network.input.content);
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
    auto& operators = graph.subgraphs[s].operators;
    for (std::size_t o = 0; o < operators.size(); ++o) {
      const Site site(network, s, o);
      if (site.input(0) == nullptr || site.output(0) == nullptr) continue;  // rules are about what it reads
      operators[o].multiplies = operators::multiplies_of(site);
      // Where data decides a shape, it runs as a whole.
      if (has_open_operand(graph, operators[o]) || network.details.at(s).at(o).shapes_of_data) continue;
      std::vector<RowAxis> axes;
      for (std::size_t axis = 0; axis < site.output_shape().size(); ++axis) {
        if (operators::is_rowwise(site, axis)) axes.push_back(row_axis_of(network, site, axis));
      }
      operators[o].row_axes = std::move(axes);
      operators[o].sums_over = operators::summed_axes(site);
      operators[o].carries = operators::carried_axes(site);
    }
  }
}

}  // namespace stowage
