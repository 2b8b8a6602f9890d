#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stowage/network.h"
#include "stowage/plan.h"

namespace stowage::testing {

/// Runs a plan of NetworkMaker's networks in nothing but an array of bytes for each memory: every step reads
/// and writes the addresses that the plan says, whatever the plan says of lives, buffers or pieces. Branches
/// take turns that the seed decides; what runs at a pause does so once, twice or not at all. Beside it every tensor is computed in memory of its own.
///
/// Returns the outputs, MODEL.TENSOR, whose bytes are not what they should be when the caller reads them:
/// those that are released when their model has run, all others after the last step of all, or of what runs at a pause.
[[nodiscard]] std::vector<std::string> lost_outputs(const std::vector<Network>& networks, const Plan& plan,
                                                    std::uint64_t seed);

}  // namespace stowage::testing
