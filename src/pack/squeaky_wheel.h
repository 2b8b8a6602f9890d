#pragma once

#include <vector>

#include "pack/container.h"
#include "pack/placing.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// In one memory: the lowest placing of many passes, see squeaky_wheel.cc. The
/// neighbours are those of its buffers. Ends when one is at most `enough`
/// high, or when nothing gets lower. Empty if the time is up before the first pass ends.
[[nodiscard]] std::vector<Place> squeaky_wheel(const Problem& problem, const Neighbours& neighbours,
                                               Bytes enough, const Control& control);

}  // namespace stowage::pack
