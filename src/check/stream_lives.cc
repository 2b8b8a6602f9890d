// Plays the steps as a run would: every operator knows its next row; every tensor knows its present
// rows, the step that wrote each and the step that last read it (PresentRows). Reads that leave rows out,
// with a stride larger than their window, are processed row by row; all else costs as much as steps and
// operands.

#include "check/stream_lives.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "check/stream_rows.h"

namespace stowage::check {
namespace {

constexpr std::int64_t most_single_rows = std::int64_t{1} << 26;  // read with strides that leave rows out

/// Progress of an operator.
struct Progress {
  std::int64_t done = 0;                   ///< Rows done; while it accumulates, of the present round.
  std::optional<std::int64_t> of{};        ///< Number of rows, once it has begun by rows.
  std::optional<std::size_t> axis{};       ///< Axis of its rows; none: it ran as a whole.
  bool sums_up = false;                    ///< The rows are those of its first input.
  bool has_run = false;                    ///< It has run completely.
  bool is_summing = false;                 ///< In the middle of a round.
  std::optional<std::size_t> sums_life{};  ///< Index in PlayedRows::sums of the present round.
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

class RowReplay {
 public:
  RowReplay(const Streamed& it, const std::vector<TensorRows>& rows, Faults& faults)
      : it_(it),
        graph_(it.graph),
        rows_(rows),
        faults_(faults),
        present_(rows.size()),
        progress_(graph_.subgraphs[0].operators.size()),
        passed_(rows.size()) {}

  PlayedRows play() {
    const auto& steps = it_.plan.clocks[0].steps;
    give_inputs();
    for (at_ = 0; at_ < static_cast<Position>(steps.size()); ++at_)
      std::visit([&](const auto& step) { play(step); }, steps[static_cast<std::size_t>(at_)]);
    check_operators();
    check_ends();
    for (PresentRows& of_tensor : present_) played_.lives.push_back(of_tensor.take());
    return std::move(played_);
  }

 private:
  void fault(FaultKind kind, std::string what) { faults_.push_back({kind, std::move(what)}); }
  /// The step by itself has a fault, which is already noted.
  bool has_fault() {
    const auto found = fault_in_step(it_, at_);
    if (found) faults_.push_back(*found);
    return found.has_value();
  }
  [[nodiscard]] std::string name(std::size_t op) const { return describe(graph_, 0, op); }
  [[nodiscard]] std::string name_of(TensorId t) const { return describe(graph_, t); }
  [[nodiscard]] const Operator& operator_at(std::size_t op) const {
    return graph_.subgraphs[0].operators[op];
  }
  [[nodiscard]] Rows all_rows(TensorId t) const { return {0, rows_[t].count}; }

  // Inputs and outputs of the network

  template <typename Passage>
  [[nodiscard]] std::vector<bool> tensors_with() const {
    std::vector<bool> with(graph_.tensors.size(), false);
    for (const Step& step : it_.plan.clocks[0].steps) {
      const auto* const passage = std::get_if<Passage>(&step);
      if (passage != nullptr && it_.ids[passage->tensor]) with[*it_.ids[passage->tensor]] = true;
    }
    return with;
  }

  void give_inputs() {
    const std::vector<bool> arrives = tensors_with<Arrive>();
    for (const TensorId t : graph_.subgraphs[0].inputs) {
      if (is_variable(graph_.tensors[t]) && !arrives[t]) present_[t].write(all_rows(t), {-1, 1});
    }
  }

  void play(const Copy&) {}  // a correct form has none
  void play(const Fork&) {}

  void play(const Arrive& arrive) {
    if (!passes(arrive, "arrive")) return;
    present_[*it_.ids[arrive.tensor]].write(rows_passing(arrive), {at_, at_ + 1});
  }

  void play(const Leave& leave) {
    if (!passes(leave, "leave")) return;
    read(*it_.ids[leave.tensor], rows_passing(leave), at_ + 1, "the caller");
  }

