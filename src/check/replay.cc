// Plays the steps as a run would. A step is a task over regions of tensors: a whole operator reads and writes all
// rows; others read and write some, add them to sums or carry a buffer; inputs arrive and outputs leave. Every tensor
// knows its present rows, the step that wrote each and the step that last read it (PresentRows). A read of absent rows
// is a fault. A read inside a loop of a tensor written before the loop counts up to the loop's end, because the next
// round reads it again. A read by an operator that may write over what it reads is noted; updates.cc decides later if
// input and output share a place.
//
// It is one class, because steps of all kinds change the same present rows and the same progress of operators.
//
// Reads that leave rows out, with a stride larger than their window, are processed row by row; all else costs as much
// as steps and operands, times the logarithm of present entries.

#include "check/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "check/names.h"
#include "operators/bodies.h"
#include "operators/states.h"

namespace stowage::check {
namespace {

constexpr std::int64_t most_single_rows = std::int64_t{1} << 26;  // read with strides that leave rows out

/// Progress of an operator that runs by rows.
struct Progress {
  std::int64_t done = 0;                   ///< Rows done; while it accumulates, of the present round.
  std::optional<std::int64_t> of{};        ///< Number of rows, once it has begun by rows.
  std::optional<std::size_t> axis{};       ///< Axis of its rows.
  bool sums_up = false;                    ///< The rows are those of its first input.
  bool is_summing = false;                 ///< In the middle of a round.
  std::optional<std::size_t> sums_life{};  ///< Index in Played::sums of the present round.
  std::optional<AddedRows> adding{};
  std::int64_t summed = 0;       ///< Rows of the first pass that are done.
  bool begins_to_carry = false;  ///< The first pass is done, and the second has not begun.
  bool backward = false;         ///< It began with its last row.

  /// The rows, counted from the one that it began with.
  [[nodiscard]] Rows in_turn(const RowRange& rows) const {
    return backward ? Rows{*of - rows.end, *of - rows.begin} : Rows{rows.begin, rows.end};
  }
  /// The next row to run.
  [[nodiscard]] std::int64_t next() const { return backward ? *of - 1 - done : done; }
};

class Replay {
 public:
  Replay(const NetworkSteps& part, Faults& faults)
      : part_(part),
        graph_(*part.graph),
        faults_(faults),
        at_(part.span.life.lower),
        present_(graph_.tensors.size()),
        has_run_(graph_.subgraphs.size()),
        passed_(part.is_by_rows ? graph_.tensors.size() : 0) {}

  Played play() {
    const auto [begin, end] = part_.span.life;
    const std::vector<bool> arrives = tensors_with<Arrive>();
    const std::vector<bool> leaves = tensors_with<Leave>();
    for (const TensorId input : graph_.subgraphs[0].inputs) {
      if (!arrives[input] && graph_.tensors[input].kind != TensorKind::state) give(input, begin);
    }
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      if (graph_.tensors[t].kind == TensorKind::state) write(t, part_.all_rows(t), {begin, end});
    }
    play_subgraph(0, 1);
    if (at_ < part_.steps_end)
      fault(FaultKind::order, fmt::format("step {} is not an operator that could run there", at_));
    for (TensorId t = 0; t < passed_.size(); ++t) {
      if (arrives[t]) check_passed(t, passed_[t].first, "arrive");
      if (leaves[t]) check_passed(t, passed_[t].second, "leave");
    }
    for (const TensorId output : graph_.subgraphs[0].outputs) {
      if (!leaves[output]) read(output, part_.all_rows(output), end, "the caller, after the last step,");
    }
    collect_lives();
    return std::move(played_);
  }

 private:
  void fault(FaultKind kind, std::string what) { faults_.push_back({kind, std::move(what)}); }
  [[nodiscard]] std::string name_of(TensorId t) const { return describe(graph_, t); }

