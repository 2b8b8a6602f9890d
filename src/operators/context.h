#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operators/attributes.h"
#include "operators/known.h"
#include "stowage/graph.h"

namespace stowage::operators {

/// For formats whose operators never changed: rules of ONNX are meant as they are now.
constexpr int newest_version = std::numeric_limits<int>::max();

/// The types of a node's inputs and outputs, its attributes and the known values of its inputs, as shape
/// rules see them. An operator's optional inputs may be asked for whether it has them or not. Formats fill
/// it.
class NodeContext {
 public:
  /// `version` is that of the node's operator set. `inputs` and `values` have an entry per input; null:
  /// omitted or unknown.
  NodeContext(AttributeViews attributes, int version, std::size_t outputs, std::vector<const Type*> inputs,
              std::vector<const Value*> values);

  [[nodiscard]] int version() const { return version_; }
  /// Whether it runs whenever the network does. If not, as in a branch, a runtime takes the model though its kernel would
  /// refuse the operands, so rules do not refuse them either.
  [[nodiscard]] bool always_runs() const { return always_runs_; }
  void set_always_runs(bool always) { always_runs_ = always; }
  [[nodiscard]] std::size_t inputs() const { return inputs_.size(); }
  [[nodiscard]] const std::vector<Type>& outputs() const { return outputs_; }

  [[nodiscard]] bool has(std::size_t input) const;
  /// The type of an input; one that is not known in any respect if it is omitted.
  [[nodiscard]] const Type& type(std::size_t input) const;
  /// The element type of an input; 0 if it is omitted.
  [[nodiscard]] int elem_type(std::size_t input) const { return type(input).elem_type; }
  /// The dimensions of an input; null if not even its rank is known.
  [[nodiscard]] const Dims* dims(std::size_t input) const;
  /// The same for an operator that takes only this rank. Throws Misfit for another one.
  [[nodiscard]] const Dims* dims(std::size_t input, std::size_t rank) const;
  /// The number of elements of an input.
  [[nodiscard]] Dim elements(std::size_t input) const;
  /// The dimensions of an input if all are known.
  [[nodiscard]] std::optional<Shape> shape(std::size_t input) const;
  /// The known value of an input, or null.
  [[nodiscard]] const Value* value(std::size_t input) const;
  /// The known integers or reals of an input; none if it is omitted or unknown.
  [[nodiscard]] std::optional<Shape> integers(std::size_t input) const;
  [[nodiscard]] std::optional<std::vector<double>> reals(std::size_t input) const;
  /// The only integer of an input.
  [[nodiscard]] Dim scalar(std::size_t input) const;

  [[nodiscard]] const AttributeViews& attributes() const { return attributes_; }
  [[nodiscard]] bool has_attribute(std::string_view name) const { return attributes_.find(name) != nullptr; }
  [[nodiscard]] std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
  [[nodiscard]] std::string_view text(std::string_view attribute, std::string_view otherwise) const;
  [[nodiscard]] std::optional<Shape> integer_list(std::string_view attribute) const;

  // What a rule finds. An output that the node leaves out is ignored.

  /// The file says of which type the elements are.
  void set_dims(std::size_t index, const std::optional<Dims>& dims) { set_output(index, 0, dims); }
  void set_output(std::size_t index, int elem_type, const std::optional<Dims>& dims);
  void set_shape(std::size_t index, int elem_type, const Shape& shape);
  void set_type(std::size_t index, const Type& type);

 private:
  AttributeViews attributes_;
  int version_;
  bool always_runs_ = true;
  std::vector<const Type*> inputs_;
  std::vector<const Value*> values_;
  std::vector<Type> outputs_;
};

/// Throws Misfit if an input that is repeated over these dimensions cannot be, in an operator that always runs.
void expect_spread(const NodeContext& node, std::size_t input, const std::optional<Dims>& over);

}  // namespace stowage::operators
