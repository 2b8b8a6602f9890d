// A network row by row: order of operators -> what is repeated -> instances -> order of rows -> bound ->
// layouts -> offsets -> plan.
//
// Of the orders of operators, the own and those that were searched for, the one whose regions need least is
// taken, and then what is better made anew for each reader is repeated. The order of rows is the best by live
// bytes; which form rows are kept in is decided by what is left of that when they are placed, for each order
// that was found: as rings, as rings where those waste nothing, and as granules that lie anywhere. Of equal
// peaks the simpler form is taken.
//
// Where nothing is gained by rows, the plan of whole operators is at least as good, and may share more bytes.

#include "plan/streaming.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "base/checked.h"
#include "plan/aliasing.h"
#include "plan/networks.h"
#include "plan/ordering.h"
#include "plan/orders.h"
#include "plan/provable.h"
#include "stowage/error.h"
#include "stream/bound.h"
#include "stream/instances.h"
#include "stream/layout.h"
#include "stream/recompute.h"
#include "stream/regions.h"
#include "stream/repeat.h"
#include "stream/replay.h"
#include "stream/search.h"
#include "stream/timetable.h"

namespace stowage::plan {
namespace {

using Seconds = std::chrono::duration<double>;
using Time = std::chrono::steady_clock::time_point;

constexpr std::int64_t work_on_regions = 50'000'000;  // steps that are tried
constexpr std::int64_t most_cuts = 400;

void expect_streamable(std::span<const Input> inputs, const PlanOptions& options) {
  if (inputs.size() != 1) throw UsageError("--stream plans one network, by itself");
  if (options.stream->granule < 1) throw UsageError("--granule is at least 1");
  if (!(options.stream->recompute >= 1)) throw UsageError("--recompute is at least 1");
  if (!options.run.empty() || !options.feeds.empty() || options.moves != Moves::none)
    throw UsageError("--stream excludes --run, --feed and --moves");
  if (options.target != Target::any) throw UsageError("--stream makes plans that TFLite files cannot say");
  if (options.memories.size() != 1 || options.memories[0].role != MemoryRole::working)
    throw UsageError("--stream plans one memory");
  const auto& graph = std::get<Graph>(inputs[0].content);
  const bool has_state = std::any_of(graph.tensors.begin(), graph.tensors.end(),
                                     [](const Tensor& it) { return it.kind == TensorKind::state; });
  const bool has_scratch =
      std::any_of(graph.subgraphs.begin(), graph.subgraphs.end(), [](const Subgraph& subgraph) {
        return std::any_of(subgraph.operators.begin(), subgraph.operators.end(),
                           [](const Operator& op) { return !op.scratch.empty(); });
      });
  if (has_state || has_scratch || !graph.ties.empty())
    throw UsageError("--stream: the network has state or scratch memory, which cannot be streamed");
}

/// An order of instances, in one form, placed.
struct Placed {
  std::vector<stream::InstanceId> order{};
  stream::Timetable timetable{};
  stream::Layout layout{};
  Problem problem{};
  Solution solution{};
  Bytes peak = 0;
};

stream::InstanceOptions instance_options(const PlanOptions& options) {
  return {
      .granule = options.stream->granule,
      .io = options.io,
      .in_place = options.alias == Alias::none ? stream::InPlace::never : stream::InPlace::where_possible};
}

/// Whether a row is in two places at once.
bool is_ambiguous(const PlannedTensor& tensor) {
  std::vector<View> views = tensor.views;
  std::sort(views.begin(), views.end(),
            [](const View& a, const View& b) { return a.life.lower < b.life.lower; });
  for (std::size_t i = 0; i < views.size(); ++i) {
    for (std::size_t k = i + 1; k < views.size() && views[k].life.lower < views[i].life.upper; ++k) {
      const auto &a = views[i].rows, &b = views[k].rows;
      if (!a || !b || (a->begin < b->end && b->begin < a->end)) return true;
    }
  }
  return false;
}

class StreamPlanner {
 public:
  StreamPlanner(stream::Repeated network, Bytes alignment, const PlanOptions& options, Time begin)
      : network_(std::move(network)),
        graph_(network_.graph),
        options_(options),
        alignment_(alignment),
        begin_(begin),
        once_(stream::instances_of(graph_, instance_options(options))),
        model_(options.stream->recompute > 1
                   ? stream::recompute_within(once_, options.stream->recompute,
                                              {work_on_regions, begin_ + part_of_the_time(3)})
                   : once_),
        program_(stream::unroll(model_)) {}

  /// None: rows of operators that are repeated would be in two places at once.
  std::optional<Outcome> plan(Plan& plan) {
    find_orders();
    std::optional<Placed> best;
    for (const auto& order : orders_) {
      for (const auto form : {stream::Form::rings, stream::Form::tight_rings, stream::Form::granules}) {
        if (best && (best->peak <= bound_.bytes || options_.solve.stop.stop_requested())) break;
        auto placed = place(order, form);
        if (placed && (!best || placed->peak < best->peak)) best = std::move(placed);
      }
    }
    if (!best) return std::nullopt;
    const Outcome outcome = best->solution.outcome;
    write(std::move(*best), plan);
    return outcome;
  }

