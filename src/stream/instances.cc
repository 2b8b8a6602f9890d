// Turns a network into operators over rows.
//
// Every tensor gets an axis for its rows (stream/axes.h).
//
// An operator reads rows if its rule maps rows of its output to rows along the input's axis, and else the
// whole input. An operator without a rule has a single iteration.
//
// An operator writes over a row if it reads it last and computes element by element, or only adds to its
// bytes (a PAD). This file decides for all orders which tensors take over which others. All other readers of
// the overwritten tensor must come before the operator and read the same rows, so that they can be done by
// then. If the tensor is there from the start, they may read any rows: none of them waits for a writer.
//
// Cost: operators * operands * readers of an operand.

#include "stream/instances.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "model/ties.h"
#include "operators/facts.h"
#include "stowage/error.h"
#include "stream/bodies.h"
#include "stream/directions.h"
#include "stream/program.h"

namespace stowage::stream {
namespace {

/// An operator with more runs once, so that sums with its repeats do not overflow.
constexpr std::int64_t most_multiplies = std::int64_t{1} << 40;

class Reading {
 public:
  Reading(const Graph& graph, const InstanceOptions& options)
      : graph_(graph),
        options_(options),
        axes_(axes_of(graph, options.axes)),
        index_(graph_.tensors.size()) {}

  RowModel run() {
    const stowage::Subgraph& main = graph_.subgraphs[0];
    const auto orders = topological_orders(graph_);
    for (const std::size_t op : orders[0]) {
      if (!main.operators[op].folded) order_.push_back(op);
    }
    for (const StateTie& tie : graph_.ties) is_tied_[tie.input] = is_tied_[tie.output] = true;
    for (const TensorId t : main.inputs) {
      if (is_variable(t)) add_input(t);
    }
    for (const std::size_t op : order_) add_operator(op);
    is_taken_.resize(model_.tensors.size(), false);
    note_uses();
    for (const StateTie& tie : graph_.ties) write_last(tie);
    if (options_.turns_back) turn_back(graph_, model_);
    for (const TensorId t : main.outputs) {
      if (!index_[t]) continue;
      Tensor& output = model_.tensors[*index_[t]];
      // Rows leave in ascending order, those of an operator that runs backward stay.
      const auto writer = writer_[*index_[t]];
      const bool is_backward = writer && model_.operators[*writer].backward;
      output.leaves = io_of(t) == Io::rows && graph_.tensors[t].bytes > 0 && !is_backward && !is_tied_[t];
      output.stays = !output.leaves;
      output.is_whole = output.is_whole || output.stays;
      if (options_.passed.contains(t) && io_of(t) == Io::rows && !output.leaves) output.bytes_per_row = 0;
    }
    for (Operator& op : model_.operators) run_once_between_wholes(op);
    for (Operator& op : model_.operators) add_up_as_rows_come(op);
    if (options_.in_place == InPlace::where_possible || options_.in_place == InPlace::same_size) {
      for (std::size_t op = 0; op < model_.operators.size(); ++op) take_over(op);
    } else if (options_.in_place == InPlace::open) {
      for (Operator& op : model_.operators) {
        op.may_overwrite = may_overwrite(op);
      }
    }
    return std::move(model_);
  }

 private:
  [[nodiscard]] bool is_variable(TensorId t) const { return is_passed_on(graph_.tensors[t].kind); }

  [[nodiscard]] const stowage::Operator& operator_at(std::size_t op) const {
    return graph_.subgraphs[0].operators[op];
  }
  [[nodiscard]] const Shape& shape(TensorId t) const { return *graph_.tensors[t].shape; }

  // The model

  [[nodiscard]] Io io_of(TensorId t) const {
    const auto passed = options_.passed.find(t);
    return passed == options_.passed.end() ? options_.io : passed->second;
  }

