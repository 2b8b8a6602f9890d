// One network row by row in one memory, in rounds that take more and more time:
//
//     whole operators      the plan that exists under any time limit
//     first rows           quick plans by rows, with fewer and fewer rows in a step (first_rows.cc)
//     rows                 the lowest of all ways to stream (row_search.cc)
//     rows computed once   the same, where --recompute allows more: as low with fewer multiplies is better
//     rows of a sample     the same for one sample of a batch, if no operator mixes them: the others follow (row_samples.cc)
//     rows of blocks       the same for the network in blocks along a second axis, where that seems to help
//     the lowest of all    if peaks are equal, the plan of whole operators, which is simpler
//
// Rounds end at fixed times, and what a round does depends on these alone. So planning with more effort begins with
// all that planning with less does, and its peak is never higher. A round that was not cut is the last one.
//
// Planning ends when the peak fits the memory's capacity or reaches a bound, or when time is up. What was asked for
// and did not come about is noted in the plan (left_out.cc), and what is claimed covers no more than what was tried.

#include "plan/row_rounds.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/text.h"
#include "model/blocks.h"
#include "plan/context.h"
#include "plan/draft.h"
#include "plan/first_rows.h"
#include "plan/granules.h"
#include "plan/left_out.h"
#include "plan/networks.h"
#include "plan/ordering.h"
#include "plan/row_blocks.h"
#include "plan/row_samples.h"
#include "plan/row_search.h"
#include "plan/row_ways.h"
#include "stowage/error.h"
#include "stream/blocks.h"
#include "stream/program.h"
#include "stream/repeat.h"

namespace stowage::plan {
namespace {

using base::Deadline;
using Seconds = Deadline::Seconds;

constexpr std::int64_t work_on_blocks = 20'000'000;  // steps that are tried to choose blocks
constexpr double share_of_whole = 0.25;              // of a round, for whole operators
constexpr double share_of_first_rows = 0.4;          // at most, for a quick plan
constexpr double share_of_blocks = 0.1;              // of the time, to choose them
constexpr double share_of_sample = 0.5;              // for one sample of a batch, before the network itself
constexpr double share_of_unsplit = 0.4;             // for the network itself, if blocks may help
constexpr double share_of_again = 0.6;  // for rows that are computed again, before rows computed once

/// Plans operator by operator.
Plan plan_whole(std::span<const Input> inputs, const PlanOptions& options, const Deadline& deadline) {
  PlanOptions whole = without_rows(options);
  whole.moves = Moves::none;
  return plan_networks(Context(inputs, whole, deadline));
}

/// The operators in the order of the plan of whole operators.
std::vector<std::size_t> order_of(const Plan& whole, const Graph& graph) {
  std::vector<std::size_t> order;
  const auto& operators = graph.subgraphs[0].operators;
  for (std::size_t op = 0; op < operators.size(); ++op) {
    if (operators[op].folded) order.push_back(op);
  }
  for (const Step& step : whole.clocks[0].steps) {
    const Run& run = std::get<Run>(step);
    if (run.path.size() == 2) order.push_back(run.path[1]);
  }
  return order;
}

/// When a round ends, of the time since the first one began: at 0.15 s, 1 s, 3 s, 10 s, 30 s and so on.
Seconds end_of_round(int round) {
  if (round == 0) return Seconds(0.15);
  return Seconds((round % 2 == 0 ? 3 : 1) * std::pow(10.0, (round - 1) / 2));
}

constexpr double most_iterations = 12'000;  // beyond, packing them takes longer than they are worth

/// Iterations of a network of blocks that can be ordered in that time, and placed unless that comes later.
std::int64_t most_iterations_in(const Seconds time, const PlanOptions& options) {
  const double per_second = options.moves == Moves::allowed ? 2500 : 1000;
  return static_cast<std::int64_t>(std::min(time.count() * per_second, most_iterations));
}

/// The network in blocks where that seems to help; none if it does nowhere.
struct BlockChoice {
  std::optional<model::SplitNetwork> network{};
  std::vector<LeftOut> left_out{};  ///< Choices that were not tried.
  bool is_cut = false;              ///< With more time they would be.
};

BlockChoice blocks_that_help(const Graph& graph, const PlanOptions& options, const Around& around,
                             const Deadline& deadline) {
  if (options.stream->blocks == StreamBlocks::none) return {};
  const stream::InstanceOptions instances{
      .granule = granule_of(*options.stream), .io = ways_of(options)[0].io, .passed = around.passed};
  const stream::SplitChoice choice =
      stream::split_where_it_helps(graph, instances, most_iterations_in(deadline.left(), options),
                                   {work_on_blocks, deadline.part(share_of_blocks)});
  BlockChoice blocks;
  const auto left_out = static_cast<double>(choice.least_left_out);
  blocks.is_cut = choice.is_cut || (left_out > 0 && left_out <= most_iterations);
  if (blocks.is_cut) {
    blocks.left_out.push_back(untried(options, Wish::blocks));
  } else if (left_out > 0) {
    blocks.left_out.push_back(too_many_blocks(choice.least_left_out));
  }
  if (choice.splits.empty()) return blocks;
  model::SplitNetwork network = model::split(graph, choice.splits);
  const bool splits_passed = std::ranges::any_of(around.passed, [&](const auto& it) {
    return it.second != Io::rows && network.blocks.contains(it.first);
  });
  if (splits_passed) {
    blocks.left_out.push_back(
        {Wish::blocks, "they would split a tensor that another network or the caller has as a whole", ""});
  } else {
    blocks.network = std::move(network);
  }
  return blocks;
}

constexpr std::int64_t most_rows_of_samples = 1 << 17;

/// Samples that may run one after the other: they arrive and leave so.
std::optional<Samples> samples_to_try(const Graph& graph, const PlanOptions& options, const Around& around) {
  const bool are_callers =
      std::ranges::all_of(around.passed, [](const auto& it) { return it.second == Io::rows; });
  if (options.io != Io::rows || options.stream->blocks == StreamBlocks::none ||
      options.moves != Moves::none || around.keeps_state || !are_callers)
    return std::nullopt;
  std::optional<Samples> samples = samples_of(graph);
  if (!samples) return std::nullopt;
  const std::int64_t rows =
      stream::iterations_of(stream::instances_of(samples->first, {.io = Io::rows, .passed = around.passed}));
  return rows <= most_rows_of_samples / samples->count ? std::move(samples) : std::nullopt;
}

/// The plan of whole operators and the lowest plan by rows, and what is known about both.
class RowSearch {
 public:
  RowSearch(std::span<const Input> inputs, const PlanOptions& options, const Graph& graph,
            const Around& around, const Deadline& deadline)
      : inputs_(inputs),
        options_(saying_the_best(options)),
        graph_(graph),
        around_(around),
        deadline_(deadline),
        granules_(graph, options, around.passed),
        samples_(samples_to_try(graph, options, around)) {}

