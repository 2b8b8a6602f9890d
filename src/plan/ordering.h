#pragma once

#include <vector>

#include "base/deadline.h"
#include "plan/context.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// Orders of a network's operators that a plan may be made in.
struct Ordering {
  std::vector<SchedulePtr> choices{};  ///< Least load first, the own order among them; none has more load.
  OrderSearch search{};                ///< Of the first choice.
  bool is_cut_short = false;           ///< There was no time to look any further.
};

/// Orders of small load; see ordering.cc.
[[nodiscard]] Ordering ordering_of(const NetworkFacts& network, const base::Deadline& deadline);

}  // namespace stowage::plan
