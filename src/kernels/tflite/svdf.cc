// SVDF of int8, with a state of int8 or int16: a filter over features, then one over time, of a sum of `rank`
// filters for each output.
//
// The state has the last results of each feature filter. It advances by one number, all of it at once,
// and the newest result takes the last place of each filter.
//
// The state is an input that the operator updates. The interface has no writable inputs, so constness is cast
// away.
//
// Cost: filters * (inputs + memory). Source: the steps of TensorFlow Lite Micro's kernel.

#include <algorithm>
#include <cstring>

#include "kernels/tflite/channels.h"
#include "kernels/tflite/families.h"

namespace stowage::kernels {
namespace {

struct Svdf {
  std::int64_t batches = 0;
  std::int64_t inputs = 0;
  std::int64_t filters = 0;
  std::int64_t memory = 0;
  std::int64_t rank = 1;
  std::int32_t input_zero = 0;
  std::int32_t state_zero = 0;
  std::int32_t output_zero = 0;
  Multiplier to_state{};
  Multiplier to_output{};
  Limits limits{};

  [[nodiscard]] std::int64_t units() const { return filters / rank; }
};

/// Inputs: input, feature weights, time weights, bias, state.
Svdf svdf_of(const Operands& operands) {
  const Shape& input = operands.input(0).shape;
  const Shape& features = operands.input(1).shape;
  const Shape& times = operands.input(2).shape;
  if (input.size() != 2 || features.size() != 2 || times.size() != 2)
    refuse("its inputs have {}, {} and {} dimensions, expected 2", input.size(), features.size(),
           times.size());
  Svdf it{.batches = input[0],
          .inputs = input[1],
          .filters = features[0],
          .memory = times[1],
          .rank = operands.integer("rank")};
  if (it.rank < 1 || it.filters % it.rank != 0) refuse("rank {} of {} filters", it.rank, it.filters);
  if (features[1] != it.inputs || times[0] != it.filters || it.memory < 1)
    refuse("its weights do not fit its input");
  operands.expect_shape(operands.input(4), {it.batches, it.memory * it.filters}, "state");
  operands.expect_shape(operands.output(), {it.batches, it.units()}, "output");
  const Affine state = affine_of(operands.input(4));
  it.input_zero = affine_of(operands.input(0)).zero_point;
  it.state_zero = state.zero_point;
  it.output_zero = affine_of(operands.output()).zero_point;
  const auto factor = [](const Argument& a, const Argument& b, const Argument& to) {
    return multiplier_of(static_cast<double>(affine_of(a).scale * affine_of(b).scale / affine_of(to).scale));
  };
  it.to_state = factor(operands.input(0), operands.input(1), operands.input(4));
  it.to_output = factor(operands.input(4), operands.input(2), operands.output());
  it.limits = limits_of<std::int8_t>();
  return it;
}

/// Advances the state and inserts the newest results.
template <typename State>
void update(const Svdf& it, const Pointers& at, State* state) {
  const std::int64_t size = it.batches * it.filters * it.memory;
  std::memmove(state, state + 1, static_cast<std::size_t>(size - 1) * sizeof(State));
  for (std::int64_t f = 0; f < it.batches * it.filters; ++f) {
    const std::int8_t* const input = at.input<std::int8_t>(0) + f / it.filters * it.inputs;
    const std::int8_t* const weights = at.input<std::int8_t>(1) + f % it.filters * it.inputs;
    std::int32_t sum = 0;
    for (std::int64_t i = 0; i < it.inputs; ++i)
      sum = wrapping_add(sum, wrapping_multiply(weights[i], input[i] - it.input_zero));
    state[f * it.memory + it.memory - 1] =
        static_cast<State>(limits_of<State>().clamp(wrapping_add(scale(sum, it.to_state), it.state_zero)));
  }
}

template <typename State>
Kernel svdf_kernel(const Svdf& it) {
  return {.run = [it](const Pointers& at) {
    if (it.batches * it.filters == 0) return;
    auto* const state = const_cast<State*>(at.input<State>(4));
    update(it, at, state);
    const auto* const bias = at.input<std::int32_t>(3);
    for (std::int64_t o = 0; o < it.batches * it.units(); ++o) {
      const std::int64_t batch = o / it.units();
      const std::int64_t unit = o % it.units();
      std::int32_t sum = bias == nullptr ? 0 : bias[unit];
      for (std::int64_t k = unit * it.rank * it.memory; k < (unit + 1) * it.rank * it.memory; ++k)
        sum = wrapping_add(sum, wrapping_multiply(at.input<State>(2)[k],
                                                  state[batch * it.filters * it.memory + k] - it.state_zero));
      at.output<std::int8_t>(0)[o] =
          static_cast<std::int8_t>(it.limits.clamp(wrapping_add(scale(sum, it.to_output), it.output_zero)));
    }
  }};
}

Kernel prepare_svdf(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(5, 1);
  operands.expect_alike(0);
  operands.expect_alike(1);
  if (operands.output().dtype != DType::int8)
    refuse("element type {} is not supported", name_of(operands.output().dtype));
  const Svdf it = svdf_of(operands);
  expect_bias(operands, 3, DType::int32, it.units());
  const DType state = operands.input(4).dtype;
  if (operands.input(2).dtype != state)
    refuse("its time weights are {}, its state {}", name_of(operands.input(2).dtype), name_of(state));
  if (state == DType::int16) return svdf_kernel<std::int16_t>(it);
  if (state == DType::int8) return svdf_kernel<std::int8_t>(it);
  refuse("its state is {}", name_of(state));
}

}  // namespace

TablePart svdf_kernels() { return {{"SVDF", prepare_svdf}}; }

}  // namespace stowage::kernels
