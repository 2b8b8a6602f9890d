// A network row by row:
//
//     whole operators      the plan that exists under any time limit
//     rows                 the lowest of all ways to stream (stream_planner.cc)
//     rows of blocks       the same for the network in blocks along a second axis, where that seems to help
//     the lowest of all    if peaks are equal, the plan of whole operators, which is simpler
//
// Planning ends when the peak fits the memory's capacity or reaches a bound, or when time is up. What was asked for
// and did not come about is noted in the plan (left_out.cc), and what is claimed covers no more than what was tried.

#include "plan/streaming.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "model/blocks.h"
#include "plan/context.h"
#include "plan/draft.h"
#include "plan/left_out.h"
#include "plan/networks.h"
#include "plan/stream_blocks.h"
#include "plan/stream_planner.h"
#include "plan/stream_ways.h"
#include "stowage/error.h"
#include "stream/blocks.h"
#include "stream/program.h"
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

constexpr double most_iterations = 12'000;  // beyond, packing them takes longer than they are worth

/// Iterations of a network of blocks that can be ordered and placed within the limit.
std::int64_t most_iterations_of(const SolveOptions& options) {
  using Effort = std::chrono::duration<double, std::milli>;
  const Seconds limit = options.effort ? Seconds(Effort(*options.effort)) : options.time_limit;
  constexpr double per_second = 1000;
  return static_cast<std::int64_t>(std::min(limit.count() * per_second, most_iterations));
}

/// The network in blocks where that seems to help; none if it does nowhere.
struct BlockChoice {
  std::optional<model::SplitNetwork> network{};
  std::vector<LeftOut> left_out{};  ///< Choices that were not tried.
  bool is_cut = false;              ///< With more time they would be.
};

BlockChoice blocks_that_help(const Graph& graph, const PlanOptions& options, const Deadline& deadline) {
  if (options.stream->blocks == StreamBlocks::none) return {};
  const stream::InstanceOptions instances{.granule = options.stream->granule, .io = ways_of(options)[0].io};
  const stream::SplitChoice choice = stream::split_where_it_helps(
      graph, instances, most_iterations_of(options.solve), {work_on_blocks, deadline.part(share_of_blocks)});
  BlockChoice blocks;
  const auto left_out = static_cast<double>(choice.least_left_out);
  blocks.is_cut = choice.is_cut || (left_out > 0 && left_out <= most_iterations);
  if (blocks.is_cut) {
    blocks.left_out.push_back(untried(options, Wish::blocks));
  } else if (left_out > 0) {
    blocks.left_out.push_back(too_many_blocks(choice.least_left_out));
  }
  if (!choice.splits.empty()) blocks.network = model::split(graph, choice.splits);
  return blocks;
}

/// Searches for rows, with blocks and without, after the plan of whole operators.
class RowSearch {
 public:
  RowSearch(std::span<const Input> inputs, const PlanOptions& options, const Deadline& deadline, Plan whole)
      : inputs_(inputs), options_(options), deadline_(deadline), whole_(std::move(whole)) {}

  Plan plan(const Graph& graph) {
    try {
      search(graph);
    } catch (const stream::TooLarge& error) {
      leave_rows_out(options_, error.what(), "a larger --granule", whole_);
      return std::move(whole_);
    }
    return best_ ? plan_of_rows() : plan_of_whole();
  }

 private:
  void search(const Graph& graph) {
    // Rows that arrive one by one are useful even if they save no memory.
    const Bytes peak = whole_.summary.peak + (options_.io == Io::rows ? 1 : 0);
    BlockChoice blocks = blocks_that_help(graph, options_, deadline_);
    const Deadline unsplit = blocks.network ? deadline_.part(share_of_unsplit) : deadline_;
    take(lowest_stream(inputs_[0], graph, options_, unsplit, whole_, order_of(whole_, graph), peak));
    is_cut_ = is_cut_ || blocks.is_cut;
    if (blocks.network) plan_blocks(*blocks.network, best_ ? best_->peak : peak);
    if (blocks.left_out.empty() && blocks.network && !covers_blocks_)
      blocks.left_out.push_back(untried(options_, Wish::blocks));
    if (are_axes_cut_) left_out_.push_back(untried(options_, Wish::axes));
    left_out_.insert(left_out_.end(), blocks.left_out.begin(), blocks.left_out.end());
  }

