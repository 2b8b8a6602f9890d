#include "import/onnx_given.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "base/text.h"
#include "import/given_values.h"
#include "import/open_sizes.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

template <typename Visit>
void for_each_dimension_name(const wire::TypeProto& type, Visit visit) {
  if (type.element != nullptr) for_each_dimension_name(*type.element, visit);
  if (!type.shape) return;
  for (std::size_t axis = 0; axis < type.shape->size(); ++axis) {
    if (!(*type.shape)[axis].name.empty()) visit(std::string((*type.shape)[axis].name), axis);
  }
}

void collect_dimension_names(const wire::GraphProto& graph, std::set<std::string_view>& names) {
  for (const auto* values : {&graph.input, &graph.output, &graph.value_info}) {
    for (const wire::ValueInfoProto& value : *values) {
      if (!value.type || !value.type->shape) continue;
      for (const wire::Dimension& dimension : *value.type->shape) names.insert(dimension.name);
    }
  }
}

void expect_known_names(const OnnxGraph& model, const ImportOptions& options) {
  std::set<std::string_view> dimensions;
  for (const wire::GraphProto* const proto : model.protos) collect_dimension_names(*proto, dimensions);
  dimensions.erase("");  // unnamed dimensions
  for (const auto& named : model.named) dimensions.insert(named->names.begin(), named->names.end());
  std::set<std::string_view> tensors;
  if (!options.shapes.empty() || !options.bounds.empty()) {
    for (const Tensor& tensor : model.graph.tensors) tensors.insert(tensor.name);
  }
  tensors.erase("");
  const auto expect = [](const auto& given, const std::set<std::string_view>& known, std::string_view flag,
                         std::string_view what) {
    for (const auto& [name, value] : given) {
      if (!known.contains(name))
        throw UsageError(
            fmt::format("{}: the model has no {} {}{}", flag, what, base::quoted(name),
                        base::did_you_mean(name, std::vector<std::string>(known.begin(), known.end()))));
    }
  };
  expect(options.dims, dimensions, "--dim", "symbolic dimension");
  expect(options.shapes, tensors, "--shape", "tensor");
  expect(options.bounds, tensors, "--bound", "tensor");
}

void expect_sizes(const ImportOptions& options) {
  const auto expect = [](std::string_view flag, const std::string& name, const GivenSize& size) {
    if (size.most < 0 || size.most > largest_value)
      throw UsageError(fmt::format("{} {}: {} is no size, expected 0 to {}", flag, base::quoted(name),
                                   size.most, largest_value));
    if (size.least && (*size.least < 0 || *size.least > size.most))
      throw UsageError(
          fmt::format("{} {}: {}..{} is no range of sizes, expected the smallest before the largest", flag,
                      base::quoted(name), *size.least, size.most));
    expect_steps(flag, name, size);
  };
  for (const auto& [name, size] : options.dims) expect("--dim", name, size);
  for (const auto& [name, shape] : options.shapes) {
    for (const GivenSize& size : shape) expect("--shape", name, size);
  }
  for (const auto& [name, size] : options.bounds) expect("--bound", name, size);
}

/// The file's name for a dimension; empty if it has none.
std::string dimension_name(const Type& type, const wire::TypeProto* declared, std::size_t axis) {
  const bool has_names =
      declared != nullptr && declared->shape && declared->shape->size() == type.dims->size();
  return has_names ? std::string((*declared->shape)[axis].name) : "";
}

/// "--shape x=2,N" with this text for each open extent.
std::string shape_with(const Type& type, const std::string& tensor, std::string_view size) {
  std::string text = fmt::format("--shape {}=", base::shell_word(tensor));
  for (std::size_t d = 0; d < type.dims->size(); ++d) {
    const Dim& dim = (*type.dims)[d];
    text += fmt::format("{}{}", d == 0 ? "" : ",", dim ? std::to_string(*dim) : std::string(size));
  }
  return text;
}

