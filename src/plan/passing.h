#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plan/arrangement.h"
#include "plan/composition.h"
#include "plan/context.h"
#include "share/feeds.h"
#include "share/timeline.h"
#include "stowage/options.h"
#include "stowage/plan.h"
#include "stream/instances.h"

namespace stowage::plan {

/// Networks with their names, in the order of models.
[[nodiscard]] std::vector<share::NamedGraph> graphs_of(const Context& context);

/// The clocks of the options' run expression, with these steps of each network.
[[nodiscard]] share::Timeline timeline_of(const Context& context, std::vector<Clock> clocks);

/// What the options have networks feed, release and keep.
[[nodiscard]] Passing passing_on(const Context& context, std::span<const share::NamedGraph> graphs,
                                 const share::Timeline& timeline);

/// Residences of tensors that a network passes to others, gets from them, or leaves when its branch ends.
[[nodiscard]] PassedTensors passed_tensors(std::size_t model, const share::Timeline& timeline,
                                           const Passing& passing);

/// Whether the options allow moves, and all networks run one after the other: others do not move.
[[nodiscard]] bool rows_may_move(const Context& context);

/// For each network, the tensors that it passes to others, gets from them, or leaves behind its branch, and where they are
/// while it runs by rows. `io` is where all others are.
[[nodiscard]] std::vector<stream::PassedIo> passed_by_rows(const Context& context, Io io);

}  // namespace stowage::plan
