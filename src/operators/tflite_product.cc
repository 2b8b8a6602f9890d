// Rules of matrix products and of operators that carry a state.

#include <algorithm>

#include "operators/tflite_shapes.h"

namespace stowage::operators::tflite_shapes {

/// Weights are [units, inputs]. All elements of the input are rows of so many inputs.
void fully_connected(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  const Dims* const weights = node.dims(1, 2);
  const Dim units = dim_at(weights, 0);
  if (node.integer("keep_num_dims", 0) != 0) {
    if (dims == nullptr) return;
    if (dims->empty()) misfit("the input has no axis");
    (void)same_dim(dims->back(), dim_at(weights, 1));
    Dims result = *dims;
    result.back() = units;
    node.set_dims(0, result);
    return;
  }
  const Dim whole = node.elements(0);
  const Dim row = dim_at(weights, 1);
  if (whole && row && (*row == 0 || *whole % *row != 0))
    misfit("cannot part ", *whole, " elements into rows of ", *row);
  node.set_dims(0, Dims{quotient(whole, row), units});
}

/// Weights of features are [units * rank, features].
void svdf(NodeContext& node) {
  constexpr std::size_t state = 4;
  if (!node.has_attribute("rank")) return;
  const Dim batches = same_dim(dim_at(node.dims(0, 2), 0), dim_at(node.dims(state, 2), 0));
  node.set_dims(0, Dims{batches, quotient(dim_at(node.dims(1, 2), 0), Dim(node.integer("rank", 0)))});
}

namespace {

// Places of inputs, and the dimension that is the number of outputs. Source: the kernels of TFLite.
constexpr std::size_t recurrent_weights = 8;  // of the output gate, [cells, outputs]
constexpr std::size_t backward_recurrent_weights = 25;
constexpr std::size_t backward_weights = 5;

/// A state has as many elements as a row of outputs for each batch.
void expect_state(const NodeContext& node, std::size_t input, const Dim& batches, const Dim& width) {
  const Dim needed = product_of(batches, width);
  const Dim has = node.elements(input);
  if (needed && has && *needed != *has)
    misfit("state of input ", input, " has ", *has, " elements, expected ", *needed);
}

std::optional<Dims> with_last(const Dims* dims, const Dim& last) {
  if (dims == nullptr) return std::nullopt;
  Dims result = *dims;
  result.back() = last;
  return result;
}

/// Outputs of both directions: joined if there is one output.
void set_both(NodeContext& node, const Dims* dims, const Dim& forward, const Dim& backward) {
  const bool is_joined = node.outputs().size() < 2;
  node.set_dims(0, with_last(dims, is_joined ? sum_of(forward, backward) : forward));
  node.set_dims(1, with_last(dims, backward));
}

}  // namespace

/// The basic kernel has one matrix of weights, and four outputs.
void lstm(NodeContext& node) {
  const Dims* const dims = node.dims(0, 2);
  const Dim batches = dim_at(dims, 0);
  if (node.integer("is_basic", 0) != 0) {
    constexpr std::int64_t gates = 4;
    const Dim outputs = dim_at(node.dims(1, 2), 1);
    node.set_dims(0, Dims{batches, outputs});
    node.set_dims(1, Dims{batches, outputs});
    node.set_dims(2, Dims{batches, sum_of(dim_at(dims, 1), outputs)});
    node.set_dims(3, Dims{batches, product_of(outputs, Dim(gates))});
    return;
  }
  node.set_dims(0, Dims{batches, dim_at(node.dims(recurrent_weights, 2), 1)});
}

void sequence_lstm(NodeContext& node) {
  constexpr std::size_t output_state = 18;
  const Dims* const dims = node.dims(0, 3);
  // Weights between cells may be a diagonal.
  const Dims* const weights = node.dims(recurrent_weights);
  const Dim outputs = weights == nullptr ? Dim() : weights->empty() ? Dim(1) : weights->back();
  if (node.has_attribute("time_major"))
    expect_state(node, output_state, dim_at(dims, node.integer("time_major", 0) != 0 ? 1 : 0), outputs);
  node.set_dims(0, with_last(dims, outputs));
}

void two_way_lstm(NodeContext& node) {
  set_both(node, node.dims(0, 3), dim_at(node.dims(recurrent_weights, 2), 1),
           dim_at(node.dims(backward_recurrent_weights, 2), 1));
}

/// Weights are [units, inputs].
void recurrent(NodeContext& node) {
  constexpr std::size_t state = 4;
  const Dims* const dims = node.dims(0, 2);
  const Dim units = dim_at(node.dims(1, 2), 0);
  expect_state(node, state, dim_at(dims, 0), units);
  node.set_dims(0, Dims{dim_at(dims, 0), units});
}

void sequence_recurrent(NodeContext& node) {
  node.set_dims(0, with_last(node.dims(0, 3), dim_at(node.dims(1, 2), 0)));
}

void two_way_recurrent(NodeContext& node) {
  set_both(node, node.dims(0, 3), dim_at(node.dims(1, 2), 0), dim_at(node.dims(backward_weights, 2), 0));
}

}  // namespace stowage::operators::tflite_shapes
