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

/// Description of an operand before the kernel runs. Elements are in row-major order.
struct Argument {
  DType dtype = DType::unknown;
  Shape shape{};
  const Quantization* quantization = nullptr;  ///< Null: stored numbers are the real values.
  /// Data that never changes; otherwise empty. It stays in place as long as the kernel exists.
  std::span<const std::byte> constant{};
  bool is_constant = false;
};

/// The operator that a kernel is prepared for. Omitted operands are none.
struct Signature {
  std::string_view type{};  ///< As in Operator::type.
  std::int64_t version = 1;
  const Attributes& attributes;
  std::vector<std::optional<Argument>> inputs{};
  std::vector<std::optional<Argument>> outputs{};

  [[nodiscard]] bool has_input(std::size_t i) const { return i < inputs.size() && inputs[i].has_value(); }
  [[nodiscard]] bool has_output(std::size_t i) const { return i < outputs.size() && outputs[i].has_value(); }
};

/// Places of operands during a run; null for omitted ones. All are aligned to their elements. An output is at
/// an input's place only if `in_place_output` allows it; otherwise no two overlap.
struct Pointers {
  std::span<const std::byte* const> inputs{};
  std::span<std::byte* const> outputs{};
  std::byte* scratch = nullptr;  ///< As large as the kernel requested, aligned to 64 bytes.

  template <typename Element>
  [[nodiscard]] const Element* input(std::size_t i) const {
    return i < inputs.size() ? reinterpret_cast<const Element*>(inputs[i]) : nullptr;
  }
  template <typename Element>
  [[nodiscard]] Element* output(std::size_t i) const {
    return i < outputs.size() ? reinterpret_cast<Element*>(outputs[i]) : nullptr;
  }
};

/// Places of the rows of images: in a whole tensor, or each row separately. Elements of a row are in
/// row-major order, except for dimensions before the rows.
template <typename Byte>
struct Rows {
  std::vector<Byte*> first{};  ///< The first element of each row; null if it is not needed.
  std::int64_t batch = 0;      ///< Elements from one batch's part of a row to the next batch's.
  std::int64_t channel = 0;    ///< The same for channels, if they come before the rows.

  /// The row of one channel of one batch.
  template <typename Element>
  [[nodiscard]] auto* at(std::int64_t row, std::int64_t in_batch, std::int64_t in_channel = 0) const {
    using Own = std::conditional_t<std::is_const_v<Byte>, const Element, Element>;
    return reinterpret_cast<Own*>(first[static_cast<std::size_t>(row)]) + in_batch * batch +
           in_channel * channel;
  }
};

/// Operands of a kernel that computes some rows of its first output.
struct RowPointers {
  const Rows<const std::byte>& input;  ///< Of the first input: at least the rows that these rows read.
  const Rows<std::byte>& output;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  const Pointers& whole;  ///< All others, and scratch.
  /// Adds the contribution of the input rows that are not null to the present output rows.
  bool adds = false;
};

/// Accumulates rows of the first input one by one, and makes the output of the sums.
struct RowSums {
  std::function<void(std::byte* sums)> begin{};
  /// The row's elements are in row-major order.
  std::function<void(const std::byte* row, std::byte* sums)> add{};
  std::function<void(const std::byte* sums, std::byte* output)> finish{};
};

/// Computes rows of the first output with a buffer that goes from row to row (CarriedAxis), in ascending order.
struct RowCarry {
  Bytes size = 0;  ///< Of the buffer.
  /// For operators that read their rows twice: adds row `row` of the first input to the sums. Row 0 begins them.
  std::function<void(std::int64_t row, const std::byte* from, std::byte* carried)> add{};
  /// Makes row `row`. The first input and the first output are these rows, with elements in row-major order. All
  /// others are whole; other outputs are null but for the last row.
  std::function<void(std::int64_t row, const Pointers& pointers, std::byte* carried)> make{};
};

/// A prepared kernel for one operator of a network: everything known in advance is computed.
struct Kernel {
  std::function<void(const Pointers&)> run{};
  /// For kernels that move windows: the same for some rows along the axis of their height.
  std::function<void(const RowPointers&)> run_rows{};
  bool adds_rows = false;  ///< `run_rows` can add to rows.
  /// For operators that accumulate: over rows along an axis of the first input. `bytes_of_sums` gives the
  /// size of the sums.
  std::function<RowSums(std::size_t axis)> row_sums{};
  /// For operators that carry a buffer from row to row: over rows along an axis of the first output.
  std::function<RowCarry(std::size_t axis)> row_carry{};
  Bytes scratch = 0;  ///< Memory that its caller must provide while it runs.
  Bytes held = 0;     ///< Memory that it keeps itself, such as reordered weights.
};

/// Thrown by preparation, with the reason in words: "group 3 does not divide 8 channels". Such an operator
/// cannot run.
struct Unsupported {
  std::string reason{};
};

/// Makes a kernel, or throws Unsupported.
using Prepare = Kernel (*)(const Signature& signature);

/// The kernels of a format, by Operator::type.
using KernelTable = std::unordered_map<std::string_view, Prepare>;

/// A part of such a table: operator types with their preparation.
using TablePart = std::vector<std::pair<std::string_view, Prepare>>;

[[nodiscard]] inline std::int64_t count_of(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dimension : shape) count *= dimension;
  return count;
}

}  // namespace stowage::kernels
