#pragma once

#include <span>
#include <vector>

#include "stowage/import.h"
#include "stowage/plan.h"
#include "stream/timetable.h"

namespace stowage::plan {

/// Steps of one clock that read a constant, in the order of time.
using ReadsOfConstant = std::vector<stream::RowAccess>;

/// Of each tensor of the plan: the steps that read it and how many bytes of it, if it is a constant, else none. A step
/// reads all of a constant, or what its block needs. Steps of several clocks are one after the other.
[[nodiscard]] std::vector<ReadsOfConstant> reads_of_constants(std::span<const Input> inputs,
                                                              const Plan& plan);

}  // namespace stowage::plan
