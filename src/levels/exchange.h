#pragma once

#include <vector>

#include "levels/memories.h"
#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::levels {

/// Offers refused buffers a place in a cheaper memory, in exchange for less worthy ones. Keeps exchanges that
/// improve the whole. See exchange.cc.
void exchange_refused(const Problem& problem, const Choices& choices, std::vector<Place>& places,
                      const pack::Control& control);

}  // namespace stowage::levels
