#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "stowage/graph.h"

/// Dimensions of tensors as far as they are known, and how operators make new ones of them. For the rules of
/// all formats.
namespace stowage::operators {

/// A dimension; none if it is unknown.
using Dim = std::optional<std::int64_t>;
using Dims = std::vector<Dim>;

/// The shape if every dimension is known.
[[nodiscard]] std::optional<Shape> concrete_shape(const std::optional<Dims>& dims);

/// An operator whose inputs and attributes do not fit together.
class Misfit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Misfit with these words and numbers, one after the other.
template <typename... Words>
[[noreturn]] void misfit(const Words&... words) {
  std::ostringstream text;
  (text << ... << words);
  throw Misfit(text.str());
}

/// Sums and products of dimensions; throw Misfit on overflow. The result is unknown if one of them is.
[[nodiscard]] std::int64_t sum_of(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t product_of(std::int64_t a, std::int64_t b);
[[nodiscard]] Dim sum_of(const Dim& a, const Dim& b);
[[nodiscard]] Dim product_of(const Dim& a, const Dim& b);
/// The product of a range of dimensions.
[[nodiscard]] Dim product_of(const Dims& dims, std::size_t begin, std::size_t end);

/// A part of a dimension, rounded down; unknown if there are no parts.
[[nodiscard]] Dim quotient(const Dim& whole, const Dim& parts);

/// One dimension of an operand; unknown if there is no such dimension.
[[nodiscard]] Dim dim_at(const Dims* dims, std::size_t at);

/// What two dimensions that must be equal are; throws Misfit if they are not.
[[nodiscard]] Dim same_dim(const Dim& a, const Dim& b);

/// An axis counted from the front; a negative one counts from the end. Throws Misfit if there is none.
[[nodiscard]] std::size_t axis_in(std::int64_t axis, std::size_t rank);
/// The same for each of a list.
[[nodiscard]] std::vector<std::size_t> axes_in(const Shape& axes, std::size_t rank);

/// How many elements a slice by steps takes of a dimension. Negative ends count from the end, and ends
/// outside of the dimension are moved into it. Throws Misfit for a step of 0.
[[nodiscard]] std::int64_t taken(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step);

/// What two operands have in common: dimensions in which they differ are unknown.
[[nodiscard]] std::optional<Dims> common_dims(const std::optional<Dims>& a, const std::optional<Dims>& b);

/// The dimensions of operands stretched to one another; unknown if one of them is (null).
[[nodiscard]] std::optional<Dims> broadcast_dims(const Dims* a, const Dims* b);

}  // namespace stowage::operators
