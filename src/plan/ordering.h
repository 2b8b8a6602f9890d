#pragma once

#include <vector>

#include "base/deadline.h"
#include "plan/context.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// Orders of a network's operators to plan in.
struct Ordering {
  std::vector<SchedulePtr> choices{};  ///< Least load first. Has the own order, and none with more load.
  OrderSearch search{};                ///< Of the first choice.
  bool is_cut_short = false;           ///< The search was truncated.
};

/// Orders of small load; see ordering.cc.
[[nodiscard]] Ordering ordering_of(const NetworkFacts& network, const base::Deadline& deadline);

}  // namespace stowage::plan
