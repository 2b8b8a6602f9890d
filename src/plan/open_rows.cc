// One plan by rows for every size of a range. Where the size is the number of rows of all that depends on it, windows of
// rows are all that is stored, and these do not grow:
//
//     axes       of each tensor that depends on the size, the axis that does
//     tail       operators that need all rows (the layers behind a mean over time) run behind all others
//     schedule   affine, with all others in one loop, at a size at which windows have their full width
//     samples    rings and live ranges at some sizes, one behind the other on one clock: offsets hold for all of these
//     check      the plan at all sizes, if they are at most 256, else at a spread of them; sizes at which it does not
//                hold are samples of the next round
//
// In an affine schedule operators repeat themselves after a period. So what holds at the shortest sizes, and at a period
// of longer ones, holds for all that follow, if no window is wider than these. That is why a spread is enough evidence;
// it is no proof, for the checker does not see the period.
//
// Cost: a schedule for each try, about three; a packing for each round; a reading of the model, and a check, for each size.

#include "stowage/open_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "base/checked.h"
#include "pack/placing.h"
#include "plan/arrangement.h"
#include "plan/context.h"
#include "plan/draft.h"
#include "plan/networks.h"
#include "plan/open_axes.h"
#include "plan/open_check.h"
#include "plan/open_instance.h"
#include "plan/row_ways.h"
#include "plan/step_counts.h"
#include "stowage/error.h"
#include "stream/instances.h"
#include "stream/program.h"

namespace stowage::plan {
namespace {

using base::Deadline;

constexpr std::int64_t steps_of_plan = 4096;        // at most, of the size that the plan is for
constexpr std::int64_t steps_of_schedules = 40000;  // the same, of sizes that a schedule is looked for at
constexpr std::int64_t first_sizes = 32;            // sizes of the range up to the first of these
constexpr std::int64_t work_on_schedule = 20'000'000;
constexpr int most_rounds_of_samples = 12;
constexpr double share_of_schedule = 0.3;

class OpenRowsSearch {
 public:
  OpenRowsSearch(const SizeSymbol& size, const ReadAtSize& read, const PlanOptions& options)
      : size_(size), read_(read), options_(expected(options)), deadline_(pack::deadline_of(options.solve)) {}

  FoundOpenRows run() {
    find_schedule();
    FoundOpenRows found;
    for (int round = 0; round < most_rounds_of_samples; ++round) {
      Plan plan = plan_for_samples();
      std::vector<std::int64_t> failed;
      found.report = {};
      const Faults faults = check_sizes(plan, rows_, read_, failed, found.report);
      if (faults.empty()) {
        found.rows = std::move(rows_);
        found.planned = result_of(std::move(plan));
        return found;
      }
      const std::size_t before = samples_.size();
      samples_.insert(failed.begin(), failed.end());
      if (samples_.size() == before)
        throw NoOpenRows(fmt::format("the plan does not hold at {}: {}", word(failed[0]), faults[0].what));
    }
    throw NoOpenRows(
        fmt::format("no plan that holds at all sizes was found in {} rounds", most_rounds_of_samples));
  }

 private:
  [[nodiscard]] PlanResult result_of(Plan plan) const {
    plan.summary.seconds = Deadline::Seconds(deadline_.now() - begin_).count();
    PlanResult result{.plan = std::move(plan)};
    result.outcome = outcome_of(result.plan);
    if (result.outcome == Outcome::exceeds_capacity) {
      result.enough = result.plan.memories[0].memory;
      result.enough->capacity = result.plan.memories[0].peak;
    }
    return result;
  }

  [[nodiscard]] std::string word(std::int64_t size) const { return readings_.word(size); }
  [[nodiscard]] std::int64_t last() const { return readings_.last(); }
  [[nodiscard]] std::int64_t size_of(std::int64_t index) const { return readings_.size_of(index); }
  const Input* read(std::int64_t size) { return readings_.read(size); }
  const Graph& graph(std::int64_t size) { return readings_.graph(size); }

