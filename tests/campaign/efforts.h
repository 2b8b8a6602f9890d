#pragma once

#include "case.h"
#include "judge.h"

namespace stowage::campaign {

/// Plans with little effort and with much: what is claimed of the first must hold for the second.
[[nodiscard]] Findings judge_efforts(const Case& drawn, Tally& tally);

}  // namespace stowage::campaign
