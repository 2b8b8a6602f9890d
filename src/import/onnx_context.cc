#include "import/onnx_context.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

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

std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  const auto sum = base::checked_add(a, b);
  if (!sum) misfit("dimension ", a, " + ", b, " overflows");
  return *sum;
}

std::int64_t product_of(std::int64_t a, std::int64_t b) {
  const auto product = base::checked_multiply(a, b);
  if (!product) misfit("dimension ", a, " * ", b, " overflows");
  return *product;
}

Dim sum_of(const Dim& a, const Dim& b) { return a && b ? Dim(sum_of(*a, *b)) : std::nullopt; }

Dim product_of(const Dim& a, const Dim& b) { return a && b ? Dim(product_of(*a, *b)) : std::nullopt; }

Dim product_of(const Dims& dims, std::size_t begin, std::size_t end) {
  Dim product = 1;
  for (std::size_t d = begin; d < end; ++d) product = product_of(product, dims[d]);
  return product;
}

Dim quotient(const Dim& whole, const Dim& parts) {
  return whole && parts && *parts > 0 ? Dim(*whole / *parts) : std::nullopt;
}

Dim dim_at(const Dims* dims, std::size_t at) {
  return dims == nullptr || at >= dims->size() ? std::nullopt : (*dims)[at];
}

Dim same_dim(const Dim& a, const Dim& b) {
  if (a && b && *a != *b) misfit("dimensions ", *a, " and ", *b, " differ");
  return a ? a : b;
}

std::size_t axis_in(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank)
    misfit("axis ", axis, " does not exist in a tensor of rank ", rank);
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::vector<std::size_t> axes_in(const Shape& axes, std::size_t rank) {
  std::vector<std::size_t> result;
  result.reserve(axes.size());
  for (const std::int64_t axis : axes) result.push_back(axis_in(axis, rank));
  return result;
}

std::optional<Dims> broadcast_dims(const Dims* a, const Dims* b) {
  if (a == nullptr || b == nullptr) return std::nullopt;
  const Dims& longer = a->size() < b->size() ? *b : *a;
  const Dims& shorter = a->size() < b->size() ? *a : *b;
  Dims result = longer;
  for (std::size_t d = 0; d < shorter.size(); ++d) {
    const Dim& own = shorter[shorter.size() - 1 - d];
    Dim& dimension = result[result.size() - 1 - d];
    if (own == 1) continue;
    if (dimension == 1) {
      dimension = own;
    } else if (dimension && own) {
      if (*own != *dimension) misfit("cannot broadcast ", *own, " and ", *dimension);
    } else if (own) {
      dimension = own;  // the other is this or 1
    }
  }
  return result;
}

}  // namespace stowage::import
