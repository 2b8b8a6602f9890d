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
#include "plan/open_instance.h"
#include "plan/row_rounds.h"
#include "plan/row_ways.h"
#include "plan/size_samples.h"
#include "plan/step_counts.h"
#include "stowage/error.h"
#include "stream/instances.h"
#include "stream/program.h"

namespace stowage::plan {
namespace {

using base::Deadline;

constexpr std::int64_t steps_of_plan = 4096;        // at most, of the size that the plan is for
constexpr std::int64_t steps_of_checks = 6000;      // the same, of sizes that are checked
constexpr std::int64_t steps_of_schedules = 40000;  // the same, of sizes that a schedule is looked for at
constexpr std::int64_t first_sizes = 32;            // sizes of the range up to the first of these
constexpr std::int64_t work_on_schedule = 20'000'000;
constexpr int most_rounds_of_samples = 12;
constexpr double share_of_schedule = 0.3;

/// Why there is no plan.
class Impossible : public Error {
 public:
  explicit Impossible(const std::string& why) : Error("", why) {}
};

/// What is known of the operators of a model at two sizes.
struct Analysis {
  std::vector<bool> is_open{};  ///< It has more steps at the larger size.
  std::vector<bool> is_late{};  ///< It needs what is complete only after the last row.
  std::vector<bool> in_tail{};  ///< The same, or nothing else needs it.
};

class OpenRowsSearch {
 public:
  OpenRowsSearch(const SizeSymbol& size, const ReadAtSize& read, const PlanOptions& options)
      : size_(size), read_(read), options_(options), deadline_(pack::deadline_of(options.solve)) {}

  FoundOpenRows run() {
    expect_options();
    find_axes();
    put_tail_behind();
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
        throw Impossible(fmt::format("the plan does not hold at {}: {}", word(failed[0]), faults[0].what));
    }
    throw Impossible(
        fmt::format("no plan that holds at all sizes was found in {} rounds", most_rounds_of_samples));
  }

  /// Checks the plan at sizes of its range; adds up to some of those at which it fails. The faults are those of the
  /// first one.
  static Faults check_sizes(const Plan& plan, const OpenRows& rows, const ReadAtSize& read,
                            std::vector<std::int64_t>& failed, OpenRowsReport& report) {
    constexpr std::size_t most_failed = 4;
    SizeSymbol range = rows.size;
    while (range.most > rows.at && steps_in(plan, rows, range.most) > steps_of_checks)
      range.most = range.least + (range.most - range.least) / range.step / 2 * range.step;
    const SizeSamples samples = size_samples({&range, 1});
    Faults first;
    std::set<std::int64_t> sizes{rows.at};
    for (const SizeValues& values : samples.values) sizes.insert(values[0]);
    for (const std::int64_t size : sizes) {
      std::optional<Input> input;
      try {
        input = read(size);
      } catch (const UsageError&) {
        throw;
      } catch (const Error&) {
        continue;
      }
      Faults faults;
      try {
        const auto& graph = std::get<Graph>(input->content);
        const Plan there = size == rows.at ? plan : plan_at(plan, rows, size, graph);
        faults = check_plan(there, {&graph, 1});
      } catch (const UsageError&) {
        throw;
      } catch (const Error& error) {
        faults.push_back({FaultKind::order, error.what()});
      }
      if (!faults.empty()) {
        failed.push_back(size);
        for (Fault& fault : faults)
          fault.what = fmt::format("at {}={}: {}", rows.size.name, size, fault.what);
        if (first.empty()) first = std::move(faults);
        if (failed.size() == most_failed) break;
        continue;
      }
      ++report.checked;
      report.largest = std::max(report.largest, size);
    }
    if (report.checked == 0 && first.empty())
      first.push_back({FaultKind::format, "the model rejects all sizes of the plan"});
    report.is_every_size = samples.is_every_size && range.most == rows.size.most && first.empty();
    return first;
  }

 private:
  static std::int64_t steps_in(const Plan& plan, const OpenRows& rows, std::int64_t size) {
    std::int64_t steps = 0;
    const std::vector<TimedSteps>& all = plan.streaming->affine->operators;
    for (std::size_t op = 0; op < all.size(); ++op)
      steps += rows.steps[op] ? steps_at(*rows.steps[op], size) : all[op].count;
    return steps;
  }

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