  /// Takes over what a search has found; its bound holds together with those of all others.
  void take(StreamSearch found) {
    if (found.best) best_ = std::move(found.best);
    bound_ = found.bound;
    is_cut_ = is_cut_ || found.is_cut;
    are_axes_cut_ = are_axes_cut_ || found.are_axes_cut;
  }

  /// The bound covers blocks if theirs is known, and must do so if the plan has some.
  void plan_blocks(const model::SplitNetwork& network, Bytes peak) {
    if (deadline_.is_over()) {
      is_cut_ = true;
      return;
    }
    const Bytes bound_of_unsplit = bound_;
    const Graph blocks = model::stored(network);
    StreamSearch found =
        lowest_stream(inputs_[0], blocks, options_, deadline_, whole_, stream::once(blocks).operators, peak);
    covers_blocks_ = found.bound > 0;
    const Bytes bound =
        covers_blocks_ || found.best ? std::min(bound_of_unsplit, found.bound) : bound_of_unsplit;
    if (found.best) found.best = in_network(std::move(*found.best), network);
    take(std::move(found));
    bound_ = bound;
  }

  Plan plan_of_rows() {
    const ClaimScope scope = left_out_.empty() ? ClaimScope::stream : ClaimScope::rows;
    Draft draft = draft_of(std::move(*best_), scope, bound_);
    draft.plan.models = infos_of(inputs_);
    Plan plan = finish(std::move(draft), options_.memories);
    plan.interrupted = is_cut_;
    plan.left_out = std::move(left_out_);
    return plan;
  }

  Plan plan_of_whole() {
    whole_.interrupted = whole_.interrupted || is_cut_;
    leave_rows_out(options_,
                   !is_cut_                        ? WithoutRows::not_lower
                   : deadline_.is_stop_requested() ? WithoutRows::stopped
                                                   : WithoutRows::cut,
                   whole_);
    if (!is_cut_ && left_out_.empty() && options_.stream->recompute <= 1)
      whole_.claims.push_back({ClaimScope::stream, bound_, bound_ == whole_.summary.peak});
    return std::move(whole_);
  }

  std::span<const Input> inputs_;
  const PlanOptions& options_;
  const Deadline& deadline_;
  Plan whole_;
  std::optional<PlacedStream> best_{};
  Bytes bound_ = 0;
  bool is_cut_ = false;
  bool are_axes_cut_ = false;
  bool covers_blocks_ = false;
  std::vector<LeftOut> left_out_{};
};

}  // namespace

Plan plan_streamed(std::span<const Input> inputs, const PlanOptions& options, const Deadline& deadline) {
  expect_to_stream(inputs, options);
  const Graph& graph = std::get<Graph>(inputs[0].content);
  if (options.io == Io::rows) stream::expect_streamable(graph);
  if (const std::string obstacle = stream::obstacle_to_streaming(graph); !obstacle.empty()) {
    Plan whole = plan_whole(inputs, options, deadline);
    leave_rows_out(options, obstacle, "", whole);
    return whole;
  }
  const Graph chosen = streaming_graph(graph, *options.stream);
  Deadline for_whole = deadline.part(0.25);
  // With a capacity rows soon get their chance.
  if (options.memories[0].capacity) for_whole = for_whole.within(Seconds(1));
  Plan whole = plan_whole(inputs, options, for_whole);
  // Rows that arrive one by one are asked for whatever fits.
  const std::optional<Bytes> capacity = options.memories[0].capacity;
  const bool fits = capacity && whole.summary.peak <= *capacity;
  if (fits && options.io != Io::rows) {
    leave_rows_out(options, WithoutRows::fits, whole);
    return whole;
  }
  Plan plan = RowSearch(inputs, options, deadline, std::move(whole)).plan(chosen);
  note_left_out(options, chosen, plan);
  return plan;
}

}  // namespace stowage::plan
