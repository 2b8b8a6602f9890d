#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "import/known.h"
#include "import/onnx_wire.h"
#include "import/readers.h"
#include "stowage/graph.h"
#include "stowage/network.h"

namespace stowage::import {

/// Larger values are not kept: shapes are not computed from them.
inline constexpr std::int64_t most_elements = 4096;

/// The number of elements of a tensor, if values of its type are kept and it is small.
[[nodiscard]] std::optional<std::size_t> small_count(int elem_type, const Shape& shape);

/// The value of a constant, if its data is in the file, well-formed and small.
[[nodiscard]] std::optional<Value> value_of(const wire::TensorProto& tensor);
/// The same for data in another file, if that can be read: of few elements, as lists of sizes have.
[[nodiscard]] std::optional<Value> value_of(const wire::TensorProto& tensor, NearbyFiles& files);

/// The bytes of a value in its memory format.
[[nodiscard]] std::vector<std::byte> bytes_of(const Value& value);

/// The elements of a tensor of an ONNX file. External data is searched for in `files`. Throws Error at `place`
/// for text, for data that does not fit the shape, and for data that cannot be read.
[[nodiscard]] Array array_of(const wire::TensorProto& tensor, NearbyFiles& files, const std::string& place);

/// The elements in the other file, in place. Throws like `array_of`.
[[nodiscard]] std::span<const std::byte> external_data(const wire::TensorProto& tensor, NearbyFiles& files,
                                                       const std::string& place);

/// The elements in the model's own file, in place, if they are raw bytes there. Throws like `array_of`.
[[nodiscard]] std::optional<std::span<const std::byte>> raw_data(const wire::TensorProto& tensor,
                                                                 const std::string& place);

/// The tensor that is the attribute "value" of a Constant; null if there is none.
[[nodiscard]] const wire::TensorProto* value_in(const wire::NodeProto& node);

}  // namespace stowage::import