  void collect_lives() {
    played_.lives.reserve(present_.size());
    for (TensorId t = 0; t < present_.size(); ++t) {
      played_.lives.push_back(present_[t].take());
      for (RowLife& it : played_.lives[t]) {
        Position& upper = it.life.upper;
        if (it.written_over && *it.written_over < upper) it.written_over.reset();
        if (it.written_over) upper = *it.written_over + 1;
        // Unread old state may be overwritten at once.
        if (it.is_given && !it.is_read && !is_old_state(t)) upper = std::max(upper, it.life.lower + 1);
      }
    }
  }

  [[nodiscard]] bool is_old_state(TensorId tensor) const {
    return std::any_of(graph_.ties.begin(), graph_.ties.end(),
                       [&](const StateTie& tie) { return tie.input == tensor; });
  }

  // Steps

  [[nodiscard]] const Step* next_step() const { return at_ < part_.steps_end ? &part_.step(at_) : nullptr; }

  /// The next step's operator if it is in `subgraph`, at this depth under the open operators.
  [[nodiscard]] const Run* next_in(std::size_t subgraph, std::size_t depth) const {
    const Run* const run = next_step() != nullptr ? std::get_if<Run>(next_step()) : nullptr;
    if (run == nullptr) return nullptr;
    const std::vector<std::size_t>& path = run->path;
    if (path.size() != 2 * depth || path[2 * depth - 2] != subgraph) return nullptr;
    if (!std::equal(open_.begin(), open_.end(), path.begin())) return nullptr;
    return path.back() < graph_.subgraphs[subgraph].operators.size() ? run : nullptr;
  }

  void play_subgraph(std::size_t subgraph, std::size_t depth) {
    const auto& operators = graph_.subgraphs[subgraph].operators;
    std::vector<bool>& has_run = has_run_[subgraph];
    has_run.assign(operators.size(), false);
    for (const Operator& op : operators) {  // results of an earlier run are not values of this one
      for (const auto& output : op.outputs) {
        if (output) present_[*output].end(part_.all_rows(*output));
      }
    }
    std::optional<std::size_t> last_stateful;
    if (depth == 1) play_moves();
    while (const Run* const run = next_in(subgraph, depth)) {
      const std::size_t o = run->path.back();
      const Operator& op = operators[o];
      const std::string name = describe(graph_, subgraph, o);
      if (!run->rows && has_run[o]) run_again(op, name);
      if (depth > 1 && run->rows)
        fault(FaultKind::format, fmt::format("step {} runs rows of {}, which is in a body", at_, name));
      if (op.folded && (!part_.is_by_rows || depth > 1))
        fault(FaultKind::order, fmt::format("{} runs at step {} though it is folded", name, at_));
      for (const std::size_t earlier : op.after) {
        if (has_run[earlier] || operators[earlier].folded) continue;
        fault(FaultKind::order, fmt::format("{} runs at step {}, before {} is done", name, at_,
                                            describe(graph_, subgraph, earlier)));
      }
      if (op.stateful && last_stateful && *last_stateful > o) {
        fault(FaultKind::order, fmt::format("{} runs after {}, and both are stateful", name,
                                            describe(graph_, subgraph, *last_stateful)));
      }
      if (op.stateful) last_stateful = o;
      open_.insert(open_.end(), {subgraph, o});
      if (part_.is_by_rows && depth == 1) {
        play_task(*run, op, name);
      } else {
        play_whole(op, name, depth);
        has_run[o] = true;
      }
      open_.resize(open_.size() - 2);
      if (depth == 1) play_moves();
    }
    for (std::size_t o = 0; o < operators.size(); ++o) {
      if (!operators[o].folded) check_is_complete(subgraph, o);
    }
  }