  template <typename Passage>
  [[nodiscard]] Rows rows_passing(const Passage& passage) const {
    return passage.rows ? Rows{passage.rows->begin, passage.rows->end} : all_rows(*it_.ids[passage.tensor]);
  }

  /// Rows of a tensor arrive or leave once, in ascending order.
  template <typename Passage>
  bool passes(const Passage& passage, const char* how) {
    const auto t = it_.ids[passage.tensor];
    if (!t || has_fault()) return false;  // a tensor outside of the network is a fault
    const Rows rows = rows_passing(passage);
    std::int64_t& passed = std::is_same_v<Passage, Arrive> ? passed_[*t].first : passed_[*t].second;
    if (rows.first != passed) {
      fault(FaultKind::order, fmt::format("step {}: row {} of {} is the first to {}, expected row {}", at_,
                                          rows.first, name_of(*t), how, passed));
    }
    passed = std::max(passed, rows.second);
    return true;
  }

  void check_ends() {
    const std::vector<bool> arrives = tensors_with<Arrive>();
    const std::vector<bool> leaves = tensors_with<Leave>();
    const auto check = [&](TensorId t, std::int64_t passed, const char* how) {
      if (passed == rows_[t].count) return;
      fault(FaultKind::order,
            fmt::format("row {} of {} does not {}, of {}", passed, name_of(t), how, rows_[t].count));
    };
    for (TensorId t = 0; t < rows_.size(); ++t) {
      if (arrives[t]) check(t, passed_[t].first, "arrive");
      if (leaves[t]) check(t, passed_[t].second, "leave");
    }
    for (const TensorId t : graph_.subgraphs[0].outputs) {
      if (is_variable(graph_.tensors[t]) && !leaves[t])
        read(t, all_rows(t), at_, "the caller, after the last step,");
    }
  }

  // Operators

  void play(const Run& run) {
    if (has_fault()) return;
    const Operator* const op = operator_of(graph_, run);
    const std::size_t o = run.path[1];
    check_turn(*op, o);
    if (const auto& adding = progress_[o].adding; adding && !(run.part && run.rows == adding->rows)) {
      fault(FaultKind::order, fmt::format("{} runs at step {} while its rows {} to {} are added up", name(o),
                                          at_, adding->rows.begin, adding->rows.end));
    }
    if (!run.rows) {
      run_whole(*op, o);
    } else if (!goes_on(o, rows_to_run(graph_, *op, run), run)) {
      return;
    } else if (run.part) {
      run_part(*op, o, run);
    } else if (is_carried_step(*op, run)) {
      run_carried(*op, o, run);
    } else if (run.sums && !can_sum_up(*op, run.rows->axis)) {
      run_first_pass(*op, o, run);
    } else if (run.sums) {
      run_sums(*op, o, run);
    } else {
      run_rows(*op, o, *run.rows);
    }
    for (const TensorId scratch : op->scratch) write(scratch, all_rows(scratch));
  }

  /// Operators that must run first have run, and stateful operators keep their order.
  void check_turn(const Operator& op, std::size_t o) {
    for (const std::size_t earlier : op.after) {
      if (progress_[earlier].has_run || operator_at(earlier).folded) continue;
      fault(FaultKind::order,
            fmt::format("{} runs at step {}, before {} is done", name(o), at_, name(earlier)));
    }
    if (!op.stateful) return;
    if (last_stateful_ && *last_stateful_ > o) {
      fault(FaultKind::order,
            fmt::format("{} runs after {}, and both are stateful", name(o), name(*last_stateful_)));
    }
    last_stateful_ = o;
  }

