// Steps of operators that keep a buffer from row to row: sums of which the last row makes the output, sums that a
// first pass adds up and a second one uses, or a state that every row changes. Kernels get a copy of the buffer,
// aligned; afterwards it is in its place.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "run/rows.h"
#include "stowage/error.h"

namespace stowage::run {
namespace {

/// A copy of a buffer of that size; empty buffers have no place.
AlignedBytes copy_of(const PlacedPart& place, Bytes size) {
  AlignedBytes copy(static_cast<std::size_t>(std::max<Bytes>(size, 1)));
  if (!place.empty()) std::memcpy(copy.data(), place.front().at, static_cast<std::size_t>(size));
  return copy;
}

void put_back(const AlignedBytes& copy, const PlacedPart& place) {
  std::memcpy(place.front().at, copy.data(), static_cast<std::size_t>(place.front().size));
}

}  // namespace

/// The place of the buffer, which must be as the operator left it.
PlacedPart RowTasks::place_of(const Run& run, const Sums& at, Bytes size, bool is_first) {
  const PlacedPart place = machine_.home().find_sums(at, size, machine_.who());
  if (!is_first) machine_.home().expect_sums(run.path[1], place, machine_.who());
  machine_.note_touched(place);
  return place;
}

/// A part that the operator reads; its sums are elsewhere.
PlacedPart RowTasks::read_apart(const TensorPart& part, const PlacedPart& sums) {
  PlacedPart at = machine_.read(part);
  if (overlap(at, sums))
    throw RunFault{fmt::format("{} has its sums over {}, which it reads", machine_.who(),
                               machine_.home().describe(part))};
  return at;
}

void RowTasks::run_sums(const Run& run) {
  const std::size_t index = run.path[1];
  const RowRange& rows = *run.rows;
  const TensorId input = *op(index).inputs[0];
  std::int64_t& summed = summed_[index];
  if (rows.begin == 0) summed = 0;
  if (rows.begin != summed)
    throw RunFault{
        fmt::format("{} sums up rows from {} on, but {} rows before", machine_.who(), rows.begin, summed)};
  const Bytes size = bytes_of_sums(graph().tensors[*op(index).outputs[0]]);
  const PlacedPart place = place_of(run, *run.sums, size, rows.begin == 0);
  const kernels::RowSums kernel = this->kernel(index).row_sums(rows.axis);
  const AlignedBytes sums = copy_of(place, size);
  if (rows.begin == 0) kernel.begin(sums.data());
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const PlacedPart at = read_apart({input, Row{rows.axis, row}}, place);
    Operands beside(graph(), machine_.temporary());
    kernel.add(beside.dense(input, at), sums.data());
  }
  put_back(sums, place);
  machine_.home().added(index, place);
  summed = rows.end;
  if (summed == extent_of(input, rows.axis)) finish_sums(index, kernel, sums.data(), place);
}

void RowTasks::finish_sums(std::size_t op, const kernels::RowSums& kernel, const std::byte* sums,
                           const PlacedPart& place) {
  const TensorPart part{.tensor = *this->op(op).outputs[0]};
  const PlacedPart at = machine_.room(part);
  if (overlap(at, place))
    throw RunFault{fmt::format("{} writes {} over its sums", machine_.who(), machine_.home().describe(part))};
  Operands beside(graph(), machine_.temporary());
  kernel.finish(sums, beside.room(part.tensor, at));
  beside.put_back();
  machine_.home().overwrite(at);
  machine_.wrote(part, at);
}

// Buffers that rows carry

std::int64_t RowTasks::rows_carried(std::size_t op, const CarriedAxis& along) const {
  return extent_of(this->op(op).outputs[0], along.axis);
}

/// Rows run once, in ascending order, or in descending order if the operator runs backward.
void RowTasks::expect_turn(const Run& run, const CarriedAxis& along) {
  const std::size_t index = run.path[1];
  std::int64_t& done = run.sums ? summed_[index] : carried_[index];
  const std::int64_t first = along.backward ? rows_carried(index, along) - run.rows->end : run.rows->begin;
  if (first != done)
    throw RunFault{fmt::format("{} runs row {}, but {} rows ran before", machine_.who(),
                               along.backward ? run.rows->end - 1 : run.rows->begin, done)};
  done += run.rows->end - run.rows->begin;
}

