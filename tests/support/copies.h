#pragma once

#include <string>

#include "stowage/graph.h"

namespace stowage::testing {

/// What an operator passes on: "0 > 0: 96" for all 96 bytes of input 0 to output 0, with "@24" behind
/// an operand whose bytes begin there; or "must copy: " and why; or "" when it is none of these.
[[nodiscard]] inline std::string show_copies(const Operator& op) {
  std::string text;
  const auto at = [](Bytes offset) { return offset == 0 ? "" : "@" + std::to_string(offset); };
  for (const ByteCopy& copy : op.copies) {
    text += (text.empty() ? "" : ", ") + std::to_string(copy.input) + at(copy.from) + " > " +
            std::to_string(copy.output) + at(copy.to) + ": " + std::to_string(copy.size);
  }
  return op.must_copy.empty() ? text : text + "must copy: " + op.must_copy;
}

}  // namespace stowage::testing
