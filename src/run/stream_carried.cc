// Steps of operators that carry a buffer from row to row: sums that a first pass adds up and a second one uses,
// or a state that every row changes. Kernels get a copy of the buffer, aligned; afterwards it is in its place.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "run/stream_run.h"
#include "stowage/error.h"

namespace stowage::run {

std::int64_t StreamRun::rows_carried(std::size_t index, const CarriedAxis& along) const {
  return (*graph_.tensors[*op(index).outputs[0]].shape)[along.axis];
}

/// Rows run once, in ascending order, or in descending order if the operator runs backward.
void StreamRun::expect_turn(const Run& run, const CarriedAxis& along) {
  const std::size_t index = run.path[1];
  std::int64_t& done = run.sums ? summed_[index] : carried_[index];
  const std::int64_t first = along.backward ? rows_carried(index, along) - run.rows->end : run.rows->begin;
  if (first != done)
    throw RunFault{fmt::format("{} runs row {}, but {} rows ran before", who_,
                               along.backward ? run.rows->end - 1 : run.rows->begin, done)};
  done += run.rows->end - run.rows->begin;
}

/// The place of the buffer, which must be as the operator left it.
PlacedPart StreamRun::carried_place(const Run& run, const Sums& at, Bytes size, bool is_first) {
  const PlacedPart place = memory_.find_sums(at, size, who_);
  if (!is_first) memory_.expect_sums(run.path[1], place, who_);
  memory_.places().note_touched(place, report_.highest);
  return place;
}

void StreamRun::run_first_pass(const Run& run) {
  const std::size_t index = run.path[1];
  const CarriedAxis& along = *summed_first(op(index), run.rows->axis);
  expect_turn(run, along);
  const PlacedPart place = carried_place(run, *run.sums, along.carried, run.rows->begin == 0);
  const kernels::RowCarry kernel = model_.program->kernels[0][index].row_carry(along.axis);
  const AlignedBytes sums(static_cast<std::size_t>(along.carried));
  std::memcpy(sums.data(), place.front().at, static_cast<std::size_t>(along.carried));
  for (std::int64_t row = run.rows->begin; row < run.rows->end; ++row) {
    const TensorPart part{*op(index).inputs[0], Row{along.input_axis, row}};
    const PlacedPart at = read(part);
    if (overlap(at, place))
      throw RunFault{
          fmt::format("{} has its sums over {}, which it reads", who_, memory_.places().describe(part))};
    RowOperands beside(graph_);
    kernel.add(row, beside.dense(part.tensor, at), sums.data());
  }
  std::memcpy(place.front().at, sums.data(), static_cast<std::size_t>(along.carried));
  memory_.added(index, place);
}

void StreamRun::run_carried(const Run& run) {
  const std::size_t index = run.path[1];
  const CarriedAxis& along = *carried_axis(op(index), run.rows->axis);
  const bool is_first = !along.reads_twice && carried_[index] == 0;
  expect_turn(run, along);
  const PlacedPart place = run.carry ? carried_place(run, *run.carry, along.carried, is_first) : PlacedPart{};
  const kernels::RowCarry kernel = model_.program->kernels[0][index].row_carry(along.axis);
  const AlignedBytes carried(static_cast<std::size_t>(std::max<Bytes>(along.carried, 1)));
  if (run.carry) std::memcpy(carried.data(), place.front().at, static_cast<std::size_t>(along.carried));
  for (std::int64_t i = 0; i < run.rows->end - run.rows->begin; ++i) {
    const std::int64_t row = along.backward ? run.rows->end - 1 - i : run.rows->begin + i;
    make_carried_row(run, row, kernel, carried.data(), place);
  }
  if (run.carry) {
    std::memcpy(place.front().at, carried.data(), static_cast<std::size_t>(along.carried));
    memory_.added(index, place);
  }
  result_.multiplies += multiplies_of_rows(index, *run.rows);
}

/// A tensor that is read whole. What the operator itself changes is not compared.
PlacedPart StreamRun::read_whole(TensorId tensor) {
  const TensorPart part{.tensor = tensor};
  if (graph_.tensors[tensor].kind != TensorKind::state) return read(part);
  return memory_.find_written(part, who_);
}

void StreamRun::make_carried_row(const Run& run, std::int64_t row, const kernels::RowCarry& kernel,
                                 std::byte* carried, const PlacedPart& place) {
  const Operator& own = op(run.path[1]);
  const CarriedAxis& along = *carried_axis(own, run.rows->axis);
  const std::int64_t last = along.backward ? 0 : rows_carried(run.path[1], along) - 1;
  RowOperands beside(graph_);
  std::vector<const std::byte*> inputs(own.inputs.size(), nullptr);
  std::vector<std::byte*> outputs(own.outputs.size(), nullptr);
  std::vector<PlacedPart> used{place};
  std::vector<ByteRange> allowed;
  // All operands have bytes of their own.
  const auto use = [&](const TensorPart& part, const PlacedPart& at, bool is_written) {
    for (const PlacedBytes& bytes : at) allowed.push_back({bytes.at, bytes.size});
    const auto other = std::ranges::find_if(used, [&](const PlacedPart& it) { return overlap(it, at); });
    if (is_written && other != used.end())
      throw RunFault{fmt::format("{} writes {} over what it needs", who_, memory_.places().describe(part))};
    if (!is_written && !place.empty() && overlap(place, at))
      throw RunFault{fmt::format("{} has its buffer over {}", who_, memory_.places().describe(part))};
    used.push_back(at);
  };
  for (std::size_t i = 0; i < own.inputs.size(); ++i) {
    if (!own.inputs[i]) continue;
    const TensorPart part{*own.inputs[i], i == 0 ? std::optional(Row{along.input_axis, row}) : std::nullopt};
    const PlacedPart at = i == 0 ? read(part) : read_whole(part.tensor);
    use(part, at, false);
    inputs[i] = beside.dense(part.tensor, at);
  }
  std::vector<std::pair<TensorPart, PlacedPart>> written;
  for (std::size_t o = 0; o < own.outputs.size(); ++o) {
    if (!own.outputs[o] || (o > 0 && row != last)) continue;
    const TensorPart part{*own.outputs[o], o == 0 ? std::optional(Row{along.axis, row}) : std::nullopt};
    const PlacedPart at = memory_.room_for(part, who_);
    memory_.places().note_touched(at, report_.highest);
    use(part, at, true);
    outputs[o] = beside.room(part.tensor, at);
    written.emplace_back(part, at);
  }
  {
    const OnlyThese only(device_, allowed, who_);
    kernel.make(row, {.inputs = inputs, .outputs = outputs, .scratch = scratch_.data()}, carried);
  }
  beside.put_back();
  for (const auto& [part, at] : written) wrote(part, at);
}

}  // namespace stowage::run
