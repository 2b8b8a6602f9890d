#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "import/onnx_types.h"
#include "import/onnx_values.h"
#include "import/onnx_wire.h"
#include "stowage/graph.h"

namespace stowage::import {

/// An operator whose inputs and attributes do not fit together.
class Misfit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Misfit with these words and numbers, one after the other.
template <typename... Words>
[[noreturn]] void misfit(const Words&... words) {
  std::ostringstream text;
  (text << ... << words);
  throw Misfit(text.str());
}

/// The types of a node's inputs and outputs, its attributes and the known values of its inputs, as shape rules
/// see them. An operator's optional inputs may be asked for whether it has them or not.
class NodeContext {
 public:
  /// `version` is that of the node's operator set. `inputs` and `values` have an entry per input; null:
  /// omitted or unknown.
  NodeContext(const wire::NodeProto& node, int version, std::vector<const Type*> inputs,
              std::vector<const Value*> values);

  [[nodiscard]] const wire::NodeProto& node() const { return node_; }
  [[nodiscard]] int version() const { return version_; }
  [[nodiscard]] std::size_t inputs() const { return inputs_.size(); }
  [[nodiscard]] std::vector<Type>& outputs() { return outputs_; }

  [[nodiscard]] bool has(std::size_t input) const;
  /// The type of an input; one that is not known in any respect if it is omitted.
  [[nodiscard]] const Type& type(std::size_t input) const;
  /// The element type of an input; 0 if it is omitted.
  [[nodiscard]] int elem_type(std::size_t input) const { return type(input).elem_type; }
  /// The dimensions of an input; null if not even its rank is known.
  [[nodiscard]] const Dims* dims(std::size_t input) const;
  /// The dimensions of an input if all are known.
  [[nodiscard]] std::optional<Shape> shape(std::size_t input) const;
  /// The known value of an input, or null.
  [[nodiscard]] const Value* value(std::size_t input) const;
  /// The known integers or reals of an input; none if it is omitted or unknown.
  [[nodiscard]] std::optional<Shape> integers(std::size_t input) const;
  [[nodiscard]] std::optional<std::vector<double>> reals(std::size_t input) const;
  /// The only integer of an input.
  [[nodiscard]] Dim scalar(std::size_t input) const;

  [[nodiscard]] const wire::AttributeProto* attribute(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
  [[nodiscard]] std::string_view text(std::string_view attribute, std::string_view otherwise) const;
  [[nodiscard]] std::optional<Shape> integer_list(std::string_view attribute) const;

  // What a rule finds. An output that the node leaves out is ignored.

  void set_output(std::size_t index, int elem_type, const std::optional<Dims>& dims);
  void set_shape(std::size_t index, int elem_type, const Shape& shape);
  void set_type(std::size_t index, const Type& type);

 private:
  const wire::NodeProto& node_;
  int version_;
  std::vector<const Type*> inputs_;
  std::vector<const Value*> values_;
  std::vector<Type> outputs_;
};

/// Sums and products of dimensions; throw Misfit on overflow. The result is unknown if one of them is.
[[nodiscard]] std::int64_t sum_of(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t product_of(std::int64_t a, std::int64_t b);
[[nodiscard]] Dim sum_of(const Dim& a, const Dim& b);
[[nodiscard]] Dim product_of(const Dim& a, const Dim& b);
/// The product of a range of dimensions.
[[nodiscard]] Dim product_of(const Dims& dims, std::size_t begin, std::size_t end);

/// A part of a dimension, rounded down; unknown if there are no parts.
[[nodiscard]] Dim quotient(const Dim& whole, const Dim& parts);

/// One dimension of an operand; unknown if there is no such dimension.
[[nodiscard]] Dim dim_at(const Dims* dims, std::size_t at);

/// What two dimensions that must be equal are; throws Misfit if they are not.
[[nodiscard]] Dim same_dim(const Dim& a, const Dim& b);

/// An axis counted from the front; a negative one counts from the end. Throws Misfit if there is none.
[[nodiscard]] std::size_t axis_in(std::int64_t axis, std::size_t rank);
/// The same for each of a list.
[[nodiscard]] std::vector<std::size_t> axes_in(const Shape& axes, std::size_t rank);

/// The dimensions of operands stretched to one another; unknown if one of them is (null).
[[nodiscard]] std::optional<Dims> broadcast_dims(const Dims* a, const Dims* b);

}  // namespace stowage::import
