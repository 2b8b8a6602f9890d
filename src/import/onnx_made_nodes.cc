#include "import/onnx_made_nodes.h"

#include <cstring>
#include <string>
#include <utility>

#include "operators/shapes.h"

namespace stowage::import {
namespace {

template <typename Element>
std::string_view make_constant(MadeNodes& into, int elem_type, const Shape& dims,
                               const std::vector<Element>& values) {
  std::string bytes(values.size() * sizeof(Element), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  const std::string_view name = into.keep_name();
  into.graph->initializer.push_back({.name = name,
                                     .data_type = elem_type,
                                     .dims = dims,
                                     .raw_data = into.model.made_names.emplace_back(std::move(bytes))});
  return name;
}

}  // namespace

std::string_view MadeNodes::add(wire::NodeProto node) {
  node.output = {keep_name()};
  nodes.push_back(std::move(node));
  return nodes.back().output[0];
}

std::string_view MadeNodes::keep_name() {
  return model.made_names.emplace_back("stowage.fused." + std::to_string(model.made_names.size()));
}

std::string_view MadeNodes::constant(float value) {
  return make_constant(*this, operators::element::float32, {}, std::vector{value});
}
std::string_view MadeNodes::constants(const std::vector<std::int64_t>& values) {
  return make_constant(*this, operators::element::int64, {static_cast<std::int64_t>(values.size())}, values);
}
std::string_view MadeNodes::scalar(std::int64_t value) {
  return make_constant(*this, operators::element::int64, {}, std::vector{value});
}
std::string_view MadeNodes::scalar(std::int32_t value) {
  return make_constant(*this, operators::element::int32, {}, std::vector{value});
}

std::string_view MadeNodes::scaled_product(std::string_view name, std::vector<std::string_view> product,
                                           const std::vector<std::string_view>& scales,
                                           std::string_view bias) {
  while (product.back().empty()) product.pop_back();
  const std::string_view sums = add({.name = name, .op_type = "MatMulInteger", .input = std::move(product)});
  const std::string_view reals =
      add({.name = name,
           .op_type = "Cast",
           .input = {sums},
           .attribute = {{.name = "to", .value = std::int64_t{operators::element::float32}}}});
  const std::string_view scale = add({.name = name, .op_type = "Mul", .input = scales});
  const std::string_view result = add({.name = name, .op_type = "Mul", .input = {reals, scale}});
  return bias.empty() ? result : add({.name = name, .op_type = "Add", .input = {result, bias}});
}

}  // namespace stowage::import
