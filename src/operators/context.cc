#include "operators/context.h"

#include <utility>

namespace stowage::operators {

NodeContext::NodeContext(AttributeViews attributes, int version, std::size_t outputs,
                         std::vector<const Type*> inputs, std::vector<const Value*> values)
    : attributes_(std::move(attributes)),
      version_(version),
      inputs_(std::move(inputs)),
      values_(std::move(values)),
      outputs_(outputs) {}

bool NodeContext::has(std::size_t input) const { return input < inputs_.size() && inputs_[input] != nullptr; }

const Type& NodeContext::type(std::size_t input) const {
  static const Type unknown;
  return has(input) ? *inputs_[input] : unknown;
}

const Dims* NodeContext::dims(std::size_t input) const {
  const Type& it = type(input);
  return it.dims ? &*it.dims : nullptr;
}

const Dims* NodeContext::dims(std::size_t input, std::size_t rank) const {
  const Dims* const it = dims(input);
  if (it != nullptr && it->size() != rank)
    misfit("input ", input, " has ", it->size(), " dimensions, expected ", rank);
  return it;
}

Dim NodeContext::elements(std::size_t input) const {
  const Dims* const it = dims(input);
  return it == nullptr ? std::nullopt : product_of(*it, 0, it->size());
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

std::int64_t NodeContext::integer(std::string_view attribute, std::int64_t otherwise) const {
  const auto* const value = attributes_.get<std::int64_t>(attribute);
  return value == nullptr ? otherwise : *value;
}

std::string_view NodeContext::text(std::string_view attribute, std::string_view otherwise) const {
  const auto* const value = attributes_.get<std::string_view>(attribute);
  return value == nullptr || value->empty() ? otherwise : *value;
}

std::optional<Shape> NodeContext::integer_list(std::string_view attribute) const {
  const auto* const value = attributes_.get<std::span<const std::int64_t>>(attribute);
  return value == nullptr ? std::nullopt : std::optional(Shape(value->begin(), value->end()));
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

void expect_spread(const NodeContext& node, std::size_t input, const std::optional<Dims>& over) {
  const Dims* const dims = node.dims(input);
  if (dims == nullptr || !over || !node.always_runs()) return;
  for (std::size_t from_end = 1; from_end <= dims->size(); ++from_end) {
    const Dim& given = (*dims)[dims->size() - from_end];
    const Dim wanted = from_end <= over->size() ? (*over)[over->size() - from_end] : Dim(1);
    if (given && wanted && *given != 1 && *given != *wanted)
      misfit("input ", input, " has ", *given, " elements along dimension ", dims->size() - from_end,
             ", expected 1 or ", *wanted);
  }
}

}  // namespace stowage::operators
