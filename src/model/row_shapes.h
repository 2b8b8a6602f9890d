#pragma once

#include <cstddef>

#include "model/row_rules.h"

/// What operators read that only move elements about.
namespace stowage::model {

/// Rows are runs of elements if all dimensions in front are one; or nothing changed up to the axis.
[[nodiscard]] Reading reshape(const Site& site, std::size_t input, std::size_t axis);

[[nodiscard]] Reading transpose(const Site& site, std::size_t input, std::size_t axis);

[[nodiscard]] Reading concat(const Site& site, std::size_t input, std::size_t axis);

/// Along another axis only: there every output has all the rows.
[[nodiscard]] Reading split(const Site& site, std::size_t input, std::size_t axis);

[[nodiscard]] Reading slice(const Site& site, std::size_t input, std::size_t axis);

[[nodiscard]] Reading pad(const Site& site, std::size_t input, std::size_t axis);

}  // namespace stowage::model
