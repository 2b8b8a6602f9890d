#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "stowage/import.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// Bytes of a buffer that a step reads or writes.
struct OperandBytes {
  std::size_t buffer = 0;
  Bytes offset = 0;
  Bytes bytes = 0;
};

/// A tensor, or the sums of an operator, in the parts that a step reads or writes.
using OperandParts = std::vector<OperandBytes>;

/// What the steps that run operators read and write, operand by operand, where the plan has it; see
/// operand_bytes.cc. The plan must be the planner's own.
[[nodiscard]] std::vector<std::vector<OperandParts>> operands_of(Plan plan, std::span<const Input> inputs);

}  // namespace stowage::plan
