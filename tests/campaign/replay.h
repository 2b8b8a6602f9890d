#pragma once

#include <cstdint>
#include <span>

#include "case.h"
#include "facts.h"
#include "stowage/plan.h"

namespace stowage::campaign {

/// How much a replay has looked at.
struct ReplayTally {
  std::int64_t steps = 0;
  std::int64_t bytes = 0;      ///< That were read and had the right name.
  std::int64_t in_place = 0;   ///< Bytes that were written over what the same operator read.
  std::int64_t kept = 0;       ///< Bytes that an operator found in place.
  std::int64_t ambiguous = 0;  ///< Bytes with several living views in one memory, not all of them right.
  std::int64_t left_out = 0;   ///< Plans with blocks or carried buffers.
};

/// Plays the plan's steps over memory in which every byte has a name, from the documents alone. Empty:
/// whatever an operator reads is there. `seed` decides the
/// turns of what runs at the same time, and which body an If runs; a few of these are tried.
[[nodiscard]] Findings replay(const Networks& networks, const Plan& plan, std::uint64_t seed,
                              ReplayTally& tally);

}  // namespace stowage::campaign