  [[nodiscard]] std::int64_t granule_of(TensorId t) const {
    const auto chosen = options_.granules.find(t);
    return chosen == options_.granules.end() ? options_.granule : chosen->second;
  }

  [[nodiscard]] std::int64_t rows_of(TensorId t) const { return axes_[t] ? shape(t)[*axes_[t]] : 1; }

  /// Product of the dimensions [begin, end), but at least 1.
  [[nodiscard]] std::int64_t extent(TensorId t, std::size_t begin, std::size_t end) const {
    std::int64_t product = 1;
    for (std::size_t d = begin; d < end; ++d) product *= std::max<std::int64_t>(1, shape(t)[d]);
    return product;
  }

  std::size_t add_tensor(TensorId t) {
    const std::int64_t rows = rows_of(t);
    const bool is_callers = is_tied_[t] || (io_of(t) == Io::external && is_variable(t) &&
                                            graph_.tensors[t].kind != TensorKind::temporary);
    const Bytes bytes = is_callers ? 0 : graph_.tensors[t].bytes;
    index_[t] = model_.tensors.size();
    model_.tensors.push_back({.name = graph_.tensors[t].name,
                              .rows = rows,
                              .bytes_per_row = (bytes + rows - 1) / rows,
                              .granule = std::min(granule_of(t), rows),
                              .runs = axes_[t] ? extent(t, 0, *axes_[t]) : 1,
                              .axis = axes_[t],
                              .source = t});
    return *index_[t];
  }

  /// No operator reads scratch memory. So it is live in each step of its operator, and between them it is free:
  /// it has as many rows as the operator, each as large as all of it.
  std::size_t add_scratch(TensorId t, std::int64_t rows) {
    const std::size_t added = add_tensor(t);
    model_.tensors[added].rows = rows;
    model_.tensors[added].bytes_per_row = graph_.tensors[t].bytes;
    return added;
  }

  /// An input without bytes does not arrive.
  void add_input(TensorId t) {
    const std::size_t tensor = add_tensor(t);
    if (options_.passed.contains(t) || is_tied_[t]) model_.tensors[tensor].is_whole = true;
    if (io_of(t) != Io::rows || graph_.tensors[t].bytes == 0 || is_tied_[t]) return;
    model_.operators.push_back({.name = graph_.tensors[t].name,
                                .rows = model_.tensors[tensor].rows,
                                .granule = model_.tensors[tensor].granule,
                                .writes = {tensor}});
  }

  void add_operator(std::size_t op) {
    const stowage::Operator& source = operator_at(op);
    Operator added{.name = source.name.empty() ? source.type : source.name, .source = op};
    for (const auto& output : source.outputs) {
      if (output && is_variable(*output)) added.writes.push_back(add_tensor(*output));
    }
    for (const std::size_t earlier : source.after) {
      if (model_of_[earlier]) added.after.push_back(*model_of_[earlier]);
    }
    if (source.stateful && last_stateful_) added.after.push_back(*last_stateful_);
    is_too_large_[op] = reads_too_much(op);
    const RowAxis* const along = way_of(op);
    const CarriedAxis* const carried = carried_by(op);
    if (carried != nullptr) {
      carry(op, *carried, added);
    } else if (along != nullptr) {
      added.rows = model_.tensors[added.writes[0]].rows;
      added.granule = model_.tensors[added.writes[0]].granule;
      added.can_add_rows = along->adds_rows && source.scratch.empty();
    }
    for (const TensorId scratch : source.scratch) added.writes.push_back(add_scratch(scratch, added.rows));
    if (!source.bodies.empty()) add_bodies(op, added);
    if (carried == nullptr && along == nullptr) {
      added.writing = Writing::at_the_end;
      for (const std::size_t t : added.writes) model_.tensors[t].is_whole = true;
    }
    if (sums_up(op)) {
      const Tensor& summed = model_.tensors[*index_[*source.inputs[0]]];
      added.rows = summed.rows;
      added.granule = summed.granule;
      added.accumulator = bytes_of_sums(graph_.tensors[*source.outputs[0]]);
      added.sums_one_row = options_.carries_one_row;
    }
    added.runs_once = !source.multiplies || *source.multiplies > most_multiplies;
    added.multiplies = added.runs_once ? 0 : *source.multiplies;
    for (std::size_t i = 0; i < source.inputs.size(); ++i) {
      if (!source.inputs[i] || !index_[*source.inputs[i]]) continue;
      added.reads.push_back(carried != nullptr && i == 0 ? Access{*index_[*source.inputs[0]]}
                                                         : read_of(op, i, along));
      const Access& access = added.reads.back();
      if (access == whole(access.tensor)) model_.tensors[access.tensor].is_whole = true;
    }
    for (const TensorId t : bodies_.read_by(op)) {
      if (!index_[t]) continue;
      added.reads.push_back(whole(*index_[t]));
      model_.tensors[*index_[t]].is_whole = true;
    }
    if (source.stateful) last_stateful_ = model_.operators.size();
    model_of_[op] = model_.operators.size();
    model_.operators.push_back(std::move(added));
  }

