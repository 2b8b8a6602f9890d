#include <cstring>
#include <span>

#include "operators/rows.h"

namespace stowage::operators {

Site::Site(const Network& network, std::size_t subgraph, std::size_t op)
    : network_(&network),
      op_(&network.graph().subgraphs[subgraph].operators[op]),
      details_(&network.details.at(subgraph).at(op)),
      named_(facts_of(op_->type)) {}

const Tensor* Site::input(std::size_t i) const {
  return has_input(i) ? &network_->graph().tensors[*op_->inputs[i]] : nullptr;
}

const Tensor* Site::output(std::size_t i) const {
  const bool is_there = i < op_->outputs.size() && op_->outputs[i];
  return is_there ? &network_->graph().tensors[*op_->outputs[i]] : nullptr;
}

Shape Site::input_shape(std::size_t i) const {
  const Tensor* const tensor = input(i);
  return tensor == nullptr ? Shape{} : tensor->shape.value_or(Shape{});
}

Shape Site::output_shape(std::size_t i) const {
  const Tensor* const tensor = output(i);
  return tensor == nullptr ? Shape{} : tensor->shape.value_or(Shape{});
}

namespace {

/// Converts elements of one type to another.
template <typename Element, typename Number>
std::vector<Number> numbers_in(std::span<const std::byte> bytes) {
  std::vector<Number> numbers;
  for (std::size_t at = 0; at + sizeof(Element) <= bytes.size(); at += sizeof(Element)) {
    Element element{};
    std::memcpy(&element, bytes.data() + at, sizeof element);
    numbers.push_back(static_cast<Number>(element));
  }
  return numbers;
}

}  // namespace

std::optional<std::vector<std::int64_t>> Site::integers(std::size_t input) const {
  const Tensor* const tensor = this->input(input);
  const auto bytes =
      tensor == nullptr ? std::span<const std::byte>() : network_->input.constants.of(*op_->inputs[input]);
  if (bytes.empty()) return std::nullopt;
  if (tensor->dtype == DType::int64) return numbers_in<std::int64_t, std::int64_t>(bytes);
  if (tensor->dtype == DType::int32) return numbers_in<std::int32_t, std::int64_t>(bytes);
  return std::nullopt;
}

std::optional<std::vector<double>> Site::reals(std::size_t input) const {
  const Tensor* const tensor = this->input(input);
  const auto bytes =
      tensor == nullptr ? std::span<const std::byte>() : network_->input.constants.of(*op_->inputs[input]);
  if (bytes.empty()) return std::nullopt;
  if (tensor->dtype == DType::float64) return numbers_in<double, double>(bytes);
  if (tensor->dtype == DType::float32) return numbers_in<float, double>(bytes);
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> Site::integers(std::string_view attribute, std::size_t input) const {
  if (attributes().has(attribute)) return attributes().integers(attribute, {});
  return integers(input);
}

}  // namespace stowage::operators
