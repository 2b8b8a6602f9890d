// RNN, GRU and LSTM. Every item of a batch is a separate sequence, so its state is a vector in scratch
// memory, which each step changes. A step multiplies the weights with the element of the sequence and with
// the state; then the kind of network combines the products. Source: the ONNX operator specification.

#include <algorithm>
#include <cmath>

#include "kernels/onnx/activation.h"
#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"

namespace stowage::kernels::onnx_ops {
namespace {

/// Values that do not change between steps.
struct Network {
  std::int64_t directions = 1;
  bool is_reverse = false;  ///< The first direction runs from the end.
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t input = 0;
  std::int64_t hidden = 0;
  std::int64_t gates = 1;
  bool is_batch_first = false;
  double clip = 0;  ///< 0: no clipping.
  bool forgets_input = false;
  bool resets_late = false;
  std::vector<Activation> activations{};

  [[nodiscard]] std::int64_t x_at(std::int64_t step, std::int64_t item) const {
    return (is_batch_first ? item * steps + step : step * batch + item) * input;
  }
  [[nodiscard]] std::int64_t y_at(std::int64_t step, std::int64_t direction, std::int64_t item) const {
    if (is_batch_first) return ((item * steps + step) * directions + direction) * hidden;
    return ((step * directions + direction) * batch + item) * hidden;
  }
  [[nodiscard]] std::int64_t state_at(std::int64_t direction, std::int64_t item) const {
    return (is_batch_first ? item * directions + direction : direction * batch + item) * hidden;
  }
  [[nodiscard]] double clipped(double x) const { return clip > 0 ? std::clamp(x, -clip, clip) : x; }
};

/// The operands of one direction, and the memory of one item. Omitted ones are null.
template <typename Element>
struct Cell {
  const Network& network;
  const Activation* activations;
  const Element* w;
  const Element* r;
  const Element* bias;       ///< Biases of the input, then of the state.
  const Element* peepholes;  ///< Of the LSTM: for input, output, forget.
  Element* h;
  Element* c;
  Element* sums;  ///< Per gate: the product with the input, then that with the state.

