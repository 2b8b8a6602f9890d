#pragma once

#include <cstdint>

#include "stowage/graph.h"
#include "stowage/network.h"
#include "stowage/plan.h"

namespace stowage::run {

/// Multiplies that a convolution or a product takes, those with padding counted alike; 0 for all others.
[[nodiscard]] std::int64_t multiplies_of(const Network& network, std::size_t op);

/// Those of some rows of its outputs.
[[nodiscard]] std::int64_t multiplies_of(const Network& network, std::size_t op, const RowRange& rows);

/// Those of all operators of the main subgraph that run.
[[nodiscard]] std::int64_t multiplies_of(const Network& network);

}  // namespace stowage::run
