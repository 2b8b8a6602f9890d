#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "import/onnx_values.h"
#include "import/onnx_wire.h"

/// What the operators of onnx_evaluate.cc are computed with.
namespace stowage::import::evaluation {

/// A node under evaluation: its known inputs, and its result so far.
struct Evaluation {
  const wire::NodeProto& node;
  std::span<const Value* const> inputs;
  NearbyFiles* files = nullptr;  ///< Of tensors in attributes.
  Value result{};
  std::size_t count = 0;  ///< Elements of the result.
  std::size_t output = 0;

  [[nodiscard]] bool has(std::size_t input) const {
    return input < inputs.size() && inputs[input] != nullptr;
  }
  [[nodiscard]] const Value& in(std::size_t input) const { return *inputs[input]; }
  [[nodiscard]] bool is_left_out(std::size_t input) const {
    return input >= node.input.size() || node.input[input].empty();
  }
  [[nodiscard]] std::int64_t attribute(std::string_view name, std::int64_t otherwise) const {
    const auto* const integer = find<std::int64_t>(name);
    return integer != nullptr ? *integer : otherwise;
  }
  [[nodiscard]] std::string_view text(std::string_view name, std::string_view otherwise) const {
    const auto* const held = find<std::string_view>(name);
    return held != nullptr ? *held : otherwise;
  }
  [[nodiscard]] bool has_attribute(std::string_view name) const {
    return std::ranges::find(node.attribute, name, &wire::AttributeProto::name) != node.attribute.end();
  }
  /// Null if there is no such attribute.
  [[nodiscard]] const Shape* numbers(std::string_view name) const { return find<Shape>(name); }

 private:
  template <typename Held>
  [[nodiscard]] const Held* find(std::string_view name) const {
    for (const wire::AttributeProto& it : node.attribute) {
      const auto* const held = it.get<Held>();
      if (it.name == name && held != nullptr) return held;
    }
    return nullptr;
  }
};

/// The element of a broadcast operand for `index` of the result.
[[nodiscard]] std::size_t broadcast_index(std::size_t index, const Shape& result, const Shape& operand);
[[nodiscard]] bool broadcasts_to(const Shape& operand, const Shape& result);

void append(const Value& from, std::size_t begin, std::size_t count, Value& to);
/// The number of elements in these dimensions.
[[nodiscard]] std::size_t elements_in(const Shape& shape, std::size_t begin, std::size_t end);
/// An axis counted from the front; none if there is none.
[[nodiscard]] std::optional<std::size_t> axis_in(std::int64_t axis, std::size_t rank);

// Operators that only move elements, in onnx_evaluate_moves.cc. They return false if they cannot be computed.

[[nodiscard]] bool compute_concat(Evaluation& it);
[[nodiscard]] bool compute_expand(Evaluation& it);
[[nodiscard]] bool compute_gather(Evaluation& it);
[[nodiscard]] bool compute_gather_elements(Evaluation& it);
[[nodiscard]] bool compute_gather_slices(Evaluation& it);
[[nodiscard]] bool compute_pad(Evaluation& it);
[[nodiscard]] bool compute_scatter_elements(Evaluation& it);
[[nodiscard]] bool compute_scatter_slices(Evaluation& it);
[[nodiscard]] bool compute_slice(Evaluation& it);
[[nodiscard]] bool compute_tile(Evaluation& it);
[[nodiscard]] bool compute_transpose(Evaluation& it);

// Operators that depend on the order or the place of elements, in onnx_evaluate_order.cc.

[[nodiscard]] bool compute_clip(Evaluation& it);
[[nodiscard]] bool compute_compress(Evaluation& it);
[[nodiscard]] bool compute_place_of_extreme(Evaluation& it, int sign);
[[nodiscard]] bool compute_places_of_nonzero(Evaluation& it);
[[nodiscard]] bool compute_reversed_sequences(Evaluation& it);
[[nodiscard]] bool compute_top(Evaluation& it);
[[nodiscard]] bool compute_triangle(Evaluation& it);
[[nodiscard]] bool compute_unique(Evaluation& it);

}  // namespace stowage::import::evaluation
