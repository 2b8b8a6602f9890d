// Computes a step of a streamed plan: chooses the memory of its kernel, and checks what that may share.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "model/multiplies.h"
#include "run/sizes.h"
#include "run/stream_run.h"
#include "stowage/error.h"

namespace stowage::run {

void StreamRun::compute_only(const Operands& operands) {
  expect_apart(operands);
  RowOperands beside(graph_);
  call(operands, beside);
  beside.put_back();
}

void StreamRun::compute(const Operands& operands) {
  compute_only(operands);
  for (const Operand& output : operands.outputs)
    wrote({*op(operands.op).outputs[output.index], output.row}, output.at);
}

/// A kernel visits its elements in any order, so it may overwrite its inputs only where the operator allows
/// it.
void StreamRun::expect_apart(const Operands& operands) const {
  const Operator& own = op(operands.op);
  const auto refuse = [&](const TensorPart& written, const TensorPart& other) {
    throw RunFault{fmt::format("{} writes {} over {}, which it needs", who_,
                               memory_.places().describe(written), memory_.places().describe(other))};
  };
  for (const Operand& output : operands.outputs) {
    const TensorPart written{*own.outputs[output.index], output.row};
    for (const Operand& input : operands.inputs) {
      if (overlap(output.at, input.at) && !may_write_over(operands, input, output))
        refuse(written, {*own.inputs[input.index], input.row});
    }
    for (const Operand& other : operands.outputs) {
      if (other.index != output.index && overlap(output.at, other.at))
        refuse(written, {*own.outputs[other.index], other.row});
    }
  }
}

bool StreamRun::may_write_over(const Operands& operands, const Operand& input, const Operand& output) const {
  const Operator& own = op(operands.op);
  const bool is_updated = in_place_output(graph_, own, input.index) == own.outputs[output.index];
  if (operands.way == nullptr) {
    if (is_updated && is_same_place(input.at, output.at)) return true;
    if (!only_copies(graph_, own) || !is_dense(input.at) || !is_dense(output.at)) return false;
    return std::ranges::all_of(own.copies, [&](const ByteCopy& copy) {
      return copy.input != input.index || copy.output != output.index ||
             input.at.front().at + copy.from == output.at.front().at + copy.to;
    });
  }
  const RowRead* const read = row_read(operands.way->axis, input.index);
  if (read == nullptr) return false;
  if (is_updated && read->rows == RowMap{} && is_same_place(input.at, output.at)) return true;
  return read->kept_at && is_dense(input.at) && is_dense(output.at) &&
         input.at.front().at == output.at.front().at + *read->kept_at;
}

void StreamRun::call(const Operands& operands, RowOperands& beside) {
  const Kernel& kernel = model_.program->kernels[0][operands.op];
  if (operands.way == nullptr) {
    call_kernel(operands, beside, kernel, Seen::parts);
  } else if (operands.way->way == RowWay::windows) {
    call_windows(operands, beside);
  } else if (operands.way->way == RowWay::alone) {
    call_kernel(operands, beside, *operands.way->alone, Seen::parts);
  } else {
    call_kernel(operands, beside, kernel, Seen::wholes);
  }
}

/// True if bytes of the input stay in place in the output, so that the kernel must not see the shared place.
bool StreamRun::is_kept(const Operands& operands, const Operand& input) const {
  const Operator& own = op(operands.op);
  return operands.way != nullptr && std::ranges::any_of(operands.outputs, [&](const Operand& output) {
           return in_place_output(graph_, own, input.index) != own.outputs[output.index] &&
                  overlap(input.at, output.at);
         });
}

/// Null for omitted inputs.
std::vector<const std::byte*> StreamRun::input_pointers(const Operands& operands, RowOperands& beside,
                                                        Seen seen) const {
  const Operator& own = op(operands.op);
  std::vector<const std::byte*> pointers(own.inputs.size(), nullptr);
  std::vector<std::vector<PlacedPart>> parts(own.inputs.size());
  for (const Operand& input : operands.inputs) {
    const TensorId tensor = *own.inputs[input.index];
    if (input.row && seen == Seen::wholes) {
      parts[input.index].push_back(input.at);
    } else {
      pointers[input.index] =
          is_kept(operands, input) ? beside.copy(input.at) : beside.dense(tensor, input.at);
    }
  }
  for (std::size_t i = 0; i < own.inputs.size() && seen == Seen::wholes; ++i) {
    if (!own.inputs[i] || pointers[i] != nullptr) continue;
    pointers[i] = is_constant(*own.inputs[i]) ? constant(*own.inputs[i]).data()
                                              : beside.filled(*own.inputs[i], parts[i]);
  }
  return pointers;
}

void StreamRun::call_kernel(const Operands& operands, RowOperands& beside, const Kernel& kernel, Seen seen) {
  const Operator& own = op(operands.op);
  const std::vector<const std::byte*> inputs = input_pointers(operands, beside, seen);
  if (operands.way == nullptr) expect_planned_shapes(*model_.program, 0, operands.op, inputs, who_);
  std::vector<std::byte*> outputs(own.outputs.size(), nullptr);
  std::vector<ByteRange> allowed;
  const auto allow = [&](const Operand& operand) {
    for (const PlacedBytes& bytes : operand.at) allowed.push_back({bytes.at, bytes.size});
  };
  for (const Operand& input : operands.inputs) allow(input);
  for (const Operand& output : operands.outputs) {
    const TensorId tensor = *own.outputs[output.index];
    allow(output);
    outputs[output.index] =
        seen == Seen::wholes ? beside.whole_room(tensor, output.at) : beside.room(tensor, output.at);
  }
  if (!kernel.run) {
    make_copies(own, inputs, outputs);
    return;
  }
  const OnlyThese only(device_, allowed, who_);
  kernel.run({.inputs = inputs, .outputs = outputs, .scratch = scratch_.data()});
}

void StreamRun::make_copies(const Operator& op, std::span<const std::byte* const> inputs,
                            std::span<std::byte* const> outputs) {
  for (const ByteCopy& copy : op.copies) {
    const std::byte* const from = inputs[copy.input] + copy.from;
    std::byte* const to = outputs[copy.output] + copy.to;
    if (from != to) std::memmove(to, from, static_cast<std::size_t>(copy.size));
    CopiesRemoved& count = from == to ? result_.copies_skipped : result_.copies_made;
    ++count.count;
    count.bytes += copy.size;
  }
}

void StreamRun::call_windows(const Operands& operands, RowOperands& beside) {
  const Operator& own = op(operands.op);
  const std::size_t axis = operands.way->axis.axis;
  std::vector<PlacedRow> read;
  std::vector<ByteRange> allowed;
  Operands others{.op = operands.op};
  for (const Operand& input : operands.inputs) {
    for (const PlacedBytes& bytes : input.at) allowed.push_back({bytes.at, bytes.size});
    if (input.row) {
      read.push_back({input.row->index, input.at});
    } else {
      others.inputs.push_back(input);
    }
  }
  const Operand& output = operands.outputs.at(0);
  for (const PlacedBytes& bytes : output.at) allowed.push_back({bytes.at, bytes.size});
  const auto from = beside.rows(*own.inputs[0], axis, read);
  const auto to = beside.rooms(*own.outputs[0], axis, {{output.row->index, output.at}}, operands.adds);
  const std::vector<const std::byte*> inputs = input_pointers(others, beside, Seen::parts);
  const kernels::Pointers whole{.inputs = inputs, .scratch = scratch_.data()};
  const OnlyThese only(device_, allowed, who_);
  model_.program->kernels[0][operands.op].run_rows({.input = from,
                                                    .output = to,
                                                    .begin = output.row->index,
                                                    .end = output.row->index + 1,
                                                    .whole = whole,
                                                    .adds = operands.adds});
}

std::int64_t StreamRun::multiplies_of_rows(std::size_t index, const RowRange& rows) const {
  const std::int64_t extent = (*graph_.tensors[*op(index).outputs[0]].shape)[rows.axis];
  return model::multiplies_of_rows(op(index).multiplies.value_or(0), extent, rows.begin, rows.end);
}

// Parts

/// The output rows hold the sums so far; after the last part they are complete.
void StreamRun::run_part(const Run& run) {
  const std::size_t index = run.path[1];
  const RowKernel& way = rows_.at({index, run.rows->axis});
  const RowRead& read = way.axis.reads[0];
  const auto [state, is_first] = adding_.try_emplace(index, Adding{.rows = *run.rows});
  Adding& adding = state->second;
  if (run.part->begin < adding.next)
    throw RunFault{fmt::format("{} adds row {} again", who_, run.part->begin)};
  if (adding.rows != *run.rows)
    throw RunFault{fmt::format("{} runs while its {} are added up", who_, text_of(adding.rows))};
  const std::vector<Operand> whole = inputs_of(index, &way.axis, std::nullopt);
  bool is_last = true;
  std::vector<Operand> outputs;
  for (std::int64_t row = run.rows->begin; row < run.rows->end; ++row) {
    Operands operands{.op = index, .way = &way, .inputs = whole, .adds = !is_first};
    const std::int64_t extent = (*graph_.tensors[*op(index).inputs[0]].shape)[read.axis];
    for_each_row(read.rows, extent, row, [&](std::int64_t r) {
      if (r >= adding.next && r < run.part->begin)
        throw RunFault{fmt::format("{} adds row {} before row {}", who_, run.part->begin, r)};
      is_last = is_last && r < run.part->end;
      if (r < run.part->begin || r >= run.part->end) return;
      const TensorPart part{*op(index).inputs[0], Row{read.axis, r}};
      operands.inputs.push_back({0, part.row, this->read(part)});
    });
    operands.outputs = outputs_of(index, Row{run.rows->axis, row});
    if (!is_first) memory_.expect_sums(index, operands.outputs.at(0).at, who_);
    compute_only(operands);
    outputs.push_back(operands.outputs[0]);
  }
  adding.next = run.part->end;
  for (const Operand& output : outputs) {
    if (is_last) {
      wrote({*op(index).outputs[0], output.row}, output.at);
    } else {
      memory_.added(index, output.at);
    }
  }
  if (!is_last) return;
  adding_.erase(index);
  result_.multiplies += multiplies_of_rows(index, *run.rows);
}

// Sums

void StreamRun::run_sums(const Run& run) {
  const std::size_t index = run.path[1];
  const RowRange& rows = *run.rows;
  const std::int64_t extent = (*graph_.tensors[*op(index).inputs[0]].shape)[rows.axis];
  std::int64_t& summed = summed_[index];
  if (rows.begin == 0) summed = 0;
  if (rows.begin != summed)
    throw RunFault{fmt::format("{} sums up rows from {} on, but {} rows before", who_, rows.begin, summed)};
  const Bytes size = bytes_of_sums(graph_.tensors[*op(index).outputs[0]]);
  const PlacedPart place = memory_.find_sums(*run.sums, size, who_);
  if (rows.begin != 0) memory_.expect_sums(index, place, who_);
  memory_.places().note_touched(place, report_.highest);
  const kernels::RowSums kernel = model_.program->kernels[0][index].row_sums(rows.axis);
  const AlignedBytes sums(static_cast<std::size_t>(size));
  std::memcpy(sums.data(), place.front().at, static_cast<std::size_t>(size));
  if (rows.begin == 0) kernel.begin(sums.data());
  add_rows(run, kernel, sums.data(), place);
  std::memcpy(place.front().at, sums.data(), static_cast<std::size_t>(size));
  memory_.added(index, place);
  summed = rows.end;
  if (summed == extent) finish_sums(index, kernel, sums.data(), place);
}

void StreamRun::add_rows(const Run& run, const kernels::RowSums& kernel, std::byte* sums,
                         const PlacedPart& place) {
  const TensorId input = *op(run.path[1]).inputs[0];
  for (std::int64_t row = run.rows->begin; row < run.rows->end; ++row) {
    const TensorPart part{input, Row{run.rows->axis, row}};
    const PlacedPart at = read(part);
    if (overlap(at, place))
      throw RunFault{
          fmt::format("{} has its sums over {}, which it reads", who_, memory_.places().describe(part))};
    RowOperands beside(graph_);
    kernel.add(beside.dense(input, at), sums);
  }
}

void StreamRun::finish_sums(std::size_t op, const kernels::RowSums& kernel, const std::byte* sums,
                            const PlacedPart& place) {
  const TensorPart part{.tensor = *this->op(op).outputs[0]};
  const PlacedPart at = memory_.room_for(part, who_);
  if (overlap(at, place))
    throw RunFault{fmt::format("{} writes {} over its sums", who_, memory_.places().describe(part))};
  RowOperands beside(graph_);
  kernel.finish(sums, beside.room(part.tensor, at));
  beside.put_back();
  wrote(part, at);
}

}  // namespace stowage::run
