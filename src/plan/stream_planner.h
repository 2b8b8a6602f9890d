#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "plan/stream_placing.h"
#include "stowage/import.h"
#include "stowage/options.h"
#include "stowage/plan.h"

namespace stowage::plan {

struct StreamSearch {
  std::optional<Attempt> from{};  ///< What the best is made from.
  std::optional<PlacedStream>
      best{};                 ///< None if time was up before the first plan, or if none is below the peak.
  Bytes bound = 0;            ///< Proven for all plans of the search; 0 if none is.
  bool is_cut = false;        ///< It was truncated, and a lower plan may exist.
  bool are_axes_cut = false;  ///< The choice of axes was truncated: the bound is of those that were found.
};

/// The lowest plan of the graph's rows below `peak`; see stream_planner.cc. `whole` is the plan of whole
/// operators, `order` another order of the graph's operators to try, `last` what gets the rest of the time if none is
/// below the peak.
[[nodiscard]] StreamSearch lowest_stream(const Input& input, const Graph& graph, const PlanOptions& options,
                                         const base::Deadline& deadline, const Plan& whole,
                                         std::vector<std::size_t> order, Bytes peak,
                                         std::optional<Attempt> last);

}  // namespace stowage::plan
