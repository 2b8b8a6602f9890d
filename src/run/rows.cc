// A step runs its rows one by one, each in its place in the plan. Rows that it reads are looked up in live
// views, must be there byte for byte, and go to the kernel as they lie in memory. So a plan that puts two rows in
// one place, has too short a ring, or reads a row before its write ends with a fault that names the row and
// the step that overwrote it.

#include "run/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "run/blocks.h"
#include "run/reference.h"
#include "stowage/error.h"

namespace stowage::run {
namespace {

/// How a step's rows carry a buffer; null if they do not.
const CarriedAxis* carried_by(const Operator& op, const Run& run) {
  if (!run.rows || run.part) return nullptr;
  return run.sums ? summed_first(op, run.rows->axis) : carried_axis(op, run.rows->axis);
}

/// Multiplies of all operators of the main subgraph that run.
std::int64_t multiplies_of(const Graph& graph) {
  std::int64_t sum = 0;
  for (const Operator& op : graph.subgraphs[0].operators)
    sum = base::checked_add(sum, op.folded ? 0 : op.multiplies.value_or(0)).value_or(sum);
  return sum;
}

}  // namespace

RowTasks::RowTasks(Machine& machine, std::span<const Step> steps) : machine_(machine) {
  const std::size_t model = machine.home().model();
  for (const Step& step : steps) {
    if (const auto* const run = std::get_if<Run>(&step); run != nullptr && run->model == model && run->rows)
      prepare(*run);
    const auto& tensors = machine.home().device()->plan().tensors;
    if (const auto* const it = std::get_if<Arrive>(&step);
        it != nullptr && tensors[it->tensor].model == model) {
      arriving_.try_emplace(own(it->tensor));
      arriving_.try_emplace(whole_of(own(it->tensor)));
    }
    if (const auto* const it = std::get_if<Leave>(&step);
        it != nullptr && tensors[it->tensor].model == model) {
      const TensorId whole = whole_of(own(it->tensor));
      const auto [leaving, is_new] = leaving_.try_emplace(whole);
      if (!is_new) continue;  // its bytes are made for the first of its rows
      const auto size = static_cast<std::size_t>(graph().tensors[whole].bytes);
      leaving->second = {std::vector<std::byte>(size), std::vector<bool>(size)};
    }
  }
  machine.result().multiplies_of_network += multiplies_of(graph());
}

TensorId RowTasks::own(std::size_t tensor) const {
  return tensor - machine_.home().device()->first_tensor_of(machine_.home().model());
}

TensorId RowTasks::whole_of(TensorId tensor) const {
  const BlockNetwork* const blocks = machine_.setting().blocks;
  return blocks == nullptr ? tensor : blocks->whole_of(tensor);
}

/// Finds everything that cannot run before anything runs.
void RowTasks::prepare(const Run& run) {
  const std::size_t index = run.path[1];
  const auto refuse = [&](const char* what) { throw Error(describe(graph(), 0, index), what); };
  if (const CarriedAxis* const along = carried_by(op(index), run)) {
    if (!kernel(index).row_carry || kernel(index).row_carry(along->axis).size != along->carried)
      refuse("cannot carry a buffer from row to row");
    return;
  }
  if (run.sums) {
    if (!kernel(index).row_sums) refuse("cannot sum up row by row");
    return;
  }
  const auto [at, is_new] = rows_.try_emplace({index, run.rows->axis});
  if (is_new) {
    at->second = row_kernel_of(*machine_.setting().network, machine_.program(), index,
                               *row_axis(op(index), run.rows->axis));
    if (at->second.alone) machine_.reserve(at->second.alone->scratch);
  }
  if (run.part && (at->second.way != RowWay::windows || !kernel(index).adds_rows))
    refuse("cannot add up its rows");
}

void RowTasks::expect(TensorId tensor, std::span<const std::byte> value) {
  for (auto& [part, bytes] : arriving_) {
    if (part == tensor) {
      bytes.assign(value.begin(), value.end());
    } else if (whole_of(part) == tensor) {
      bytes = machine_.setting().blocks->part_of(part, value);
    }
  }
}

std::vector<std::byte> RowTasks::what_left(TensorId tensor) const {
  const Leaving& leaving = leaving_.at(tensor);
  const auto missing = std::ranges::find(leaving.has_left, false);
  if (missing != leaving.has_left.end())
    throw RunFault{fmt::format("byte {} of {} has never left", missing - leaving.has_left.begin(),
                               machine_.home().describe({.tensor = tensor}))};
  return leaving.bytes;
}

void RowTasks::begin(std::string what, const std::optional<RowRange>& rows) {
  what += machine_.home().device()->of_model(machine_.home().model());
  if (rows) what += " " + text_of(*rows);
  machine_.begin(what);
}

void RowTasks::run(const Step& step) {
  if (const auto* const run = std::get_if<Run>(&step)) {
    const std::size_t index = run->path[1];
    begin(describe(graph(), 0, index), run->rows);
    if (machine_.setting().reference != nullptr) machine_.setting().reference->run({.op = index});
    this->run(*run);
  } else if (const auto* const arriving = std::get_if<Arrive>(&step)) {
    begin("the arrival of " + describe(graph(), own(arriving->tensor)), arriving->rows);
    arrive(*arriving);
  } else if (const auto* const leaving = std::get_if<Leave>(&step)) {
    begin("the leaving of " + describe(graph(), own(leaving->tensor)), leaving->rows);
    leave(*leaving);
  }
  machine_.end();
}

void RowTasks::run(const Run& run) {
  const std::size_t index = run.path[1];
  if (run.part) {
    run_part(run);
  } else if (carried_by(op(index), run) != nullptr) {
    run.sums ? run_first_pass(run) : run_carried(run);
  } else if (run.sums) {
    run_sums(run);
  } else {
    run_rows(index, *run.rows);
  }
}

void RowTasks::arrive(const Arrive& arrive) {
  const TensorId tensor = own(arrive.tensor);
  for (const TensorPart& part : parts_of(tensor, arrive.rows))
    machine_.write(part, arriving_.at(tensor).data());
}

void RowTasks::leave(const Leave& leave) {
  const BlockNetwork* const blocks = machine_.setting().blocks;
  const TensorId tensor = own(leave.tensor);
  Leaving& leaving = leaving_.at(whole_of(tensor));
  for (const TensorPart& part : parts_of(tensor, leave.rows)) {
    const PlacedPart at = machine_.find_written(part);
    machine_.compare(part, at, "taken by");
    for (const PlacedBytes& bytes : blocks == nullptr ? at : blocks->in_whole(tensor, at)) {
      std::memcpy(leaving.bytes.data() + bytes.offset, bytes.at, static_cast<std::size_t>(bytes.size));
      std::fill_n(leaving.has_left.begin() + bytes.offset, bytes.size, true);
    }
  }
}

// Operands

std::vector<Operand> RowTasks::inputs_read_whole(std::size_t op, const RowAxis& axis) {
  std::vector<Operand> inputs;
  const auto& tensors = this->op(op).inputs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i] && row_read(axis, i) == nullptr)
      inputs.push_back({.index = i, .at = machine_.read({.tensor = *tensors[i]})});
  }
  return inputs;
}

