#pragma once

#include <cstdint>

#include "stowage/plan.h"

namespace stowage::exporting {

/// Of what choices a plan's peak is proven to be the least.
enum class Proof : std::uint8_t {
  nothing,
  offsets,    ///< Of all offsets of its buffers.
  memories,   ///< The same in the memories that were chosen; others may need less.
  rows,       ///< Of all orders of its rows.
  operators,  ///< Of all orders of whole operators; rows were asked for.
  plan        ///< Of all plans that were asked for.
};

[[nodiscard]] Proof proof_of(const Plan& plan);

/// The claim about orders of rows; null if there is none.
[[nodiscard]] const Claim* claim_of_rows(const Plan& plan);

}  // namespace stowage::exporting