/// The option that gives the open sizes of a tensor as this text.
std::string option_with(const Type& type, const wire::TypeProto* declared, const std::string& tensor,
                        std::string_view size) {
  if (!has_element_type(type)) return fmt::format("--bound {}=SIZE", base::shell_word(tensor));
  if (!type.dims) return fmt::format("--shape {}={},...", base::shell_word(tensor), size);
  const auto open = std::ranges::find(*type.dims, Dim());
  const std::string name =
      open == type.dims->end()
          ? ""
          : dimension_name(type, declared, static_cast<std::size_t>(open - type.dims->begin()));
  return name.empty() ? shape_with(type, tensor, size)
                      : fmt::format("--dim {}={}", base::shell_word(name), size);
}

}  // namespace

void expect_sound_options(const OnnxGraph& model, const ImportOptions& options) {
  expect_known_names(model, options);
  expect_sizes(options);
}

ImportOptions with_sizes_of_values(const OnnxGraph& model, const ImportOptions& options) {
  expect_values_of_inputs(options, model.graph);
  ImportOptions result = options;
  for (const TensorId input : model.graph.subgraphs[0].inputs) {
    const std::string& name = model.graph.tensors[input].name;
    const auto given = options.values.find(name);
    if (given == options.values.end() || options.shapes.contains(name) || model.declared[input] == nullptr)
      continue;
    const wire::TypeProto& declared = *model.declared[input];
    const Type type = declared_type(declared, options.dims);
    if (!type.dims) {
      result.shapes.emplace(name, GivenShape{static_cast<std::int64_t>(given->second.size())});
      continue;
    }
    const Dims dims = dims_of_value(name, given->second, *type.dims);
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (!(*type.dims)[d]) result.dims.emplace(dimension_name(type, &declared, d), *dims[d]);
  }
  return result;
}

GivenSizes::GivenSizes(const OnnxGraph& model, const ImportOptions& options)
    : model_(model), options_(options) {
  if (options.dims.empty() && options.shapes.empty() && options.bounds.empty()) return;
  own_.resize(model.graph.tensors.size());
  is_input_.resize(model.graph.tensors.size());
  for (const TensorId input : model.graph.subgraphs[0].inputs) is_input_[input] = true;
  for (TensorId t = 0; t < own_.size(); ++t) {
    if (model.declared[t] != nullptr) own_[t] = declared_type(*model.declared[t], {});
  }
}

void GivenSizes::know(TensorId tensor, const Type& type) {
  if (own_.empty()) return;
  Type& own = own_[tensor];
  if (!own.dims || !type.dims || own.dims->size() != type.dims->size()) {
    if (type.dims) own = type;
    return;
  }
  for (std::size_t d = 0; d < own.dims->size(); ++d) {
    if ((*type.dims)[d]) (*own.dims)[d] = (*type.dims)[d];
  }
  if (own.elem_type == 0) own.elem_type = type.elem_type;
}

ImportOptions GivenSizes::ranges(const Types& types) const {
  ImportOptions result = options_;
  if (own_.empty()) return result;
  range_shapes(types, result);
  range_dims(types, result);
  expect_bounds_used(types);
  return result;
}

bool GivenSizes::decides(TensorId tensor, std::size_t axis) const {
  const auto& dims = own_[tensor].dims;
  return !dims || axis >= dims->size() || !(*dims)[axis];
}

std::vector<TensorId> GivenSizes::named(const std::string& name) const {
  std::vector<TensorId> tensors;
  for (TensorId t = 0; t < own_.size(); ++t) {
    if (model_.graph.tensors[t].name == name) tensors.push_back(t);
  }
  return tensors;
}

std::string GivenSizes::own_words(const std::vector<TensorId>& tensors, const Types& types) const {
  if (tensors.empty()) return "it is in a branch that is never taken";
  const TensorId tensor = tensors.front();
  return fmt::format("{} is {} without it", describe(model_.graph, tensor), show_type(types[tensor]));
}