  /// True if the operator runs rows in the same way as before.
  bool goes_on(std::size_t o, const std::optional<std::int64_t>& of, const Run& run) {
    Progress& progress = progress_[o];
    const std::size_t axis = run.rows->axis;
    const bool sums = run.sums.has_value();
    const bool goes_on_carrying = progress.begins_to_carry && !sums;
    if (progress.of && !goes_on_carrying && (progress.axis != axis || progress.sums_up != sums)) {
      fault(FaultKind::format,
            fmt::format("step {} {} rows of {} along axis {}, others {} rows along axis {}", at_,
                        sums ? "sums up" : "runs", name(o), axis, progress.sums_up ? "sum up" : "run",
                        *progress.axis));
      return false;
    }
    progress.of = of;
    progress.axis = axis;
    progress.sums_up = sums;
    return true;
  }

  void run_whole(const Operator& op, std::size_t o) {
    Progress& progress = progress_[o];
    if (progress.has_run) run_again(op, o);
    if (progress.of && !progress.has_run) {
      fault(FaultKind::order,
            fmt::format("{} runs as a whole at step {}, in the middle of its rows", name(o), at_));
    }
    for (const auto& input : op.inputs) {
      if (input) read(*input, all_rows(*input), at_ + 1, name(o));
    }
    for (const auto& output : op.outputs) {
      if (output) write(*output, all_rows(*output));
    }
    progress.has_run = true;
    played_.steps.push_back({o, at_, std::nullopt});
  }

  void run_rows(const Operator& op, std::size_t o, const RowRange& range) {
    begin_rows(op, o, range);
    const RowAxis& along = *row_axis(op, range.axis);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i]) read_for(o, *op.inputs[i], row_read(along, i), {range.begin, range.end});
    }
    for (const auto& output : op.outputs) {
      if (output) write(*output, {range.begin, range.end});
    }
    end_rows(o, range);
    played_.steps.push_back({o, at_, range.axis});
  }

  void begin_rows(const Operator& op, std::size_t o, const RowRange& range) {
    Progress& progress = progress_[o];
    if (progress.done == 0) progress.backward = range.begin > 0 && range.end == *progress.of;
    const std::int64_t first = progress.in_turn(range).first;
    if (first > progress.done && !progress.has_run) {
      fault(FaultKind::order,
            fmt::format("step {} runs row {} of {} before its row {}", at_,
                        progress.backward ? range.end - 1 : range.begin, name(o), progress.next()));
    }
    if (first < progress.done || progress.has_run) run_again(op, o);
  }

  void end_rows(std::size_t o, const RowRange& range) {
    Progress& progress = progress_[o];
    progress.done = std::max(progress.done, progress.in_turn(range).second);
    progress.has_run = progress.has_run || progress.done == *progress.of;
  }