  NetworkRows result() {
    const auto begin = deadline_.now();
    try {
      for (int round = 0; is_cut_ && (round == 0 || !deadline_.is_over()); ++round) {
        const Seconds left = end_of_round(round) - Seconds(deadline_.now() - begin);
        if (left <= Seconds(0)) continue;  // the round before has taken its time, too
        const Deadline slice = deadline_.slice(left);
        plan_whole_operators(slice.part(share_of_whole));
        if (fits_whole()) break;
        plan_first_rows(slice);
        if (round > 0) search(slice);
        if (fits()) is_cut_ = false;
      }
    } catch (const stream::TooLarge& error) {
      if (!best_) {
        leave_rows_out(options_, error.what(), "a larger --granule", *whole_);
        return {.whole = std::move(*whole_)};
      }
    }
    return best_ ? rows() : whole_operators();
  }

 private:
  /// A search for rows with the same granule, with blocks and without.
  struct Tried {
    std::int64_t granule = 1;
    Bytes bound = 0;  ///< Of all that it tried; 0 if none is proven.
    bool has_best = false;
    std::vector<LeftOut> left_out{};
  };

  /// Each search says the best that it has found itself. In front of that is the peak of the best plan.
  PlanOptions saying_the_best(PlanOptions options) {
    if (!options.solve.progress) return options;
    options.solve.progress = [this, say = options.solve.progress](std::string_view what, double fraction) {
      const Bytes peak = peak_so_far_;
      say(peak == 0 ? std::string(what) : base::concat("so far ", peak, " bytes; ", what), fraction);
    };
    return options;
  }

  /// Once more while it is cut, for orders and offsets may be lower with more time.
  void plan_whole_operators(const Deadline& deadline) {
    if (whole_ && (!whole_->interrupted || deadline.is_over())) return;
    Plan plan = plan_whole(inputs_, options_, deadline);
    bound_of_whole_ = std::max(bound_of_whole_, bound_of_orders(plan, deadline));
    if (!whole_ || plan.summary.peak <= whole_->summary.peak) whole_ = std::move(plan);
    if (!best_) peak_so_far_ = whole_->summary.peak;
  }

