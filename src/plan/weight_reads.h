#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stowage/import.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// A step that reads a constant, or these rows of it.
struct ReadOfConstant {
  Position at = 0;
  Bytes bytes = 0;
  std::optional<RowRange> rows{};
  bool is_of_bodies = false;  ///< By an operator with bodies (If, Loop), or in one of them.
};

/// In the order of time.
using ReadsOfConstant = std::vector<ReadOfConstant>;

/// Of each tensor of the plan: the steps that read it, if it is a constant, else none. A step reads all of a constant, or
/// what its block needs. Steps of several clocks are one after the other.
[[nodiscard]] std::vector<ReadsOfConstant> reads_of_constants(std::span<const Input> inputs,
                                                              const Plan& plan);

}  // namespace stowage::plan
