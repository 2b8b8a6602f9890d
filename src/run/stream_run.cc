// A step runs its rows one by one, each in its place in the plan. Rows that it reads are looked up in
// live views, must be there byte for byte (Contents), and go to the kernel as they lie in memory. So a plan
// that puts two rows in one place, has too short a ring, or reads a row before its write ends with a fault
// that names the row and the step that overwrote it.
//
//   step            reads                       writes
//   rows 3..4   ->  x 5 6 7  (ring, slot 5%3)   y 3
//                   x 6 7 8                     y 4
//
// For a check, the network first runs unstreamed, and every row that is read or written is compared with that
// run. Both use plain kernels.

#include "run/stream_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/checked.h"
#include "check/against.h"
#include "run/interpreter.h"
#include "stowage/error.h"

namespace stowage::run {
namespace {

/// Throws RunFault unless the form of the plan is correct and fits that network.
const Plan& expect_streamed_plan_of(const Graph& graph, const Plan& plan) {
  const Graph* const graphs[]{&graph};
  expect_plan_of(graphs, plan);
  const Faults faults = check::check_tasks(plan, graph);
  if (!faults.empty()) throw RunFault{faults.front().what};
  return plan;
}

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

/// The rows, or the whole tensor.
std::vector<TensorPart> parts_of(TensorId tensor, const std::optional<RowRange>& rows) {
  if (!rows) return {{.tensor = tensor}};
  std::vector<TensorPart> parts;
  for (std::int64_t row = rows->begin; row < rows->end; ++row)
    parts.push_back({tensor, Row{rows->axis, row}});
  return parts;
}

}  // namespace

StreamRun::StreamRun(const Network& network, ModelToRun model, const Plan& plan, const RunOptions& options,
                     RunResult& result)
    : StreamRun(network, *model.program, model, nullptr, plan, options, result) {}

StreamRun::StreamRun(const BlockNetwork& blocks, ModelToRun model, const RunOptions& options,
                     RunResult& result)
    : StreamRun(blocks.network(), *model.program,
                {.program = &blocks.program(), .file = model.file, .value = model.value}, &blocks,
                blocks.plan(), options, result) {}

StreamRun::StreamRun(const Network& network, const Program& unsplit, ModelToRun model,
                     const BlockNetwork* blocks, const Plan& plan, const RunOptions& options,
                     RunResult& result)
    : network_(network),
      blocks_(blocks),
      model_(std::move(model)),
      graph_(network.graph()),
      plan_(expect_streamed_plan_of(graph_, plan)),
      options_(options),
      result_(result),
      clocks_(plan.clocks),
      device_(std::vector<const Graph*>{&graph_}, plan, clocks_),
      reference_(options.check == RunCheck::none
                     ? nullptr
                     : std::make_unique<Reference>(unsplit, options, model_.value, blocks)),
      memory_(device_, options.check == RunCheck::tensors ? reference_.get() : nullptr) {
  prepare_rows();
}

/// Finds everything that cannot run before anything runs.
void StreamRun::prepare_rows() {
  Bytes scratch = model_.program->scratch;
  for (const Step& step : plan_.clocks[0].steps) {
    const Run* const run = std::get_if<Run>(&step);
    if (run == nullptr || !run->rows) continue;
    const std::size_t index = run->path[1];
    if (const CarriedAxis* const along = carried_by(op(index), *run)) {
      const Kernel& kernel = model_.program->kernels[0][index];
      if (!kernel.row_carry || kernel.row_carry(along->axis).size != along->carried)
        throw Error(stowage::describe(graph_, 0, index), "cannot carry a buffer from row to row");
      continue;
    }
    if (run->sums) {
      if (!model_.program->kernels[0][index].row_sums)
        throw Error(stowage::describe(graph_, 0, index), "cannot sum up row by row");
      continue;
    }
    const auto [at, is_new] = rows_.try_emplace({index, run->rows->axis});
    if (is_new) {
      at->second = row_kernel_of(network_, *model_.program, index, *row_axis(op(index), run->rows->axis));
      if (at->second.alone) scratch = std::max(scratch, at->second.alone->scratch);
    }
    const bool can_add = at->second.way == RowWay::windows && model_.program->kernels[0][index].adds_rows;
    if (run->part && !can_add) throw Error(stowage::describe(graph_, 0, index), "cannot add up its rows");
  }
  result_.kernels_scratch = std::max(result_.kernels_scratch, scratch);
  scratch_ = AlignedBytes(static_cast<std::size_t>(scratch));
}

void StreamRun::run() {
  result_.multiplies_of_network = multiplies_of(graph_);
  report_.highest.assign(plan_.memories.size(), 0);
  memory_.move_to(0);
  who_ = "the caller";
  give();
  result_.touched = report_.highest;
  const std::vector<Step>& steps = plan_.clocks[0].steps;
  for (std::size_t at = 0; at < steps.size(); ++at) {
    if (options_.stop.stop_requested()) throw Interrupted{};
    memory_.move_to(static_cast<Position>(at));
    report_ = {.position = static_cast<Position>(at),
               .live = device_.live(),
               .highest = std::vector<Bytes>(plan_.memories.size(), 0)};
    take_step(steps[at]);
    for (std::size_t m = 0; m < report_.highest.size(); ++m)
      result_.touched[m] = std::max(result_.touched[m], report_.highest[m]);
    result_.steps.push_back(report_);
    if (options_.check == RunCheck::tensors)
      device_.expect_unspoilt(who_, clocks_.describe(0, static_cast<Position>(at)));
    if (options_.progress) options_.progress("running", device_.progress());
  }
  who_ = "the caller";
  for (const TensorId output : graph_.subgraphs[0].outputs) take_output(output);
}

/// Gives state and inputs at the start, except inputs that arrive by rows.
void StreamRun::give() {
  for (const Step& step : plan_.clocks[0].steps) {
    if (const Arrive* const arrive = std::get_if<Arrive>(&step))
      given_.try_emplace(arrive->tensor, model_.value(arrive->tensor));
  }
  for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
    const TensorKind kind = graph_.tensors[t].kind;
    const auto& inputs = graph_.subgraphs[0].inputs;
    const bool is_input = std::ranges::find(inputs, t) != inputs.end() && kind != TensorKind::weight;
    if ((!is_input && kind != TensorKind::state) || given_.contains(t)) continue;
    const TensorPart part{.tensor = t};
    const PlacedPart at = memory_.room_for(part, who_);
    const std::vector<std::byte> value = model_.value(t);
    for (const PlacedBytes& bytes : at)
      std::memcpy(bytes.at, value.data() + bytes.offset, static_cast<std::size_t>(bytes.size));
    wrote(part, at);
  }
}