  /// A plan in a given order is planned without a search for others, but claims of rows are about all orders.
  [[nodiscard]] Bytes bound_of_orders(const Plan& plan, const Deadline& deadline) const {
    if (!plan.order_searches.empty()) return plan.order_searches[0].lower_bound;
    const NetworkFacts facts(inputs_[0], 0, without_rows(options_));
    return ordering_of(facts, deadline).search.lower_bound;
  }

  [[nodiscard]] WholeOperators known_of_whole(std::vector<std::size_t> order) const {
    return {whole_->summary.peak, bound_of_whole_, std::move(order)};
  }

  [[nodiscard]] Bytes capacity() const { return options_.memories[0].capacity.value_or(0); }
  /// Rows that arrive one by one are asked for even if whole operators fit.
  [[nodiscard]] bool fits_whole() const {
    return options_.io != Io::rows && options_.memories[0].capacity && whole_->summary.peak <= capacity();
  }
  [[nodiscard]] bool fits() const { return best_ && best_->peak <= capacity(); }

  /// Plans by rows must be below it. As high as the best is low enough: what a search that is not cut finds must not
  /// depend on where the clock cut those before. Rows that arrive one by one are useful even if they save no memory.
  [[nodiscard]] Bytes limit() const {
    if (best_) return best_->peak + 1;
    return whole_->summary.peak + (options_.io == Io::rows ? 1 : 0);
  }

  void plan_first_rows(const Deadline& slice) {
    const auto granule = granules_.next_within(slice.part(share_of_first_rows).left());
    if (!granule || fits()) return;
    auto found = first_rows(graph_, with_granule(options_, *granule), around_, slice);
    if (!found || found->placed.peak >= (best_ ? best_->peak : limit())) return;
    is_by_clock_ = found->placed.solution.interrupted;
    best_ = std::move(found->placed);
    peak_so_far_ = best_->peak;
    from_ = std::move(found->from);
    blocks_.reset();
    is_quick_ = true;
  }

  /// The granule of the best plan, or a finer one if the search for that has ended by itself; none after the finest.
  [[nodiscard]] std::optional<std::int64_t> granule_to_search(const Deadline& slice) const {
    const std::int64_t first =
        best_ ? best_->streaming.granule : granules_.finest_within(slice.part(share_of_first_rows).left());
    return first < searched_ ? first : granules_.finer_than(searched_);
  }

  /// Sample by sample, with blocks and without.
  void search(const Deadline& slice) {
    const std::optional<std::int64_t> granule = granule_to_search(slice);
    is_cut_ = granule.has_value();
    if (!granule || fits()) return;
    const PlanOptions options = with_granule(options_, *granule);
    std::optional<FoundRows> sample;
    bool is_of_sample = false;
    if (samples_) {
      sample = search_sample(options, slice.part(share_of_sample));
      is_of_sample = keep(std::move(sample->best));
      if (is_of_sample) {
        from_.reset();
        blocks_.reset();
      }
    }
    BlockChoice blocks = blocks_that_help(graph_, options, around_, slice);
    const Deadline unsplit = blocks.network ? slice.part(share_of_unsplit) : slice;
    FoundRows found =
        lowest_of(graph_, options, unsplit, known_of_whole(order_of(*whole_, graph_)), goes_on(*granule));
    Tried tried{.granule = *granule, .bound = found.bound, .has_best = is_of_sample};
    bool is_cut = blocks.is_cut || found.is_cut;
    bool are_axes_cut = found.are_axes_cut;
    bool covers_blocks = false;
    if (sample) {
      tried.bound = std::min(tried.bound, sample->bound);
      is_cut = is_cut || sample->is_cut;
      are_axes_cut = are_axes_cut || sample->are_axes_cut;
    }
    if (keep(std::move(found.best))) {
      from_ = std::move(found.from);
      blocks_.reset();
      tried.has_best = true;
    }
    if (blocks.network && !slice.is_over()) {
      FoundRows split = search_blocks(*blocks.network, options, slice);
      covers_blocks = split.bound > 0;
      // The bound covers blocks if theirs is known, and must do so if the plan has some.
      if (covers_blocks || split.best) tried.bound = std::min(tried.bound, split.bound);
      is_cut = is_cut || split.is_cut;
      are_axes_cut = are_axes_cut || split.are_axes_cut;
      if (keep(std::move(split.best))) {
        from_.reset();
        blocks_ = blocks.network;
        tried.has_best = true;
      }
    }
    if (blocks.left_out.empty() && blocks.network && !covers_blocks)
      blocks.left_out.push_back(untried(options_, Wish::blocks));
    if (are_axes_cut) tried.left_out.push_back(untried(options_, Wish::axes));
    tried.left_out.insert(tried.left_out.end(), blocks.left_out.begin(), blocks.left_out.end());
    if (tried.has_best) is_by_clock_ = is_cut;
    if (!is_cut) searched_ = *granule;
    is_cut_ = is_cut || granules_.finer_than(*granule);
    note(std::move(tried));
  }

