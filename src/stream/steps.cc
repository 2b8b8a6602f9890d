// How many rows the steps of each region compute. Each step reads the weights of its operator, so a network that runs row
// by row reads them once for each row. Early layers have many rows and few weights, late ones few rows and many weights:
//
//     layers        112 x 112       56 x 56      14 x 14       7 x 7
//     weights          2 kB          10 kB        700 kB        3 MB
//     rows a step          1              1            7         all
//
// Operators whose outputs have about as many rows are a region. The region that saves most gets steps of twice as many rows, as
// long as the peak stays within a limit. One that would exceed it is cut into halves, down to single operators.
//
// Cost: an order by regions for each try; about operators * log(rows) tries.

#include "stream/steps.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "stream/axes.h"

namespace stowage::stream {
namespace {

/// The rows of an operator's first output.
std::int64_t rows_of(const Graph& graph, const Axes& axes, std::size_t op) {
  const TensorId output = *graph.subgraphs[0].operators[op].outputs[0];
  return axes[output] ? (*graph.tensors[output].shape)[*axes[output]] : 1;
}

constexpr Bytes most_reads = largest_value / 4;  // so that sums do not overflow

Bytes weights_of(const Graph& graph, std::size_t op) {
  Bytes weights = 0;
  for (const auto& input : graph.subgraphs[0].operators[op].inputs) {
    if (input && is_constant(graph.tensors[*input].kind))
      weights = std::min(most_reads, weights + graph.tensors[*input].bytes);
  }
  return weights;
}

class Enlarging {
 public:
  Enlarging(const Graph& graph, const InstanceOptions& options, const TrialEffort& effort)
      : graph_(graph), options_(options), effort_(effort), stretches_(stretches_of(graph, options)) {
    is_closed_.resize(stretches_.size());
  }

  /// Enlarges steps until nothing more fits. False if time is up.
  bool run(Bytes wanted) {
    if (!least_) least_ = least_peak_of(instances_of(graph_, options_), effort_);
    const Bytes limit = std::max(wanted, *least_);
    if (limit <= limit_) return true;
    limit_ = limit;
    is_closed_.assign(stretches_.size(), false);
    while (const std::optional<std::size_t> best = most_saving()) {
      if (effort_.deadline.is_over()) return false;
      Stretch& stretch = stretches_[*best];
      const std::int64_t before = stretch.granule;
      stretch.granule = std::min(2 * before, stretch.rows);
      const Bytes peak = least_peak_of(instances_of(graph_, with_granules()), effort_, limit);
      if (effort_.deadline.is_over()) return false;
      if (peak <= limit) {
        peak_ = peak;
        continue;
      }
      stretch.granule = before;
      cut(*best);
    }
    return true;
  }

  [[nodiscard]] LargerSteps result() const {
    LargerSteps steps{.granules = granules(), .peak = peak_};
    for (const Operator& op : instances_of(graph_, with_granules()).operators) {
      if (!op.source) continue;
      const auto reads = base::checked_multiply(weights_of(graph_, *op.source), op.instances());
      steps.reads = std::min(largest_value, steps.reads + std::min(reads.value_or(most_reads), most_reads));
    }
    return steps;
  }

 private:
  [[nodiscard]] Bytes reads_of(const Stretch& stretch, std::size_t op, std::int64_t granule) const {
    const auto reads = base::checked_multiply(weights_of(graph_, op), (stretch.rows + granule - 1) / granule);
    return std::min(reads.value_or(most_reads), most_reads);
  }

  [[nodiscard]] Bytes saving_of(const Stretch& stretch) const {
    Bytes saving = 0;
    for (const std::size_t op : stretch.operators)
      saving = std::min(most_reads, saving + reads_of(stretch, op, stretch.granule) -
                                        reads_of(stretch, op, std::min(2 * stretch.granule, stretch.rows)));
    return saving;
  }