  /// Rows that are made of wholes for a whole save nothing: one step makes them.
  void run_once_between_wholes(Operator& op) {
    const auto is_of_whole = [&](const Access& access) {
      return access.rows.scale == 0 && model_.tensors[access.tensor].is_whole;
    };
    const auto makes_whole = [&](std::size_t t) { return model_.tensors[t].is_whole; };
    if (op.writing != Writing::row_by_row || op.keeps_accumulator() || op.carrying != Carrying::sums ||
        !op.source || !op.ends.empty() || !std::ranges::all_of(op.reads, is_of_whole) ||
        !std::ranges::all_of(op.writes, makes_whole))
      return;
    op.granule = op.rows;
    for (const std::size_t t : op.writes) model_.tensors[t].granule = model_.tensors[t].rows;
  }

  /// Rows that come in one step are added up in one.
  void add_up_as_rows_come(Operator& op) const {
    if (op.writing == Writing::at_the_end && op.keeps_accumulator())
      op.granule = model_.tensors[op.reads[0].tensor].granule;
  }

  /// What its bodies need is there while it runs.
  void add_bodies(std::size_t op, Operator& added) {
    const BodyRun& run = bodies_.run_of(op);
    added.inside = run.steps;
    if (run.load == 0) return;
    added.writes.push_back(model_.tensors.size());
    model_.tensors.push_back({.name = added.name + " (bodies)", .bytes_per_row = run.load});
  }

  /// A new state is written over the old one, after all other readers of that. They run once, so that none of their rows
  /// has to wait for the writer.
  void write_last(const StateTie& tie) {
    if (!index_[tie.output] || !index_[tie.input]) return;
    const auto writer = writer_[*index_[tie.output]];
    for (const std::size_t reader : readers_[*index_[tie.input]]) {
      model_.operators[reader].runs_once = true;
      if (writer && reader != *writer) model_.operators[*writer].after.push_back(reader);
    }
  }

  /// Whether the operator writes a new state over the old one that it reads.
  [[nodiscard]] bool updates_state(std::size_t op) const {
    const auto has = [](const auto& operands, TensorId t) {
      return std::ranges::find(operands, std::optional(t)) != operands.end();
    };
    return std::ranges::any_of(graph_.ties, [&](const StateTie& tie) {
      return has(operator_at(op).inputs, tie.input) && has(operator_at(op).outputs, tie.output);
    });
  }

