#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "kernels/tflite/fixed_point.h"
#include "kernels/tflite/operands.h"

namespace stowage::kernels {

/// 1 / (1 + e^-x) in 16 bits, at multiples of 1/24. A line between two values is below the curve: the values
/// are raised by half of the difference in the middle.
class SigmoidTable {
 public:
  SigmoidTable() {
    const auto sigmoid_of = [](double place) { return 65536 / (1 + std::exp(-place / 24)); };
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const auto place = static_cast<double>(i);
      const double line = (sigmoid_of(place) + sigmoid_of(place + 1)) / 2;
      const double lift = (sigmoid_of(place + 0.5) - line) / 2;
      values_[i] = static_cast<std::uint32_t>(std::round(sigmoid_of(place) + lift));
    }
    values_.back() = 65535;
  }

  /// For a number with 12 fraction bits.
  [[nodiscard]] std::int16_t sigmoid(std::int16_t x) const {
    const std::int32_t thrice = 3 * x;
    const auto distance = static_cast<std::uint32_t>(std::abs(thrice));
    const std::uint32_t index = distance >> 9;
    std::uint32_t result = 0x7FFFU << 10;
    if (index < values_.size() - 1)
      result = (values_[index] << 9) + (distance & 0x1FFU) * (values_[index + 1] - values_[index]);
    result = thrice >= 0 ? result + (1U << 9) : (1U << 25) - result + (1U << 9) - 1;
    return static_cast<std::int16_t>(result >> 10);
  }

  /// For a number with 12 fraction bits, times 2^shift.
  [[nodiscard]] std::int16_t tanh(std::int16_t x, int shift) const {
    const std::int32_t thrice = x * (3 << shift);
    const auto distance = static_cast<std::uint32_t>(std::abs(thrice));
    const std::uint32_t index = distance >> 8;
    std::int32_t result = 0xFFFF << 8;
    if (index < values_.size() - 1)
      result = static_cast<std::int32_t>((values_[index] << 8) +
                                         (distance & 0xFFU) * (values_[index + 1] - values_[index]));
    constexpr std::int32_t half = 1 << 23;
    result = thrice >= 0 ? result - half + (1 << 7) : -result + half + (1 << 7) - 1;
    return static_cast<std::int16_t>(result >> 8);
  }

  [[nodiscard]] const std::array<std::uint32_t, 256>& values() const { return values_; }

 private:
  std::array<std::uint32_t, 256> values_{};
};

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