void StreamRun::take_step(const Step& step) {
  using Clock = std::chrono::steady_clock;
  const auto begin = [&](std::string who, const std::optional<RowRange>& rows) {
    if (rows) who += " " + text_of(*rows);
    who_ = report_.what = who;
    memory_.begin_step(who_);
  };
  const auto start = Clock::now();
  if (const Run* const run = std::get_if<Run>(&step)) {
    begin(stowage::describe(graph_, 0, run->path[1]), run->rows);
    try {
      run_step(*run);
    } catch (const Error& error) {
      throw Error(who_, error.what());
    }
  } else if (const Arrive* const arriving = std::get_if<Arrive>(&step)) {
    begin("the arrival of " + stowage::describe(graph_, arriving->tensor), arriving->rows);
    arrive(*arriving);
  } else if (const Leave* const leaving = std::get_if<Leave>(&step)) {
    begin("the leaving of " + stowage::describe(graph_, leaving->tensor), leaving->rows);
    leave(*leaving);
  }
  report_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
}

void StreamRun::run_step(const Run& run) {
  const std::size_t index = run.path[1];
  if (!run.rows) {
    run_whole(index);
  } else if (run.part) {
    run_part(run);
  } else if (carried_by(op(index), run) != nullptr) {
    if (run.sums) {
      run_first_pass(run);
    } else {
      run_carried(run);
    }
  } else if (run.sums) {
    run_sums(run);
  } else {
    run_rows(index, *run.rows);
  }
}

void StreamRun::run_whole(std::size_t op) {
  compute(
      {.op = op, .inputs = inputs_of(op, nullptr, std::nullopt), .outputs = outputs_of(op, std::nullopt)});
  result_.multiplies += network_.graph().subgraphs[0].operators[op].multiplies.value_or(0);
}

void StreamRun::run_rows(std::size_t op, const RowRange& rows) {
  const RowKernel& way = rows_.at({op, rows.axis});
  const std::vector<Operand> whole = inputs_of(op, &way.axis, std::nullopt);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    Operands operands{.op = op, .way = &way, .inputs = inputs_of(op, &way.axis, row)};
    operands.inputs.insert(operands.inputs.end(), whole.begin(), whole.end());
    operands.outputs = outputs_of(op, Row{rows.axis, row});
    compute(operands);
  }
  result_.multiplies += multiplies_of_rows(op, rows);
}

