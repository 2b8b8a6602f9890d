#pragma once

#include <vector>

#include "levels/memories.h"
#include "pack/placing.h"
#include "stowage/problem.h"

namespace stowage::levels {

/// Offers buffers that were refused a place in a cheaper memory, in exchange for less worthy ones; keeps
/// what makes the whole better. See exchange.cc.
void exchange_refused(const Problem& problem, const Choices& choices, std::vector<Place>& places,
                      const pack::Control& control);

}  // namespace stowage::levels
