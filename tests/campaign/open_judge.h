#pragma once

#include <string>

#include "case.h"
#include "judge.h"

namespace stowage::campaign {

/// Reads the network as a user does, who answers what he is asked for, plans it, and runs it at several sizes.
[[nodiscard]] Findings judge_open(const Case& drawn, Tally& tally);

/// The message without names and numbers, so that equal reasons are counted together.
[[nodiscard]] std::string reason_of(const std::string& message);

}  // namespace stowage::campaign
