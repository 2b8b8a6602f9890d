#include "stowage/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>

#include "base/side_by_side.h"
#include "base/text.h"
#include "plan/least_cost.h"
#include "stowage/error.h"

namespace stowage {
namespace {

class Sweeper {
 public:
  Sweeper(std::span<const Input> inputs, const SweepOptions& options) : inputs_(inputs), options_(options) {
    const std::vector<Memory>& memories = options.plan.memories;
    for (std::size_t m = 0; m < memories.size(); ++m) {
      const bool is_working = memories[m].role == MemoryRole::working;
      is_slow_.push_back(is_working && m > options.memory);
    }
    if (std::none_of(is_slow_.begin(), is_slow_.end(), [](bool slow) { return slow; })) {
      throw UsageError(fmt::format("memory {} is swept, expected a slower one behind it",
                                   base::quoted(memories[options.memory].name)));
    }
  }

  /// None when cancelled.
  std::optional<SweepRow> row(Bytes size, const Progress& progress) const {
    PlanOptions options = options_.plan;
    options.solve.progress = progress;
    if (options_.jobs > 1) {
      std::size_t& threads = options.solve.threads;
      if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
      threads = std::max<std::size_t>(1, threads / options_.jobs);
      options.solve.progress = {};
    }
    options.memories[options_.memory].capacity = size;
    options.moves = Moves::none;
    SweepRow row{.size = size};
    for (const StrategyInfo& strategy : strategies()) add(strategy.name, options, row);
    if (options_.plan.moves == Moves::allowed) {
      options.moves = Moves::allowed;
      add("auto", options, row);
    }
    if (options.solve.stop.stop_requested()) return std::nullopt;
    return row;
  }

 private:
  void add(std::string_view strategy, PlanOptions options, SweepRow& row) const {
    options.solve.strategy = strategy;
    SweepEntry& entry =
        row.entries.emplace_back(SweepEntry{.strategy = std::string(strategy), .moves = options.moves});
    if (options.solve.stop.stop_requested()) return;
    try {
      PlanResult result = make_plan(inputs_, options);
      entry.outcome = result.outcome;
      entry.interrupted = result.plan.interrupted;
      entry.cost = result.plan.summary.cost;
      entry.faults = std::move(result.faults);
      for (std::size_t m = 0; m < is_slow_.size(); ++m) {
        if (is_slow_[m]) entry.slow_traffic += result.plan.memories[m].traffic;
      }
      if (row.entries.size() == 1) row.unavoidable = unavoidable(result.plan, options.memories);
    } catch (const NotApplicable& error) {
      entry.obstacle = error.obstacle();
    }
  }

  /// The least cost if slow memory costs 1 for each byte and all other memory nothing.
  [[nodiscard]] Bytes unavoidable(const Plan& plan, const std::vector<Memory>& memories) const {
    std::vector<Memory> working;
    for (std::size_t m = 0; m < memories.size(); ++m) {
      if (memories[m].role != MemoryRole::working) continue;
      working.push_back(memories[m]);
      working.back().cost = is_slow_[m] ? 1 : 0;
    }
    return plan::least_cost(inputs_, plan, working);
  }

  std::span<const Input> inputs_;
  const SweepOptions& options_;
  std::vector<bool> is_slow_;  ///< Per memory.
};

}  // namespace

std::vector<SweepRow> sweep(std::span<const Input> inputs, const SweepOptions& options) {
  for (const Input& input : inputs) {
    if (std::holds_alternative<Problem>(input.content))
      throw UsageError(
          fmt::format("{} is a buffer list, which does not say who reads and writes", input.info.source));
  }
  const Sweeper sweeper(inputs, options);
  const std::size_t count = options.sizes.size();
  std::vector<std::optional<SweepRow>> found(count);
  std::mutex reporting;
  base::run_side_by_side(0, count, options.jobs, [&](std::size_t task, std::size_t) {
    Progress progress{};
    if (options.plan.solve.progress) {
      const double done = static_cast<double>(task) / static_cast<double>(count);
      progress = [&, done](std::string_view what, double /*of_one_plan*/) {
        const std::scoped_lock lock(reporting);
        options.plan.solve.progress(fmt::format("{} bytes, {}", options.sizes[task], what), done);
      };
      progress("planning", done);
    }
    found[task] = sweeper.row(options.sizes[task], progress);
    return found[task].has_value();
  });
  std::vector<SweepRow> rows;
  for (std::optional<SweepRow>& row : found)
    if (row) rows.push_back(*std::move(row));
  return rows;
}

std::vector<Bytes> sizes_between(Bytes from, Bytes to) {
  std::vector<Bytes> sizes;
  for (Bytes size = from; size < to; size *= 2) {
    sizes.push_back(size);
    const Bytes between = size + size / 2;
    if (between > size && between < to) sizes.push_back(between);
  }
  sizes.push_back(to);
  return sizes;
}

}  // namespace stowage
