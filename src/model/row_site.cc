#include <algorithm>
#include <cstring>

#include "model/row_rules.h"

namespace stowage::model {

Site::Site(const Network& network, std::size_t subgraph, std::size_t op)
    : network_(&network),
      op_(&network.graph().subgraphs[subgraph].operators[op]),
      details_(&network.details.at(subgraph).at(op)) {}

Shape Site::input_shape(std::size_t i) const {
  if (!has_input(i)) return {};
  return network_->graph().tensors[*op_->inputs[i]].shape.value_or(Shape{});
}

Shape Site::output_shape(std::size_t i) const {
  if (i >= op_->outputs.size() || !op_->outputs[i]) return {};
  return network_->graph().tensors[*op_->outputs[i]].shape.value_or(Shape{});
}

std::optional<std::vector<std::int64_t>> Site::integers(std::size_t input) const {
  if (!has_input(input)) return std::nullopt;
  const TensorId id = *op_->inputs[input];
  const stowage::Tensor& tensor = network_->graph().tensors[id];
  const auto bytes = network_->input.constants.of(id);
  const bool is_wide = tensor.dtype == DType::int64;
  if (bytes.empty() || (!is_wide && tensor.dtype != DType::int32)) return std::nullopt;
  const std::size_t size = is_wide ? sizeof(std::int64_t) : sizeof(std::int32_t);
  std::vector<std::int64_t> values;
  for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
    std::int64_t wide = 0;
    std::int32_t narrow = 0;
    std::memcpy(is_wide ? static_cast<void*>(&wide) : &narrow, bytes.data() + at, size);
    values.push_back(is_wide ? wide : narrow);
  }
  return values;
}

std::optional<std::vector<std::int64_t>> Site::integers(std::string_view attribute, std::size_t input) const {
  if (attributes().has(attribute)) return attributes().integers(attribute, {});
  return integers(input);
}

}  // namespace stowage::model