  void check_is_complete(std::size_t subgraph, std::size_t o) {
    const auto it = progress_.find(o);
    const bool is_by_rows = subgraph == 0 && it != progress_.end() && it->second.of;
    if (!is_by_rows) {
      if (!has_run_[subgraph][o]) fault(FaultKind::order, describe(graph_, subgraph, o) + " is never run");
      return;
    }
    const Progress& progress = it->second;
    if (has_run_[0][o] && !progress.is_summing && !progress.adding) return;
    fault(FaultKind::order,
          fmt::format("{} runs {} row {}, expected all {}", describe(graph_, 0, o),
                      progress.backward ? "from its last row down to" : "up to",
                      progress.backward ? *progress.of - progress.done : progress.done, *progress.of));
  }

  /// Copies, arrivals and departures. Bodies make none, so each happens once.
  void play_moves() {
    for (; next_step() != nullptr; ++at_) {
      const Step& step = *next_step();
      if (std::holds_alternative<Run>(step) || std::holds_alternative<Fork>(step)) return;
      if (const auto* const copy = std::get_if<Copy>(&step)) {
        const auto t = part_.id_of(copy->tensor);
        if (t && !is_constant(graph_.tensors[*t].kind))
          use({.tensor = *t, .rows = rows_passing(*t, copy->rows), .life = {at_, at_ + 1}, .copy = copy});
      } else if (const auto found = fault_in_step(part_, at_)) {
        faults_.push_back(*found);
      } else if (const auto* const arrive = std::get_if<Arrive>(&step)) {
        if (const auto t = part_.id_of(arrive->tensor)) {
          const Rows rows = rows_passing(*t, arrive->rows);
          pass(*t, rows, passed_[*t].first, "arrive");
          write(*t, rows, {at_, at_ + 1});
        }
      } else if (const auto* const leave = std::get_if<Leave>(&step)) {
        if (const auto t = part_.id_of(leave->tensor)) {
          const Rows rows = rows_passing(*t, leave->rows);
          pass(*t, rows, passed_[*t].second, "leave");
          read(*t, rows, at_ + 1, "the caller");
        }
      }
    }
  }

  template <typename Passage>
  [[nodiscard]] std::vector<bool> tensors_with() const {
    std::vector<bool> with(graph_.tensors.size(), false);
    if (!part_.is_by_rows) return with;
    for (const Step& step : part_.steps()) {
      const auto* const passage = std::get_if<Passage>(&step);
      const auto t = passage != nullptr ? part_.id_of(passage->tensor) : std::nullopt;
      if (t) with[*t] = true;
    }
    return with;
  }

  [[nodiscard]] Rows rows_passing(TensorId t, const std::optional<RowRange>& rows) const {
    return rows ? Rows{rows->begin, rows->end} : part_.all_rows(t);
  }

  /// Rows of a tensor arrive or leave once, in ascending order.
  void pass(TensorId t, const Rows& rows, std::int64_t& passed, const char* how) {
    if (rows.first != passed) {
      fault(FaultKind::order, fmt::format("step {}: row {} of {} is the first to {}, expected row {}", at_,
                                          rows.first, name_of(t), how, passed));
    }
    passed = std::max(passed, rows.second);
  }

  void check_passed(TensorId t, std::int64_t passed, const char* how) {
    if (passed == part_.rows_of(t).count) return;
    fault(FaultKind::order,
          fmt::format("row {} of {} does not {}, of {}", passed, name_of(t), how, part_.rows_of(t).count));
  }

  // Whole operators

  void run_again(const Operator& op, const std::string& name) {
    played_.has_run_again = true;
    if (!part_.is_by_rows)
      fault(FaultKind::order, fmt::format("{} runs twice, again at step {}", name, at_));
    else if (op.stateful)
      fault(FaultKind::order, fmt::format("{} runs again at step {}, but is stateful", name, at_));
  }