 private:
  /// The last one is that of regions, if it is another.
  void find_orders() {
    regions_ = stream::order_by_regions(program_, work_on_regions);
    bound_ = stream::lower_bound(program_, regions_.steps, most_cuts,
                                 std::chrono::steady_clock::now() + part_of_the_time(6));
    orders_.push_back(stream::improve(program_, regions_.steps,
                                      {.target = bound_.bytes,
                                       .deadline = std::chrono::steady_clock::now() + part_of_the_time(4),
                                       .stop = options_.solve.stop}));
    if (orders_[0] != regions_.steps) orders_.push_back(regions_.steps);
  }

  [[nodiscard]] std::chrono::steady_clock::duration part_of_the_time(int parts) const {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(options_.solve.time_limit / parts);
  }

  /// Of what is left of the time an equal share for each order and form.
  [[nodiscard]] std::optional<Placed> place(const std::vector<stream::InstanceId>& order, stream::Form form) {
    constexpr std::size_t forms = 3;
    const Seconds spent = std::chrono::steady_clock::now() - begin_;
    const std::size_t tries = forms * orders_.size() - std::min(tries_++, forms * orders_.size() - 1);
    SolveOptions solve_options = options_.solve;
    solve_options.time_limit =
        std::max(options_.solve.time_limit - spent, Seconds(0)) / static_cast<double>(tries);
    Placed placed{.order = order, .timetable = stream::timetable_of(model_, program_, order)};
    placed.layout =
        stream::lay_out(graph_, model_, program_, placed.timetable, {.form = form, .alignment = alignment_});
    if (!bring_together(placed.layout.tensors)) return std::nullopt;
    placed.problem = problem_of(placed.layout.buffers, options_.memories);
    placed.solution = solve_provably(placed.problem, solve_options);
    placed.peak = total_peak(placed.problem, placed.solution);
    return placed;
  }

  /// Gives views of repeated tensors to the network's own. False: one of them would be in two places at once.
  [[nodiscard]] bool bring_together(std::vector<PlannedTensor>& tensors) const {
    std::set<TensorId> repeated;
    for (TensorId t = 0; t < tensors.size(); ++t) {
      const TensorId own = network_.tensors[t];
      if (own == t) continue;
      std::move(tensors[t].views.begin(), tensors[t].views.end(), std::back_inserter(tensors[own].views));
      repeated.insert(own);
    }
    tensors.resize(*std::max_element(network_.tensors.begin(), network_.tensors.end()) + 1);
    return std::none_of(repeated.begin(), repeated.end(),
                        [&](TensorId t) { return is_ambiguous(tensors[t]); });
  }

  void write(Placed placed, Plan& plan) {
    Solution& solution = placed.solution;
    plan.clocks = {{std::move(placed.timetable.steps)}};
    for (std::size_t op = 0; op < model_.operators.size(); ++op) {
      for (const std::size_t step : placed.timetable.summing[op])
        std::get<Run>(plan.clocks[0].steps[step]).sums = placed.layout.sums[op];
    }
    for (Step& step : plan.clocks[0].steps) {
      if (auto* const run = std::get_if<Run>(&step)) run->path[1] = network_.operators[run->path[1]];
    }
    plan.memories = {
        {placed.problem.memories[0], placed.peak, solution.lower_bound, 0, std::move(solution.certificate)}};
    plan.buffers = std::move(placed.problem.buffers);
    plan.places = std::move(solution.places);
    if (solution.slots) plan.slots.push_back(*solution.slots);
    plan.tensors = std::move(placed.layout.tensors);
    plan.interrupted = solution.interrupted;
    plan.claims = {{ClaimScope::offsets, solution.lower_bound, placed.peak == solution.lower_bound},
                   {ClaimScope::stream, bound_.bytes, placed.peak == bound_.bytes}};
    plan.summary = {.peak = placed.peak,
                    .lower_bound = solution.lower_bound,
                    .strategy = solution.strategy,
                    .order = "stream"};
    for (const PlannedTensor& tensor : plan.tensors) {
      if (!tensor.views.empty()) plan.summary.naive += base::align_up(tensor.tensor.bytes, alignment_);
    }
    plan.streaming = streaming(placed.order);
  }

