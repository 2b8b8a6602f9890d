#pragma once

#include <span>

#include "operators/facts.h"

/// The rows of each family, in a file of its name.
namespace stowage::operators {

[[nodiscard]] std::span<const Facts> contrib_family();
[[nodiscard]] std::span<const Facts> control_family();
[[nodiscard]] std::span<const Facts> elementwise_family();
[[nodiscard]] std::span<const Facts> image_family();
[[nodiscard]] std::span<const Facts> index_family();
[[nodiscard]] std::span<const Facts> ml_family();
[[nodiscard]] std::span<const Facts> move_family();
[[nodiscard]] std::span<const Facts> norm_family();
[[nodiscard]] std::span<const Facts> product_family();
[[nodiscard]] std::span<const Facts> reduce_family();
[[nodiscard]] std::span<const Facts> sequence_family();
[[nodiscard]] std::span<const Facts> window_family();

}  // namespace stowage::operators
