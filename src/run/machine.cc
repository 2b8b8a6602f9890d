// Computes a task: finds its operands, chooses the memory of its kernel, and checks what that may share. A whole
// operator is a task whose parts are whole tensors; a row of it is one whose parts are the rows that it reads and
// writes.
//
//   step            reads                       writes
//   rows 3..4   ->  x 5 6 7  (ring, slot 5%3)   y 3
//                   x 6 7 8                     y 4
//
// Kernels visit their elements in any order. So an output may overlap an input only if the operator reads
// each element just before it writes it. A kernel that happens to compute another overlap correctly proves
// nothing: the overlap itself is the fault.

#include "run/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/multiplies.h"
#include "operators/states.h"
#include "run/reference.h"
#include "run/sizes.h"
#include "stowage/error.h"

namespace stowage::run {
namespace {

bool is_tied(const Graph& graph, TensorId input, TensorId output) {
  return std::ranges::any_of(graph.ties,
                             [&](const StateTie& tie) { return tie.input == input && tie.output == output; });
}

PlacedRow row_of(const Operand& operand) { return {operand.row->index, operand.at}; }

void make_copies(const Operator& op, std::span<const std::byte* const> inputs,
                 std::span<std::byte* const> outputs) {
  for (const ByteCopy& copy : op.copies) {
    const std::byte* const from = inputs[copy.input] + copy.from;
    std::byte* const to = outputs[copy.output] + copy.to;
    if (from != to) std::memmove(to, from, static_cast<std::size_t>(copy.size));
  }
}

}  // namespace

Machine::Machine(const Setting& setting)
    : setting_(setting), is_written_(setting.program.graph->tensors.size(), false) {}

// Steps

void Machine::begin(const std::string& what) {
  if (setting_.options.stop.stop_requested()) throw Interrupted{};
  who_ = what;
  Device* const device = home().device();
  if (device == nullptr) return;
  device->begin_step(what, home().clock());
  highest_.assign(device->arenas().size(), 0);
  report_ = result().steps.size();
  result().steps.push_back({.clock = home().clock(),
                            .position = device->position_of(home().clock()).value_or(0),
                            .what = what,
                            .live = device->live()});
  seconds_ = 0;
}

void Machine::expect_unspoilt() const {
  if (setting_.options.check == RunCheck::tensors && home().device() != nullptr)
    home().device()->expect_unspoilt(who_, home().time());
}

void Machine::count_multiplies(const Operator& op, const std::optional<RowRange>& rows) const {
  if (setting_.network == nullptr) return;
  const std::int64_t all = op.multiplies.value_or(0);
  const std::int64_t extent = rows ? (*graph().tensors[*op.outputs[0]].shape)[rows->axis] : 1;
  result().multiplies += rows ? model::multiplies_of_rows(all, extent, rows->begin, rows->end) : all;
}

void Machine::end() {
  const Device* const device = home().device();
  if (device == nullptr) return;
  StepReport& report = result().steps[report_];
  report.seconds = seconds_;
  report.highest = highest_;
  expect_unspoilt();
  if (setting_.options.progress) setting_.options.progress("running", device->progress());
}

void Machine::resume(const std::string& what) {
  who_ = what;
  if (home().device() != nullptr) home().device()->begin_step(what, home().clock());
}

/// Operators that are folded have a machine each: most of their kernels need none, but others of the program may.
std::byte* Machine::scratch() {
  if (scratch_.data() == nullptr) scratch_ = AlignedBytes(static_cast<std::size_t>(program().scratch));
  return scratch_.data();
}

void Machine::reserve(Bytes scratch) {
  if (scratch <= program().scratch) return;
  scratch_ = AlignedBytes(static_cast<std::size_t>(scratch));
  result().kernels_scratch = std::max(result().kernels_scratch, scratch);
}

// Parts

PlacedPart Machine::constant(const TensorPart& part) const {
  PlacedPart runs = runs_of(graph(), part);
  // No operator writes to constants: only folded operators have them as outputs.
  std::byte* const bytes = const_cast<std::byte*>(program().constants[part.tensor].data());
  for (PlacedBytes& run : runs) run.at = bytes + run.offset;
  return runs;
}

void Machine::expect_written(TensorId tensor) const {
  if (graph().tensors[tensor].bytes == 0 || is_constant(tensor) || is_written_[tensor]) return;
  throw RunFault{
      fmt::format("{} is read by {} before it is written", home().describe({.tensor = tensor}), who_)};
}

PlacedPart Machine::find_written(const TensorPart& part) {
  if (is_constant(part.tensor)) {
    const std::vector<PlacedPart> staged = home().find_staged(part.tensor, who_);
    for (const PlacedPart& it : staged) note_touched(it);
    const bool is_whole = staged.size() == 1 && !part.row && is_dense(staged[0]) &&
                          staged[0][0].size == graph().tensors[part.tensor].bytes;
    return is_whole ? staged[0] : constant(part);
  }
  expect_written(part.tensor);
  PlacedPart found = home().find(part, who_);
  home().expect_there(part, found, who_);
  note_touched(found);
  return found;
}

PlacedPart Machine::read_stored(const TensorPart& part) {
  PlacedPart found = find_written(part);
  if (compares_all()) compare(part, found, "read by");
  return found;
}

PlacedPart Machine::read(const TensorPart& part) {
  const BlockNetwork* const blocks = setting_.blocks;
  if (is_constant(part.tensor) || blocks == nullptr || !blocks->is_gathered(part.tensor))
    return read_stored(part);
  return blocks->gather(part, [&](const TensorPart& it) { return read_stored(it); });
}

PlacedPart Machine::room(const TensorPart& part) {
  if (is_constant(part.tensor)) return constant(part);
  PlacedPart found = home().find(part, who_);
  note_touched(found);
  return found;
}

void Machine::note_touched(const PlacedPart& part) {
  home().note_touched(part, highest_);
  home().note_touched(part, result().touched);
}

std::vector<std::byte> Machine::value_of(TensorId tensor) { return bytes_of(read({.tensor = tensor})); }

void Machine::note_written(const TensorPart& part, const PlacedPart& at) {
  home().wrote(part, at);
  is_written_[part.tensor] = true;
}

void Machine::wrote(const TensorPart& part, const PlacedPart& at) {
  note_written(part, at);
  if (compares_all()) compare(part, at, "written by");
}

void Machine::write(const TensorPart& part, const std::byte* value) {
  const PlacedPart at = room(part);
  for (const PlacedBytes& bytes : at)
    std::memcpy(bytes.at, value + bytes.offset, static_cast<std::size_t>(bytes.size));
  home().overwrite(at);
  wrote(part, at);
}

void Machine::compare(const TensorPart& part, const PlacedPart& at, const std::string& how) const {
  if (setting_.reference == nullptr || is_constant(part.tensor)) return;
  if (const auto element = setting_.reference->first_difference(part.tensor, at))
    throw difference(home().describe(part), *element, how + " " + who_);
}

void Machine::forget(std::size_t subgraph) {
  for (const TensorId tensor : program().tensors_of[subgraph]) is_written_[tensor] = false;
}

// Tasks

void Machine::compute(const Task& task) {
  compute_only(task);
  wrote_outputs_of(task);
}

void Machine::wrote_outputs_of(const Task& task) {
  for (const Operand& output : task.outputs) wrote({*op(task).outputs[output.index], output.row}, output.at);
}

void Machine::compute_only(const Task& task) {
  if (home().device() != nullptr) overwrite(task);
  Operands beside(graph(), temporary_);
  call(task, beside);
  beside.put_back();
}

/// The bytes of an output that the task changes. Copies may be in place, or made before by another operator.
PlacedPart Machine::changed_by(const Task& task, const Operand& output) const {
  const Operator& own = op(task);
  if (task.way != nullptr || own.copies.empty() || output.at.empty() || !is_dense(output.at))
    return output.at;
  std::vector<const std::byte*> inputs(own.inputs.size(), nullptr);
  for (const Operand& input : task.inputs) {
    if (is_dense(input.at) && !input.at.empty()) inputs[input.index] = input.at.front().at;
  }
  std::byte* const begin = output.at.front().at;
  PlacedPart changed;
  for (const ByteRange& range :
       changed_bytes(own, output.index, inputs, {begin, graph().tensors[*own.outputs[output.index]].bytes}))
    changed.push_back({begin + (range.begin - begin), range.begin - begin, range.size});
  return changed;
}

/// Throws RunFault if the task would write over what it reads or writes as another operand, other than element by
/// element in place. What else was in its outputs is lost.
void Machine::overwrite(const Task& task) {
  const Operator& own = op(task);
  const auto refuse = [&](const TensorPart& written, const TensorPart& other) {
    throw RunFault{fmt::format("{} writes {} over {}, which it needs", who_, home().describe(written),
                               home().describe(other))};
  };
  for (const Operand& output : task.outputs) {
    const TensorPart written{*own.outputs[output.index], output.row};
    const PlacedPart changed = changed_by(task, output);
    for (const Operand& input : task.inputs) {
      if (overlap(changed, input.at) && !may_write_over(task, input, output))
        refuse(written, {*own.inputs[input.index], input.row});
    }
    for (const Operand& other : task.outputs) {
      if (other.index != output.index && overlap(changed, other.at))
        refuse(written, {*own.outputs[other.index], other.row});
    }
    home().overwrite(changed);
  }
}

bool Machine::may_write_over(const Task& task, const Operand& input, const Operand& output) const {
  const Operator& own = op(task);
  const bool is_updated = in_place_output(graph(), own, input.index) == own.outputs[output.index];
  if (task.way == nullptr) {
    if (is_updated) return is_same_place(input.at, output.at);
    return is_tied(graph(), *own.inputs[input.index], *own.outputs[output.index]) && is_dense(input.at) &&
           is_dense(output.at) && input.at.front().at == output.at.front().at &&
           operators::may_write_over_state(graph(), own, input.index, *own.outputs[output.index]);
  }
  const RowRead* const read = row_read(task.way->axis, input.index);
  if (read == nullptr) return false;
  if (is_updated && read->rows == RowMap{} && is_same_place(input.at, output.at)) return true;
  return read->kept_at && is_dense(input.at) && is_dense(output.at) &&
         input.at.front().at == output.at.front().at + *read->kept_at;
}

/// True if bytes of the input stay in place in the output, so that the kernel must not see the shared place.
bool Machine::is_kept(const Task& task, const Operand& input) const {
  const Operator& own = op(task);
  return task.way != nullptr && std::ranges::any_of(task.outputs, [&](const Operand& output) {
           return in_place_output(graph(), own, input.index) != own.outputs[output.index] &&
                  overlap(input.at, output.at);
         });
}

// Kernels

void Machine::call(const Task& task, Operands& beside) {
  const Kernel& kernel = program().kernels[task.subgraph][task.op];
  if (task.way == nullptr) {
    call_kernel(task, beside, kernel, kernel.run ? Seen::aligned : Seen::as_they_are);
  } else if (task.way->way == RowWay::windows) {
    call_windows(task, beside);
  } else if (task.way->way == RowWay::alone) {
    call_kernel(task, beside, *task.way->alone, Seen::aligned);
  } else {
    call_kernel(task, beside, kernel, Seen::wholes);
  }
}

/// Null for omitted inputs. A kernel that sees whole tensors gets them with only the parts that it reads filled in.
std::vector<const std::byte*> Machine::input_pointers(const Task& task, Operands& beside, Seen seen) const {
  const Operator& own = op(task);
  std::vector<const std::byte*> pointers(own.inputs.size(), nullptr);
  std::vector<std::vector<PlacedPart>> parts(own.inputs.size());
  for (const Operand& input : task.inputs) {
    const TensorId tensor = *own.inputs[input.index];
    if (input.row && seen == Seen::wholes) {
      parts[input.index].push_back(input.at);
    } else if (is_kept(task, input)) {
      pointers[input.index] = beside.copy(input.at);
    } else if (seen == Seen::as_they_are && !input.at.empty() && is_dense(input.at)) {
      pointers[input.index] = input.at.front().at;
    } else {
      pointers[input.index] = beside.dense(tensor, input.at);
    }
  }
  for (std::size_t i = 0; i < own.inputs.size() && seen == Seen::wholes; ++i) {
    if (!own.inputs[i] || pointers[i] != nullptr) continue;
    pointers[i] = is_constant(*own.inputs[i]) ? program().constants[*own.inputs[i]].data()
                                              : beside.filled(*own.inputs[i], parts[i]);
  }
  return pointers;
}

void Machine::call_kernel(const Task& task, Operands& beside, const Kernel& kernel, Seen seen) {
  const Operator& own = op(task);
  const std::vector<const std::byte*> inputs = input_pointers(task, beside, seen);
  if (task.way == nullptr) expect_planned_shapes(program(), task.subgraph, task.op, inputs, who_);
  std::vector<std::byte*> outputs(own.outputs.size(), nullptr);
  std::vector<PlacedPart> allowed;
  for (const Operand& input : task.inputs) allowed.push_back(input.at);
  for (const Operand& output : task.outputs) {
    const TensorId tensor = *own.outputs[output.index];
    allowed.push_back(output.at);
    if (seen == Seen::wholes) {
      outputs[output.index] = beside.whole_room(tensor, output.at);
    } else if (seen == Seen::as_they_are && !output.at.empty() && is_dense(output.at)) {
      outputs[output.index] = output.at.front().at;
    } else {
      outputs[output.index] = beside.room(tensor, output.at);
    }
  }
  if (task.way == nullptr || !kernel.run) count_copies(own, inputs, outputs);
  call(allowed, [&] {
    if (!kernel.run) return make_copies(own, inputs, outputs);
    kernel.run({.inputs = inputs, .outputs = outputs, .scratch = kernel.scratch > 0 ? scratch() : nullptr});
  });
}

void Machine::count_copies(const Operator& op, std::span<const std::byte* const> inputs,
                           std::span<std::byte* const> outputs) const {
  if (home().device() == nullptr) return;
  for (const ByteCopy& copy : op.copies) {
    const bool has_nothing_to_do = inputs[copy.input] + copy.from == outputs[copy.output] + copy.to;
    CopiesRemoved& count = has_nothing_to_do ? result().copies_skipped : result().copies_made;
    ++count.count;
    count.bytes += copy.size;
  }
}

void Machine::call_windows(const Task& task, Operands& beside) {
  const Operator& own = op(task);
  const std::size_t axis = task.way->axis.axis;
  const Operand& output = task.outputs.at(0);
  std::vector<PlacedRow> read;
  std::vector<PlacedPart> allowed{output.at};
  Task others{.subgraph = task.subgraph, .op = task.op};
  for (const Operand& input : task.inputs) {
    allowed.push_back(input.at);
    if (input.row) {
      read.push_back(row_of(input));
    } else {
      others.inputs.push_back(input);
    }
  }
  const auto from = beside.rows(*own.inputs[0], axis, read);
  const auto to = beside.rooms(*own.outputs[0], axis, {row_of(output)}, task.adds);
  const std::vector<const std::byte*> inputs = input_pointers(others, beside, Seen::aligned);
  const kernels::Pointers whole{.inputs = inputs, .scratch = scratch()};
  call(allowed, [&] {
    program().kernels[task.subgraph][task.op].run_rows({.input = from,
                                                        .output = to,
                                                        .begin = output.row->index,
                                                        .end = output.row->index + 1,
                                                        .whole = whole,
                                                        .adds = task.adds});
  });
}

}  // namespace stowage::run
