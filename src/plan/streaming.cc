// A network row by row:
//
//     whole operators      the plan that exists under any time limit
//     rows                 the lowest of all ways to stream (stream_planner.cc)
//     rows of blocks       the same for the network in blocks along a second axis, where that seems to help
//     the lowest of all    if peaks are equal, the plan of whole operators, which is simpler
//
// Planning ends when the peak fits the memory's capacity or reaches a bound, or when time is up.

#include "plan/streaming.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/deadline.h"
#include "model/blocks.h"
#include "plan/context.h"
#include "plan/draft.h"
#include "plan/networks.h"
#include "plan/stream_blocks.h"
#include "plan/stream_planner.h"
#include "plan/stream_ways.h"
#include "stowage/error.h"
#include "stream/blocks.h"
#include "stream/choose.h"
#include "stream/repeat.h"

namespace stowage::plan {
namespace {

using base::Deadline;
using Seconds = Deadline::Seconds;

constexpr std::int64_t work_on_blocks = 20'000'000;  // steps that are tried to choose blocks
constexpr double share_of_blocks = 0.1;              // of the time, to choose them
constexpr double share_of_unsplit = 0.4;             // for the network itself, if blocks may help

/// Plans operator by operator.
Plan plan_whole(std::span<const Input> inputs, const PlanOptions& options, const Deadline& deadline) {
  PlanOptions whole = options;
  whole.stream.reset();
  if (whole.io == Io::rows) whole.io = Io::arena;
  return plan_networks(Context(inputs, whole, deadline));
}

/// The operators in the order of the plan of whole operators.
std::vector<std::size_t> order_of(const Plan& whole, const Graph& graph) {
  std::vector<std::size_t> order;
  const auto& operators = graph.subgraphs[0].operators;
  for (std::size_t op = 0; op < operators.size(); ++op) {
    if (operators[op].folded) order.push_back(op);
  }
  for (const Step& step : whole.clocks[0].steps) order.push_back(std::get<Run>(step).path[1]);
  return order;
}

/// Iterations of a network of blocks that can be ordered and placed within the limit.
std::int64_t most_iterations_of(const SolveOptions& options) {
  using Effort = std::chrono::duration<double, std::milli>;
  const Seconds limit = options.effort ? Seconds(Effort(*options.effort)) : options.time_limit;
  constexpr double most = 12'000;  // beyond, packing them takes longer than they are worth
  constexpr double per_second = 1000;
  return static_cast<std::int64_t>(std::min(limit.count() * per_second, most));
}

/// The network in blocks where that seems to help; none if it does nowhere.
std::optional<model::SplitNetwork> blocks_that_help(const Graph& graph, const PlanOptions& options,
                                                    const Deadline& deadline) {
  if (options.stream->blocks == StreamBlocks::none) return std::nullopt;
  const stream::InstanceOptions instances{.granule = options.stream->granule, .io = ways_of(options)[0].io};
  const model::Splits splits = stream::split_where_it_helps(
      graph, instances, most_iterations_of(options.solve), {work_on_blocks, deadline.part(share_of_blocks)});
  return splits.empty() ? std::nullopt : std::optional(model::split(graph, splits));
}

/// None if nothing is below `peak`.
StreamSearch plan_blocks(const Input& input, const model::SplitNetwork& network, const PlanOptions& options,
                         const Deadline& deadline, const Plan& whole, Bytes peak) {
  const Graph blocks = model::stored(network);
  StreamSearch found =
      lowest_stream(input, blocks, options, deadline, whole, stream::once(blocks).operators, peak);
  if (found.best) found.best = in_network(std::move(*found.best), network);
  return found;
}

}  // namespace

Plan plan_streamed(std::span<const Input> inputs, const PlanOptions& options, const Deadline& deadline) {
  expect_to_stream(inputs, options);
  const Graph& graph = std::get<Graph>(inputs[0].content);
  if (options.io != Io::rows && !stream::is_streamable(graph)) return plan_whole(inputs, options, deadline);
  stream::expect_streamable(graph);
  const Graph chosen = streaming_graph(graph, *options.stream);
  Deadline for_whole = deadline.part(0.25);
  // With a capacity rows soon get their chance.
  if (options.memories[0].capacity) for_whole = for_whole.within(Seconds(1));
  Plan whole = plan_whole(inputs, options, for_whole);
  if (whole.summary.peak <= options.memories[0].capacity.value_or(0)) return whole;
  // Rows that arrive one by one are useful even if they save no memory.
  const Bytes peak = whole.summary.peak + (options.io == Io::rows ? 1 : 0);
  const std::optional<model::SplitNetwork> split = blocks_that_help(chosen, options, deadline);
  const Deadline unsplit = split ? deadline.part(share_of_unsplit) : deadline;
  StreamSearch rows =
      lowest_stream(inputs[0], chosen, options, unsplit, whole, order_of(whole, chosen), peak);
  StreamSearch blocks;
  if (split && !deadline.is_over())
    blocks = plan_blocks(inputs[0], *split, options, deadline, whole, rows.best ? rows.best->peak : peak);
  const bool is_cut = rows.is_cut || blocks.is_cut;
  if (!rows.best && !blocks.best) {
    whole.interrupted = whole.interrupted || is_cut;
    return whole;
  }
  const Bytes bound = blocks.best ? std::min(rows.bound, blocks.bound) : rows.bound;
  Draft draft = draft_of(std::move(blocks.best ? *blocks.best : *rows.best), bound);
  draft.plan.models = infos_of(inputs);
  Plan plan = finish(std::move(draft), options.memories);
  plan.interrupted = is_cut;
  return plan;
}

}  // namespace stowage::plan
