#pragma once

#include <vector>

#include "pack/container.h"
#include "pack/placing.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// In one memory: the lowest placing of many passes, see squeaky_wheel.cc. The neighbours are those of its
/// buffers. It ends when one is at most `enough` high, which no placing can be below, when nothing gets
/// lower, or after `control.rounds` more passes than one for each width of classes. Empty if the time is up
/// before the first pass ends, or if another placing is as low as `enough`.
[[nodiscard]] std::vector<Place> squeaky_wheel(const Problem& problem, const Neighbours& neighbours,
                                               Bytes enough, const Control& control);

}  // namespace stowage::pack
