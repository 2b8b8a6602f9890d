#include "import/onnx_attributes.h"

#include <type_traits>
#include <variant>

#include "import/onnx_types.h"

namespace stowage::import {
namespace {

using operators::AttributeViews;
using wire::AttributeProto;

AttributeViews::Value view_of(const AttributeProto& attribute) {
  return std::visit(
      [](const auto& value) -> AttributeViews::Value {
        using Held = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Held, AttributeProto::Tensor>) {
          return operators::tensor_type(value->data_type, value->dims);
        } else if constexpr (std::is_same_v<Held, AttributeProto::SparseTensor>) {
          return operators::tensor_type(value->values.data_type, value->dims);
        } else if constexpr (std::is_same_v<Held, AttributeProto::Type>) {
          return declared_type(*value, {});
        } else if constexpr (std::is_same_v<Held, Shape>) {
          return std::span<const std::int64_t>(value);
        } else if constexpr (std::is_same_v<Held, std::vector<float>>) {
          return std::span<const float>(value);
        } else if constexpr (std::is_same_v<Held, std::vector<std::string_view>>) {
          return std::span<const std::string_view>(value);
        } else if constexpr (std::is_constructible_v<AttributeViews::Value, Held>) {
          return value;
        } else {
          return {};  // tensors and graphs
        }
      },
      attribute.value);
}

}  // namespace

AttributeViews views_of(const wire::NodeProto& node) {
  AttributeViews views;
  for (const AttributeProto& attribute : node.attribute) views.add(attribute.name, view_of(attribute));
  return views;
}

}  // namespace stowage::import
