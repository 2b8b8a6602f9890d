#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernel.h"

/// What kernels ask of their signature before they believe it.
namespace stowage::kernels::onnx_ops {

template <typename... Parts>
[[noreturn]] void refuse(fmt::format_string<Parts...> form, Parts&&... parts) {
  throw Unsupported{fmt::format(form, std::forward<Parts>(parts)...)};
}

[[nodiscard]] inline std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }
[[nodiscard]] inline std::int64_t extent(std::size_t value) { return static_cast<std::int64_t>(value); }

/// The operand, or a refusal.
[[nodiscard]] const Argument& input_of(const Signature& signature, std::size_t i);
[[nodiscard]] const Argument& output_of(const Signature& signature, std::size_t i = 0);

/// Refuses operands whose shapes are no shapes: then no product of dimensions overflows, not even of those
/// beside a zero. Refuses constants that have not as many bytes as they should.
void check_operands(const Signature& signature);

/// An axis in 0 .. rank-1, from one that counts from the end when it is negative.
[[nodiscard]] std::size_t axis_of(std::int64_t axis, std::size_t rank);
/// Several different ones, in ascending order.
[[nodiscard]] std::vector<std::size_t> axes_of(const std::vector<std::int64_t>& axes, std::size_t rank);

/// In elements, row-major.
[[nodiscard]] Shape strides_of(const Shape& shape);
/// How many elements dimensions from `begin` up to `end` have.
using kernels::count_of;
[[nodiscard]] std::int64_t count_of(const Shape& shape, std::size_t begin, std::size_t end);
/// Elements before, along and behind an axis.
struct Split {
  std::int64_t outer;
  std::int64_t size;
  std::int64_t inner;
};
[[nodiscard]] Split split_at(const Shape& shape, std::size_t axis);

[[nodiscard]] std::string show(const Shape& shape);
void expect_rank(const Argument& argument, std::size_t rank, std::string_view what);
void expect_shape(const Argument& argument, const Shape& shape, std::string_view what);
void expect_dtype(const Argument& argument, DType dtype, std::string_view what);
/// Refuses an axis that a kernel would keep a table of, when it is so long that the table might not fit.
void expect_table_size(std::int64_t size);
/// As many bytes of the same type of element.
void expect_copy(const Argument& from, const Argument& to);

/// The whole numbers of a constant of integers.
[[nodiscard]] std::optional<std::vector<std::int64_t>> integers_in(const Argument& argument);
/// Those of an input, or a refusal when it is no such constant; nothing when it is left out.
[[nodiscard]] std::optional<std::vector<std::int64_t>> integers_at(const Signature& signature, std::size_t i);
/// Those of an attribute that became an input with some version.
[[nodiscard]] std::optional<std::vector<std::int64_t>> integers_at(const Signature& signature,
                                                                   std::string_view attribute, std::size_t i);
/// The numbers of a constant of real numbers (or integers).
[[nodiscard]] std::optional<std::vector<double>> reals_at(const Signature& signature, std::size_t i);

/// Prepares a kernel that must know the values of some inputs. Where they are not constant it is prepared
/// anew in every run, which then throws Error for what would have been refused.
[[nodiscard]] Kernel with_values(const Signature& signature, std::initializer_list<std::size_t> inputs,
                                 Prepare prepare);

/// An index in 0 .. size-1, from one that may count from the end. Throws Error otherwise.
[[nodiscard]] std::int64_t index_in(std::int64_t index, std::int64_t size, std::string_view operator_type);

/// A length in 0 .. most. Throws Error otherwise.
[[nodiscard]] std::int64_t length_in(std::int64_t length, std::int64_t most, std::string_view operator_type);

}  // namespace stowage::kernels::onnx_ops