void RowTasks::run_first_pass(const Run& run) {
  const std::size_t index = run.path[1];
  const CarriedAxis& along = *summed_first(op(index), run.rows->axis);
  expect_turn(run, along);
  const PlacedPart place = place_of(run, *run.sums, along.carried, run.rows->begin == 0);
  const kernels::RowCarry kernel = this->kernel(index).row_carry(along.axis);
  const AlignedBytes sums = copy_of(place, along.carried);
  for (std::int64_t row = run.rows->begin; row < run.rows->end; ++row) {
    const TensorPart part{*op(index).inputs[0], Row{along.input_axis, row}};
    const PlacedPart at = read_apart(part, place);
    Operands beside(graph(), machine_.temporary());
    kernel.add(row, beside.dense(part.tensor, at), sums.data());
  }
  put_back(sums, place);
  machine_.home().added(index, place);
}

void RowTasks::run_carried(const Run& run) {
  const std::size_t index = run.path[1];
  const CarriedAxis& along = *carried_axis(op(index), run.rows->axis);
  const bool is_first = !along.reads_twice && carried_[index] == 0;
  expect_turn(run, along);
  const PlacedPart place = run.carry ? place_of(run, *run.carry, along.carried, is_first) : PlacedPart{};
  const kernels::RowCarry kernel = this->kernel(index).row_carry(along.axis);
  const AlignedBytes carried = copy_of(place, along.carried);
  for (std::int64_t i = 0; i < run.rows->end - run.rows->begin; ++i) {
    const std::int64_t row = along.backward ? run.rows->end - 1 - i : run.rows->begin + i;
    make_carried_row(run, row, kernel, carried.data(), place);
  }
  if (run.carry) {
    put_back(carried, place);
    machine_.home().added(index, place);
  }
  machine_.count_multiplies(op(index), run.rows);
}

void RowTasks::make_carried_row(const Run& run, std::int64_t row, const kernels::RowCarry& kernel,
                                std::byte* carried, const PlacedPart& place) {
  const Operator& own = op(run.path[1]);
  const CarriedAxis& along = *carried_axis(own, run.rows->axis);
  const std::int64_t last = along.backward ? 0 : rows_carried(run.path[1], along) - 1;
  Operands beside(graph(), machine_.temporary());
  std::vector<const std::byte*> inputs(own.inputs.size(), nullptr);
  std::vector<std::byte*> outputs(own.outputs.size(), nullptr);
  std::vector<PlacedPart> used{place};
  for (std::size_t i = 0; i < own.inputs.size(); ++i) {
    if (!own.inputs[i]) continue;
    const TensorPart part{*own.inputs[i], i == 0 ? std::optional(Row{along.input_axis, row}) : std::nullopt};
    used.push_back(read_apart(part, place));
    inputs[i] = beside.dense(part.tensor, used.back());
  }
  std::vector<std::pair<TensorPart, PlacedPart>> written;
  for (std::size_t o = 0; o < own.outputs.size(); ++o) {
    if (!own.outputs[o] || (o > 0 && row != last)) continue;
    const TensorPart part{*own.outputs[o], o == 0 ? std::optional(Row{along.axis, row}) : std::nullopt};
    const PlacedPart at = machine_.room(part);
    // All operands have bytes of their own.
    if (std::ranges::any_of(used, [&](const PlacedPart& it) { return overlap(it, at); }))
      throw RunFault{
          fmt::format("{} writes {} over what it needs", machine_.who(), machine_.home().describe(part))};
    used.push_back(at);
    outputs[o] = beside.room(part.tensor, at);
    written.emplace_back(part, at);
  }
  machine_.call(std::span(used).subspan(1), [&] {
    kernel.make(row, {.inputs = inputs, .outputs = outputs, .scratch = machine_.scratch()}, carried);
  });
  beside.put_back();
  for (const auto& [part, at] : written) {
    machine_.home().overwrite(at);
    machine_.wrote(part, at);
  }
}

}  // namespace stowage::run