  /// How the operator computes its rows with a buffer that it carries; null if it does not.
  [[nodiscard]] const CarriedAxis* carried_by(std::size_t op) const {
    const stowage::Operator& source = operator_at(op);
    if (source.carries.empty() || !source.scratch.empty() || !has_rows(source.outputs[0]) ||
        !has_rows(source.inputs[0]) || sums_up(op) || way_of(op) != nullptr || updates_state(op))
      return nullptr;
    const CarriedAxis* const carried = carried_axis(source, *axes_[*source.outputs[0]]);
    const bool has_axis = carried != nullptr && axes_[*source.inputs[0]] == carried->input_axis;
    const bool has_rows_to_carry = rows_of(*source.outputs[0]) > 1 || options_.carries_one_row;
    return has_axis && has_rows_to_carry ? carried : nullptr;
  }

  /// Makes the operator carry a buffer. One that reads its rows twice becomes two.
  void carry(std::size_t op, const CarriedAxis& carried, Operator& added) {
    const Tensor& output = model_.tensors[added.writes[0]];
    added.rows = output.rows;
    added.granule = output.granule;
    added.ends.assign(added.writes.begin() + 1, added.writes.end());
    for (const std::size_t t : added.ends) model_.tensors[t].is_whole = true;
    added.carrying = Carrying::state;
    added.backward = carried.backward;
    added.accumulator = carried.carried;
    if (!carried.reads_twice) return;
    Operator first = added;
    first.name += " (sums)";
    first.writes.clear();
    first.ends.clear();
    first.writing = Writing::at_the_end;
    first.carrying = Carrying::first_pass;
    first.reads.push_back({*index_[*operator_at(op).inputs[0]]});
    added.carrying = Carrying::second_pass;
    added.accumulator = 0;
    added.passed = model_.operators.size();
    added.after.push_back(added.passed);
    model_.operators.push_back(std::move(first));
  }

  [[nodiscard]] bool has_rows(const std::optional<TensorId>& t) const {
    return t && is_variable(*t) && axes_[*t];
  }

  /// Whether all lengths shall run alike, and the output has rows: a window over few rows, which has all of them in it, is
  /// no sum.
  [[nodiscard]] bool keeps_rows(std::size_t op) const {
    const auto& outputs = operator_at(op).outputs;
    return options_.carries_one_row && !outputs.empty() && outputs[0] && options_.axes.contains(*outputs[0]);
  }

  /// Whether the operator sums over the rows of its first input.
  [[nodiscard]] bool sums_up(std::size_t op) const {
    const stowage::Operator& source = operator_at(op);
    if (!source.scratch.empty()) return false;  // it is for all rows
    if (updates_state(op) || keeps_rows(op)) return false;
    if (source.sums_over.empty() || source.outputs.size() != 1 || !has_rows(source.inputs[0])) return false;
    return can_sum_up(source, *axes_[*source.inputs[0]]);
  }

  /// How the operator runs over the rows of its outputs; null if it runs as a whole or sums up.
  [[nodiscard]] const RowAxis* way_of(std::size_t op) const {
    const stowage::Operator& source = operator_at(op);
    if (is_too_large_[op] || source.outputs.empty() || !has_rows(source.outputs[0]) || sums_up(op) ||
        updates_state(op))
      return nullptr;
    if (!source.scratch.empty() && granule_of(*source.outputs[0]) > 1)
      return nullptr;  // the last step may have fewer rows
    const std::size_t axis = *axes_[*source.outputs[0]];
    if (can_sum_up(source, axis) && !keeps_rows(op))
      return nullptr;  // rows along this axis are those of sums
    const bool is_alike = std::all_of(source.outputs.begin(), source.outputs.end(),
                                      [&](const auto& it) { return !it || axes_[*it] == axis; });
    return is_alike ? row_axis(source, axis) : nullptr;
  }

