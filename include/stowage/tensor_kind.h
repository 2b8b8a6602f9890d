/// Example:
///
///     const auto kind = stowage::tensor_kind_named("weight");
///     return kind && stowage::is_constant(*kind) ? 0 : 1;
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stowage {

/// The role of a tensor. No step writes weights and instructions.
enum class TensorKind : std::uint8_t { input, output, weight, instruction, temporary, state, scratch };

/// The kind's name in plans, messages and graph JSON.
[[nodiscard]] std::string_view name_of(TensorKind kind);
/// True for weights and instructions: no step writes them.
[[nodiscard]] bool is_constant(TensorKind kind);
/// The kind with that name; none if the name is unknown.
[[nodiscard]] std::optional<TensorKind> tensor_kind_named(std::string_view name);

}  // namespace stowage
