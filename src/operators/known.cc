#include "operators/known.h"

#include <utility>

namespace stowage::operators {

Type tensor_type(int elem_type, const std::optional<Dims>& dims) {
  return {.kind = Type::Kind::tensor, .elem_type = elem_type, .dims = dims};
}

Type tensor_type(int elem_type, const Shape& shape) {
  return tensor_type(elem_type, Dims(shape.begin(), shape.end()));
}

Type type_around(Type::Kind kind, Type element) {
  return {.kind = kind, .element = std::make_shared<const Type>(std::move(element))};
}

Type common_type(const Type& a, const Type& b) {
  Type common = a;
  common.dims = common_dims(a.dims, b.dims);
  return common;
}

}  // namespace stowage::operators