  /// The lowest rows, and of equally low ones those with fewest multiplies.
  [[nodiscard]] FoundRows lowest_of(const Graph& graph, const PlanOptions& options, const Deadline& slice,
                                    const WholeOperators& whole, const std::optional<Attempt>& last) const {
    if (options.stream->recompute <= 1)
      return lowest_rows(graph, options, around_, slice, whole, limit(), last);
    FoundRows again = lowest_rows(graph, options, around_, slice.part(share_of_again), whole, limit(), last);
    const bool is_once = again.best && again.best->recomputed <= 1;
    if (again.best && (again.best->peak <= capacity() || (is_once && !again.is_cut))) return again;
    PlanOptions once = options;
    once.stream->recompute = 1;
    const Bytes below = again.best ? again.best->peak + (is_once ? 0 : 1) : limit();
    const bool is_continued = !again.best && last && best_->recomputed <= 1;
    FoundRows found = lowest_rows(graph, once, around_, slice, whole, below,
                                  is_once        ? again.from
                                  : is_continued ? last
                                                 : std::nullopt);
    found.bound = std::min(found.bound, again.bound);
    found.is_cut = found.is_cut || again.is_cut;
    found.are_axes_cut = found.are_axes_cut || again.are_axes_cut;
    if (found.best) {
      found.best->streaming.recompute_limit = options.stream->recompute;
    } else {
      found.best = std::move(again.best);
      found.from = std::move(again.from);
    }
    return found;
  }

  [[nodiscard]] FoundRows search_sample(const PlanOptions& options, const Deadline& slice) const {
    FoundRows found = lowest_of(samples_->first, options, slice,
                                known_of_whole(stream::once(samples_->first).operators), {});
    if (found.best)
      found.best = in_network(one_after_another(std::move(*found.best), *samples_), samples_->network);
    return found;
  }

  [[nodiscard]] FoundRows search_blocks(const model::SplitNetwork& network, const PlanOptions& options,
                                        const Deadline& slice) {
    const Graph blocks = model::stored(network);
    FoundRows found = lowest_of(blocks, options, slice, known_of_whole(stream::once(blocks).operators), {});
    if (found.best) found.best = in_network(std::move(*found.best), network);
    return found;
  }

  /// What the best plan is made from, if it has that granule.
  [[nodiscard]] std::optional<Attempt> goes_on(std::int64_t granule) const {
    return best_ && best_->streaming.granule == granule ? from_ : std::nullopt;
  }

  /// False if nothing was found, or as low a plan with fewer multiplies is there.
  bool keep(std::optional<PlacedRows> found) {
    if (!found) return false;
    if (best_ && found->peak == best_->peak && found->recomputed > best_->recomputed) return false;
    best_ = std::move(found);
    peak_so_far_ = best_->peak;
    is_quick_ = false;
    return true;
  }

  /// Keeps the search with the finest granule, of equal ones that which left out least.
  void note(Tried tried) {
    if (tried.has_best) bound_of_best_ = tried.bound;
    if (tried_ && tried.bound == 0 && !tried.has_best) return;  // it did not come far
    const auto rank = [](const Tried& it) { return std::pair(it.granule, it.left_out.size()); };
    if (!tried_ || rank(tried) <= rank(*tried_)) tried_ = std::move(tried);
  }

  /// The search whose choices cover the plan; null if steps of the plan have fewer rows.
  [[nodiscard]] const Tried* covering() const {
    return tried_ && (!best_ || tried_->granule <= best_->streaming.granule) ? &*tried_ : nullptr;
  }

  /// Proven for the search that covers the plan and for that which found it; none if time was too short.
  [[nodiscard]] std::optional<Bytes> bound() const {
    const Tried* const covers = covering();
    if (covers == nullptr || covers->bound == 0) return std::nullopt;
    if (!best_ || is_quick_) return covers->bound;
    return bound_of_best_ > 0 ? std::optional(std::min(bound_of_best_, covers->bound)) : std::nullopt;
  }

