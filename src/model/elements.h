#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/graph.h"

namespace stowage::model {

/// The elements in their memory format. None: the type has no such elements, or is neither of integers of up to 64
/// bits, nor of booleans, nor of reals of 32 or 64 bits.
[[nodiscard]] std::optional<std::vector<std::byte>> bytes_of_elements(DType dtype,
                                                                      const std::vector<Number>& elements);

/// The elements as elements of this type; none as above. A whole number is a real one, too.
[[nodiscard]] std::optional<std::vector<Number>> elements_of(DType dtype,
                                                             const std::vector<Number>& elements);

/// The C type of elements; none for types that C lacks.
[[nodiscard]] std::optional<std::string_view> find_c_type(DType dtype);

/// "1,80"
[[nodiscard]] std::string show_elements(const std::vector<Number>& elements);

}  // namespace stowage::model
