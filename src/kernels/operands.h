#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/kernel.h"

/// What kernels of all formats ask about operands while they are prepared.
namespace stowage::kernels {

/// Throws Unsupported with a reason in words.
template <typename... Parts>
[[noreturn]] void refuse(fmt::format_string<Parts...> form, Parts&&... parts) {
  throw Unsupported{fmt::format(form, std::forward<Parts>(parts)...)};
}

/// The axis in 0 .. rank-1; a negative one counts from the end. Refuses others.
[[nodiscard]] std::size_t axis_of(std::int64_t axis, std::size_t rank);

/// Elements from one index of a dimension to the next, row-major. An empty dimension counts as one element.
[[nodiscard]] Shape strides_of(const Shape& shape);

/// Number of elements of the dimensions [begin, end).
[[nodiscard]] std::int64_t count_of(const Shape& shape, std::size_t begin, std::size_t end);

/// "[2,3]".
[[nodiscard]] std::string show(const Shape& shape);

}  // namespace stowage::kernels
