#pragma once

#include <vector>

#include "pack/memories/memories.h"
#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::memories {

/// Offers refused buffers a place in a cheaper memory, in exchange for less worthy ones. Keeps exchanges that
/// improve the whole. See exchange.cc.
void exchange_refused(const Problem& problem, const Choices& choices, std::vector<Place>& places,
                      const pack::Control& control);

}  // namespace stowage::memories
