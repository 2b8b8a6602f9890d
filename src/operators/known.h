#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "operators/dims.h"
#include "stowage/graph.h"

/// What is known of a tensor before a network runs. For the rules of all formats.
namespace stowage::operators {

/// Element types, by the numbers of ONNX's TensorProto.DataType; 0: unknown.
namespace element {
enum : int {
  float32 = 1,
  uint8,
  int8,
  uint16,
  int16,
  int32,
  int64,
  string,
  boolean,
  float16,
  float64,
  uint32
};
}  // namespace element

/// The type of a value as far as it is known.
struct Type {
  enum class Kind : std::uint8_t { none, tensor, sequence, map, optional, sparse_tensor, opaque };

  Kind kind = Kind::none;
  int elem_type = 0;                      ///< 0: unknown.
  std::optional<Dims> dims{};             ///< None: the rank is unknown, too.
  std::shared_ptr<const Type> element{};  ///< Of a sequence or optional.
};

[[nodiscard]] Type tensor_type(int elem_type, const std::optional<Dims>& dims);
[[nodiscard]] Type tensor_type(int elem_type, const Shape& shape);
/// A sequence or an optional of this type.
[[nodiscard]] Type type_around(Type::Kind kind, Type element);

/// The common part of two types: dimensions in which they differ are open.
[[nodiscard]] Type common_type(const Type& a, const Type& b);

/// The known value of a small constant tensor that shapes may be computed from.
struct Value {
  int elem_type = 0;
  Shape shape;
  std::vector<std::int64_t> integers;  ///< Elements of integer and boolean tensors.
  std::vector<double> reals;           ///< Elements of floating-point tensors.

  [[nodiscard]] bool is_real() const {
    return elem_type == element::float32 || elem_type == element::float64;
  }
  [[nodiscard]] std::size_t size() const { return is_real() ? reals.size() : integers.size(); }

  bool operator==(const Value&) const = default;
};

}  // namespace stowage::operators