  [[nodiscard]] Element input_bias(std::int64_t i) const { return bias == nullptr ? Element{0} : bias[i]; }
  [[nodiscard]] Element state_bias(std::int64_t i) const {
    return bias == nullptr ? Element{0} : bias[network.gates * network.hidden + i];
  }
  [[nodiscard]] double peephole(std::int64_t gate, std::int64_t j, Element state) const {
    return peepholes == nullptr ? 0 : static_cast<double>(peepholes[gate * network.hidden + j] * state);
  }
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
void multiply(const Cell<Element>& cell, const Element* x) {
  const Network& n = cell.network;
  const std::int64_t rows = n.gates * n.hidden;
  for (std::int64_t i = 0; i < rows; ++i) {
    cell.sums[i] = dot(cell.w + i * n.input, x, n.input) + cell.input_bias(i);
    cell.sums[rows + i] = dot(cell.r + i * n.hidden, cell.h, n.hidden) + cell.state_bias(i);
  }
}

template <typename Element>
void step_plain(const Cell<Element>& cell, const Element* x) {
  const Network& n = cell.network;
  multiply(cell, x);
  for (std::int64_t j = 0; j < n.hidden; ++j)
    cell.h[j] = static_cast<Element>(
        cell.activations[0](n.clipped(static_cast<double>(cell.sums[j] + cell.sums[n.hidden + j]))));
}

/// Gates: update, reset, hidden.
template <typename Element>
void step_gated(const Cell<Element>& cell, const Element* x) {
  const Network& n = cell.network;
  const std::int64_t size = n.hidden;
  multiply(cell, x);
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
      from_state[row] = dot(cell.r + row * size, from_state, size) + cell.state_bias(row);
    }
  }
  for (std::int64_t j = 0; j < size; ++j) {
    const Element part = n.resets_late ? reset[j] * from_state[2 * size + j] : from_state[2 * size + j];
    const auto fresh = static_cast<Element>(
        cell.activations[1](n.clipped(static_cast<double>(from_input[2 * size + j] + part))));
    cell.h[j] = (1 - from_input[j]) * fresh + from_input[j] * cell.h[j];
  }
}

/// Gates: input, output, forget, cell.
template <typename Element>
void step_lstm(const Cell<Element>& cell, const Element* x) {
  const Network& n = cell.network;
  multiply(cell, x);
  const std::int64_t size = n.hidden;
  const auto gate = [&](std::int64_t which, std::int64_t j) {
    return static_cast<double>(cell.sums[which * size + j] + cell.sums[(n.gates + which) * size + j]);
  };
  const Activation* const f = cell.activations;
  for (std::int64_t j = 0; j < size; ++j) {
    const Element before = cell.c[j];
    const double in = f[0](n.clipped(gate(0, j) + cell.peephole(0, j, before)));
    const double forget =
        n.forgets_input ? 1 - in : f[0](n.clipped(gate(2, j) + cell.peephole(2, j, before)));
    const double fresh = f[1](n.clipped(gate(3, j)));
    cell.c[j] = static_cast<Element>(forget * static_cast<double>(before) + in * fresh);
    const double out = f[0](n.clipped(gate(1, j) + cell.peephole(1, j, cell.c[j])));
    cell.h[j] = static_cast<Element>(out * f[2](static_cast<double>(cell.c[j])));
  }
}

/// The initial state of an item: its operand, or 0.
template <typename Element>
void begin_with(const Element* given, std::int64_t at, std::int64_t size, Element* state) {
  if (given == nullptr) {
    std::fill_n(state, size, Element{0});
  } else {
    std::copy_n(given + at, size, state);
  }
}

/// Runs one item in one direction.
template <typename Element, typename Step>
void run_item(const Cell<Element>& cell, const Pointers& pointers, std::int64_t direction, std::int64_t item,
              const Step& step) {
  const Network& n = cell.network;
  const std::int64_t state = n.state_at(direction, item);
  begin_with(pointers.input<Element>(5), state, n.hidden, cell.h);
  begin_with(n.gates == 4 ? pointers.input<Element>(6) : nullptr, state, n.hidden, cell.c);
  const auto* const lengths = pointers.input<std::int32_t>(4);
  const std::int64_t length = lengths == nullptr ? n.steps : length_in(lengths[item], n.steps, "RNN");
  auto* const y = pointers.output<Element>(0);
  const bool is_backwards = n.is_reverse || direction == 1;
  for (std::int64_t i = 0; i < n.steps; ++i) {
    const std::int64_t at = is_backwards && i < length ? length - 1 - i : i;
    if (i < length) step(cell, pointers.input<Element>(0) + n.x_at(at, item));
    if (y == nullptr) continue;
    // The output is 0 after the end of a sequence.
    Element* const to = y + n.y_at(at, direction, item);
    begin_with(i < length ? cell.h : nullptr, 0, n.hidden, to);
  }
  if (auto* const last = pointers.output<Element>(1)) std::copy_n(cell.h, n.hidden, last + state);
  if (n.gates < 4) return;
  if (auto* const last = pointers.output<Element>(2)) std::copy_n(cell.c, n.hidden, last + state);
}

/// The operands of a direction, and scratch memory.
template <typename Element>
Cell<Element> cell_of(const Network& n, const Pointers& pointers, std::int64_t direction) {
  auto* const memory = reinterpret_cast<Element*>(pointers.scratch);
  const std::int64_t rows = n.gates * n.hidden;
  const auto of_direction = [&](std::size_t input, std::int64_t size) {
    const auto* const all = pointers.input<Element>(input);
    return all == nullptr ? nullptr : all + direction * size;
  };
  const std::size_t functions = n.activations.size() / index(n.directions);
  return {.network = n,
          .activations = n.activations.data() + index(direction) * functions,
          .w = of_direction(1, rows * n.input),
          .r = of_direction(2, rows * n.hidden),
          .bias = of_direction(3, 2 * rows),
          .peepholes = n.gates == 4 ? of_direction(7, 3 * n.hidden) : nullptr,
          .h = memory,
          .c = memory + n.hidden,
          .sums = memory + 2 * n.hidden};
}

template <typename Element, typename Step>
void run_network(const Network& n, const Pointers& pointers, const Step& step) {
  for (std::int64_t direction = 0; direction < n.directions; ++direction) {
    const Cell<Element> cell = cell_of<Element>(n, pointers, direction);
    for (std::int64_t item = 0; item < n.batch; ++item) run_item(cell, pointers, direction, item, step);
  }
}

/// One step of all items. The states of all items are carried from step to step: h, then c.
template <typename Element, typename Step>
void run_step(const Network& n, std::int64_t at, const Pointers& pointers, Element* states,
              const Step& step) {
  Cell<Element> cell = cell_of<Element>(n, pointers, 0);
  const bool has_c = n.gates == 4;
  const auto* const lengths = pointers.input<std::int32_t>(4);
  const bool is_first = at == (n.is_reverse ? n.steps - 1 : 0);
  for (std::int64_t item = 0; item < n.batch; ++item) {
    const std::int64_t state = item * n.hidden;
    cell.h = states + state;
    if (has_c) cell.c = states + n.batch * n.hidden + state;
    if (is_first) begin_with(pointers.input<Element>(5), state, n.hidden, cell.h);
    if (is_first && has_c) begin_with(pointers.input<Element>(6), state, n.hidden, cell.c);
    const std::int64_t length = lengths == nullptr ? n.steps : length_in(lengths[item], n.steps, "RNN");
    if (at < length) step(cell, pointers.input<Element>(0) + item * n.input);
    begin_with(at < length ? cell.h : nullptr, 0, n.hidden, pointers.output<Element>(0) + state);
    if (auto* const last = pointers.output<Element>(1)) std::copy_n(cell.h, n.hidden, last + state);
    if (!has_c) continue;
    if (auto* const last = pointers.output<Element>(2)) std::copy_n(cell.c, n.hidden, last + state);
  }
}

Network network_of(const Signature& signature, std::int64_t gates) {
  const auto& attributes = signature.attributes;
  const Argument& x = input_of(signature, 0);
  const Argument& w = input_of(signature, 1);
  expect_rank(x, 3, "the input");
  expect_rank(w, 3, "the weights");
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
  n.hidden = w.shape[1] / gates;
  n.clip = static_cast<double>(attributes.real("clip", 0));
  n.forgets_input = attributes.integer("input_forget", 0) != 0;
  n.resets_late = attributes.integer("linear_before_reset", 0) != 0;
  if (n.hidden <= 0 || attributes.integer("hidden_size", n.hidden) != n.hidden)
    refuse("hidden_size does not fit the weights {}", show(w.shape));
  return n;
}

/// Refuses operands whose shapes and types differ from those of the network.
void check_operands(const Signature& signature, const Network& n) {
  const DType dtype = input_of(signature, 0).dtype;
  const std::int64_t rows = n.gates * n.hidden;
  const Shape state =
      n.is_batch_first ? Shape{n.batch, n.directions, n.hidden} : Shape{n.directions, n.batch, n.hidden};
  const std::vector<Shape> shapes{{},
                                  {n.directions, rows, n.input},
                                  {n.directions, rows, n.hidden},
                                  {n.directions, 2 * rows},
                                  {n.batch},
                                  state,
                                  state,
                                  {n.directions, 3 * n.hidden}};
  static_cast<void>(input_of(signature, 2));
  for (std::size_t i = 1; i < shapes.size(); ++i) {
    if (!signature.has_input(i) || (i > 5 && n.gates < 4)) continue;
    expect_shape(*signature.inputs[i], shapes[i], fmt::format("input {}", i));
    expect_dtype(*signature.inputs[i], i == 4 ? DType::int32 : dtype, fmt::format("input {}", i));
  }
  const Shape all = n.is_batch_first ? Shape{n.batch, n.steps, n.directions, n.hidden}
                                     : Shape{n.steps, n.directions, n.batch, n.hidden};
  for (std::size_t i = 0; i < (n.gates == 4 ? 3U : 2U); ++i) {
    if (!signature.has_output(i)) continue;
    expect_shape(*signature.outputs[i], i == 0 ? all : state, fmt::format("output {}", i));
    expect_dtype(*signature.outputs[i], dtype, fmt::format("output {}", i));
  }
}

template <typename Step>
Kernel recurrent(const Signature& signature, std::int64_t gates, const std::vector<std::string>& functions,
                 const Step& step) {
  Network n = network_of(signature, gates);
  check_operands(signature, n);
  n.activations = activations_of(signature, functions, index(n.directions));
  const DType dtype = input_of(signature, 0).dtype;
  Kernel kernel = for_type(dtype, exact_floats, [&]<typename Element>() -> Kernel {
    Kernel all{.run = [n, step](const Pointers& pointers) { run_network<Element>(n, pointers, step); }};
    if (n.directions > 1) return all;
    all.row_carry = [n, step](std::size_t) -> RowCarry {
      return {.size = (n.gates == 4 ? 2 : 1) * n.batch * n.hidden * static_cast<Bytes>(sizeof(Element)),
              .make = [n, step](std::int64_t at, const Pointers& pointers, std::byte* carried) {
                run_step(n, at, pointers, reinterpret_cast<Element*>(carried), step);
              }};
    };
    return all;
  });
  kernel.scratch = (2 + 2 * gates) * n.hidden * bytes_of(dtype, {1});
  return kernel;
}

}  // namespace

TablePart recurrent_kernels() {
  return {{"GRU",
           [](const Signature& it) {
             return recurrent(it, 3, {"Sigmoid", "Tanh"},
                              [](const auto& cell, const auto* x) { step_gated(cell, x); });
           }},
          {"LSTM",
           [](const Signature& it) {
             return recurrent(it, 4, {"Sigmoid", "Tanh", "Tanh"},
                              [](const auto& cell, const auto* x) { step_lstm(cell, x); });
           }},
          {"RNN", [](const Signature& it) {
             return recurrent(it, 1, {"Tanh"}, [](const auto& cell, const auto* x) { step_plain(cell, x); });
           }}};
}

}  // namespace stowage::kernels::onnx_ops
