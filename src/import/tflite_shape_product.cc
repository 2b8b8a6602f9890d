// Rules of matrix products and of operators that carry a state.

#include <algorithm>

#include "import/tflite_shape_rules.h"

namespace stowage::import::tflite_rules {

/// Weights are [units, inputs]. All elements of the input are rows of so many inputs.
void fully_connected(TfliteNode& node) {
  const auto* const options = node.source().builtin_options_as_FullyConnectedOptions();
  const Dims* const dims = node.dims(0);
  const Dims* const weights = node.dims(1, 2);
  const Dim units = dim_at(weights, 0);
  if (options != nullptr && options->keep_num_dims()) {
    if (dims == nullptr) return;
    if (dims->empty()) misfit("the input has no axis");
    (void)same_dim(dims->back(), dim_at(weights, 1));
    Dims result = *dims;
    result.back() = units;
    node.set(0, result);
    return;
  }
  const Dim whole = node.elements(0);
  const Dim row = dim_at(weights, 1);
  if (whole && row && (*row == 0 || *whole % *row != 0))
    misfit("cannot part ", *whole, " elements into rows of ", *row);
  node.set(0, Dims{quotient(whole, row), units});
}

/// The last two dimensions are matrices; those before them are stretched to one another.
void batch_multiply(TfliteNode& node) {
  const auto* const options = node.source().builtin_options_as_BatchMatMulOptions();
  const Dims* const a = node.dims(0);
  const Dims* const b = node.dims(1);
  if (a == nullptr || b == nullptr || options == nullptr) return;
  if (a->size() < 2 || b->size() < 2)
    misfit("cannot multiply tensors of ", a->size(), " and ", b->size(), " dimensions");
  const auto matrix = [](const Dims& dims, bool is_transposed) {
    const Dim& rows = dims[dims.size() - 2];
    return is_transposed ? std::pair(dims.back(), rows) : std::pair(rows, dims.back());
  };
  const auto [rows, inner] = matrix(*a, options->adj_x());
  const auto [other_inner, columns] = matrix(*b, options->adj_y());
  (void)same_dim(inner, other_inner);
  const Dims a_batch(a->begin(), a->end() - 2);
  const Dims b_batch(b->begin(), b->end() - 2);
  std::optional<Dims> result = broadcast_dims(&a_batch, &b_batch);
  result->push_back(rows);
  result->push_back(columns);
  node.set(0, result);
}

/// Weights of features are [units * rank, features].
void svdf(TfliteNode& node) {
  constexpr std::size_t state = 4;
  const auto* const options = node.source().builtin_options_as_SVDFOptions();
  if (options == nullptr) return;
  const Dim batches = same_dim(dim_at(node.dims(0, 2), 0), dim_at(node.dims(state, 2), 0));
  node.set(0, Dims{batches, quotient(dim_at(node.dims(1, 2), 0), options->rank())});
}

namespace {

// Places of inputs, and the dimension that is the number of outputs. Source: the kernels of TFLite.
constexpr std::size_t recurrent_weights = 8;  // of the output gate, [cells, outputs]
constexpr std::size_t backward_recurrent_weights = 25;
constexpr std::size_t backward_weights = 5;

/// A state has as many elements as a row of outputs for each batch.
void expect_state(const TfliteNode& node, std::size_t input, const Dim& batches, const Dim& width) {
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
void set_both(TfliteNode& node, const Dims* dims, const Dim& forward, const Dim& backward) {
  const bool is_joined = node.outputs().size() < 2;
  node.set(0, with_last(dims, is_joined ? sum_of(forward, backward) : forward));
  node.set(1, with_last(dims, backward));
}

}  // namespace

/// The basic kernel has one matrix of weights, and four outputs.
void lstm(TfliteNode& node) {
  const auto* const options = node.source().builtin_options_as_LSTMOptions();
  const Dims* const dims = node.dims(0, 2);
  const Dim batches = dim_at(dims, 0);
  if (options != nullptr && options->kernel_type() == tflite::LSTMKernelType::BASIC) {
    constexpr std::int64_t gates = 4;
    const Dim outputs = dim_at(node.dims(1, 2), 1);
    node.set(0, Dims{batches, outputs});
    node.set(1, Dims{batches, outputs});
    node.set(2, Dims{batches, sum_of(dim_at(dims, 1), outputs)});
    node.set(3, Dims{batches, product_of(outputs, Dim(gates))});
    return;
  }
  node.set(0, Dims{batches, dim_at(node.dims(recurrent_weights, 2), 1)});
}

void sequence_lstm(TfliteNode& node) {
  constexpr std::size_t output_state = 18;
  const auto* const options = node.source().builtin_options_as_UnidirectionalSequenceLSTMOptions();
  const Dims* const dims = node.dims(0, 3);
  // Weights between cells may be a diagonal.
  const Dims* const weights = node.dims(recurrent_weights);
  const Dim outputs = weights == nullptr ? Dim() : weights->empty() ? Dim(1) : weights->back();
  if (options != nullptr)
    expect_state(node, output_state, dim_at(dims, options->time_major() ? 1 : 0), outputs);
  node.set(0, with_last(dims, outputs));
}

void two_way_lstm(TfliteNode& node) {
  set_both(node, node.dims(0, 3), dim_at(node.dims(recurrent_weights, 2), 1),
           dim_at(node.dims(backward_recurrent_weights, 2), 1));
}

/// Weights are [units, inputs].
void recurrent(TfliteNode& node) {
  constexpr std::size_t state = 4;
  const Dims* const dims = node.dims(0, 2);
  const Dim units = dim_at(node.dims(1, 2), 0);
  expect_state(node, state, dim_at(dims, 0), units);
  node.set(0, Dims{dim_at(dims, 0), units});
}

void sequence_recurrent(TfliteNode& node) {
  node.set(0, with_last(node.dims(0, 3), dim_at(node.dims(1, 2), 0)));
}

void two_way_recurrent(TfliteNode& node) {
  set_both(node, node.dims(0, 3), dim_at(node.dims(1, 2), 0), dim_at(node.dims(backward_weights, 2), 0));
}

}  // namespace stowage::import::tflite_rules
