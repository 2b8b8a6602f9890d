#pragma once

// Walks several tensors at once, some broadcast along dimensions in which they have extent 1: inputs to an
// output, or an output to the input that is reduced to it.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "kernels/tflite/operands.h"

namespace stowage::kernels {

/// Rows of `Count` tensors in step. Dimensions that are contiguous in all tensors are merged.
template <std::size_t Count>
class Stretch {
 public:
  /// `strides` gives a tensor's stride along each dimension, 0 where it is broadcast.
  Stretch(const Shape& shape, const std::array<std::vector<std::int64_t>, Count>& strides) {
    assign(shape, strides);
  }

  /// For tensors with at most the dimensions of `shape`, whose last ones agree with it or are 1.
  [[nodiscard]] static Stretch to(const Shape& shape, const std::array<Shape, Count>& operands) {
    std::array<std::vector<std::int64_t>, Count> strides;
    for (std::size_t n = 0; n < Count; ++n) strides[n] = stretched(operands[n], shape);
    return Stretch(shape, strides);
  }

  using Offsets = std::array<std::int64_t, Count>;

  /// Element steps along a row: 1, or 0 for a tensor that is broadcast along rows.
  [[nodiscard]] const Offsets& steps() const { return steps_; }
  [[nodiscard]] std::int64_t length() const { return length_; }

  /// Calls `use` with the start of each tensor's row, row after row.
  template <typename Use>
  void for_rows(const Use& use) const {
    if (is_empty_) return;
    std::vector<std::int64_t> index(shape_.size(), 0);
    Offsets at{};
    for (bool is_done = false; !is_done;) {
      use(at);
      is_done = true;
      for (std::size_t d = shape_.size(); d-- > 0;) {
        for (std::size_t n = 0; n < Count; ++n) at[n] += strides_[d][n];
        if (++index[d] < shape_[d]) {
          is_done = false;
          break;
        }
        for (std::size_t n = 0; n < Count; ++n) at[n] -= strides_[d][n] * shape_[d];
        index[d] = 0;
      }
    }
  }

 private:
  static std::vector<std::int64_t> stretched(const Shape& operand, const Shape& shape) {
    if (operand.size() > shape.size())
      refuse("an input has {} dimensions, the output {}", operand.size(), shape.size());
    const std::size_t missing = shape.size() - operand.size();
    const std::vector<std::int64_t> dense = strides_of(operand);
    std::vector<std::int64_t> strides(shape.size(), 0);
    for (std::size_t d = missing; d < shape.size(); ++d) {
      const std::int64_t extent = operand[d - missing];
      if (extent != shape[d] && extent != 1)
        refuse("an input has extent {} where the output has {}", extent, shape[d]);
      if (extent == shape[d]) strides[d] = dense[d - missing];
    }
    return strides;
  }

  void assign(const Shape& shape, const std::array<std::vector<std::int64_t>, Count>& strides) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      is_empty_ = is_empty_ || shape[d] == 0;
      if (shape[d] == 1) continue;
      Offsets here{};
      for (std::size_t n = 0; n < Count; ++n) here[n] = strides[n][d];
      if (!shape_.empty() && continues(strides_.back(), here, shape[d])) {
        shape_.back() *= shape[d];
        strides_.back() = here;
      } else {
        shape_.push_back(shape[d]);
        strides_.push_back(here);
      }
    }
    const auto is_row = [](std::int64_t step) { return step == 0 || step == 1; };
    if (shape_.empty() || !std::ranges::all_of(strides_.back(), is_row)) return;
    length_ = shape_.back();
    steps_ = strides_.back();
    shape_.pop_back();
    strides_.pop_back();
  }

  static bool continues(const Offsets& outer, const Offsets& inner, std::int64_t extent) {
    for (std::size_t n = 0; n < Count; ++n)
      if (outer[n] != inner[n] * extent) return false;
    return true;
  }

  Shape shape_{};  // without the rows
  std::vector<Offsets> strides_{};
  Offsets steps_{};
  std::int64_t length_ = 1;
  bool is_empty_ = false;
};

/// A kernel of two inputs that are broadcast to the output. Reads one element of each before it writes their
/// result, in ascending order.
template <typename Input, typename Output, typename Make>
Kernel binary_kernel(const Operands& operands, const Make& make) {
  const Shape& shape = operands.output().shape;
  const auto stretch = Stretch<3>::to(shape, {shape, operands.input(0).shape, operands.input(1).shape});
  return {.run = [stretch, make](const Pointers& at) {
    const auto [step, step_a, step_b] = stretch.steps();
    const std::int64_t length = stretch.length();
    stretch.for_rows([&, in_a = step_a, in_b = step_b](const auto& begin) {
      Output* const output = at.output<Output>(0) + begin[0];
      const Input* const a = at.input<Input>(0) + begin[1];
      const Input* const b = at.input<Input>(1) + begin[2];
      for (std::int64_t i = 0; i < length; ++i) output[i] = make(a[i * in_a], b[i * in_b]);
    });
  }};
}

/// A kernel that computes each output element from the same input element.
template <typename Input, typename Output, typename Make>
Kernel unary_kernel(const Operands& operands, const Make& make) {
  const std::int64_t count = count_of(operands.output().shape);
  if (count_of(operands.input(0).shape) != count)
    refuse("its input has {} numbers, its output {}", count_of(operands.input(0).shape), count);
  return {.run = [count, make](const Pointers& at) {
    const auto* const input = at.input<Input>(0);
    auto* const output = at.output<Output>(0);
    for (std::int64_t i = 0; i < count; ++i) output[i] = make(input[i]);
  }};
}

}  // namespace stowage::kernels
