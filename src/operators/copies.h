#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "stowage/graph.h"

namespace stowage::operators {

/// Part of a tensor: on each dimension, `extent` elements from `start` on.
struct Region {
  Shape start{};
  Shape extent{};
};

/// Fills in the copies of one operator, or why it must copy. The importers read axes and similar values from
/// their files and describe the operator with these calls; values may be out of range.
class CopyFinder {
 public:
  /// Why an input's bytes would have another meaning in that output; empty if they would not.
  using Objection = std::function<std::string(std::size_t input, std::size_t output)>;

  /// Messages call the operator `name`, for example "concat".
  CopyFinder(const Graph& graph, Operator& op, std::string name, Objection objection = {});

  /// The operator has no copies: it must copy everything.
  void refuse(const std::string& why);

  /// Output 0 repeats the elements of input 0 in their order.
  void pass_whole();
  /// The same, unless the operator left out or repeated an element.
  void pass_if_equal();
  /// Output 0 has the dimensions of input 0 in this order.
  void transpose(const Shape& order);
  /// Output 0 contains the inputs one after the other along an axis, or along a new one.
  void concatenate(std::int64_t axis);
  void stack(std::int64_t axis);
  /// The outputs are parts of an input along an axis. `sizes`, if known: the extents of all parts, which must
  /// agree with the outputs.
  void split(std::size_t input, std::int64_t axis, const std::optional<Shape>& sizes);
  /// The outputs are the parts at 0, 1, ... of input 0 along an axis, which they lack.
  void unstack(std::int64_t axis);
  /// Output 0 is this region of input 0.
  void take(const Region& region);
  /// Output 0 is the slice of input 0 at this index of an axis.
  void take_index(std::int64_t axis, std::int64_t index);

  /// The axis counted from the front; a negative one counts from the end. Refuses one out of range.
  [[nodiscard]] std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank);
  /// The shape of an operand; refuses an unknown shape.
  [[nodiscard]] std::optional<Shape> input_shape(std::size_t input);
  [[nodiscard]] std::optional<Shape> output_shape(std::size_t output);

 private:
  enum class Side : std::uint8_t { input, output };

  /// An operand that is a part of another one; none if it is omitted.
  struct Part {
    std::optional<std::size_t> operand{};
    Shape shape{};
  };

  [[nodiscard]] const Tensor* operand(Side side, std::size_t index) const;
  [[nodiscard]] std::optional<Shape> shape_of(Side side, std::size_t index);
  [[nodiscard]] std::string describe_operand(Side side, std::size_t index) const;
  void join(std::int64_t axis, bool is_new);
  void part(std::size_t input, std::int64_t axis, const std::optional<Shape>& sizes, bool is_lacking);
  void lay_out(Side side, std::size_t whole, const std::vector<Part>& parts, std::size_t axis);
  void add(Side side, std::size_t whole, std::size_t part, const Region& region);
  void add_run(const ByteCopy& copy);
  void note(const std::string& why);

  const Graph& graph_;
  Operator& op_;
  std::string name_;
  Objection objection_;
};

}  // namespace stowage::operators
