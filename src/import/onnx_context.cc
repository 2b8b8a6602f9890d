#include "import/onnx_context.h"

#include <algorithm>
#include <utility>

namespace stowage::import {

NodeContext::NodeContext(const wire::NodeProto& node, int version, std::vector<const Type*> inputs,
                         std::vector<const Value*> values)
    : node_(node),
      version_(version),
      inputs_(std::move(inputs)),
      values_(std::move(values)),
      outputs_(node.output.size()) {}

bool NodeContext::has(std::size_t input) const { return input < inputs_.size() && inputs_[input] != nullptr; }

const Type& NodeContext::type(std::size_t input) const {
  static const Type unknown;
  return has(input) ? *inputs_[input] : unknown;
}

const Dims* NodeContext::dims(std::size_t input) const {
  const Type& it = type(input);
  return it.dims ? &*it.dims : nullptr;
}

std::optional<Shape> NodeContext::shape(std::size_t input) const { return concrete_shape(type(input).dims); }

const Value* NodeContext::value(std::size_t input) const {
  return input < values_.size() ? values_[input] : nullptr;
}

std::optional<Shape> NodeContext::integers(std::size_t input) const {
  const Value* const it = value(input);
  if (it == nullptr || it->is_real()) return std::nullopt;
  return it->integers;
}

std::optional<std::vector<double>> NodeContext::reals(std::size_t input) const {
  const Value* const it = value(input);
  if (it == nullptr || !it->is_real()) return std::nullopt;
  return it->reals;
}

Dim NodeContext::scalar(std::size_t input) const {
  const Value* const it = value(input);
  if (it == nullptr || it->is_real() || it->integers.size() != 1) return std::nullopt;
  return it->integers.front();
}

const wire::AttributeProto* NodeContext::attribute(std::string_view name) const {
  const auto it = std::ranges::find(node_.attribute, name, &wire::AttributeProto::name);
  return it == node_.attribute.end() ? nullptr : &*it;
}

std::int64_t NodeContext::integer(std::string_view attribute, std::int64_t otherwise) const {
  const wire::AttributeProto* const it = this->attribute(attribute);
  const auto* const value = it == nullptr ? nullptr : it->get<std::int64_t>();
  return value == nullptr ? otherwise : *value;
}

std::string_view NodeContext::text(std::string_view attribute, std::string_view otherwise) const {
  const wire::AttributeProto* const it = this->attribute(attribute);
  const auto* const value = it == nullptr ? nullptr : it->get<std::string_view>();
  return value == nullptr || value->empty() ? otherwise : *value;
}

std::optional<Shape> NodeContext::integer_list(std::string_view attribute) const {
  const wire::AttributeProto* const it = this->attribute(attribute);
  const auto* const value = it == nullptr ? nullptr : it->get<Shape>();
  return value == nullptr ? std::nullopt : std::optional(*value);
}

void NodeContext::set_output(std::size_t index, int elem_type, const std::optional<Dims>& dims) {
  if (index < outputs_.size()) outputs_[index] = tensor_type(elem_type, dims);
}

void NodeContext::set_shape(std::size_t index, int elem_type, const Shape& shape) {
  if (index < outputs_.size()) outputs_[index] = tensor_type(elem_type, shape);
}

void NodeContext::set_type(std::size_t index, const Type& type) {
  if (index < outputs_.size()) outputs_[index] = type;
}

}  // namespace stowage::import