  [[nodiscard]] std::string word(std::int64_t size) const { return fmt::format("{}={}", size_.name, size); }
  [[nodiscard]] std::int64_t last() const { return (size_.most - size_.least) / size_.step; }
  [[nodiscard]] std::int64_t size_of(std::int64_t index) const { return size_.least + index * size_.step; }

  void expect_options() const {
    const StreamOptions& stream = *options_.stream;
    if (options_.io != Io::rows) throw Impossible("inputs and outputs do not come and go by rows");
    if (options_.memories.size() != 1) throw Impossible("there are several memories");
    if (stream.layout == StreamLayout::granules) throw Impossible("rows lie alone, not in rings");
    if (!stream.operators.empty()) throw Impossible("only some operators are to run by rows");
    if (!options_.near.empty() || options_.banks || !options_.places.empty() || !options_.states.empty())
      throw Impossible("places of tensors are given");
  }

  /// The network at a size; null if the model rejects it.
  const Input* read(std::int64_t size) {
    const auto known = readings_.find(size);
    if (known != readings_.end()) return known->second ? &*known->second : nullptr;
    auto& reading = readings_[size];
    try {
      reading = read_(size);
      reading->info.ranges.clear();
    } catch (const UsageError&) {
      throw;
    } catch (const Error& error) {
      if (rejected_.empty()) rejected_ = error.what();
    }
    return reading ? &*reading : nullptr;
  }

  static const Graph& graph_of(const Input& input) { return std::get<Graph>(input.content); }
  const Graph& graph(std::int64_t size) { return graph_of(*read(size)); }

  // What depends on the size

  void find_axes() {
    constexpr std::int64_t farthest = 255;
    std::vector<const Graph*> graphs;
    for (std::int64_t index = 0; index <= std::min(last(), farthest) && graphs.size() < 4; ++index)
      add_probe(index, graphs);
    for (std::int64_t index = std::min(last(), farthest); index > 0 && graphs.size() < 8; --index)
      add_probe(index, graphs);
    if (graphs.size() < 2) throw Impossible(fmt::format("the model rejects most sizes: {}", rejected_));
    const Graph& first = *graphs[0];
    if (const std::string why = stream::obstacle_to_streaming(first); !why.empty()) throw Impossible(why);
    for (const Graph* const graph : graphs) {
      if (graph->tensors.size() != first.tensors.size() || graph->subgraphs.size() != 1 ||
          graph->subgraphs[0].operators.size() != first.subgraphs[0].operators.size())
        throw Impossible("the network has bodies, or other operators at other sizes");
    }
    for (TensorId t = 0; t < first.tensors.size(); ++t) {
      if (!stream::is_passed_on(first.tensors[t].kind) || !first.tensors[t].shape) continue;
      std::set<std::size_t> open;
      for (const Graph* const graph : graphs) note_open(first, *graph, t, open);
      if (open.size() > 1)
        throw Impossible(fmt::format("several axes of {} depend on the size", describe(first, t)));
      if (open.empty()) continue;
      if (!bytes_of_row(graphs.back()->tensors[t], *open.begin()))
        throw Impossible(fmt::format("{} has no rows along axis {}", describe(first, t), *open.begin()));
      schedule_.axes.emplace(t, *open.begin());
    }
    if (schedule_.axes.empty()) throw Impossible("nothing depends on the size");
    is_folded_.clear();
    for (const Operator& op : first.subgraphs[0].operators) is_folded_.push_back(op.folded);
  }

  void add_probe(std::int64_t index, std::vector<const Graph*>& graphs) {
    const Input* const input = read(size_of(index));
    if (input == nullptr) return;
    graphs.push_back(&graph_of(*input));
    probes_.insert(size_of(index));
  }

  static void note_open(const Graph& first, const Graph& other, TensorId t, std::set<std::size_t>& open) {
    const Shape& a = *first.tensors[t].shape;
    const auto& b = other.tensors[t].shape;
    if (!b || b->size() != a.size())
      throw Impossible(fmt::format("{} has another rank at other sizes", describe(first, t)));
    for (std::size_t axis = 0; axis < a.size(); ++axis)
      if (a[axis] != (*b)[axis]) open.insert(axis);
  }

