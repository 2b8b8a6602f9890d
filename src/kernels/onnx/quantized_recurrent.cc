// LSTM of onnxruntime with weights of bytes. The input of a direction becomes bytes with the range of all its numbers,
// and before each step so does the state, with that of all items. Products are exact sums of integers, which become
// real numbers before biases are added. Source: the document ContribOperators.md of onnxruntime; where the ranges are
// taken, its implementation, which in several threads takes them of fewer items.

#include "kernels/onnx/product.h"
#include "kernels/onnx/quantized.h"
#include "kernels/onnx/recurrent.h"
#include "kernels/onnx/tables.h"

namespace stowage::kernels::onnx_ops {
namespace {

constexpr Types<std::int8_t, std::uint8_t> weight_types;
constexpr std::int64_t lstm_gates = 4;

/// Inputs that have a matrix for each direction, and scales and zero points of all its columns, or of each.
struct WeightPlaces {
  std::size_t weights;
  std::size_t scale;
  std::size_t zero;
};
constexpr WeightPlaces of_input{.weights = 1, .scale = 8, .zero = 9};
constexpr WeightPlaces of_state{.weights = 2, .scale = 10, .zero = 11};

/// Weights [terms][columns] of a direction.
template <typename Weight>
struct ByteWeights {
  MatrixProduct product{};
  const Weight* weights = nullptr;
  const float* scales = nullptr;
  const Weight* zeros = nullptr;
  std::int64_t next_scale = 0;
  std::int64_t next_zero = 0;
};

/// One number, or one for each column.
std::int64_t step_of_gates(const Signature& signature, std::size_t i, const Network& n) {
  const Shape& shape = input_of(signature, i).shape;
  const bool has_columns = shape.size() == 2;
  expect_shape(*signature.inputs[i], has_columns ? Shape{n.directions, n.rows()} : Shape{n.directions},
               fmt::format("input {}", i));
  return has_columns ? 1 : 0;
}

void check_weights(const Signature& signature, const WeightPlaces& at, const Network& n, std::int64_t terms) {
  const Argument& weights = input_of(signature, at.weights);
  expect_shape(weights, {n.directions, terms, n.rows()}, fmt::format("input {}", at.weights));
  expect_dtype(input_of(signature, at.scale), DType::float32, "a scale");
  expect_dtype(input_of(signature, at.zero), weights.dtype, "a zero point");
}

template <typename Weight>
ByteWeights<Weight> shaped(const Signature& signature, const WeightPlaces& at, const Network& n,
                           std::int64_t terms) {
  return {.product = {.columns = n.rows(), .terms = terms, .a_row = 0, .b_row = n.rows()},
          .next_scale = step_of_gates(signature, at.scale, n),
          .next_zero = step_of_gates(signature, at.zero, n)};
}

template <typename Weight>
void take_direction(ByteWeights<Weight>& it, const Pointers& pointers, const WeightPlaces& at,
                    std::int64_t direction) {
  const MatrixProduct& p = it.product;
  const auto count = [&](std::int64_t next) { return next == 0 ? 1 : p.columns; };
  it.weights = of_direction<Weight>(pointers, at.weights, direction, p.terms * p.columns);
  it.scales = of_direction<float>(pointers, at.scale, direction, count(it.next_scale));
  it.zeros = of_direction<Weight>(pointers, at.zero, direction, count(it.next_zero));
}

/// Memory for a product: the bytes of its input, and its sums.
struct Workspace {
  std::int32_t* sums;
  std::uint8_t* bytes;
};

template <typename Weight, typename BiasAt>
void multiply_bytes(const ByteWeights<Weight>& it, const float* x, const ByteRange& range,
                    const Workspace& memory, const BiasAt& bias_at, float* to) {
  const MatrixProduct& p = it.product;
  std::transform(x, x + p.terms, memory.bytes, [&](float number) { return range.byte_of(number); });
  std::fill_n(memory.sums, p.columns, 0);
  add_product_row(
      p, 0, memory.bytes, it.weights, memory.sums,
      [&](std::uint8_t byte, std::int64_t) { return std::int32_t{byte} - range.zero; },
      [&](Weight weight, std::int64_t j) { return std::int32_t{weight} - it.zeros[j * it.next_zero]; });
  for (std::int64_t j = 0; j < p.columns; ++j)
    to[j] = static_cast<float>(memory.sums[j]) * (range.scale * it.scales[j * it.next_scale]) + bias_at(j);
}

template <typename W, typename R>
void run_bytes(const Network& n, const Pointers& pointers, ByteWeights<W> w, ByteWeights<R> r) {
  auto* const states = reinterpret_cast<float*>(pointers.scratch);
  float* const products = states + n.states();
  auto* const sums = reinterpret_cast<std::int32_t*>(products + 2 * n.rows());
  const Workspace memory{.sums = sums, .bytes = reinterpret_cast<std::uint8_t*>(sums + n.rows())};
  const ByteRange of_all = byte_range_of(pointers.input<float>(0), n.steps * n.batch * n.input);
  for (std::int64_t direction = 0; direction < n.directions; ++direction) {
    take_direction(w, pointers, of_input, direction);
    take_direction(r, pointers, of_state, direction);
    ByteRange of_states;
    run_direction(
        n, pointers, direction, states, cell_of(n, pointers, direction, products),
        [&](const float* h) { of_states = byte_range_of(h, n.batch * n.hidden); },
        [&](const Cell<float>& cell, const float* x) {
          multiply_bytes(
              w, x, of_all, memory, [&](std::int64_t j) { return cell.input_bias(j); }, cell.sums);
          multiply_bytes(
              r, cell.h, of_states, memory, [&](std::int64_t j) { return cell.state_bias(j); },
              cell.sums + n.rows());
          open_gates(cell);
        });
  }
}

Kernel quantized_lstm(const Signature& signature) {
  const Argument& w = input_of(signature, of_input.weights);
  const Argument& r = input_of(signature, of_state.weights);
  expect_rank(w, 3, "the weights");
  expect_dtype(input_of(signature, 0), DType::float32, "the input");
  Network n = network_of(signature, lstm_gates, w.shape[2] / lstm_gates);
  if (n.is_batch_first) refuse("its batch comes first");
  if (signature.has_input(4)) refuse("its sequences have lengths of their own");
  check_weights(signature, of_input, n, n.input);
  check_weights(signature, of_state, n, n.hidden);
  check_sequences(signature, n);
  n.activations = activations_of(signature, lstm_gates, index(n.directions));
  Kernel kernel = for_type(w.dtype, weight_types, [&]<typename W>() {
    return for_type(r.dtype, weight_types, [&]<typename R>() -> Kernel {
      return {.run = [n, w = shaped<W>(signature, of_input, n, n.input),
                      r = shaped<R>(signature, of_state, n, n.hidden)](const Pointers& pointers) {
        run_bytes(n, pointers, w, r);
      }};
    });
  });
  kernel.scratch = (n.states() + 3 * n.rows()) * extent(sizeof(float)) + std::max(n.input, n.hidden);
  return kernel;
}

}  // namespace

TablePart quantized_recurrent_kernels() { return {{"com.microsoft.DynamicQuantizeLSTM", quantized_lstm}}; }

}  // namespace stowage::kernels::onnx_ops