  [[nodiscard]] std::vector<LeftOut> left_out() const {
    if (fits()) return {};
    const Tried* const covers = covering();
    std::vector<LeftOut> left_out;
    if (covers != nullptr) {
      left_out = covers->left_out;
    } else {
      if (options_.stream->axes == StreamAxes::searched) left_out.push_back(untried(options_, Wish::axes));
      if (options_.stream->blocks == StreamBlocks::searched)
        left_out.push_back(untried(options_, Wish::blocks));
    }
    const std::int64_t granule = covers != nullptr ? covers->granule
                                 : best_           ? best_->streaming.granule
                                                   : largest_value;
    if (granules_.finer_than(granule)) {
      left_out.push_back(untried(options_, Wish::granule));
    } else if (granules_.leaves_out_finer()) {
      left_out.push_back(too_many_reads());
    }
    return left_out;
  }

  NetworkRows rows() {
    NetworkRows result{.from = from_,
                       .blocks = blocks_,
                       .left_out = left_out(),
                       .is_cut = is_cut_ || (is_by_clock_ && !fits() && !options_.solve.effort)};
    if (const std::optional<Bytes> proven = bound())
      result.bounds.emplace_back(result.left_out.empty() ? ClaimScope::stream : ClaimScope::rows, *proven);
    result.rows = std::make_shared<const PlacedRows>(std::move(*best_));
    return result;
  }

  NetworkRows whole_operators() {
    Plan& whole = *whole_;
    if (fits_whole()) {
      leave_rows_out(options_, WithoutRows::fits, whole);
      return {.whole = std::move(whole)};
    }
    whole.interrupted = whole.interrupted || is_cut_;
    leave_rows_out(options_,
                   !is_cut_                        ? WithoutRows::not_lower
                   : deadline_.is_stop_requested() ? WithoutRows::stopped
                                                   : WithoutRows::cut,
                   whole);
    if (!is_cut_ && left_out().empty() && options_.stream->recompute <= 1 && bound())
      whole.claims.push_back({ClaimScope::stream, *bound(), *bound() == whole.summary.peak});
    return {.whole = std::move(whole), .is_cut = is_cut_};
  }

  std::span<const Input> inputs_;
  PlanOptions options_;
  std::atomic<Bytes> peak_so_far_ = 0;  ///< 0: there is no plan yet.
  const Graph& graph_;
  const Around& around_;
  const Deadline& deadline_;
  Granules granules_;
  std::optional<Samples> samples_;
  std::optional<Plan> whole_{};
  Bytes bound_of_whole_ = 0;  ///< For all orders of whole operators.
  std::optional<PlacedRows> best_{};
  std::optional<Attempt> from_{};  ///< What the best is made from, unless that is blocks.
  std::optional<model::SplitNetwork>
      blocks_{};              ///< What the best is of, unless that is one sample after the other.
  bool is_quick_ = false;     ///< The best is from `first_rows`.
  bool is_by_clock_ = false;  ///< The best is from a search that was cut, so it depends on the time.
  Bytes bound_of_best_ = 0;
  std::optional<Tried> tried_{};
  std::int64_t searched_ = largest_value;  ///< The finest granule of a search that ended by itself.
  bool is_cut_ = true;
};

}  // namespace

bool keeps_state(const Input& input) {
  return input.info.format != ModelFormat::tflite &&
         std::ranges::any_of(std::get<Graph>(input.content).tensors,
                             [](const Tensor& tensor) { return tensor.kind == TensorKind::state; });
}

NetworkRows rows_of(const Input& input, const PlanOptions& options, const stream::PassedIo& passed,
                    const Deadline& deadline) {
  const Graph& graph = std::get<Graph>(input.content);
  const std::span<const Input> inputs(&input, 1);
  if (options.io == Io::rows) stream::expect_streamable(graph);
  if (const std::string obstacle = stream::obstacle_to_streaming(graph); !obstacle.empty()) {
    NetworkRows result{.whole = plan_whole(inputs, options, deadline)};
    leave_rows_out(options, obstacle, "", result.whole);
    return result;
  }
  const Graph chosen = chosen_by_rows(graph, *options.stream);
  const Around around{passed, alignment_in(options, input.info.format), keeps_state(input)};
  return RowSearch(inputs, options, chosen, around, deadline).result();
}

}  // namespace stowage::plan