  void play_whole(const Operator& op, const std::string& name, std::size_t depth) {
    const Position begin = at_++;
    const std::size_t reads_before = reads_.size();
    bool may_update = false;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] && read_input(op, i, part_.all_rows(*op.inputs[i]), begin, name)) may_update = true;
    }
    std::vector<operators::Result> results = operators::results_of_bodies(graph_, op);
    std::erase_if(results, [&](const operators::Result& it) { return part_.is_moved[it.to]; });
    for (const auto& output : op.outputs) {
      const bool comes_later =
          std::ranges::any_of(results, [&](const operators::Result& it) { return output == it.to; });
      if (output && !comes_later) write(*output, part_.all_rows(*output), {begin, begin + 1});
    }
    if (may_update || !op.copies.empty()) played_.tasks.push_back({&op, begin});
    for (const TensorId scratch : op.scratch) write(scratch, part_.all_rows(scratch), {begin, begin + 1});
    const bool is_loop = op.body_use == BodyUse::repeated;
    open_loops_ += is_loop ? 1 : 0;
    const std::size_t handed_before = played_.handed.size();
    for (std::size_t b = 0; b < op.bodies.size(); ++b) {
      const std::size_t body = op.bodies[b];
      const Position first = at_;
      const bool is_empty = next_in(body, depth + 1) == nullptr;
      for (const TensorId input : graph_.subgraphs[body].inputs)
        give(input, is_loop || is_empty ? begin : first);
      play_subgraph(body, depth + 1);
      for (const TensorId output : graph_.subgraphs[body].outputs)
        read(output, part_.all_rows(output), at_, name);
      for (const operators::Result& it : results) {
        if (!is_loop && it.body == b) hand_over(it, is_empty ? begin : at_ - 1);
      }
    }
    open_loops_ -= is_loop ? 1 : 0;
    if (op.bodies.empty()) return;
    for (const operators::Result& it : results) {
      if (is_loop) hand_over(it, at_ - 1);
    }
    std::set<TensorId> outputs;
    for (std::size_t h = handed_before; h < played_.handed.size(); ++h) {
      HandedOver& handed = played_.handed[h];
      if (handed.end != 0) continue;  // of an operator in a body
      handed.end = at_;
      outputs.insert(handed.to);
    }
    for (const TensorId output : outputs)
      present_[output].write(part_.all_rows(output), {at_, at_}, false, Handing::done);
    for (const auto* operands : {&op.inputs, &op.outputs}) {
      for (const auto& tensor : *operands) {
        if (tensor) keep(*tensor, begin);
      }
    }
    for (const TensorId scratch : op.scratch) keep(scratch, begin);
    if (!is_loop) return;
    for (const std::size_t body : op.bodies) {
      for (const TensorId input : graph_.subgraphs[body].inputs) keep(input, begin);
    }
    const std::set<TensorId> reads(reads_.begin() + static_cast<std::ptrdiff_t>(reads_before), reads_.end());
    for (const TensorId tensor : reads) keep(tensor, begin, begin);
  }

  /// An operator with bodies that began at `since` needs the tensor up to now, if it was written by then.
  void keep(TensorId tensor, Position since, Position written_until = largest_value) {
    present_[tensor].keep(at_, written_until);
    if (!part_.is_moved[tensor]) return;
    std::vector<Use>& uses = played_.uses[tensor];
    for (auto use = uses.rbegin(); use != uses.rend() && use->life.lower >= since; ++use)
      use->life.upper = std::max(use->life.upper, at_);
  }

  // Values

  void use(Use use) {
    use.clock = part_.span.clock;
    played_.uses[use.tensor].push_back(std::move(use));
  }

  void write(TensorId tensor, const Rows& rows, const Lifetime& life) {
    present_[tensor].write(rows, life);
    if (part_.is_moved[tensor])
      use({.tensor = tensor, .rows = rows, .life = life, .is_written = true, .by = "its writer"});
  }

  /// A body, or all rounds of a loop, are done. If several bodies hand the tensor over, one of them runs.
  void hand_over(const operators::Result& result, Position at) {
    present_[result.to].write(part_.all_rows(result.to), {at, at + 1}, false, Handing::by_body);
    played_.handed.push_back({result.from, result.to, at, 0});
  }

  /// The tensor is handed over before the operator at that position runs.
  void give(TensorId tensor, Position from) {
    present_[tensor].write(part_.all_rows(tensor), {from, from}, true);
    if (part_.is_moved[tensor])
      use({.tensor = tensor,
           .rows = part_.all_rows(tensor),
           .life = {from, from + 1},
           .is_given = true,
           .by = "the caller"});
  }

  /// True if the operator may write over what it reads.
  bool read_input(const Operator& op, std::size_t i, const Rows& rows, Position at, const std::string& name) {
    const bool may_update = may_write_over(op, i);
    const auto until = may_update ? PresentRows::Until(PresentRows::MayWriteOver{at}) : at + 1;
    read(*op.inputs[i], rows, until, name);
    return may_update;
  }

  [[nodiscard]] bool may_write_over(const Operator& op, std::size_t i) const {
    if (written_over(part_, op, i)) return true;
    return part_.is_by_rows && op.outputs.size() == 1 &&
           std::any_of(op.row_axes.begin(), op.row_axes.end(), [&](const RowAxis& along) {
             const RowRead* const by_rows = row_read(along, i);
             return by_rows != nullptr && by_rows->kept_at;
           });
  }

  void read(TensorId t, const Rows& rows, const PresentRows::Until& until, const std::string& reader) {
    const Tensor& it = graph_.tensors[t];
    if (is_constant(it.kind) || it.bytes == 0) return;
    if (const auto missing = present_[t].read(rows, until)) {
      const auto* const over = std::get_if<PresentRows::MayWriteOver>(&until);
      const Position at = over != nullptr ? over->at : std::get<Position>(until) - 1;
      fault(FaultKind::order, fmt::format("{}{} is read by {} at step {} before it is written",
                                          part_.rows_of(t).axis ? fmt::format("row {} of ", *missing) : "",
                                          name_of(t), reader, at));
    }
    if (part_.is_moved[t]) {
      const auto* const over = std::get_if<PresentRows::MayWriteOver>(&until);
      const Position end = over != nullptr ? over->at + 1 : std::get<Position>(until);
      use({.tensor = t,
           .rows = rows,
           .life = {end - 1, end},
           .may_write_over = over != nullptr,
           .by = reader});
    }
    if (open_loops_ > 0) reads_.push_back(t);
  }

  // Tasks of operators of the main subgraph in a plan by rows

  void play_task(const Run& run, const Operator& op, const std::string& name) {
    if (const auto found = fault_in_step(part_, at_)) {
      faults_.push_back(*found);
    } else {
      play_task(run, op, name, progress_[run.path.back()]);
    }
    ++at_;
  }

  void play_task(const Run& run, const Operator& op, const std::string& name, Progress& progress) {
    const std::size_t o = run.path.back();
    if (progress.adding && !(run.part && run.rows == progress.adding->rows)) {
      fault(FaultKind::order, fmt::format("{} runs at step {} while its rows {} to {} are added up", name,
                                          at_, progress.adding->rows.begin, progress.adding->rows.end));
    }
    if (!run.rows) {
      if (progress.of && !has_run_[0][o]) {
        fault(FaultKind::order,
              fmt::format("{} runs as a whole at step {}, in the middle of its rows", name, at_));
      }
      play_whole(op, name, 1);
      --at_;
      has_run_[0][o] = true;
      return;
    }
    if (!goes_on(run, op, name, progress)) return;
    if (run.part) {
      run_part(run, op, name, progress);
    } else if (is_carried_step(op, run)) {
      run_carried(run, op, name, progress);
    } else if (run.sums && !can_sum_up(op, run.rows->axis)) {
      run_first_pass(run, op, name, progress);
    } else if (run.sums) {
      run_sums(run, op, name, progress);
    } else {
      run_rows(run, op, name, progress);
    }
    for (const TensorId scratch : op.scratch) write_rows(scratch, part_.all_rows(scratch));
  }

  void write_rows(TensorId t, const Rows& rows) { write(t, rows, {at_, at_ + 1}); }
  void write_rows(TensorId t, const RowRange& rows) { write_rows(t, Rows{rows.begin, rows.end}); }

  /// True if the operator runs rows in the same way as before.
  bool goes_on(const Run& run, const Operator& op, const std::string& name, Progress& progress) {
    const std::size_t axis = run.rows->axis;
    const bool sums = run.sums.has_value();
    const bool goes_on_carrying = progress.begins_to_carry && !sums;
    if (progress.of && !goes_on_carrying && (progress.axis != axis || progress.sums_up != sums)) {
      fault(FaultKind::format,
            fmt::format("step {} {} rows of {} along axis {}, others {} rows along axis {}", at_,
                        sums ? "sums up" : "runs", name, axis, progress.sums_up ? "sum up" : "run",
                        *progress.axis));
      return false;
    }
    progress.of = rows_to_run(graph_, op, run);
    progress.axis = axis;
    progress.sums_up = sums;
    return true;
  }

  void run_rows(const Run& run, const Operator& op, const std::string& name, Progress& progress) {
    const RowRange& range = *run.rows;
    begin_rows(run, op, name, progress);
    const RowAxis& along = *row_axis(op, range.axis);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i]) continue;
      const RowRead* const by_rows = row_read(along, i);
      if (by_rows == nullptr || by_rows->axis != part_.rows_of(*op.inputs[i]).axis) {
        read(*op.inputs[i], part_.all_rows(*op.inputs[i]), at_ + 1, name);
        continue;
      }
      const auto needed =
          rows_read(by_rows->rows, part_.rows_of(*op.inputs[i]).count, {range.begin, range.end}, budget_);
      if (!needed) return refuse_reads(name);
      for (const Rows& rows : *needed) read_input(op, i, rows, at_, name);
    }
    for (const auto& output : op.outputs) {
      if (output) write_rows(*output, range);
    }
    end_rows(run, progress);
    played_.tasks.push_back({&op, at_});
  }

  void refuse_reads(const std::string& name) {
    if (std::exchange(is_over_budget_, true)) return;
    fault(FaultKind::format,
          fmt::format("step {}: {} reads more rows than this version understands", at_, name));
  }

  void begin_rows(const Run& run, const Operator& op, const std::string& name, Progress& progress) {
    const RowRange& range = *run.rows;
    const bool has_run = has_run_[0][run.path.back()];
    if (progress.done == 0) progress.backward = range.begin > 0 && range.end == *progress.of;
    const std::int64_t first = progress.in_turn(range).first;
    if (first > progress.done && !has_run) {
      fault(FaultKind::order,
            fmt::format("step {} runs row {} of {} before its row {}", at_,
                        progress.backward ? range.end - 1 : range.begin, name, progress.next()));
    }
    if (first < progress.done || has_run) run_again(op, name);
  }

  void end_rows(const Run& run, Progress& progress) {
    progress.done = std::max(progress.done, progress.in_turn(*run.rows).second);
    if (progress.done == *progress.of) has_run_[0][run.path.back()] = true;
  }

  /// The rows hold bytes from the first part on, and are present after the last.
  void run_part(const Run& run, const Operator& op, const std::string& name, Progress& progress) {
    const RowRange& range = *run.rows;
    const RowRead& by_rows = row_axis(op, range.axis)->reads[0];
    const TensorId from = *op.inputs[by_rows.input];
    const TensorId to = *op.outputs[0];
    if (!progress.adding) {
      begin_rows(run, op, name, progress);
      const auto needed =
          rows_read(by_rows.rows, extent_of(from, by_rows.axis), {range.begin, range.end}, budget_);
      if (!needed) return refuse_reads(name);
      progress.adding = AddedRows{range, at_, *needed};
      present_[to].end({range.begin, range.end});
    }
    AddedRows& adding = *progress.adding;
    take_part({run.part->begin, run.part->end}, from, by_rows.axis, name, adding);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] && i != by_rows.input)
        read(*op.inputs[i], part_.all_rows(*op.inputs[i]), at_ + 1, name);
    }
    if (!adding.missing.empty()) return;
    write(to, {range.begin, range.end}, {adding.since, at_ + 1});
    progress.adding.reset();
    end_rows(run, progress);
  }

  void take_part(const Rows& part, TensorId from, std::size_t axis, const std::string& name,
                 AddedRows& adding) {
    if (!adding.is_next(part) || part.second > extent_of(from, axis)) {
      fault(FaultKind::order,
            fmt::format("step {} adds rows {} to {} of {} for {}, expected those from row {} on", at_,
                        part.first, part.second, name_of(from), name,
                        adding.missing.empty() ? 0 : adding.missing[0].first));
    }
    for (const Rows& rows : adding.take(part))
      read(from, part_.rows_of(from).axis == axis ? rows : part_.all_rows(from), at_ + 1, name);
  }

  [[nodiscard]] std::int64_t extent_of(TensorId t, std::size_t axis) const {
    return (*graph_.tensors[t].shape)[axis];
  }

  /// Reads rows of the first input along that axis, and all other inputs as wholes.
  void read_inputs(const Operator& op, std::size_t axis, const RowRange& rows, bool reads_others,
                   const std::string& name) {
    for (std::size_t i = 0; i < (reads_others ? op.inputs.size() : 1); ++i) {
      if (!op.inputs[i]) continue;
      const TensorId t = *op.inputs[i];
      const bool is_some = i == 0 && part_.rows_of(t).axis == axis;
      read(t, is_some ? Rows{rows.begin, rows.end} : part_.all_rows(t), at_ + 1, name);
    }
  }

  void run_sums(const Run& run, const Operator& op, const std::string& name, Progress& progress) {
    auto&& has_run = has_run_[0][run.path.back()];
    const auto [axis, begin, end] = *run.rows;
    if (begin == 0 && has_run) {
      run_again(op, name);
      progress.done = 0;
    }
    if (begin != progress.done) {
      fault(FaultKind::order,
            fmt::format("step {} sums up row {} of {}, expected row {}", at_, begin, name, progress.done));
    }
    read_inputs(op, axis, *run.rows, true, name);
    keep_sums(run, *run.sums, op.outputs[0] ? bytes_of_sums(graph_.tensors[*op.outputs[0]]) : 0, begin == 0,
              name, progress);
    progress.done = end;
    progress.is_summing = end != *progress.of;
    if (progress.is_summing) return;
    if (op.outputs[0]) write_rows(*op.outputs[0], part_.all_rows(*op.outputs[0]));
    has_run = true;
  }

  /// Sums stay in one place from the first step of a round to its last.
  void keep_sums(const Run& run, const Sums& sums, Bytes bytes, bool is_first, const std::string& name,
                 Progress& progress) {
    if (is_first || !progress.sums_life) {
      progress.sums_life = played_.sums.size();
      played_.sums.push_back({.life = {at_, at_ + 1},
                              .sums_of = static_cast<std::uint32_t>(run.path.back()),
                              .buffer = sums.buffer,
                              .first = sums.offset,
                              .step = bytes});
    }
    KeptBytes& kept = played_.sums[*progress.sums_life];
    kept.life.upper = at_ + 1;
    if (Sums{kept.buffer, kept.first} != sums) {
      fault(FaultKind::accounting,
            fmt::format("step {} has the sums of {} elsewhere than step {}", at_, name, kept.life.lower));
    }
  }

  // Rows with a buffer that goes from row to row. They run once, in the order that the operator wants.

  void run_first_pass(const Run& run, const Operator& op, const std::string& name, Progress& progress) {
    if (run.rows->begin != progress.summed) {
      fault(FaultKind::order, fmt::format("step {} adds up row {} of {}, expected row {}", at_,
                                          run.rows->begin, name, progress.summed));
    }
    read_inputs(op, run.rows->axis, *run.rows, false, name);
    keep_sums(run, *run.sums, summed_first(op, run.rows->axis)->carried, run.rows->begin == 0, name,
              progress);
    progress.summed = run.rows->end;
    progress.begins_to_carry = progress.summed == *progress.of;
  }

  void run_carried(const Run& run, const Operator& op, const std::string& name, Progress& progress) {
    const CarriedAxis& along = *carried_axis(op, run.rows->axis);
    const RowRange& rows = *run.rows;
    progress.backward = along.backward;
    const Rows turn = progress.in_turn(rows);
    if (turn.first != progress.done) {
      fault(FaultKind::order, fmt::format("step {} runs row {} of {}, expected row {}", at_,
                                          along.backward ? rows.end - 1 : rows.begin, name, progress.next()));
    }
    progress.begins_to_carry = false;
    if (along.reads_twice && progress.summed != *progress.of)
      fault(FaultKind::order,
            fmt::format("step {} runs rows of {} before all of them are added up", at_, name));
    read_inputs(op, along.input_axis, rows, true, name);
    if (run.carry)
      keep_sums(run, *run.carry, along.carried, !along.reads_twice && turn.first == 0, name, progress);
    write_rows(*op.outputs[0], rows);
    progress.done = turn.second;
    if (progress.done != *progress.of) return;
    has_run_[0][run.path.back()] = true;
    for (std::size_t k = 1; k < op.outputs.size(); ++k) {
      if (op.outputs[k]) write_rows(*op.outputs[k], part_.all_rows(*op.outputs[k]));
    }
  }

  const NetworkSteps& part_;
  const Graph& graph_;
  Faults& faults_;
  Position at_ = 0;
  std::vector<std::size_t> open_;  ///< Path of the operators whose bodies are being played.
  Played played_;
  std::vector<PresentRows> present_;
  std::size_t open_loops_ = 0;              ///< Of these, those that repeat their bodies.
  std::vector<TensorId> reads_;             ///< In loops.
  std::vector<std::vector<bool>> has_run_;  ///< Operators of each subgraph, completely.
  std::map<std::size_t, Progress> progress_;
  std::vector<std::pair<std::int64_t, std::int64_t>> passed_;  ///< Rows that have arrived, and left.
  std::int64_t budget_ = most_single_rows;
  bool is_over_budget_ = false;
};

}  // namespace

