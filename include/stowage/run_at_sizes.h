/// Example: a plan for a range of sizes, at one of them.
///
///     try {
///       const std::vector<stowage::Network> range{stowage::read_network("missing.onnx")};
///       const std::vector<stowage::Network> exact{stowage::read_network("missing.onnx")};
///       return stowage::run_plan(range, stowage::Plan(), stowage::RunOptions(), exact).fault ? 0 : 1;
///     } catch (const stowage::Error& error) {
///       return std::string(error.what()).find("missing.onnx") != std::string::npos ? 0 : 1;
///     }
#pragma once

#include <span>

#include "stowage/network.h"
#include "stowage/plan.h"
#include "stowage/run.h"

namespace stowage {

/// Like `run_plan` with the networks of ranges at some sizes, as `graph_at` makes them. `exact` are the same networks as
/// read at these sizes, with more that is constant. A check compares the outputs with those of these networks, and all
/// tensors, if it compares these, with those of the others. No exact networks: as without them.
[[nodiscard]] RunResult run_plan(std::span<const Network> networks, const Plan& plan,
                                 const RunOptions& options, std::span<const Network> exact);

}  // namespace stowage
