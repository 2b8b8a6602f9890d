#pragma once

#include <functional>
#include <vector>

#include "open_values.h"

/// Operators that only move elements, by the standards; and what all operators need.
namespace stowage::campaign {

using OpenInputs = std::vector<const OpenValue*>;
using OpenIndex = std::vector<std::int64_t>;

/// Throws Misfit.
void want(bool is_right, const char* what);
[[nodiscard]] const std::vector<std::int64_t>& numbers_of(const OpenValue& value);
[[nodiscard]] std::size_t axis_of(std::int64_t axis, std::size_t rank);

/// The tensor whose elements come from where `source` says.
[[nodiscard]] Made moved(Elements elements, const Shape& shape, const OpenInputs& inputs,
                         const std::function<Origin(const OpenIndex&)>& source, World& world);
[[nodiscard]] Made computed(Elements elements, const Shape& shape, World& world);
[[nodiscard]] Shape broadcast(const Shape& one, const Shape& other);
[[nodiscard]] std::size_t broadcast_from(const Shape& from, const Shape& to, const OpenIndex& index);

[[nodiscard]] std::vector<Made> split(const OpenNode& node, const OpenInputs& inputs, World& world);
[[nodiscard]] Made concat(const OpenNode& node, const OpenInputs& inputs, World& world);
[[nodiscard]] Made slice(const OpenNode& node, const OpenInputs& inputs, World& world);
[[nodiscard]] Made gather(const OpenNode& node, const OpenInputs& inputs, World& world);
[[nodiscard]] Made pad(const OpenInputs& inputs, World& world);
[[nodiscard]] Made compress(const OpenNode& node, const OpenInputs& inputs, World& world);
[[nodiscard]] Made transpose(const OpenNode& node, const OpenInputs& inputs, World& world);
[[nodiscard]] Made tile(const OpenInputs& inputs, World& world);
[[nodiscard]] Made expand(const OpenInputs& inputs, World& world);

}  // namespace stowage::campaign
