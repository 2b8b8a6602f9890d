// RNN, GRU and LSTM. A step multiplies the weights with the element of the sequence and with the state; then the
// kind of network combines the products. Source: the ONNX operator specification.

#include "kernels/onnx/recurrent.h"

#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"

namespace stowage::kernels::onnx_ops {

Network network_of(const Signature& signature, std::int64_t gates, std::int64_t hidden) {
  const auto& attributes = signature.attributes;
  const Argument& x = input_of(signature, 0);
  expect_rank(x, 3, "the input");
  const std::string direction = attributes.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    refuse("there is no direction {}", direction);
  Network n;
  n.directions = direction == "bidirectional" ? 2 : 1;
  n.is_reverse = direction == "reverse";
  n.is_batch_first = attributes.integer("layout", 0) != 0;
  n.steps = x.shape[n.is_batch_first ? 1 : 0];
  n.batch = x.shape[n.is_batch_first ? 0 : 1];
  n.input = x.shape[2];
  n.gates = gates;
  n.hidden = hidden;
  n.clip = static_cast<double>(attributes.real("clip", 0));
  n.forgets_input = attributes.integer("input_forget", 0) != 0;
  n.resets_late = attributes.integer("linear_before_reset", 0) != 0;
  if (n.hidden <= 0 || attributes.integer("hidden_size", n.hidden) != n.hidden)
    refuse("hidden_size does not fit the weights");
  return n;
}

void check_sequences(const Signature& signature, const Network& n) {
  const DType dtype = input_of(signature, 0).dtype;
  const Shape state =
      n.is_batch_first ? Shape{n.batch, n.directions, n.hidden} : Shape{n.directions, n.batch, n.hidden};
  const auto check = [&](std::size_t i, const Shape& shape, DType own) {
    if (!signature.has_input(i)) return;
    expect_shape(*signature.inputs[i], shape, fmt::format("input {}", i));
    expect_dtype(*signature.inputs[i], own, fmt::format("input {}", i));
  };
  check(3, {n.directions, 2 * n.rows()}, dtype);
  check(4, {n.batch}, DType::int32);
  check(5, state, dtype);
  if (n.has_cells()) {
    check(6, state, dtype);
    check(7, {n.directions, 3 * n.hidden}, dtype);
  }
  const Shape all = n.is_batch_first ? Shape{n.batch, n.steps, n.directions, n.hidden}
                                     : Shape{n.steps, n.directions, n.batch, n.hidden};
  for (std::size_t i = 0; i < (n.has_cells() ? 3U : 2U); ++i) {
    if (!signature.has_output(i)) continue;
    expect_shape(*signature.outputs[i], i == 0 ? all : state, fmt::format("output {}", i));
    expect_dtype(*signature.outputs[i], dtype, fmt::format("output {}", i));
  }
}

namespace {

/// The weights of a direction: a row for each number that a gate adds up.
template <typename Element>
struct Weights {
  const Element* w;
  const Element* r;
};

/// The product of one row of weights with a vector.
template <typename Element>
Element dot(const Element* row, const Element* x, std::int64_t size) {
  Element total = 0;
  for (std::int64_t k = 0; k < size; ++k) total += row[k] * x[k];
  return total;
}

/// Products of all gates with the input and the state, biases added.
template <typename Element>
void multiply(const Cell<Element>& cell, const Weights<Element>& weights, const Element* x) {
  const Network& n = cell.network;
  const std::int64_t rows = n.rows();
  for (std::int64_t i = 0; i < rows; ++i) {
    cell.sums[i] = dot(weights.w + i * n.input, x, n.input) + cell.input_bias(i);
    cell.sums[rows + i] = dot(weights.r + i * n.hidden, cell.h, n.hidden) + cell.state_bias(i);
  }
}

template <typename Element>
void step_plain(const Cell<Element>& cell, const Weights<Element>& weights, const Element* x) {
  const Network& n = cell.network;
  multiply(cell, weights, x);
  for (std::int64_t j = 0; j < n.hidden; ++j)
    cell.h[j] = static_cast<Element>(
        cell.activations[0](n.clipped(static_cast<double>(cell.sums[j] + cell.sums[n.hidden + j]))));
}

/// Gates: update, reset, hidden.
template <typename Element>
void step_gated(const Cell<Element>& cell, const Weights<Element>& weights, const Element* x) {
  const Network& n = cell.network;
  const std::int64_t size = n.hidden;
  multiply(cell, weights, x);
  Element* const from_input = cell.sums;
  Element* const from_state = cell.sums + n.gates * size;
  for (std::int64_t j = 0; j < 2 * size; ++j)
    from_input[j] = static_cast<Element>(
        cell.activations[0](n.clipped(static_cast<double>(from_input[j] + from_state[j]))));
  Element* const reset = from_input + size;
  if (!n.resets_late) {
    // The state is reset before it is multiplied; the sums of the first gate are no longer needed.
    for (std::int64_t j = 0; j < size; ++j) from_state[j] = reset[j] * cell.h[j];
    for (std::int64_t j = 0; j < size; ++j) {
      const std::int64_t row = 2 * size + j;
      from_state[row] = dot(weights.r + row * size, from_state, size) + cell.state_bias(row);
    }
  }
  for (std::int64_t j = 0; j < size; ++j) {
    const Element part = n.resets_late ? reset[j] * from_state[2 * size + j] : from_state[2 * size + j];
    const auto fresh = static_cast<Element>(
        cell.activations[1](n.clipped(static_cast<double>(from_input[2 * size + j] + part))));
    cell.h[j] = (1 - from_input[j]) * fresh + from_input[j] * cell.h[j];
  }
}

template <typename Element>
void step_lstm(const Cell<Element>& cell, const Weights<Element>& weights, const Element* x) {
  multiply(cell, weights, x);
  open_gates(cell);
}

template <typename Element>
Weights<Element> weights_of(const Network& n, const Pointers& pointers, std::int64_t direction) {
  return {.w = of_direction<Element>(pointers, 1, direction, n.rows() * n.input),
          .r = of_direction<Element>(pointers, 2, direction, n.rows() * n.hidden)};
}

template <typename Step>
Kernel recurrent(const Signature& signature, std::int64_t gates, const Step& step) {
  const Argument& w = input_of(signature, 1);
  expect_rank(w, 3, "the weights");
  Network n = network_of(signature, gates, w.shape[1] / gates);
  const DType dtype = input_of(signature, 0).dtype;
  for (const std::size_t i : {1U, 2U}) {
    const std::string what = fmt::format("input {}", i);
    expect_shape(input_of(signature, i), {n.directions, n.rows(), i == 1 ? n.input : n.hidden}, what);
    expect_dtype(*signature.inputs[i], dtype, what);
  }
  check_sequences(signature, n);
  n.activations = activations_of(signature, gates, index(n.directions));
  Kernel kernel = for_type(dtype, exact_floats, [&]<typename Element>() -> Kernel {
    Kernel all{.run = [n, step](const Pointers& pointers) {
      auto* const states = reinterpret_cast<Element*>(pointers.scratch);
      for (std::int64_t direction = 0; direction < n.directions; ++direction) {
        const auto weights = weights_of<Element>(n, pointers, direction);
        run_direction(
            n, pointers, direction, states, cell_of(n, pointers, direction, states + n.states()),
            [](const Element*) {}, [&](const auto& cell, const auto* x) { step(cell, weights, x); });
      }
    }};
    if (n.directions > 1) return all;
    all.row_carry = [n, step](std::size_t) -> RowCarry {
      return {.size = n.states() * extent(sizeof(Element)),
              .make = [n, step](std::int64_t at, const Pointers& pointers, std::byte* carried) {
                auto* const states = reinterpret_cast<Element*>(carried);
                auto cell = cell_of(n, pointers, 0, reinterpret_cast<Element*>(pointers.scratch));
                const auto weights = weights_of<Element>(n, pointers, 0);
                if (at == (n.is_reverse ? n.steps - 1 : 0)) begin_states(n, pointers, 0, states);
                run_step(cell, at, pointers,
                         {.x = pointers.input<Element>(0),
                          .next_x = n.input,
                          .y = pointers.output<Element>(0),
                          .next_y = n.hidden},
                         states, [&](const auto& of, const auto* x) { step(of, weights, x); });
                end_states(n, pointers, 0, states);
              }};
    };
    return all;
  });
  kernel.scratch = (n.states() + 2 * n.rows()) * bytes_of(dtype, {1});
  return kernel;
}

}  // namespace

TablePart recurrent_kernels() {
  return {{"GRU",
           [](const Signature& it) {
             return recurrent(it, 3, [](const auto&... operands) { step_gated(operands...); });
           }},
          {"LSTM",
           [](const Signature& it) {
             return recurrent(it, 4, [](const auto&... operands) { step_lstm(operands...); });
           }},
          {"RNN", [](const Signature& it) {
             return recurrent(it, 1, [](const auto&... operands) { step_plain(operands...); });
           }}};
}

}  // namespace stowage::kernels::onnx_ops