  static const PlanOptions& expected(const PlanOptions& options) {
    const StreamOptions& stream = *options.stream;
    if (options.io != Io::rows) throw NoOpenRows("inputs and outputs do not come and go by rows");
    if (options.memories.size() != 1) throw NoOpenRows("there are several memories");
    if (stream.layout == StreamLayout::granules) throw NoOpenRows("rows lie alone, not in rings");
    if (!stream.operators.empty()) throw NoOpenRows("only some operators are to run by rows");
    if (!options.near.empty() || options.banks || !options.places.empty() || !options.states.empty())
      throw NoOpenRows("places of tensors are given");
    if (!options.run.empty() || !options.feeds.empty() || !options.released.empty())
      throw NoOpenRows("it is said when the network runs");
    return options;
  }

  // When what runs

  void find_schedule() {
    const OpenAnalysis analysis = axes_.analyse();
    schedule_.is_open = analysis.is_open;
    std::string why = "no schedule was found";
    std::int64_t index = std::min(last(), first_sizes - 1);
    while (true) {
      const std::int64_t size = accepted_from(index);
      const stream::RowModel model = model_at(graph(size), schedule_);
      const bool is_last =
          index == last() || stream::iterations_of(model) > steps_of_schedules || deadline_.is_over();
      base_ = size;
      if ((is_last || has_several_rows(model)) && schedule_at(size, analysis)) {
        const auto growing = growing_from(size);
        if (!growing) return;
        why = *growing;
      }
      if (is_last) break;
      index = std::min(last(), 2 * index + 1);
    }
    throw NoOpenRows(why);
  }

  /// Whether all that depends on the size has enough steps to show how they follow each other.
  [[nodiscard]] bool has_several_rows(const stream::RowModel& model) const {
    constexpr std::int64_t several = 8;
    for (std::size_t op = 0; op < model.operators.size(); ++op)
      if (schedule_.is_open[op] && model.operators[op].instances() < several) return false;
    return true;
  }

  /// The next size that the model accepts, from a number in the range on; then the ones before.
  std::int64_t accepted_from(std::int64_t index) {
    constexpr std::int64_t farthest = 64;
    for (std::int64_t i = index; i <= std::min(last(), index + farthest); ++i)
      if (read(size_of(i)) != nullptr) return size_of(i);
    for (std::int64_t i = index; i-- > std::max<std::int64_t>(0, index - farthest);)
      if (read(size_of(i)) != nullptr) return size_of(i);
    throw NoOpenRows(
        fmt::format("the model rejects sizes around {}: {}", word(size_of(index)), readings_.rejected()));
  }

  /// False if no order was found.
  bool schedule_at(std::int64_t size, const OpenAnalysis& analysis) {
    const stream::RowModel model = model_at(graph(size), schedule_);
    const stream::RowProgram program = stream::unroll(model);
    std::size_t body = 0;  // the operators of the tail are the last ones
    for (std::size_t op = 0; op < model.operators.size(); ++op)
      if (!analysis.in_tail[op]) body = op + 1;
    const Bytes target = options_.memories[0].capacity.value_or(0);
    const auto times = stream::times_together(model, program, body, target,
                                              {work_on_schedule, deadline_.part(share_of_schedule)});
    if (!times) return false;
    schedule_.times = *times;
    schedule_.times.resize(model.operators.size());
    schedule_.counts.clear();
    std::int64_t next = 0;
    for (std::size_t op = 0; op < model.operators.size(); ++op) {
      schedule_.counts.push_back(program.count(op));
      const stream::AffineTime& time = schedule_.times[op];
      if (!analysis.in_tail[op]) next = std::max(next, time.scale * program.count(op) + time.shift);
    }
    for (std::size_t op = 0; op < model.operators.size(); ++op) {
      if (!analysis.in_tail[op]) continue;
      schedule_.times[op] = {.scale = 1, .shift = next, .position = static_cast<std::int64_t>(op)};
      next += std::max<std::int64_t>(1, program.count(op));
    }
    return true;
  }

