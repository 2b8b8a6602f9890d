#pragma once

#include <cstddef>
#include <optional>

#include "check/replay.h"
#include "model/clock_tree.h"

namespace stowage::check {

/// Finds the view that holds each value during its whole live range; none is a fault. In a plan by rows, two views of a
/// row at a time are a fault, too. Live ranges are cut where views of rows begin or end and where rings wrap around. In
/// a plan of whole operators, a view may end where an operator may write over its tensor. Tensors that move bring their
/// needs (Played::followed). Consumes the live ranges of `played`. Cost: n log n in live ranges and views, if no two views of a tensor are live together.
[[nodiscard]] Needs place(const NetworkSteps& part, const model::ClockTree& tree, Played& played,
                          Faults& faults);

/// Faults of needs that outlive their view, because nothing writes over them.
void check_ends(const NetworkSteps& part, const model::ClockTree& tree, const Played& played,
                const Needs& needs, Faults& faults);

/// The live range of the need, up to `upper`, and of what is beyond, as another clock sees it; none if part of it is not
/// visible from there.
[[nodiscard]] std::optional<Lifetime> life_on(std::size_t clock, const NetworkSteps& part,
                                              const Played& played, const KeptBytes& need, Position upper,
                                              const model::ClockTree& tree);

/// The rows of its tensor that a view has.
[[nodiscard]] Rows rows_in(const View& view, const TensorRows& rows);

/// Puts the rows of the need where they are in a whole view.
void put_in_whole(const View& view, const TensorRows& rows, KeptBytes& need);

}  // namespace stowage::check