  [[nodiscard]] std::optional<std::size_t> most_saving() const {
    std::optional<std::size_t> best;
    Bytes most = 0;
    for (std::size_t s = 0; s < stretches_.size(); ++s) {
      if (is_closed_[s]) continue;
      const Bytes saving = saving_of(stretches_[s]);
      if (saving <= most) continue;
      most = saving;
      best = s;
    }
    return best;
  }

  void cut(std::size_t s) {
    Stretch& whole = stretches_[s];
    if (whole.operators.size() < 2) {
      is_closed_[s] = true;
      return;
    }
    const auto middle = whole.operators.begin() + std::ssize(whole.operators) / 2;
    Stretch rest{.operators = {middle, whole.operators.end()}, .rows = whole.rows, .granule = whole.granule};
    whole.operators.erase(middle, whole.operators.end());
    const auto behind = static_cast<std::ptrdiff_t>(s) + 1;
    stretches_.insert(stretches_.begin() + behind, std::move(rest));
    is_closed_.insert(is_closed_.begin() + behind, false);
  }

  [[nodiscard]] ChosenGranules granules() const { return granules_of(graph_, stretches_, options_); }

  [[nodiscard]] InstanceOptions with_granules() const {
    InstanceOptions options = options_;
    options.granules = granules();
    return options;
  }

  const Graph& graph_;
  const InstanceOptions& options_;
  const TrialEffort& effort_;
  std::vector<Stretch> stretches_;
  std::vector<bool> is_closed_{};  ///< Of each stretch: larger steps exceed the limit.
  std::optional<Bytes> least_{};   ///< The peak of the steps that all have.
  Bytes limit_ = 0;                ///< Of the last run.
  Bytes peak_ = largest_value;
};

/// As with and without padding, but not in front of and behind a stride.
bool are_about_as_many(std::int64_t a, std::int64_t b) { return 2 * std::max(a, b) < 3 * std::min(a, b); }

}  // namespace

std::vector<Bytes> weights_of_operators(const Graph& graph, const RowModel& model) {
  std::vector<Bytes> weights;
  for (const Operator& op : model.operators) weights.push_back(op.source ? weights_of(graph, *op.source) : 0);
  return weights;
}

std::vector<Stretch> stretches_of(const Graph& graph, const InstanceOptions& options) {
  const Axes axes = axes_of(graph, options.axes);
  const auto orders = topological_orders(graph);
  std::vector<Stretch> stretches;
  for (const std::size_t op : orders[0]) {
    const stowage::Operator& own = graph.subgraphs[0].operators[op];
    if (own.folded || own.outputs.empty() || !own.outputs[0]) continue;
    const std::int64_t rows = rows_of(graph, axes, op);
    if (rows < 2) continue;
    if (stretches.empty() || !are_about_as_many(stretches.back().rows, rows))
      stretches.push_back({.granule = options.granule});
    stretches.back().operators.push_back(op);
    stretches.back().rows = std::max(stretches.back().rows, rows);
  }
  return stretches;
}

ChosenGranules granules_of(const Graph& graph, const std::vector<Stretch>& stretches,
                           const InstanceOptions& options) {
  ChosenGranules chosen;
  for (const Stretch& it : stretches) {
    for (const std::size_t op : it.operators) {
      for (const auto& output : graph.subgraphs[0].operators[op].outputs) {
        if (output && it.granule != options.granule) chosen[*output] = it.granule;
      }
    }
  }
  return chosen;
}

std::vector<LargerSteps> steps_within(const Graph& graph, const InstanceOptions& options,
                                      const std::vector<Bytes>& limits, const TrialEffort& effort) {
  Enlarging enlarging(graph, options, effort);
  std::vector<LargerSteps> found;
  for (const Bytes limit : limits) {
    const bool is_done = enlarging.run(limit);
    LargerSteps steps = enlarging.result();
    const bool is_new = !steps.granules.empty() && (found.empty() || found.back().granules != steps.granules);
    if (is_new) found.push_back(std::move(steps));
    if (!is_done) break;
  }
  return found;
}

}  // namespace stowage::stream