/// The input rows that an output row reads; without a row, the inputs that are read whole.
std::vector<StreamRun::Operand> StreamRun::inputs_of(std::size_t op, const RowAxis* axis,
                                                     std::optional<std::int64_t> row) {
  std::vector<Operand> inputs;
  const auto& tensors = this->op(op).inputs;
  const auto add = [&](std::size_t i, const TensorPart& part) {
    inputs.push_back({i, part.row, read(part)});
  };
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i]) continue;
    const RowRead* const found = axis == nullptr ? nullptr : row_read(*axis, i);
    if (found == nullptr && !row) add(i, {.tensor = *tensors[i]});
    if (found == nullptr || !row) continue;
    const std::int64_t extent = (*graph_.tensors[*tensors[i]].shape)[found->axis];
    for_each_row(found->rows, extent, *row, [&](std::int64_t r) {
      add(i, {*tensors[i], Row{found->axis, r}});
    });
  }
  return inputs;
}

std::vector<StreamRun::Operand> StreamRun::outputs_of(std::size_t op, const std::optional<Row>& row) {
  std::vector<Operand> outputs;
  const auto& tensors = this->op(op).outputs;
  for (std::size_t o = 0; o < tensors.size(); ++o) {
    if (!tensors[o]) continue;
    outputs.push_back({o, row, memory_.room_for({*tensors[o], row}, who_)});
    memory_.places().note_touched(outputs.back().at, report_.highest);
  }
  return outputs;
}

PlacedPart StreamRun::read(const TensorPart& part) {
  if (is_constant(part.tensor)) {
    PlacedPart runs = runs_of(graph_, part);
    // No operator writes to constants: only folded operators have them as outputs.
    for (PlacedBytes& run : runs) run.at = const_cast<std::byte*>(constant(part.tensor).data()) + run.offset;
    return runs;
  }
  const bool is_gathered = blocks_ != nullptr && blocks_->is_gathered(part.tensor);
  PlacedPart at = is_gathered
                      ? blocks_->gather(part, [&](const TensorPart& it) { return memory_.read(it, who_); })
                      : memory_.read(part, who_);
  memory_.places().note_touched(at, report_.highest);
  return at;
}

void StreamRun::wrote(const TensorPart& part, const PlacedPart& at) {
  memory_.places().note_touched(at, report_.highest);
  memory_.wrote(part, at, who_);
}

void StreamRun::arrive(const Arrive& arrive) {
  const std::vector<std::byte>& value = given_.at(arrive.tensor);
  for (const TensorPart& part : parts_of(arrive.tensor, arrive.rows)) {
    const PlacedPart at = memory_.room_for(part, who_);
    for (const PlacedBytes& bytes : at)
      std::memcpy(bytes.at, value.data() + bytes.offset, static_cast<std::size_t>(bytes.size));
    wrote(part, at);
  }
}

void StreamRun::leave(const Leave& leave) {
  Leaving& leaving = leaving_[leave.tensor];
  const auto size = static_cast<std::size_t>(graph_.tensors[leave.tensor].bytes);
  leaving.bytes.resize(size);
  leaving.has_left.resize(size, false);
  for (const TensorPart& part : parts_of(leave.tensor, leave.rows)) {
    const PlacedPart at = memory_.find_written(part, who_);
    if (reference_ != nullptr) memory_.compare(part, at, *reference_, "taken by the caller");
    memory_.places().note_touched(at, report_.highest);
    for (const PlacedBytes& bytes : at) {
      std::memcpy(leaving.bytes.data() + bytes.offset, bytes.at, static_cast<std::size_t>(bytes.size));
      std::fill_n(leaving.has_left.begin() + bytes.offset, bytes.size, true);
    }
  }
}

/// Runs after the last step, before time advances.
void StreamRun::take_output(TensorId output) {
  const Tensor& tensor = graph_.tensors[output];
  NamedArray array{tensor.name, {tensor.dtype, tensor.shape.value_or(Shape{}), {}}};
  if (is_constant(output)) {
    const auto bytes = constant(output).first(static_cast<std::size_t>(tensor.bytes));
    array.array.data.assign(bytes.begin(), bytes.end());
  } else if (const auto leaving = leaving_.find(output); leaving != leaving_.end()) {
    const auto& has_left = leaving->second.has_left;
    const auto missing = std::ranges::find(has_left, false);
    if (missing != has_left.end())
      throw RunFault{fmt::format("byte {} of {} has never left", missing - has_left.begin(),
                                 stowage::describe(graph_, output))};
    array.array.data = leaving->second.bytes;
  } else {
    const TensorPart part{.tensor = output};
    const PlacedPart at = memory_.find_written(part, who_);
    if (reference_ != nullptr) memory_.compare(part, at, *reference_, "taken by the caller");
    for (const PlacedBytes& bytes : at)
      array.array.data.insert(array.array.data.end(), bytes.at, bytes.at + bytes.size);
  }
  result_.outputs.push_back(std::move(array));
}

}  // namespace stowage::run
