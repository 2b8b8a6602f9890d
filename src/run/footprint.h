#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "run/shadow.h"
#include "stowage/graph.h"

namespace stowage::run {

/// Where an operator's operands are; null where one is left out.
struct OperandPlaces {
  std::vector<const std::byte*> inputs{};
  std::vector<std::byte*> outputs{};
};

/// The bytes that the operator changes: its outputs, but for copies whose bytes are there already. What
/// several operators pass on may be in one place for all of their outputs.
[[nodiscard]] std::vector<ByteRange> written_by(const Graph& graph, const Operator& op,
                                                const OperandPlaces& operands);

/// Throws RunFault, naming the tensors, if the operator would write over bytes that it reads or writes as
/// another operand, other than element by element in place.
void expect_apart(const Graph& graph, const Operator& op, const OperandPlaces& operands,
                  const std::string& who);

}  // namespace stowage::run