  // Which operators run behind the last row

  void put_tail_behind() {
    const Input& input = *read(*probes_.begin());
    schedule_.alignment = alignment_in(options_, input.info.format);
    schedule_.keeps_state = keeps_state(input);
    schedule_.granule = granule_of(*options_.stream);
    const std::size_t operators = graph_of(input).subgraphs[0].operators.size();
    for (const bool folded : {true, false})
      for (std::size_t op = 0; op < operators; ++op)
        if (is_folded_[op] == folded) schedule_.order.push_back(op);
    if (options_.alias == Alias::none)
      for (TensorId t = 0; t < graph_of(input).tensors.size(); ++t) schedule_.apart.insert(t);
    const Analysis analysis = analyse();
    const stream::RowModel model = model_at(graph(*probes_.begin()), schedule_);
    std::set<std::size_t> tail;
    for (std::size_t op = 0; op < model.operators.size(); ++op)
      if (model.operators[op].source && analysis.in_tail[op])
        tail.insert(schedule_.order[*model.operators[op].source]);
    std::ranges::stable_partition(schedule_.order, [&](std::size_t op) { return !tail.contains(op); });
  }

  /// Of the model in the order of the schedule.
  Analysis analyse() {
    const Graph& small = graph(*probes_.begin());
    const Graph& large = graph(*probes_.rbegin());
    const stream::RowModel a = model_at(small, schedule_);
    const stream::RowModel b = model_at(large, schedule_);
    expect_rows_of_open_tensors(b);
    const bool are_alike = a.operators.size() == b.operators.size() && a.tensors.size() == b.tensors.size();
    Analysis result;
    std::vector<std::optional<std::size_t>> writers(b.tensors.size());
    for (std::size_t op = 0; op < b.operators.size(); ++op) {
      const stream::Operator& it = b.operators[op];
      result.is_open.push_back(are_alike ? a.operators[op].rows != it.rows : it.rows > 1);
      if (it.backward)
        throw Impossible(fmt::format("{} runs from the last row to the first", described(it, large)));
      bool is_late = std::ranges::any_of(
          it.after, [&](std::size_t earlier) { return result.is_open[earlier] || result.is_late[earlier]; });
      std::string of =
          it.reads.empty() ? "an operator" : fmt::format("'{}'", b.tensors[it.reads[0].tensor].name);
      for (const stream::Access& access : it.reads) {
        const auto writer = writers[access.tensor];
        if (!writer) continue;
        const bool at_the_end = b.operators[*writer].writing_of(access.tensor) == stream::Writing::at_the_end;
        if (!result.is_late[*writer] && !(at_the_end && result.is_open[*writer])) continue;
        is_late = true;
        of = fmt::format("'{}'", b.tensors[access.tensor].name);
      }
      if (is_late && result.is_open[op])
        throw Impossible(fmt::format("{} makes its rows only when all rows of {} have been read",
                                     described(it, large), of));
      result.is_late.push_back(is_late);
      for (const std::size_t t : it.writes) writers[t] = op;
    }
    if (!are_alike) throw Impossible("the network has other operators by rows at other sizes");
    find_tail(b, result);
    return result;
  }

  static void find_tail(const stream::RowModel& model, Analysis& analysis) {
    analysis.in_tail = analysis.is_late;
    std::vector<bool> is_read_before(model.tensors.size(), false);  // by one that is not in the tail
    for (std::size_t op = model.operators.size(); op-- > 0;) {
      const stream::Operator& it = model.operators[op];
      const bool is_needed = std::ranges::any_of(it.writes, [&](std::size_t t) { return is_read_before[t]; });
      if (!analysis.is_open[op] && !is_needed) analysis.in_tail[op] = true;
      if (analysis.in_tail[op]) continue;
      for (const stream::Access& access : it.reads) is_read_before[access.tensor] = true;
    }
  }

  [[nodiscard]] std::string described(const stream::Operator& op, const Graph& graph) const {
    return op.source ? describe(graph, 0, schedule_.order[*op.source]) : fmt::format("input '{}'", op.name);
  }

