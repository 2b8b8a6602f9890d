// UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with an int16 cell state, without peepholes, projection and layer
// normalization.
//
// Each of four gates is a layer of the input plus one of the last output, in 12 fraction bits, squashed
// to 15. Sigmoid and hyperbolic tangent interpolate linearly in a table of 256 values of the sigmoid at
// multiples of 1/24.
//
// Output and cell state are inputs that the operator updates; as in svdf.cc, constness is cast away.
//
// Cost: steps * cells * (inputs + cells) * 4. Source: the steps of TensorFlow Lite Micro's kernel.

#include "kernels/tflite/lstm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "kernels/tflite/channels.h"
#include "kernels/tflite/families.h"

namespace stowage::kernels {
namespace {

constexpr float gate_scale = 1.0F / 4096;       // before squashing
constexpr float squashed_scale = 1.0F / 32768;  // after squashing
constexpr std::int32_t largest_state = std::numeric_limits<std::int16_t>::max();

std::int16_t saturated(std::int32_t x) {
  return static_cast<std::int16_t>(limits_of<std::int16_t>().clamp(x));
}

GateLayer layer_of(const Operands& operands, const Argument& input, std::size_t weights, std::int64_t rows,
                   std::int64_t columns) {
  const Argument& matrix = operands.input(weights);
  if (matrix.dtype != DType::int8) refuse("weights {} are {}", weights, name_of(matrix.dtype));
  operands.expect_shape(matrix, {rows, columns}, "weights");
  const Affine affine = affine_of(matrix);
  if (affine.zero_point != 0) refuse("weights {} have zero point {}", weights, affine.zero_point);
  const float unit = affine_of(input).scale * affine.scale;
  return {.weights = weights,
          .factor = multiplier_of(static_cast<double>(unit) / static_cast<double>(gate_scale)),
          .zero_point = affine_of(input).zero_point};
}

void expect_plain(const Operands& operands) {
  operands.expect_counts(24, 1);
  for (const std::size_t i : {9U, 10U, 11U, 16U, 17U, 20U, 21U, 22U, 23U})
    if (operands.has_input(i)) refuse("it has input {}, of a peephole, a projection or a normalization", i);
  constexpr std::int64_t tanh = 4;
  if (operands.integer("fused_activation_function") != tanh)
    refuse("its activation is {}, expected that of tanh", operands.integer("fused_activation_function"));
  if (operands.flag("diagonal_recurrent_tensors")) refuse("its recurrent weights are diagonal");
  operands.expect_alike(0);
  operands.expect_alike(output_state);
  if (operands.output().dtype != DType::int8 || operands.input(cell_state).dtype != DType::int16)
    refuse("{} with a cell state of {} is not supported", name_of(operands.output().dtype),
           name_of(operands.input(cell_state).dtype));
}

void read_gates(const Operands& operands, Lstm& it) {
  constexpr std::size_t first_input = 1;
  constexpr std::size_t first_recurrent = 5;
  constexpr std::size_t first_bias = 12;
  for (std::size_t g = 0; g < gates; ++g) {
    it.gate[g].from_input = layer_of(operands, operands.input(0), first_input + g, it.cells, it.inputs);
    it.gate[g].from_output =
        layer_of(operands, operands.input(output_state), first_recurrent + g, it.cells, it.cells);
    expect_bias(operands, first_bias + g, DType::int32, it.cells);
    if (operands.has_input(first_bias + g)) it.gate[g].from_input.bias = first_bias + g;
  }
}

void read_scales(const Operands& operands, Lstm& it) {
  const Affine cell = affine_of(operands.input(cell_state));
  const Affine output = affine_of(operands.input(output_state));
  const double squashed = static_cast<double>(squashed_scale);
  const double exponent = std::log2(static_cast<double>(cell.scale));
  it.tanh_shift = static_cast<int>(std::round(exponent)) + 12;
  if (std::abs(exponent - std::round(exponent)) > 1e-3 || it.tanh_shift < 0 || it.tanh_shift > 12 ||
      cell.zero_point != 0)
    refuse("its cell state has scale {} and zero point {}", cell.scale, cell.zero_point);
  it.forget = multiplier_of(squashed * static_cast<double>(cell.scale) / static_cast<double>(cell.scale));
  it.learn = multiplier_of(squashed * squashed / static_cast<double>(cell.scale));
  it.show = multiplier_of(squashed * squashed / static_cast<double>(output.scale));
  it.output_zero = output.zero_point;
  const double clip = static_cast<double>(operands.real("cell_clip")) / static_cast<double>(cell.scale);
  it.clip = clip > 0 ? static_cast<std::int32_t>(std::min<double>(clip, largest_state)) : 0;
}

}  // namespace

Lstm lstm_of(const Operands& operands) {
  expect_plain(operands);
  const Shape& input = operands.input(0).shape;
  const Shape& output = operands.output().shape;
  if (input.size() != 3 || output.size() != 3 || input[0] != output[0] || input[1] != output[1])
    refuse("its input and output have {} and {} dimensions, expected 3", input.size(), output.size());
  Lstm it{.is_time_major = operands.flag("time_major")};
  it.batches = it.is_time_major ? input[1] : input[0];
  it.steps = it.is_time_major ? input[0] : input[1];
  it.inputs = input[2];
  it.cells = output[2];
  for (const std::size_t state : {output_state, cell_state})
    operands.expect_shape(operands.input(state), {it.batches, it.cells}, "state");
  expect_same_quantization(operands.input(output_state), operands.output());
  read_gates(operands, it);
  read_scales(operands, it);
  return it;
}

namespace {

/// One number of a layer, in 12 fraction bits.
std::int16_t layer_number(const Pointers& at, const GateLayer& layer, const std::int8_t* input,
                          std::int64_t length, std::int64_t cell) {
  const std::int8_t* const weights = at.input<std::int8_t>(layer.weights) + cell * length;
  std::int32_t sum = layer.bias == 0 ? 0 : at.input<std::int32_t>(layer.bias)[cell];
  for (std::int64_t i = 0; i < length; ++i)
    sum = wrapping_add(sum, wrapping_multiply(weights[i], input[i] - layer.zero_point));
  return saturated(scale(sum, layer.factor));
}

std::int16_t gate_number(const Lstm& it, const Pointers& at, GateName name, const std::int8_t* input,
                         const std::int8_t* last, std::int64_t cell) {
  const Gate& gate = it.gate[name];
  const std::int16_t sum = saturated(layer_number(at, gate.from_input, input, it.inputs, cell) +
                                     layer_number(at, gate.from_output, last, it.cells, cell));
  return name == cell_gate ? it.table.tanh(sum, 0) : it.table.sigmoid(sum);
}

/// One step of one batch. `next` receives the outputs until all cells have read the last ones.
void step(const Lstm& it, const Pointers& at, const std::int8_t* input, std::int8_t* last,
          std::int16_t* state, std::int8_t* next) {
  for (std::int64_t c = 0; c < it.cells; ++c) {
    const auto number = [&](GateName name) {
      return std::int32_t{gate_number(it, at, name, input, last, c)};
    };
    const std::int16_t kept = saturated(scale(number(forget_gate) * state[c], it.forget));
    const std::int16_t learnt = saturated(scale(number(input_gate) * number(cell_gate), it.learn));
    std::int32_t cell = saturated(kept + learnt);
    if (it.clip > 0) cell = std::clamp(cell, -it.clip, it.clip);
    state[c] = static_cast<std::int16_t>(cell);
    const std::int32_t shown = number(output_gate) * it.table.tanh(state[c], it.tanh_shift);
    next[c] = static_cast<std::int8_t>(
        limits_of<std::int8_t>().clamp(wrapping_add(scale(shown, it.show), it.output_zero)));
  }
  std::memcpy(last, next, static_cast<std::size_t>(it.cells));
}

/// One step of batch b, with elements of that row of the input and the output.
void step_of_batch(const Lstm& it, const Pointers& at, std::int64_t b, std::int64_t row) {
  if (it.cells == 0) return;
  auto* const last = const_cast<std::int8_t*>(at.input<std::int8_t>(output_state)) + b * it.cells;
  auto* const state = const_cast<std::int16_t*>(at.input<std::int16_t>(cell_state)) + b * it.cells;
  step(it, at, at.input<std::int8_t>(0) + row * it.inputs, last, state,
       reinterpret_cast<std::int8_t*>(at.scratch));
  std::memcpy(at.output<std::int8_t>(0) + row * it.cells, last, static_cast<std::size_t>(it.cells));
}

/// The variables are the state from step to step.
Kernel prepare_lstm(const Signature& signature) {
  const Lstm it = lstm_of(Operands(signature));
  return {.run =
              [it](const Pointers& at) {
                for (std::int64_t t = 0; t < it.steps; ++t) {
                  for (std::int64_t b = 0; b < it.batches; ++b)
                    step_of_batch(it, at, b, it.is_time_major ? t * it.batches + b : b * it.steps + t);
                }
              },
          .row_carry = [it](std::size_t) -> RowCarry {
            return {.make = [it](std::int64_t, const Pointers& at, std::byte*) {
              for (std::int64_t b = 0; b < it.batches; ++b) step_of_batch(it, at, b, b);
            }};
          },
          .scratch = it.cells};
}

}  // namespace

TablePart lstm_kernels() { return {{"UNIDIRECTIONAL_SEQUENCE_LSTM", prepare_lstm}}; }

}  // namespace stowage::kernels