  /// The rows hold bytes from the first part on, and are present after the last.
  void run_part(const Operator& op, std::size_t o, const Run& run) {
    const RowRange& range = *run.rows;
    const RowRange& part = *run.part;
    const RowRead& by_rows = row_axis(op, range.axis)->reads[0];
    const TensorId from = *op.inputs[by_rows.input];
    const TensorId to = *op.outputs[0];
    auto& adding = progress_[o].adding;
    if (!adding) {
      begin_rows(op, o, range);
      const auto needed =
          rows_read(by_rows.rows, extent_of(from, by_rows.axis), {range.begin, range.end}, budget_);
      if (!needed) return refuse_reads(o);
      adding = AddedRows{range, at_, *needed};
      present_[to].end({range.begin, range.end});
    }
    take_part(o, {part.begin, part.end}, from, by_rows.axis);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] && i != by_rows.input) read(*op.inputs[i], all_rows(*op.inputs[i]), at_ + 1, name(o));
    }
    if (!adding->missing.empty()) return;
    if (is_variable(graph_.tensors[to]))
      present_[to].write({range.begin, range.end}, {adding->since, at_ + 1});
    adding.reset();
    end_rows(o, range);
  }

  void take_part(std::size_t o, const Rows& part, TensorId from, std::size_t axis) {
    AddedRows& adding = *progress_[o].adding;
    if (!adding.is_next(part) || part.second > extent_of(from, axis)) {
      fault(FaultKind::order,
            fmt::format("step {} adds rows {} to {} of {} for {}, expected those from row {} on", at_,
                        part.first, part.second, name_of(from), name(o),
                        adding.missing.empty() ? 0 : adding.missing[0].first));
    }
    for (const Rows& it : adding.take(part))
      read(from, rows_[from].axis == axis ? it : all_rows(from), at_ + 1, name(o));
  }

  [[nodiscard]] std::int64_t extent_of(TensorId t, std::size_t axis) const {
    return (*graph_.tensors[t].shape)[axis];
  }

  void run_again(const Operator& op, std::size_t o) {
    played_.has_run_again = true;
    if (op.stateful)
      fault(FaultKind::order, fmt::format("{} runs again at step {}, but is stateful", name(o), at_));
  }

  void run_sums(const Operator& op, std::size_t o, const Run& run) {
    Progress& progress = progress_[o];
    const auto [axis, begin, end] = *run.rows;
    if (begin == 0 && progress.has_run) run_again(op, o);
    if (begin == 0 && progress.has_run) progress.done = 0;
    if (begin != progress.done) {
      fault(FaultKind::order,
            fmt::format("step {} sums up row {} of {}, expected row {}", at_, begin, name(o), progress.done));
    }
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i]) continue;
      const TensorId t = *op.inputs[i];
      read(t, i == 0 && rows_[t].axis == axis ? Rows{begin, end} : all_rows(t), at_ + 1, name(o));
    }
    keep_sums(op, o, run);
    progress.done = end;
    progress.is_summing = end != *progress.of;
    if (progress.is_summing) return;
    if (op.outputs[0]) write(*op.outputs[0], {all_rows(*op.outputs[0])});
    progress.has_run = true;
  }

  /// Sums stay in one place from the first step of a round to its last.
  void keep_sums(const Operator& op, std::size_t o, const Run& run) {
    const Bytes bytes = op.outputs[0] ? bytes_of_sums(graph_.tensors[*op.outputs[0]]) : 0;
    keep(o, *run.sums, bytes, run.rows->begin == 0);
  }

  void keep(std::size_t o, const Sums& sums, Bytes bytes, bool is_first) {
    std::optional<std::size_t>& life = progress_[o].sums_life;
    if (is_first) life.reset();
    if (!life) {
      life = played_.sums.size();
      played_.sums.push_back({o, sums, bytes, {at_, at_ + 1}});
    }
    SumsLife& kept = played_.sums[*life];
    kept.life.upper = at_ + 1;
    if (kept.sums != sums) {
      fault(FaultKind::accounting,
            fmt::format("step {} has the sums of {} elsewhere than step {}", at_, name(o), kept.life.lower));
    }
  }

  // Rows with a buffer that goes from row to row. They run once, in the order that the operator wants.

  /// Reads rows of the first input.
  void read_rows(const Operator& op, std::size_t o, std::size_t axis, const RowRange& rows) {
    const TensorId t = *op.inputs[0];
    read(t, rows_[t].axis == axis ? Rows{rows.begin, rows.end} : all_rows(t), at_ + 1, name(o));
  }

  void run_first_pass(const Operator& op, std::size_t o, const Run& run) {
    Progress& progress = progress_[o];
    if (run.rows->begin != progress.summed) {
      fault(FaultKind::order, fmt::format("step {} adds up row {} of {}, expected row {}", at_,
                                          run.rows->begin, name(o), progress.summed));
    }
    read_rows(op, o, run.rows->axis, *run.rows);
    keep(o, *run.sums, summed_first(op, run.rows->axis)->carried, run.rows->begin == 0);
    progress.summed = run.rows->end;
    progress.begins_to_carry = progress.summed == *progress.of;
  }

  void run_carried(const Operator& op, std::size_t o, const Run& run) {
    Progress& progress = progress_[o];
    const CarriedAxis& along = *carried_axis(op, run.rows->axis);
    const RowRange& rows = *run.rows;
    progress.backward = along.backward;
    const Rows turn = progress.in_turn(rows);
    if (turn.first != progress.done) {
      fault(FaultKind::order,
            fmt::format("step {} runs row {} of {}, expected row {}", at_,
                        along.backward ? rows.end - 1 : rows.begin, name(o), progress.next()));
    }
    progress.begins_to_carry = false;
    if (along.reads_twice && progress.summed != *progress.of)
      fault(FaultKind::order,
            fmt::format("step {} runs rows of {} before all of them are added up", at_, name(o)));
    read_rows(op, o, along.input_axis, rows);
    for (std::size_t i = 1; i < op.inputs.size(); ++i) {
      if (op.inputs[i]) read(*op.inputs[i], all_rows(*op.inputs[i]), at_ + 1, name(o));
    }
    if (run.carry) keep(o, *run.carry, along.carried, !along.reads_twice && turn.first == 0);
    write(*op.outputs[0], {rows.begin, rows.end});
    progress.done = turn.second;
    progress.has_run = progress.done == *progress.of;
    for (std::size_t k = 1; k < op.outputs.size() && progress.has_run; ++k) {
      if (op.outputs[k]) write(*op.outputs[k], all_rows(*op.outputs[k]));
    }
  }

  void read_for(std::size_t o, TensorId t, const RowRead* by_rows, const Rows& rows) {
    if (by_rows == nullptr || by_rows->axis != rows_[t].axis) return read(t, all_rows(t), at_ + 1, name(o));
    const auto needed = rows_read(by_rows->rows, rows_[t].count, rows, budget_);
    if (!needed) return refuse_reads(o);
    for (const Rows& it : *needed) read(t, it, at_ + 1, name(o));
  }

  void refuse_reads(std::size_t o) {
    if (!is_over_budget_)
      fault(FaultKind::format,
            fmt::format("step {}: {} reads more rows than this version understands", at_, name(o)));
    is_over_budget_ = true;
  }

  void read(TensorId t, const Rows& rows, Position until, const std::string& reader) {
    if (!is_variable(graph_.tensors[t])) return;
    if (const auto missing = present_[t].read(rows, until)) {
      fault(FaultKind::order, fmt::format("row {} of {} is read by {} at step {} before it is there",
                                          *missing, name_of(t), reader, at_));
    }
  }

  void write(TensorId t, const Rows& rows) {
    if (is_variable(graph_.tensors[t])) present_[t].write(rows, {at_, at_ + 1});
  }

  void check_operators() {
    for (std::size_t o = 0; o < progress_.size(); ++o) {
      const Progress& progress = progress_[o];
      if (operator_at(o).folded) continue;
      if (!progress.has_run && !progress.of) {
        fault(FaultKind::order, name(o) + " is never run");
      } else if (progress.of && (!progress.has_run || progress.is_summing || progress.adding)) {
        fault(FaultKind::order,
              fmt::format("{} runs {} row {}, expected all {}", name(o),
                          progress.backward ? "from its last row down to" : "up to",
                          progress.backward ? *progress.of - progress.done : progress.done, *progress.of));
      }
    }
  }

  const Streamed& it_;
  const Graph& graph_;
  const std::vector<TensorRows>& rows_;
  Faults& faults_;
  Position at_ = 0;
  std::int64_t budget_ = most_single_rows;
  bool is_over_budget_ = false;
  PlayedRows played_;
  std::vector<PresentRows> present_;
  std::vector<Progress> progress_;
  std::vector<std::pair<std::int64_t, std::int64_t>> passed_;  ///< Rows that have arrived, and left.
  std::optional<std::size_t> last_stateful_;
};

}  // namespace

PlayedRows play_rows(const Streamed& it, const std::vector<TensorRows>& rows, Faults& faults) {
  return RowReplay(it, rows, faults).play();
}

}  // namespace stowage::check