/// The input rows that an output row reads.
std::vector<Operand> RowTasks::inputs_of(std::size_t op, const RowAxis& axis, std::int64_t row) {
  std::vector<Operand> inputs;
  const auto& tensors = this->op(op).inputs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const RowRead* const read = tensors[i] ? row_read(axis, i) : nullptr;
    if (read == nullptr) continue;
    for_each_row(read->rows, extent_of(tensors[i], read->axis), row, [&](std::int64_t r) {
      const Row from{read->axis, r};
      inputs.push_back({i, from, machine_.read({*tensors[i], from})});
    });
  }
  return inputs;
}

std::vector<Operand> RowTasks::outputs_of(std::size_t op, const Row& row) {
  std::vector<Operand> outputs;
  const auto& tensors = this->op(op).outputs;
  for (std::size_t o = 0; o < tensors.size(); ++o) {
    if (tensors[o]) outputs.push_back({o, row, machine_.room({*tensors[o], row})});
  }
  return outputs;
}

// Rows, and rows in parts

void RowTasks::run_rows(std::size_t op, const RowRange& rows) {
  const RowKernel& way = rows_.at({op, rows.axis});
  const std::vector<Operand> whole = inputs_read_whole(op, way.axis);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    Task task{.op = op, .way = &way, .inputs = inputs_of(op, way.axis, row)};
    task.inputs.insert(task.inputs.end(), whole.begin(), whole.end());
    task.outputs = outputs_of(op, {rows.axis, row});
    machine_.compute(task);
  }
  machine_.count_multiplies(this->op(op), rows);
}

/// The output rows hold the sums so far; after the last part they are complete.
void RowTasks::run_part(const Run& run) {
  const std::size_t index = run.path[1];
  const RowKernel& way = rows_.at({index, run.rows->axis});
  const RowRead& read = way.axis.reads[0];
  const TensorId input = *op(index).inputs[0];
  const auto [state, is_first] = adding_.try_emplace(index, Adding{.rows = *run.rows});
  Adding& adding = state->second;
  const std::string& who = machine_.who();
  if (run.part->begin < adding.next)
    throw RunFault{fmt::format("{} adds row {} again", who, run.part->begin)};
  if (adding.rows != *run.rows)
    throw RunFault{fmt::format("{} runs while its {} are added up", who, text_of(adding.rows))};
  const std::vector<Operand> whole = inputs_read_whole(index, way.axis);
  bool is_last = true;
  std::vector<Operand> outputs;
  for (std::int64_t row = run.rows->begin; row < run.rows->end; ++row) {
    Task task{.op = index, .way = &way, .inputs = whole, .adds = !is_first};
    for_each_row(read.rows, extent_of(input, read.axis), row, [&](std::int64_t r) {
      if (r >= adding.next && r < run.part->begin)
        throw RunFault{fmt::format("{} adds row {} before row {}", who, run.part->begin, r)};
      is_last = is_last && r < run.part->end;
      if (r < run.part->begin || r >= run.part->end) return;
      const Row from{read.axis, r};
      task.inputs.push_back({0, from, machine_.read({input, from})});
    });
    task.outputs = outputs_of(index, {run.rows->axis, row});
    if (!is_first) machine_.home().expect_sums(index, task.outputs.at(0).at, who);
    machine_.compute_only(task);
    outputs.push_back(task.outputs[0]);
  }
  adding.next = run.part->end;
  for (const Operand& output : outputs) {
    if (is_last) {
      machine_.wrote({*op(index).outputs[0], output.row}, output.at);
    } else {
      machine_.home().added(index, output.at);
    }
  }
  if (!is_last) return;
  adding_.erase(index);
  machine_.count_multiplies(op(index), run.rows);
}

}  // namespace stowage::run