  /// What grows at larger sizes, in words; none: rings that suffice at this size do at some larger ones.
  std::optional<std::string> growing_from(std::int64_t size) {
    slots_.clear();
    for (const auto& [tensor, axis] : schedule_.axes) slots_[tensor] = 1;
    const auto own = slots_at(size);
    if (!own) return fmt::format("the order is not legal at {}", word(size));
    samples_ = {size};
    const std::int64_t index = (size - size_.least) / size_.step;
    for (const std::int64_t other : {index + 1, index + 2, index + 3, index + 7, 2 * index + 1}) {
      if (other > last() || read(size_of(other)) == nullptr) continue;
      const auto there = slots_at(size_of(other));
      if (!there)
        return fmt::format("rows of some operators wait for others, more at {}", word(size_of(other)));
      for (const auto& [tensor, slots] : *there) {
        if (slots <= own->at(tensor)) continue;
        return fmt::format("rows of {} wait for others: {} of them at {}, {} at {}",
                           describe(graph(size), tensor), own->at(tensor), word(size), slots,
                           word(size_of(other)));
      }
      samples_.insert(size_of(other));
    }
    for (const std::int64_t probe : axes_.probes()) {
      if (samples_.size() < most_samples) samples_.insert(probe);
    }
    return std::nullopt;
  }

  /// Of the rings that rows need at a size; none if the order is not legal there.
  std::optional<stream::ChosenSlots> slots_at(std::int64_t size) {
    const auto instance = instance_at(graph(size), schedule_);
    if (!instance) return std::nullopt;
    const auto laid = lay_instance(*instance, schedule_, slots_, options_.memories);
    if (!laid) return std::nullopt;
    return slots_in(laid->tensors);
  }

  // Where everything lies

  /// Rings with as many slots as any sample needs, at offsets that hold for all samples.
  Plan plan_for_samples() {
    for (const std::int64_t sample : samples_) {
      const auto needed = slots_at(sample);
      if (!needed) reject_at(sample);
      for (const auto& [tensor, slots] : *needed) slots_[tensor] = std::max(slots_[tensor], slots);
    }
    Problem problem{.memories = options_.memories};
    std::map<std::string, std::size_t> index;
    std::map<std::size_t, std::map<std::int64_t, std::int64_t>> counts;
    Position begin = 0;
    for (const std::int64_t sample : samples_) {
      const OpenInstance instance = *instance_at(graph(sample), schedule_);
      for (std::size_t op = 0; op < schedule_.is_open.size(); ++op)
        if (schedule_.is_open[op]) counts[op][sample] = instance.network.program.count(op);
      PlacedRows laid = *lay_instance(instance, schedule_, slots_, options_.memories);
      for (Buffer& buffer : laid.problem.buffers) {
        const auto [known, is_new] = index.emplace(buffer.id, problem.buffers.size());
        if (is_new) {
          problem.buffers.push_back(buffer);
          problem.buffers.back().pieces.clear();
        }
        Buffer& joint = problem.buffers[known->second];
        joint.size = std::max(joint.size, buffer.size);
        for (Piece piece : buffer.pieces) {
          piece.life.lower += begin;
          piece.life.upper += begin;
          joint.pieces.push_back(piece);
        }
      }
      begin += std::ssize(laid.steps);
    }
    count_steps(counts);
    problem = problem_of(std::move(problem.buffers), options_.memories);
    const Solution solution = solve_provably(problem, options_.solve, deadline_.part(0.5));
    return plan_with(problem, solution, index);
  }

  /// Some operators run as wholes if there are few rows.
  [[noreturn]] void reject_at(std::int64_t sample) {
    std::int64_t above = sample;
    do {
      above += size_.step;
    } while (above < base_ && (read(above) == nullptr || !slots_at(above)));
    throw NoOpenRows(fmt::format(
        "at {} operators run otherwise than with more rows{}", word(sample),
        above < size_.most ? fmt::format("; --dim {}={}..{} may help", size_.name, above, size_.most)
                           : std::string()));
  }

