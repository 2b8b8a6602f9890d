#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "run/program.h"

namespace stowage::run {

/// Throws Error if the values of the operator's inputs, null if they are omitted, give its outputs other shapes
/// than the planned ones. `who` is the operator.
void expect_planned_shapes(const Program& program, std::size_t subgraph, std::size_t op,
                           std::span<const std::byte* const> inputs, const std::string& who);

}  // namespace stowage::run
