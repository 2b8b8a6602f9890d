/// Example: what a plan for n=1..2000 has wrong at n=777.
///
///     stowage::Graph range;
///     range.tensors = {{.name = "k", .kind = stowage::TensorKind::weight}};
///     range.subgraphs = {{.operators = {{.type = "Where", .outputs = {0}, .folded = true}}}};
///     stowage::Graph two = range;  // the model as read for 777 and 2000 alone
///     two.tensors[0].kind = stowage::TensorKind::temporary;
///     two.subgraphs[0].operators[0].folded = false;
///     return stowage::size_differences(range, two, "n=777").size() == 1 ? 0 : 1;
#pragma once

#include <string>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage {

/// What a plan for ranges of sizes relies on, and what does not hold at some sizes of these; `at` has them in words.
/// `range` is the model as read for the ranges, and `two` as read for these sizes and the largest alone, as by
/// --dim n=777..2000:1223. All that is closed, constant or copied for the ranges must be so for these two. Empty: the
/// readings agree. What follows from a constant that is none has no fault of its own.
[[nodiscard]] Faults size_differences(const Graph& range, const Graph& two, const std::string& at);

}  // namespace stowage
