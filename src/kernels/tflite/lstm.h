#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/tflite/fixed_point.h"
#include "kernels/tflite/operands.h"
#include "kernels/tflite/sigmoid_table.h"

namespace stowage::kernels {

/// One of the layers of a gate: indices of its operands, and the scaling of its sums.
struct GateLayer {
  std::size_t weights = 0;
  std::size_t bias = 0;  ///< 0: none.
  Multiplier factor{};
  std::int32_t zero_point = 0;
};

struct Gate {
  GateLayer from_input{};
  GateLayer from_output{};
};

enum GateName : std::size_t { input_gate, forget_gate, cell_gate, output_gate, gates };

// Operands.
constexpr std::size_t output_state = 18;
constexpr std::size_t cell_state = 19;

struct Lstm {
  std::int64_t batches = 0;
  std::int64_t steps = 0;
  std::int64_t inputs = 0;
  std::int64_t cells = 0;
  bool is_time_major = false;
  std::array<Gate, gates> gate{};
  Multiplier forget{};
  Multiplier learn{};
  Multiplier show{};
  std::int32_t output_zero = 0;
  std::int32_t clip = 0;  ///< 0: none.
  int tanh_shift = 0;     ///< From the cell state to 12 fraction bits.
  SigmoidTable table{};
};

/// Refuses what the kernel does not compute.
[[nodiscard]] Lstm lstm_of(const Operands& operands);

}  // namespace stowage::kernels
