#pragma once

#include <optional>
#include <vector>

#include "base/deadline.h"
#include "model/blocks.h"
#include "plan/draft.h"
#include "plan/row_placing.h"
#include "stowage/import.h"
#include "stowage/options.h"
#include "stowage/plan.h"
#include "stream/instances.h"

namespace stowage::plan {

/// What a search for rows of one network has found.
struct NetworkRows {
  Plan whole{};    ///< If there are no rows: whole operators, and why that is all.
  RowsPtr rows{};  ///< Null: no plan by rows is lower than whole operators.
  ProvenBounds bounds{};
  std::optional<Attempt> from{};                ///< What `rows` are made from; none for blocks.
  std::optional<model::SplitNetwork> blocks{};  ///< The network of blocks that `rows` are of.
  std::vector<LeftOut> left_out{};              ///< By the search for `rows`.
  bool is_cut = false;                          ///< With more time there may be a lower plan.
};

/// Whether the plan has state of the network that is no input and no output. TFLite's runtime keeps its variables itself.
[[nodiscard]] bool keeps_state(const Input& input);

/// Searches for the lowest plan of a network in the only memory of `options`; see row_rounds.cc. What it passes to other
/// networks, and gets from them, is where `passed` says. Throws UsageError for networks that cannot hand rows over as
/// the options say.
[[nodiscard]] NetworkRows rows_of(const Input& input, const PlanOptions& options,
                                  const stream::PassedIo& passed, const base::Deadline& deadline);

}  // namespace stowage::plan
