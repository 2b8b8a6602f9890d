#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/onnx/activation.h"
#include "kernels/onnx/operands.h"

/// Networks that run through sequences: what their kernels have in common. Every item of a batch is a sequence with
/// a state of its own.
namespace stowage::kernels::onnx_ops {

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

  [[nodiscard]] std::int64_t rows() const { return gates * hidden; }
  [[nodiscard]] bool has_cells() const { return gates == 4; }
  /// Numbers of the states of all items: h of each, then c of each.
  [[nodiscard]] std::int64_t states() const { return (has_cells() ? 2 : 1) * batch * hidden; }
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
  [[nodiscard]] bool is_backward(std::int64_t direction) const { return is_reverse || direction == 1; }
  /// The functions of a direction.
  [[nodiscard]] const Activation* functions(std::int64_t direction) const {
    return activations.data() + index(direction) * (activations.size() / index(directions));
  }
  [[nodiscard]] double clipped(double x) const { return clip > 0 ? std::clamp(x, -clip, clip) : x; }
};

/// Of the attributes and the first input. Refuses directions that there are none.
[[nodiscard]] Network network_of(const Signature& signature, std::int64_t gates, std::int64_t hidden);

/// Refuses operands whose shapes or types are not those of the network, but for the weights.
void check_sequences(const Signature& signature, const Network& n);

/// The operands of one direction that are real numbers, and the memory of one item. Omitted ones are null.
template <typename Element>
struct Cell {
  const Network& network;
  const Activation* activations;
  const Element* bias;       ///< Biases of the input, then of the state.
  const Element* peepholes;  ///< Of the LSTM: for input, output, forget.
  Element* h;
  Element* c;
  Element* sums;  ///< Per gate: the product with the input, then that with the state.

  [[nodiscard]] Element input_bias(std::int64_t i) const { return bias == nullptr ? Element{0} : bias[i]; }
  [[nodiscard]] Element state_bias(std::int64_t i) const { return input_bias(network.rows() + i); }
  [[nodiscard]] double peephole(std::int64_t gate, std::int64_t j, Element state) const {
    return peepholes == nullptr ? 0 : static_cast<double>(peepholes[gate * network.hidden + j] * state);
  }
};

/// The operand's part for a direction; null if it is omitted.
template <typename Element>
const Element* of_direction(const Pointers& pointers, std::size_t input, std::int64_t direction,
                            std::int64_t size) {
  const auto* const all = pointers.input<Element>(input);
  return all == nullptr ? nullptr : all + direction * size;
}

template <typename Element>
Cell<Element> cell_of(const Network& n, const Pointers& pointers, std::int64_t direction, Element* sums) {
  return {.network = n,
          .activations = n.functions(direction),
          .bias = of_direction<Element>(pointers, 3, direction, 2 * n.rows()),
          .peepholes = n.has_cells() ? of_direction<Element>(pointers, 7, direction, 3 * n.hidden) : nullptr,
          .h = nullptr,
          .c = nullptr,
          .sums = sums};
}

/// Makes the next state of the sums of an LSTM. Gates: input, output, forget, cell.
template <typename Element>
void open_gates(const Cell<Element>& cell) {
  const Network& n = cell.network;
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

template <typename Element>
void copy_or_clear(const Element* from, std::int64_t size, Element* to) {
  if (from == nullptr) {
    std::fill_n(to, size, Element{0});
  } else {
    std::copy_n(from, size, to);
  }
}

/// The states of all items before the first step: their operands, or 0.
template <typename Element>
void begin_states(const Network& n, const Pointers& pointers, std::int64_t direction, Element* states) {
  for (std::size_t kind = 0; kind < (n.has_cells() ? 2U : 1U); ++kind) {
    const auto* const given = pointers.input<Element>(5 + kind);
    for (std::int64_t item = 0; item < n.batch; ++item, states += n.hidden)
      copy_or_clear(given == nullptr ? nullptr : given + n.state_at(direction, item), n.hidden, states);
  }
}

/// Writes the states of all items, as far as they are outputs.
template <typename Element>
void end_states(const Network& n, const Pointers& pointers, std::int64_t direction, const Element* states) {
  for (std::size_t kind = 0; kind < (n.has_cells() ? 2U : 1U); ++kind) {
    auto* const last = pointers.output<Element>(1 + kind);
    for (std::int64_t item = 0; item < n.batch; ++item, states += n.hidden)
      if (last != nullptr) std::copy_n(states, n.hidden, last + n.state_at(direction, item));
  }
}

/// What one step reads and writes: of the first item, and how far that of the next is. Outputs may be omitted.
template <typename Element>
struct StepOperands {
  const Element* x;
  std::int64_t next_x;
  Element* y;
  std::int64_t next_y;
};

/// One step of all items. A sequence that is shorter keeps its state, and its output is 0.
template <typename Element, typename Step>
void run_step(Cell<Element>& cell, std::int64_t at, const Pointers& pointers,
              const StepOperands<Element>& operands, Element* states, const Step& step) {
  const Network& n = cell.network;
  const auto* const lengths = pointers.input<std::int32_t>(4);
  for (std::int64_t item = 0; item < n.batch; ++item) {
    cell.h = states + item * n.hidden;
    cell.c = cell.h + n.batch * n.hidden;
    const bool is_in = lengths == nullptr || at < length_in(lengths[item], n.steps, "RNN");
    if (is_in) step(cell, operands.x + item * operands.next_x);
    if (operands.y != nullptr)
      copy_or_clear(is_in ? cell.h : nullptr, n.hidden, operands.y + item * operands.next_y);
  }
}

/// All steps of a direction. `step` gets the cell and the element of the sequence, `before_step` the states.
template <typename Element, typename BeforeStep, typename Step>
void run_direction(const Network& n, const Pointers& pointers, std::int64_t direction, Element* states,
                   Cell<Element> cell, const BeforeStep& before_step, const Step& step) {
  auto* const y = pointers.output<Element>(0);
  begin_states(n, pointers, direction, states);
  for (std::int64_t i = 0; i < n.steps; ++i) {
    const std::int64_t at = n.is_backward(direction) ? n.steps - 1 - i : i;
    const StepOperands<Element> operands{.x = pointers.input<Element>(0) + n.x_at(at, 0),
                                         .next_x = n.x_at(0, 1),
                                         .y = y == nullptr ? nullptr : y + n.y_at(at, direction, 0),
                                         .next_y = n.y_at(0, 0, 1)};
    before_step(states);
    run_step(cell, at, pointers, operands, states, step);
  }
  end_states(n, pointers, direction, states);
}

}  // namespace stowage::kernels::onnx_ops