  /// Whether the operator's rows read more rows than are left for all operators. Such an operator runs as a whole.
  [[nodiscard]] bool reads_too_much(std::size_t op) {
    const RowAxis* const along = way_of(op);
    if (along == nullptr) return false;
    const stowage::Operator& source = operator_at(op);
    const std::int64_t rows = rows_of(*source.outputs[0]);
    const std::int64_t granule = granule_of(*source.outputs[0]);
    const std::int64_t steps = (rows + granule - 1) / granule;
    std::int64_t reads = 0;
    for (std::size_t i = 0; i < source.inputs.size(); ++i) {
      if (!source.inputs[i] || !index_[*source.inputs[i]]) continue;
      const Access access = read_of(op, i, along);
      const Tensor& tensor = model_.tensors[access.tensor];
      const bool is_whole = access == whole(access.tensor);
      const auto product =
          is_whole ? base::checked_multiply(steps, (tensor.rows + tensor.granule - 1) / tensor.granule)
                   : base::checked_multiply(access.rows.scale == 0 ? steps : rows, access.rows.taps);
      reads = base::checked_add(reads, product.value_or(largest_value)).value_or(largest_value);
    }
    const std::int64_t most_reads = UnrollOptions().limit / 2;
    if (reads > most_reads - model_.row_reads) {
      model_.has_too_many = true;
      return true;
    }
    model_.row_reads += reads;
    return false;
  }

  [[nodiscard]] Access whole(std::size_t tensor) const {
    return {tensor, {.scale = 0, .taps = model_.tensors[tensor].rows}};
  }

  [[nodiscard]] Access read_of(std::size_t op, std::size_t input, const RowAxis* along) {
    const TensorId t = *operator_at(op).inputs[input];
    const std::size_t tensor = *index_[t];
    if (along == nullptr) return sums_up(op) && input == 0 ? Access{tensor} : whole(tensor);
    const RowRead* const read = row_read(*along, input);
    if (read != nullptr && read->axis == axes_[t]) return {tensor, read->rows};
    if (read != nullptr && has_idle_rows(op, *along, *read)) model_.reads_more = true;
    return whole(tensor);
  }

  /// Whether the operator computes rows of its output from no row of the input.
  [[nodiscard]] bool has_idle_rows(std::size_t op, const RowAxis& along, const RowRead& read) const {
    const stowage::Operator& source = operator_at(op);
    const std::int64_t extent = shape(*source.inputs[read.input])[read.axis];
    const std::int64_t rows = shape(*source.outputs[0])[along.axis];
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t first = first_row(read.rows, r);
      const std::int64_t before = first < 0 ? (-first + read.rows.dilation - 1) / read.rows.dilation : 0;
      if (before >= read.rows.taps || first + before * read.rows.dilation >= extent) return true;
    }
    return false;
  }

  // In place

  /// Lets the operator's output take over an input if it may, late inputs first.
  void take_over(std::size_t op) {
    const Operator& taker = model_.operators[op];
    if (!taker.source || taker.writes.size() != 1 || taker.writing != Writing::row_by_row) return;
    if (options_.apart.contains(*model_.tensors[taker.writes[0]].source)) return;
    const stowage::Operator& source = operator_at(*taker.source);
    const RowAxis* const along = way_of(*taker.source);
    if (along == nullptr) return;
    for (std::size_t i = source.inputs.size(); i-- > 0;) {
      if (!source.inputs[i] || !index_[*source.inputs[i]]) continue;
      const auto taken = taken_over(source, i, *along, taker.writes[0]);
      if (!taken || !may_be_taken(*taken, op)) continue;
      model_.tensors[taker.writes[0]].takes_over = taken;
      is_taken_[taken->tensor] = true;
      return;
    }
  }

  /// Reads whose rows may be written over, with any other readers.
  [[nodiscard]] std::vector<std::size_t> may_overwrite(const Operator& op) const {
    std::vector<std::size_t> reads;
    if (!op.source || op.writes.size() != 1 || op.writing != Writing::row_by_row) return reads;
    const stowage::Operator& source = operator_at(*op.source);
    const RowAxis* const along = way_of(*op.source);
    if (along == nullptr) return reads;
    for (const RowRead& read : along->reads) {
      const auto& input = source.inputs[read.input];
      if (!input || !index_[*input] || model_.tensors[*index_[*input]].stays) continue;
      const bool is_same_row = read.rows == RowMap{} && is_updated(source, read.input);
      if (!is_same_row && !read.kept_at) continue;
      for (std::size_t i = 0; i < op.reads.size(); ++i) {
        if (op.reads[i].tensor == *index_[*input]) reads.push_back(i);
      }
    }
    return reads;
  }