  /// All that depends on the size must come and go by rows along its axis.
  void expect_rows_of_open_tensors(const stream::RowModel& model) {
    const Graph& large = graph(*probes_.rbegin());
    for (std::size_t t = 0; t < model.tensors.size(); ++t) {
      const stream::Tensor& tensor = model.tensors[t];
      if (!tensor.source || !schedule_.axes.contains(*tensor.source)) continue;
      const std::string name = describe(large, *tensor.source);
      if (tensor.axis != schedule_.axes.at(*tensor.source))
        throw Impossible(fmt::format("{} has no rows along its open axis", name));
      if (!tensor.is_whole && !tensor.stays) continue;
      for (const stream::Operator& op : model.operators) {
        for (const stream::Access& access : op.reads)
          if (access.tensor == t && access.rows.scale == 0)
            throw Impossible(fmt::format("{} reads all rows of {} at once", described(op, large), name));
        const bool writes = std::ranges::find(op.writes, t) != op.writes.end();
        if (writes && op.writing_of(t) == stream::Writing::at_the_end)
          throw Impossible(fmt::format("{} makes all rows of {} at once", described(op, large), name));
      }
      throw Impossible(fmt::format("{} is whole in memory", name));
    }
  }

  // When what runs

  void find_schedule() {
    const Analysis analysis = analyse();
    schedule_.is_open = analysis.is_open;
    std::string why = "no schedule was found";
    std::int64_t index = std::min(last(), first_sizes - 1);
    while (true) {
      const std::int64_t size = accepted_from(index);
      base_ = size;
      if (schedule_at(size, analysis)) {
        const auto growing = growing_from(size);
        if (!growing) return;
        why = *growing;
      }
      const std::int64_t steps = stream::iterations_of(model_at(graph(size), schedule_));
      if (index == last() || steps > steps_of_schedules || deadline_.is_over()) break;
      index = std::min(last(), 2 * index + 1);
    }
    throw Impossible(why);
  }

  /// The next size that the model accepts, from a number in the range on; then the ones before.
  std::int64_t accepted_from(std::int64_t index) {
    constexpr std::int64_t farthest = 64;
    for (std::int64_t i = index; i <= std::min(last(), index + farthest); ++i)
      if (read(size_of(i)) != nullptr) return size_of(i);
    for (std::int64_t i = index; i-- > std::max<std::int64_t>(0, index - farthest);)
      if (read(size_of(i)) != nullptr) return size_of(i);
    throw Impossible(fmt::format("the model rejects sizes around {}: {}", word(size_of(index)), rejected_));
  }

  /// False if no order was found.
  bool schedule_at(std::int64_t size, const Analysis& analysis) {
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
    for (const std::int64_t probe : probes_) {
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
    throw Impossible(fmt::format(
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
      throw Impossible(
          fmt::format("the number of rows of {} is no quotient of the size; a range in steps may help",
                      described(model_at(graph(base_), schedule_).operators[op], graph(base_))));
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
    const auto instance = instance_at(graph_of(input), schedule_);
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
    return plan;
  }

  static constexpr std::size_t most_samples = 12;

  const SizeSymbol& size_;
  const ReadAtSize& read_;
  const PlanOptions& options_;
  Deadline deadline_;
  Deadline::Clock::time_point begin_ = deadline_.now();
  std::map<std::int64_t, std::optional<Input>> readings_{};
  std::string rejected_{};           ///< By the model, first.
  std::set<std::int64_t> probes_{};  ///< Sizes at which it was read first.
  std::vector<bool> is_folded_{};    ///< By operator.
  OpenSchedule schedule_{};
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
  } catch (const plan::Impossible& impossible) {
    return {.why_not = impossible.what()};
  } catch (const stream::TooLarge& error) {
    return {.why_not = error.what()};
  }
}

Faults check_open_rows(const Plan& plan, const OpenRows& rows, const ReadAtSize& read,
                       OpenRowsReport& report) {
  std::vector<std::int64_t> failed;
  report = {};
  (void)plan::schedule_in(plan, rows);
  return plan::OpenRowsSearch::check_sizes(plan, rows, read, failed, report);
}

}  // namespace stowage
