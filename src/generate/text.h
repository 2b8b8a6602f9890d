#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/graph.h"

namespace stowage::generate {

/// The C type of elements. Throws kernels::Unsupported for types that C lacks.
[[nodiscard]] std::string_view c_type(DType dtype);

/// "s32" of int32: the end of the name of a kernel for elements of this type. Throws as c_type does.
[[nodiscard]] std::string_view suffix_of(DType dtype);

/// The elements of an initialiser, in lines of at most 110 characters. `data` is little-endian.
[[nodiscard]] std::string initialiser(DType dtype, std::span<const std::byte> data);

/// A C literal with the very value.
[[nodiscard]] std::string literal(float value);
[[nodiscard]] std::string literal(double value);
[[nodiscard]] std::string literal(std::int64_t value);
/// Whether C text may have a literal that math.h defines: of infinity, or of what is no number.
[[nodiscard]] bool has_special_literals(std::string_view text);

/// Text of a file that goes into a comment.
[[nodiscard]] std::string in_comment(std::string_view text);

/// Words for a macro or identifier: letters, digits and underscores, none of them at the begin.
[[nodiscard]] std::string identifier(std::string_view text);
[[nodiscard]] std::string upper(std::string_view text);

/// The words of a C text, and single characters between them.
[[nodiscard]] std::vector<std::string> words_of(std::string_view text);

/// An expression of float32 as one of float64: "expf(a) / 2.0F" is "exp(a) / 2.0". None if it has a literal that is another
/// number in float64.
[[nodiscard]] std::optional<std::string> as_double(std::string_view expression);

/// C text with lines of at most 110 columns, as far as commas allow that and lines have no comment.
[[nodiscard]] std::string wrapped(std::string_view text);

/// "1x48x48x8"
[[nodiscard]] std::string show_shape(const Shape& shape);

}  // namespace stowage::generate
