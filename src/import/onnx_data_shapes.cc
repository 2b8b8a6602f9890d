#include "import/onnx_data_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "import/onnx_attributes.h"
#include "import/onnx_types.h"
#include "import/onnx_values.h"
#include "operators/facts.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

/// An operator of which a run may ask the shapes of outputs.
struct AskedRule {
  const wire::NodeProto* node = nullptr;
  std::string type{};
  int version = 1;
  std::vector<std::optional<Type>> inputs{};   ///< None: omitted.
  std::vector<std::optional<Value>> values{};  ///< Those that are constant.
  std::vector<bool> has_output{};
  std::shared_ptr<const void> holder{};

  [[nodiscard]] std::vector<std::optional<Shape>> shapes(
      const std::vector<std::optional<Value>>& known) const {
    std::vector<const Type*> types;
    std::vector<const Value*> pointers;
    for (const auto& input : inputs) types.push_back(input ? &*input : nullptr);
    for (const auto& value : known) pointers.push_back(value ? &*value : nullptr);
    operators::NodeContext context(views_of(*node), version, has_output.size(), std::move(types),
                                   std::move(pointers));
    infer_types(operators::Format::onnx, type, context);
    std::vector<std::optional<Shape>> found;
    for (std::size_t o = 0; o < has_output.size(); ++o) {
      const Type& output = context.outputs()[o];
      found.push_back(has_output[o] ? concrete_shape(output.dims) : std::nullopt);
    }
    return found;
  }

  [[nodiscard]] std::vector<std::optional<Shape>> shapes_of(
      std::span<const std::span<const std::byte>> bytes) const {
    std::vector<std::optional<Value>> known = values;
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i] || !inputs[i] || bytes[i].empty()) continue;
      wire::TensorProto tensor;
      tensor.data_type = inputs[i]->elem_type;
      tensor.dims = concrete_shape(inputs[i]->dims).value_or(Shape());
      tensor.raw_data = std::string_view(reinterpret_cast<const char*>(bytes[i].data()), bytes[i].size());
      known[i] = value_of(tensor);
    }
    try {
      return shapes(known);
    } catch (const Misfit& problem) {
      throw Error("", fmt::format("its inputs do not fit: {}", problem.what()));
    }
  }
};

}  // namespace

ShapesOfData shapes_of_data(const Operator& op, const wire::NodeProto& node, int version, const Types& types,
                            const Values& values, std::shared_ptr<const void> holder) {
  if (op.folded || !op.bodies.empty()) return {};
  AskedRule rule{.node = &node, .type = op.type, .version = version, .holder = std::move(holder)};
  bool reads_data = false;
  for (const auto& input : op.inputs) {
    if (input && !has_element_type(types[*input])) return {};
    rule.inputs.push_back(input ? std::optional(types[*input]) : std::nullopt);
    rule.values.push_back(input ? values[*input] : std::nullopt);
    reads_data = reads_data || (input && !values[*input] && concrete_shape(types[*input].dims) &&
                                small_count(types[*input].elem_type, *concrete_shape(types[*input].dims)));
  }
  if (!reads_data) return {};
  for (const auto& output : op.outputs) rule.has_output.push_back(output.has_value());
  try {
    const auto known = rule.shapes(rule.values);
    bool is_decided = true;
    for (std::size_t o = 0; o < known.size(); ++o)
      is_decided = is_decided && (!rule.has_output[o] || known[o]);
    if (is_decided) return {};
  } catch (const Misfit&) {
    return {};
  }
  return [rule = std::move(rule)](std::span<const std::span<const std::byte>> bytes) {
    return rule.shapes_of(bytes);
  };
}

}  // namespace stowage::import
