#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generate/sources.h"

/// Calls of kernels that move elements.
namespace stowage::generate {

/// A dimension of the output and the stride that it has in the input, in elements.
struct MoveDimension {
  std::int64_t extent = 1;
  std::int64_t stride = 0;
};

/// Writes the elements of these dimensions one after the other; the first one is element `begin` of the input. Throws
/// kernels::Unsupported for too many dimensions, once those that follow each other are joined.
void call_move(Writer& writer, const std::vector<MoveDimension>& dimensions, std::int64_t begin,
               const std::string& from, const std::string& to);

/// Writes all elements of the output from as many that follow each other.
void call_copy(Writer& writer, const std::string& from, const Operand& to);

/// Moves elements in the order in which our own kernel does, for a signature whose first input alone is computed.
void emit_order_of(Writer& writer, const kernels::Signature& signature);

/// Slice and STRIDED_SLICE whose begins or steps are computed.
void emit_computed_slice(Writer& writer);
void emit_computed_strided_slice(Writer& writer);

}  // namespace stowage::generate
