/// Naive streamed plans. Example:
///
///     oracle::Choices choices(17);
///     const Graph graph = random_row_graph(choices);
///     const Plan plan = naive_stream_plan(graph, choices);
///     EXPECT_TRUE(check_plan(plan, {&graph, 1}).empty());
#pragma once

#include "oracle/random_graph.h"
#include "row_sketch.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::cases {

/// Steps of a few rows in some order that works, and every tensor somewhere: whole, in a ring, or in views of
/// a few rows; some rows run again, some written over the rows they are made of, where that may be right.
/// Mostly right, but not always.
[[nodiscard]] Plan naive_stream_plan(const Graph& graph, oracle::Choices& choices);

}  // namespace stowage::cases
