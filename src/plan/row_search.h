#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/deadline.h"
#include "plan/row_placing.h"
#include "stowage/options.h"
#include "stowage/plan.h"

namespace stowage::plan {

struct FoundRows {
  std::optional<Attempt> from{};  ///< What the best is made from.
  std::optional<PlacedRows>
      best{};                 ///< None if time was up before the first plan, or if none is below the peak.
  Bytes bound = 0;            ///< Proven for all plans of the search; 0 if none is.
  bool is_cut = false;        ///< It was truncated, and a lower plan may exist.
  bool are_axes_cut = false;  ///< The choice of axes was truncated: the bound is of those that were found.
};

/// What is known of plans of whole operators.
struct WholeOperators {
  Bytes peak = 0;
  Bytes bound = 0;                   ///< Proven for every order and sharing; 0 if none is.
  std::vector<std::size_t> order{};  ///< Of the graph's operators, to try.
};

/// The lowest plan of the graph's rows below `peak`; see row_search.cc. `last` gets the rest of the time if none is below
/// the peak.
[[nodiscard]] FoundRows lowest_rows(const Graph& graph, const PlanOptions& options, const Around& around,
                                    const base::Deadline& deadline, WholeOperators whole, Bytes peak,
                                    std::optional<Attempt> last);

}  // namespace stowage::plan