  /// Whether the operator may write its output over the input, element by element.
  [[nodiscard]] bool is_updated(const stowage::Operator& source, std::size_t input) const {
    const auto output = in_place_output(graph_, source, input);
    return output && operators::may_write_over(graph_, source, *source.inputs[input], *output);
  }

  /// How the output would take over the input.
  [[nodiscard]] std::optional<TakenOver> taken_over(const stowage::Operator& source, std::size_t input,
                                                    const RowAxis& along, std::size_t output) const {
    const RowRead* const read = row_read(along, input);
    const std::size_t t = *index_[*source.inputs[input]];
    const Tensor& from = model_.tensors[t];
    const Tensor& to = model_.tensors[output];
    if (read == nullptr || read->axis != from.axis || from.granule != to.granule) return std::nullopt;
    if (from.bytes_per_row == 0 || to.bytes_per_row == 0) return std::nullopt;
    const bool is_alike =
        from.rows == to.rows && from.bytes_per_row == to.bytes_per_row && from.runs == to.runs;
    // Tensors in one place are all whole or all not. Rows of two lengths cannot follow each other.
    const bool are_whole = has_whole(t) || to.is_whole;
    if (to.is_whole && !may_be_whole(t)) return std::nullopt;
    if (read->rows == RowMap{} && is_alike && is_updated(source, input)) return TakenOver{t};
    if (!read->kept_at || ((are_whole || to.granule > 1) && !is_alike)) return std::nullopt;
    if (options_.in_place == InPlace::same_size && !is_alike) return std::nullopt;
    if (std::count(source.inputs.begin(), source.inputs.end(), source.inputs[input]) > 1)
      return std::nullopt;  // the output has its bytes elsewhere, too
    const bool by_rows = from.runs > 1 || to.runs > 1;
    if (are_whole && by_rows) return std::nullopt;
    const std::int64_t shift = -read->rows.offset;
    if (shift < 0 || from.rows + shift > to.rows || *read->kept_at + from.bytes_per_row > to.bytes_per_row)
      return std::nullopt;
    return TakenOver{t, shift, *read->kept_at, by_rows};
  }

  /// Whether a tensor, or one that it takes over, must be whole.
  [[nodiscard]] bool has_whole(std::size_t tensor) const {
    const auto& taken = model_.tensors[tensor].takes_over;
    return model_.tensors[tensor].is_whole || (taken && has_whole(taken->tensor));
  }

  /// Whether all tensors that it takes over can lie in its place when it is whole.
  [[nodiscard]] bool may_be_whole(std::size_t tensor) const {
    const auto& taken = model_.tensors[tensor].takes_over;
    if (!taken) return true;
    const Tensor& from = model_.tensors[taken->tensor];
    const Tensor& to = model_.tensors[tensor];
    return from.bytes_per_row == to.bytes_per_row && from.rows == to.rows && !taken->by_rows &&
           may_be_whole(taken->tensor);
  }