  [[nodiscard]] Streaming streaming(const std::vector<stream::InstanceId>& order) const {
    const stream::Program whole = stream::unroll(stream::without_rows(once_));
    const std::vector<Bytes> of_layers = stream::replay(whole, stream::layer_by_layer(whole)).loads;
    const stream::Replay replayed = stream::replay(program_, order);
    std::vector<Bytes> loads(model_.operators.size(), 0);  // while some of its rows are computed
    for (std::size_t step = 0; step < order.size(); ++step) {
      Bytes& load = loads[program_.instances[order[step]].op];
      load = std::max(load, replayed.loads[step]);
    }
    Streaming result{.granule = options_.stream->granule,
                     .load = replayed.peak,
                     .load_of_layers = *std::max_element(of_layers.begin(), of_layers.end()),
                     .recomputed = recomputed()};
    std::set<std::size_t> seen;  // an operator that is repeated is in the first region it runs in
    for (const stream::Region& region : regions_.regions) {
      StreamRegion entry;
      for (std::size_t op = region.begin; op < region.end; ++op) {
        const auto source = model_.operators[op].source;
        if (source && seen.insert(network_.operators[*source]).second)
          entry.operators.push_back(network_.operators[*source]);
        entry.load = std::max(entry.load, loads[op]);
        entry.load_of_layers = std::max(entry.load_of_layers, of_layers[op]);
      }
      result.regions.push_back(std::move(entry));
    }
    return result;
  }

  [[nodiscard]] double recomputed() const {
    const auto once = static_cast<double>(std::max<std::int64_t>(1, stream::multiplies_of(once_)));
    return std::max(1.0, static_cast<double>(stream::multiplies_of(model_)) / once);
  }

  stream::Repeated network_;
  const Graph& graph_;
  const PlanOptions& options_;
  Bytes alignment_;
  Time begin_;
  stream::Model once_;  ///< Every row is computed once.
  stream::Model model_;
  stream::Program program_;
  stream::RegionOrder regions_{};
  stream::Bound bound_{};
  std::vector<std::vector<stream::InstanceId>> orders_{};
  std::size_t tries_ = 0;
};

/// Orders of operators that need least as wholes.
std::vector<std::vector<std::size_t>> searched_orders(const Input& input, const PlanOptions& options) {
  const auto& graph = std::get<Graph>(input.content);
  OrderingOptions ordering = ordering_options_of(input, 0, options);
  ordering.io = options.io == Io::rows ? Io::arena : options.io;
  ordering.time_limit = options.solve.time_limit / 10;
  ordering.stop = options.solve.stop;
  std::vector<std::size_t> folded;
  const auto& operators = graph.subgraphs[0].operators;
  for (std::size_t o = 0; o < operators.size(); ++o) {
    if (operators[o].folded) folded.push_back(o);
  }
  std::vector<std::vector<std::size_t>> orders;
  for (const OrderedSteps& choice : ordering_of(graph, ordering).choices) {
    orders.push_back(folded);
    for (const Step& step : choice.clock.steps) orders.back().push_back(std::get<Run>(step).path[1]);
  }
  return orders;
}

/// The one with the least peak of regions; the network's own if no other has less. Throws UsageError for a
/// network that cannot be streamed.
stream::Repeated best_order(const Input& input, const PlanOptions& options) {
  const auto& graph = std::get<Graph>(input.content);
  stream::Repeated best = stream::once(graph);
  const auto model_of = [&](const stream::Repeated& it) {
    return stream::instances_of(it.graph, instance_options(options));
  };
  const auto peak_of = [](const stream::Model& model) {
    return stream::order_by_regions(stream::unroll(model), work_on_regions).peak;
  };
  const stream::Model own = model_of(best);
  if (options.order == Order::keep) return best;
  const std::vector<std::size_t> own_order = best.operators;
  std::optional<Bytes> least;
  for (const auto& order : searched_orders(input, options)) {
    if (order == own_order) continue;
    if (!least) least = peak_of(own);
    stream::Repeated other = stream::in_order(graph, order);
    const Bytes peak = peak_of(model_of(other));
    if (peak >= *least) continue;
    least = peak;
    best = std::move(other);
  }
  return best;
}

/// With operators repeated where that helps, unless it cannot be said where their rows are.
Outcome plan_rows(const Input& input, const PlanOptions& options, Plan& plan) {
  const Time begin = std::chrono::steady_clock::now();
  const Bytes alignment = options.alignment.value_or(default_alignment_of(input.info.format));
  const stream::Repeated order = best_order(input, options);
  const auto share = std::chrono::duration_cast<Time::duration>(options.solve.time_limit / 4);
  stream::Repeated repeated =
      stream::repeat_where_it_helps(order, instance_options(options), {work_on_regions, begin + share});
  if (const auto outcome = StreamPlanner(std::move(repeated), alignment, options, begin).plan(plan))
    return *outcome;
  return StreamPlanner(order, alignment, options, begin).plan(plan).value();
}

}  // namespace

Outcome plan_streamed(std::span<const Input> inputs, const PlanOptions& options, Plan& plan) {
  expect_streamable(inputs, options);
  const Outcome outcome = plan_rows(inputs[0], options, plan);
  if (options.io == Io::rows) return outcome;
  PlanOptions whole_options = options;
  whole_options.stream.reset();
  Plan whole{.models = plan.models};
  const Outcome whole_outcome = plan_in_order(inputs, whole_options, whole);
  if (whole.summary.peak > plan.summary.peak) return outcome;
  plan = std::move(whole);
  return whole_outcome;
}

}  // namespace stowage::plan
