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
#include "kernels/operands.h"

/// Checks of a kernel's signature, which is not trusted.
namespace stowage::kernels::onnx_ops {

[[nodiscard]] inline std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }
[[nodiscard]] inline std::int64_t extent(std::size_t value) { return static_cast<std::int64_t>(value); }

/// The operand; refuses a missing one.
[[nodiscard]] const Argument& input_of(const Signature& signature, std::size_t i);
[[nodiscard]] const Argument& output_of(const Signature& signature, std::size_t i = 0);

/// Refuses operands with invalid shapes: then no product of dimensions overflows, not even next to a zero.
/// Refuses constants that have a wrong number of bytes.
void check_operands(const Signature& signature);

/// Several different ones, in ascending order.
[[nodiscard]] std::vector<std::size_t> axes_of(const std::vector<std::int64_t>& axes, std::size_t rank);

/// Elements before, along and after an axis.
struct Split {
  std::int64_t outer;
  std::int64_t size;
  std::int64_t inner;
};
[[nodiscard]] Split split_at(const Shape& shape, std::size_t axis);

void expect_rank(const Argument& argument, std::size_t rank, std::string_view what);
void expect_shape(const Argument& argument, const Shape& shape, std::string_view what);
void expect_dtype(const Argument& argument, DType dtype, std::string_view what);
/// Refuses a long axis whose table might not fit in memory.
void expect_table_size(std::int64_t size);
/// Both have equally many bytes and one element type.
void expect_copy(const Argument& from, const Argument& to);

/// The integers of a constant.
[[nodiscard]] std::optional<std::vector<std::int64_t>> integers_in(const Argument& argument);
/// The integers of a constant input; none if it is omitted. Refuses other inputs.
[[nodiscard]] std::optional<std::vector<std::int64_t>> integers_at(const Signature& signature, std::size_t i);
/// The integers of an attribute that became an input in some version.
[[nodiscard]] std::optional<std::vector<std::int64_t>> integers_at(const Signature& signature,
                                                                   std::string_view attribute, std::size_t i);
/// The numbers of a constant of reals (or integers).
[[nodiscard]] std::optional<std::vector<double>> reals_at(const Signature& signature, std::size_t i);

/// Prepares a kernel that must know the values of some inputs. If they are not constant, it is prepared again
/// in every run, which then throws Error instead of refusing.
[[nodiscard]] Kernel with_values(const Signature& signature, std::initializer_list<std::size_t> inputs,
                                 Prepare prepare);

/// An index in 0 .. size-1; a negative one counts from the end. Throws Error otherwise.
[[nodiscard]] std::int64_t index_in(std::int64_t index, std::int64_t size, std::string_view operator_type);

/// A length in 0 .. most. Throws Error otherwise.
[[nodiscard]] std::int64_t length_in(std::int64_t length, std::int64_t most, std::string_view operator_type);

}  // namespace stowage::kernels::onnx_ops
