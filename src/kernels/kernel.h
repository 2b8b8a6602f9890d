#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stowage/graph.h"
#include "stowage/network.h"
#include "stowage/units.h"

namespace stowage::kernels {

/// What a kernel knows of an operand before it runs. Elements are in row-major order.
struct Argument {
  DType dtype = DType::unknown;
  Shape shape{};
  const Quantization* quantization = nullptr;  ///< Null: stored numbers are what they are.
  /// The data, if it never changes; otherwise empty. Stays where it is as long as the kernel lives.
  std::span<const std::byte> constant{};
  bool is_constant = false;
};

/// What a kernel is prepared for. Operands that are left out are none.
struct Signature {
  std::string_view type{};  ///< As in Operator::type.
  std::int64_t version = 1;
  const Attributes& attributes;
  std::vector<std::optional<Argument>> inputs{};
  std::vector<std::optional<Argument>> outputs{};

  [[nodiscard]] bool has_input(std::size_t i) const { return i < inputs.size() && inputs[i].has_value(); }
  [[nodiscard]] bool has_output(std::size_t i) const { return i < outputs.size() && outputs[i].has_value(); }
};

/// Where operands are while a kernel runs; null where one is left out. All are aligned to their
/// elements. An output is at an input's place only where `in_place_output` allows it; else no two overlap.
struct Pointers {
  std::span<const std::byte* const> inputs{};
  std::span<std::byte* const> outputs{};
  std::byte* scratch = nullptr;  ///< As much as the kernel asked for, aligned to 64 bytes.

  template <typename Element>
  [[nodiscard]] const Element* input(std::size_t i) const {
    return i < inputs.size() ? reinterpret_cast<const Element*>(inputs[i]) : nullptr;
  }
  template <typename Element>
  [[nodiscard]] Element* output(std::size_t i) const {
    return i < outputs.size() ? reinterpret_cast<Element*>(outputs[i]) : nullptr;
  }
};

/// Where the rows of images are: those of a whole tensor, or each in a place of its own. Within a row,
/// elements are in row-major order as far as nothing stands before the rows.
template <typename Byte>
struct Rows {
  std::vector<Byte*> first{};  ///< The first element of each row; null where nobody needs it.
  std::int64_t batch = 0;      ///< Elements from a batch's part of a row to that of the next batch.
  std::int64_t channel = 0;    ///< The same of channels, if they are in front of the rows.

  /// Of one channel of one batch.
  template <typename Element>
  [[nodiscard]] auto* at(std::int64_t row, std::int64_t in_batch, std::int64_t in_channel = 0) const {
    using Own = std::conditional_t<std::is_const_v<Byte>, const Element, Element>;
    return reinterpret_cast<Own*>(first[static_cast<std::size_t>(row)]) + in_batch * batch +
           in_channel * channel;
  }
};

/// Operands of a kernel that computes some rows of its first output.
struct RowPointers {
  const Rows<const std::byte>& input;  ///< Of the first input: at least those that these rows read.
  const Rows<std::byte>& output;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  const Pointers& whole;  ///< All others, and scratch.
  /// Add to what the rows of the output hold what the rows of the input give that are not null.
  bool adds = false;
};

/// How rows of the first input are summed up, one by one, until they make the output.
struct RowSums {
  std::function<void(std::byte* sums)> begin{};
  /// The row's elements are in row-major order.
  std::function<void(const std::byte* row, std::byte* sums)> add{};
  std::function<void(const std::byte* sums, std::byte* output)> finish{};
};

/// A kernel for one operator of a network: everything that can be known before is worked out.
struct Kernel {
  std::function<void(const Pointers&)> run{};
  /// For those that move windows: the same for some rows along the axis of their height.
  std::function<void(const RowPointers&)> run_rows{};
  bool adds_rows = false;  ///< `run_rows` can add to rows.
  /// For those that sum up: of rows along an axis of the first input. Sums are as large as `bytes_of_sums`
  /// says.
  std::function<RowSums(std::size_t axis)> row_sums{};
  Bytes scratch = 0;  ///< Memory it wants while it runs, from whoever runs it.
  Bytes held = 0;     ///< Memory it holds itself, such as reordered weights.
};

/// Thrown while preparing, with the reason in words: "group 3 does not divide 8 channels". Such an
/// operator cannot be run.
struct Unsupported {
  std::string reason{};
};

/// Makes a kernel, or throws Unsupported.
using Prepare = Kernel (*)(const Signature& signature);

/// What runs each operator type of a format, by Operator::type.
using KernelTable = std::unordered_map<std::string_view, Prepare>;

/// A part of such a table: operator types, and what prepares them.
using TablePart = std::vector<std::pair<std::string_view, Prepare>>;

[[nodiscard]] inline std::int64_t count_of(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dimension : shape) count *= dimension;
  return count;
}

}  // namespace stowage::kernels