const RowLife* Played::last_of(TensorId t) const {
  const auto last =
      std::find_if(lives[t].begin(), lives[t].end(), [](const RowLife& it) { return it.is_last; });
  return last != lives[t].end() ? &*last : nullptr;
}

std::span<const model::Stretch> Played::beyond_of(const KeptBytes& need) const {
  const auto it = need.is_last ? beyond.find(need.tensor) : beyond.end();
  return it != beyond.end() ? std::span(it->second) : std::span<const model::Stretch>();
}

Played replay(const NetworkSteps& part, Faults& faults) { return Replay(part, faults).play(); }

std::optional<TensorId> written_over(const NetworkSteps& part, const Operator& op, std::size_t input) {
  if (!op.inputs[input]) return std::nullopt;
  const bool may_move = part.is_by_rows;  // rows that take turns in a buffer move with it
  if (part.is_fed[*op.inputs[input]] || (part.is_moved[*op.inputs[input]] && !may_move)) return std::nullopt;
  for (const auto& output : op.outputs) {
    const auto tie = output ? part.old_states.find(*output) : part.old_states.end();
    if (tie == part.old_states.end() || tie->second != *op.inputs[input]) continue;
    return operators::may_write_over_state(*part.graph, op, input, *output) ? output : std::nullopt;
  }
  return in_place_output(*part.graph, op, input);
}

}  // namespace stowage::check
