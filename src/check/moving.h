#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "check/sharing.h"
#include "model/motions.h"
#include "stowage/plan.h"

namespace stowage::check {

/// The fault in how the views of a tensor move with open extents (View::moves); none if there is none. `largest` are those
/// of its model.
[[nodiscard]] std::optional<std::string> fault_in_moves(const PlannedTensor& tensor,
                                                        const model::Extents& largest);

/// The largest extents of a model, by what the plan says of its tensors.
[[nodiscard]] model::Extents largest_extents(const Plan& plan, std::size_t model);

/// The first byte of the buffer that the view of a tensor may have at any sizes, and the end of the last.
[[nodiscard]] std::pair<Bytes, Bytes> reach_of(const Tensor& tensor, const View& view,
                                               const model::Extents& largest);

/// What the caller, a body or another model knows does not move, nor what moves between memories.
void check_what_stays(const Plan& plan, const Network& network, Faults& faults);

}  // namespace stowage::check