void GivenSizes::range_shapes(const Types& types, ImportOptions& result) const {
  for (auto& [name, shape] : result.shapes) {
    const std::vector<TensorId> tensors = named(name);
    bool has_effect = false;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto is_open = [&](TensorId t) { return decides(t, axis); };
      GivenSize& size = shape[axis];
      if (std::ranges::none_of(tensors, is_open)) {
        if (is_range(size))
          throw UsageError(fmt::format("--shape {}: dimension {} is a range, but {}", base::quoted(name),
                                       axis, own_words(tensors, types)));
        size = exactly(size);
        continue;
      }
      has_effect = true;
      const bool is_computed = std::ranges::any_of(tensors, [&](TensorId t) { return !is_input_[t]; });
      size = is_computed || size.least ? at_most(size) : exactly(size);
    }
    const bool gives_rank = std::ranges::any_of(tensors, [&](TensorId t) { return !own_[t].dims; });
    if (!has_effect && !gives_rank && !options_.inputs.contains(name))
      throw UsageError(
          fmt::format("--shape {}: has no effect, as {}", base::quoted(name), own_words(tensors, types)));
  }
}

void GivenSizes::range_dims(const Types& types, ImportOptions& result) const {
  if (result.dims.empty()) return;
  std::map<std::string, TensorId> elsewhere;
  std::set<std::string> used;
  std::set<std::string> of_caller;
  for (TensorId t = 0; t < own_.size(); ++t) {
    if (model_.declared[t] == nullptr) continue;
    const bool has_shape = result.shapes.contains(model_.graph.tensors[t].name);
    const bool is_tensor = model_.declared[t]->kind == Type::Kind::tensor;
    for_each_dimension_name(*model_.declared[t], [&](const std::string& name, std::size_t axis) {
      elsewhere.try_emplace(name, t);
      if (is_tensor && (has_shape || !decides(t, axis))) return;
      used.insert(name);
      if (is_input_[t]) of_caller.insert(name);
    });
  }
  for (auto& [name, size] : result.dims) {
    if (!used.contains(name)) {
      const auto other = elsewhere.find(name);
      throw UsageError(fmt::format("--dim {}: has no effect{}", base::quoted(name),
                                   other == elsewhere.end() ? std::string(", as no tensor depends on it")
                                                            : ", as " + own_words({other->second}, types)));
    }
    size = of_caller.contains(name) && !size.least ? exactly(size) : at_most(size);
  }
}

void GivenSizes::expect_bounds_used(const Types& types) const {
  for (const auto& [name, bytes] : options_.bounds) {
    const std::vector<TensorId> tensors = named(name);
    if (std::ranges::any_of(tensors, [&](TensorId t) { return bounded_.contains(t); })) continue;
    throw UsageError(
        fmt::format("--bound {}: has no effect, as {}", base::quoted(name), own_words(tensors, types)));
  }
}

std::string option_for(const Type& type, const wire::TypeProto* declared, const std::string& tensor) {
  return option_with(type, declared, tensor, "N");
}

std::string how_to_give(const Type& type, const wire::TypeProto* declared, const std::string& tensor,
                        bool is_input) {
  const std::string one = option_with(type, declared, tensor, "N");
  if (!has_element_type(type)) return fmt::format("has no known element type; give its bytes with {}", one);
  const std::string other = option_with(type, declared, tensor, is_input ? "..N" : "N..N");
  const std::string remedy =
      fmt::format("give it with {} ({} N) or {} ({} N), or its bytes at most with --bound {}=SIZE", one,
                  is_input ? "exactly" : "at most", other, is_input ? "every size up to" : "exactly", tensor);
  if (!type.dims) return "has no known shape; " + remedy;
  const auto open = std::ranges::find(*type.dims, Dim());
  if (open == type.dims->end()) return "has no known size";
  const auto axis = static_cast<std::size_t>(open - type.dims->begin());
  const std::string name = dimension_name(type, declared, axis);
  if (!name.empty())
    return fmt::format("has the symbolic dimension {} at {}; {}; all of its shape with {}",
                       base::quoted(name), axis, remedy, shape_with(type, tensor, "N"));
  return fmt::format("has no known dimension {} in {}; {}", axis, show_type(type), remedy);
}

}  // namespace stowage::import