  void count_steps(const std::map<std::size_t, std::map<std::int64_t, std::int64_t>>& counts) {
    rows_ = {.size = size_, .at = base_};
    rows_.steps.assign(schedule_.is_open.size(), std::nullopt);
    for (const auto& [op, by_size] : counts) {
      rows_.steps[op] = step_count_of(by_size);
      if (rows_.steps[op]) continue;
      throw NoOpenRows(
          fmt::format("the number of rows of {} is no quotient of the size; a range in steps may help",
                      axes_.described(model_at(graph(base_), schedule_).operators[op], graph(base_))));
    }
  }

  /// The largest size of few steps that the model accepts.
  std::int64_t size_of_plan() {
    const auto steps = [&](std::int64_t size) {
      std::int64_t sum = 0;
      for (std::size_t op = 0; op < rows_.steps.size(); ++op)
        sum += rows_.steps[op] ? steps_at(*rows_.steps[op], size) : schedule_.counts[op];
      return sum;
    };
    std::int64_t least = (base_ - size_.least) / size_.step;
    std::int64_t most = last();
    while (least < most) {
      const std::int64_t middle = least + (most - least + 1) / 2;
      if (steps(size_of(middle)) <= steps_of_plan) {
        least = middle;
      } else {
        most = middle - 1;
      }
    }
    for (std::int64_t i = least; size_of(i) > base_; --i)
      if (read(size_of(i)) != nullptr) return size_of(i);
    return base_;
  }

  Plan plan_with(const Problem& problem, const Solution& solution,
                 const std::map<std::string, std::size_t>& index) {
    rows_.at = size_of_plan();
    const Input& input = *read(rows_.at);
    const auto instance = instance_at(std::get<Graph>(input.content), schedule_);
    auto laid = instance ? lay_instance(*instance, schedule_, slots_, options_.memories) : std::nullopt;
    const auto fits = [&](const Buffer& it) {
      return index.contains(it.id) && it.size <= problem.buffers[index.at(it.id)].size;
    };
    if (!laid || !std::ranges::all_of(laid->problem.buffers, fits)) {
      samples_.insert(rows_.at);  // it needs more
      return plan_for_samples();
    }
    laid->solution.strategy = solution.strategy;
    laid->solution.interrupted = solution.interrupted;
    for (Buffer& buffer : laid->problem.buffers) {
      const std::size_t joint = index.at(buffer.id);
      buffer.size = problem.buffers[joint].size;
      laid->solution.places.push_back(solution.places[joint]);
    }
    laid->peak = total_peak(problem, solution);
    const Context context({&input, 1}, without_rows(options_), deadline_);
    const auto rows = std::make_shared<const PlacedRows>(*std::move(laid));
    Plan plan = plan_networks_by_rows(context, {&rows, 1}, {});
    plan.streaming = rows->streaming;
    if (options_.stream->recompute > 1)
      plan.left_out.push_back({Wish::recomputation, "rows of an open axis are computed once", ""});
    return plan;
  }

  static constexpr std::size_t most_samples = 12;

  const SizeSymbol& size_;
  const ReadAtSize& read_;
  const PlanOptions& options_;
  Deadline deadline_;
  Deadline::Clock::time_point begin_ = deadline_.now();
  OpenReadings readings_{size_, read_};
  OpenSchedule schedule_{};
  OpenAxes axes_{readings_, options_, schedule_};
  std::int64_t base_ = 0;  ///< The size that the schedule was made for.
  stream::ChosenSlots slots_{};
  std::set<std::int64_t> samples_{};
  OpenRows rows_{};
};

}  // namespace
}  // namespace stowage::plan

namespace stowage {

FoundOpenRows find_open_rows(const SizeSymbol& size, const ReadAtSize& read, const PlanOptions& options) {
  try {
    return plan::OpenRowsSearch(size, read, options).run();
  } catch (const plan::NoOpenRows& impossible) {
    return {.why_not = impossible.what()};
  } catch (const stream::TooLarge& error) {
    return {.why_not = error.what()};
  }
}

}  // namespace stowage