  /// Whether no operator needs the tensor's rows after they are written over: `by` reads no other rows, and
  /// all other readers come before it.
  [[nodiscard]] bool may_be_taken(const TakenOver& taken, std::size_t by) const {
    const Tensor& tensor = model_.tensors[taken.tensor];
    if (tensor.stays || is_taken_[taken.tensor]) return false;
    const bool is_given = !writer_[taken.tensor];
    if (is_given && options_.passed.contains(*tensor.source)) return false;  // other networks may read it
    const auto may_go = [&](std::size_t op) {
      if (is_given && op < by) return true;
      const Operator& reader = model_.operators[op];
      const RowMap wanted{.offset = op == by ? -taken.shift : 0};
      return op <= by && reader.writing == Writing::row_by_row &&
             std::all_of(reader.reads.begin(), reader.reads.end(), [&](const Access& access) {
               return access.tensor != taken.tensor || access.rows == wanted;
             });
    };
    return std::all_of(readers_[taken.tensor].begin(), readers_[taken.tensor].end(), may_go);
  }

  void note_uses() {
    readers_.resize(model_.tensors.size());
    writer_.resize(model_.tensors.size());
    for (std::size_t op = 0; op < model_.operators.size(); ++op) {
      for (const std::size_t t : model_.operators[op].writes) writer_[t] = op;
      for (const Access& access : model_.operators[op].reads) readers_[access.tensor].push_back(op);
    }
  }

  const Graph& graph_;
  InstanceOptions options_;
  std::vector<std::size_t> order_{};                   ///< Operators that run.
  std::vector<std::optional<std::size_t>> model_of_ =  ///< In the model, by operator.
      std::vector<std::optional<std::size_t>>(graph_.subgraphs[0].operators.size());
  Axes axes_;
  Bodies bodies_{graph_};
  std::vector<bool> is_tied_ = std::vector<bool>(graph_.tensors.size());
  std::vector<std::optional<std::size_t>> index_;  ///< In the model, by tensor.
  std::optional<std::size_t> last_stateful_{};     ///< In the model.
  std::vector<bool> is_too_large_ =
      std::vector<bool>(graph_.subgraphs[0].operators.size());  ///< By operator.
  RowModel model_{};
  // By tensor of the model:
  std::vector<std::vector<std::size_t>> readers_{};
  std::vector<std::optional<std::size_t>> writer_{};
  std::vector<bool> is_taken_{};
};

}  // namespace

std::string obstacle_to_streaming(const Graph& graph) {
  for (const StateTie& tie : graph.ties) {
    const bool grows = graph.tensors[tie.output].bytes != graph.tensors[tie.input].bytes;
    if (!grows && !model::is_copied(graph, tie)) continue;
    return fmt::format("{} is state (--state) that {}, and such state is for whole operators",
                       describe(graph, tie.input), grows ? "grows" : "is copied when its model has run");
  }
  for (const stowage::Operator& op : graph.subgraphs[0].operators) {
    for (const auto& operands : {op.inputs, op.outputs}) {
      for (const auto& t : operands) {
        if (t && is_passed_on(graph.tensors[*t].kind) && !graph.tensors[*t].shape)
          return describe(graph, *t) + " has no fixed shape, so it cannot be streamed";
      }
    }
  }
  return {};
}

void expect_streamable(const Graph& graph) {
  if (const std::string why = obstacle_to_streaming(graph); !why.empty()) throw UsageError(why);
}

RowModel instances_of(const Graph& graph, const InstanceOptions& options) {
  if (options.granule < 1) throw UsageError("a granule has at least one row");
  expect_streamable(graph);
  return Reading(graph, options).run();
}

std::int64_t iterations_of(const RowModel& model) {
  std::int64_t iterations = 0;
  for (const Operator& op : model.operators) iterations += op.instances();
  return iterations;
}

RowModel without_rows(const RowModel& model) {
  RowModel whole = model;
  for (Tensor& tensor : whole.tensors) {
    tensor.granule = tensor.rows;
    tensor.is_whole = false;
    if (tensor.takes_over &&
        (tensor.takes_over->shift != 0 || model.tensors[tensor.takes_over->tensor].rows != tensor.rows))
      tensor.takes_over.reset();
  }
  for (Operator& op : whole.operators) {
    op.granule = op.rows;
    op.accumulator = 0;
  }
  return whole;
}

}  // namespace stowage::stream
