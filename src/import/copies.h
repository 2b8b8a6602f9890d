#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "stowage/graph.h"

namespace stowage::import {

/// Part of a tensor: on each dimension, `extent` elements from `start` on.
struct Region {
  Shape start{};
  Shape extent{};
};

/// Fills in the copies of one operator, or why it must copy. The importers read axes and the like
/// from their files and say here what the operator does; nothing that they say need be in range.
class CopyFinder {
 public:
  /// Why an input's bytes would mean something else in that output; empty when they would not.
  using Objection = std::function<std::string(std::size_t input, std::size_t output)>;

  /// Messages call the operator `name`, for example "concat".
  CopyFinder(const Graph& graph, Operator& op, std::string name, Objection objection = {});

  /// The operator has no copies, and must copy what it copies.
  void refuse(const std::string& why);

  /// Output 0 has the elements of input 0 in their order.
  void pass_whole();
  /// The same, if the operator left out no element and repeated none.
  void pass_if_equal();
  /// Output 0 has the dimensions of input 0 in this order.
  void transpose(const Shape& order);
  /// Output 0 has the inputs one behind the other along an axis, or along a new one.
  void concatenate(std::int64_t axis);
  void stack(std::int64_t axis);
  /// The outputs have parts of an input along an axis. `sizes`, of all outputs if they are known: the
  /// parts' extents, which outputs must agree with.
  void split(std::size_t input, std::int64_t axis, const std::optional<Shape>& sizes);
  /// The outputs have the parts at 0, 1, ... of input 0 along an axis, which they lack.
  void unstack(std::int64_t axis);
  /// Output 0 has this region of input 0.
  void take(const Region& region);
  /// Output 0 has what is at this index of an axis of input 0.
  void take_index(std::int64_t axis, std::int64_t index);

  /// An axis counted from the front; counted from the end it is negative. Refuses one out of range.
  [[nodiscard]] std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank);
  /// The shape of an operand; refuses where it is not known.
  [[nodiscard]] std::optional<Shape> input_shape(std::size_t input);
  [[nodiscard]] std::optional<Shape> output_shape(std::size_t output);

 private:
  enum class Side : std::uint8_t { input, output };

  /// An operand that is a part of another one; none where nobody wants it.
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

}  // namespace stowage::import
