#include <algorithm>
#include <variant>

#include "player.h"

namespace stowage::campaign {

std::int64_t Player::rows_of(const Run& run, const Operator& op) const {
  for (const auto& output : op.outputs)
    if (output) return (*graphs_[run.model].tensors[*output].shape)[run.rows->axis];
  return 0;
}

namespace {

std::vector<std::int64_t> rows_in(const RowRange& range) {
  std::vector<std::int64_t> rows;
  for (std::int64_t row = range.begin; row < range.end; ++row) rows.push_back(row);
  return rows;
}

const RowAxis* axis_of(const Operator& op, std::size_t axis) {
  for (const RowAxis& candidate : op.row_axes)
    if (candidate.axis == axis) return &candidate;
  return nullptr;
}

}  // namespace

void Player::read_rows(const Run& run, const RowAxis& axis, const RowRange& rows, Reading& reading) {
  const Operator& op = operator_of(run);
  const Graph& graph = graphs_[run.model];
  for (std::size_t k = 0; k < op.inputs.size(); ++k) {
    if (!op.inputs[k]) continue;
    const TensorId input = *op.inputs[k];
    bool is_by_rows = false;
    std::set<Bytes> wanted;
    for (const RowRead& read : axis.reads) {
      if (read.input != k) continue;
      is_by_rows = true;
      const std::int64_t extent = (*graph.tensors[input].shape)[read.axis];
      const std::vector<std::int64_t> found = rows_read(read.rows, extent, rows.begin, rows.end);
      const std::vector<Bytes> bytes = machine_.bytes_of_rows(run.model, input, read.axis, found);
      wanted.insert(bytes.begin(), bytes.end());
    }
    machine_.read(
        run.model, input,
        is_by_rows ? std::vector<Bytes>(wanted.begin(), wanted.end()) : machine_.all_bytes(run.model, input),
        words_for(run), &reading, k);
  }
}

void Player::run_rows(const Run& run) {
  const Operator& op = operator_of(run);
  const RowAxis* axis = axis_of(op, run.rows->axis);
  if (axis == nullptr) return machine_.fault("rows", words_for(run) + " cannot run by rows along that axis");
  const std::int64_t extent = rows_of(run, op);
  if (run.rows->begin < 0 || run.rows->end > extent || run.rows->begin >= run.rows->end)
    return machine_.fault("rows", words_for(run) + " has no such rows");
  Reading reading;
  read_rows(run, *axis, *run.rows, reading);
  const std::vector<std::int64_t> rows = rows_in(*run.rows);
  for (std::size_t k = 0; k < op.outputs.size(); ++k)
    if (op.outputs[k])
      machine_.write(run.model, *op.outputs[k],
                     machine_.bytes_of_rows(run.model, *op.outputs[k], run.rows->axis, rows), words_for(run),
                     {.op = &op, .output = k, .reading = &reading});
  machine_.check_endings(run.model, op, reading, words_for(run));
  for (const auto& output : op.outputs)
    if (output)
      machine_.read(run.model, *output, machine_.bytes_of_rows(run.model, *output, run.rows->axis, rows),
                    words_for(run) + " (its own output)");
  Progress& progress = progress_[{run.model, run.path}];
  progress.rows.insert(rows.begin(), rows.end());
  if (static_cast<std::int64_t>(progress.rows.size()) == extent) progress.runs = 1;
}

namespace {

/// What sums, and rows that are being added up, are called: nobody else's names.
ByteName unfinished(std::size_t place, std::int64_t done, Bytes byte) {
  return Names::other((static_cast<ByteName>(place) + 1) * 1'000'003U * 4099U +
                      static_cast<ByteName>(done) * 65537U * 64U + static_cast<ByteName>(byte));
}

Bytes size_of_sums(const Tensor& output) {
  std::int64_t count = 1;
  for (const std::int64_t extent : *output.shape) count *= extent;
  return count * std::max(4, *bits_of(output.dtype) / 8);
}

}  // namespace

void Player::check_sums(const Run& run, std::int64_t done) {
  TaggedMemory& memory = machine_.memory();
  const Operator& op = operator_of(run);
  const Bytes size = size_of_sums(graphs_[run.model].tensors[*op.outputs[0]]);
  for (Bytes i = 0; i < size; ++i) {
    if (!memory.holds(run.sums->buffer, run.sums->offset + i))
      return machine_.fault("sums", words_for(run) + ": its sums are not reserved");
    if (done > 0 && memory.name_at(memory.address(run.sums->buffer, run.sums->offset + i)) !=
                        unfinished(run.path.back(), done, i))
      return machine_.fault("sums", words_for(run) + ": its sums were written over");
  }
}

void Player::put_sums(const Run& run, std::int64_t done) {
  TaggedMemory& memory = machine_.memory();
  const Operator& op = operator_of(run);
  const Bytes size = size_of_sums(graphs_[run.model].tensors[*op.outputs[0]]);
  for (Bytes i = 0; i < size; ++i)
    if (memory.holds(run.sums->buffer, run.sums->offset + i))
      memory.put(memory.address(run.sums->buffer, run.sums->offset + i),
                 unfinished(run.path.back(), done, i));
}

void Player::run_sums(const Run& run) {
  const Operator& op = operator_of(run);
  const Graph& graph = graphs_[run.model];
  const std::int64_t extent = (*graph.tensors[*op.inputs[0]].shape)[run.rows->axis];
  Progress& progress = progress_[{run.model, run.path}];
  const auto done = static_cast<std::int64_t>(progress.rows.size());
  if (run.rows->begin != done || run.rows->end > extent)
    return machine_.fault("sums", words_for(run) + ": rows are not summed up in ascending order");
  Reading reading;
  const std::vector<std::int64_t> rows = rows_in(*run.rows);
  machine_.read(run.model, *op.inputs[0],
                machine_.bytes_of_rows(run.model, *op.inputs[0], run.rows->axis, rows), words_for(run),
                &reading, 0);
  for (std::size_t k = 1; k < op.inputs.size(); ++k)
    if (op.inputs[k])
      machine_.read(run.model, *op.inputs[k], machine_.all_bytes(run.model, *op.inputs[k]), words_for(run),
                    &reading, k);
  const bool is_all = run.rows->begin == 0 && run.rows->end == extent;
  if (!run.sums && !is_all) machine_.fault("sums", words_for(run) + ": has no place for its sums");
  if (run.sums) check_sums(run, done);
  progress.rows.insert(rows.begin(), rows.end());
  if (run.sums) {
    put_sums(run, run.rows->end);
    Reading again;  // The sums must not lie on what is read.
    machine_.read(run.model, *op.inputs[0],
                  machine_.bytes_of_rows(run.model, *op.inputs[0], run.rows->axis, rows),
                  words_for(run) + " (beside its sums)", &again, 0);
  }
  if (run.rows->end < extent) return;
  progress.runs = 1;
  write_outputs(run, op, reading);
  if (run.sums) check_sums(run, run.rows->end);
}

void Player::put_part(const Run& run, TensorId output, std::int64_t row, std::int64_t done) {
  const auto place = machine_.place_of(run.model, output);
  if (!place || plan_.tensors[*place].views.empty()) return;  // The caller's.
  const Whereabouts where(machine_.memory(), plan_, plan_.tensors[*place]);
  std::vector<Whereabouts::Spot> spots;
  for (const Bytes byte : machine_.bytes_of_rows(run.model, output, run.rows->axis, {row})) {
    where.find(byte, spots);
    if (spots.size() != 1 || !machine_.memory().holds(spots[0].buffer, spots[0].offset))
      return machine_.fault("part", words_for(run) + ": its row has no place");
    machine_.memory().put(machine_.memory().address(spots[0].buffer, spots[0].offset),
                          unfinished(run.path.back() + 1000, done, byte));
  }
}

void Player::check_part(const Run& run, TensorId output, std::int64_t row, std::int64_t done) {
  const auto place = machine_.place_of(run.model, output);
  if (!place || plan_.tensors[*place].views.empty()) return;  // The caller's.
  const Whereabouts where(machine_.memory(), plan_, plan_.tensors[*place]);
  std::vector<Whereabouts::Spot> spots;
  for (const Bytes byte : machine_.bytes_of_rows(run.model, output, run.rows->axis, {row})) {
    where.find(byte, spots);
    if (spots.size() != 1 || !machine_.memory().holds(spots[0].buffer, spots[0].offset) ||
        machine_.memory().name_at(machine_.memory().address(spots[0].buffer, spots[0].offset)) !=
            unfinished(run.path.back() + 1000, done, byte))
      return machine_.fault("part", words_for(run) + ": what was added up is not there any more");
  }
}

void Player::run_part(const Run& run) {
  const Operator& op = operator_of(run);
  const Graph& graph = graphs_[run.model];
  const RowAxis* axis = axis_of(op, run.rows->axis);
  if (axis == nullptr || !axis->adds_rows || axis->reads.size() != 1)
    return machine_.fault("part", words_for(run) + " cannot add up parts");
  const RowRead& read = axis->reads[0];
  const TensorId input = *op.inputs[read.input];
  const TensorId output = *op.outputs[0];
  const std::int64_t extent = (*graph.tensors[input].shape)[read.axis];
  Progress& progress = progress_[{run.model, run.path}];
  Reading reading;
  std::set<std::int64_t> read_now;
  for (std::int64_t row = run.rows->begin; row < run.rows->end; ++row) {
    const std::vector<std::int64_t> wanted = rows_read(read.rows, extent, row, row + 1);
    const bool is_begun = progress.parts.contains(row);
    const bool is_first = wanted.empty() || (run.part->begin <= wanted[0] && wanted[0] < run.part->end);
    if (!is_begun && !is_first && progress.rows.contains(row)) continue;  // It is there already.
    std::int64_t& done = progress.parts[row];
    if (is_begun) check_part(run, output, row, done);
    for (const std::int64_t of : wanted) {
      if (of < run.part->begin || of >= run.part->end) continue;
      if (wanted[static_cast<std::size_t>(done)] != of)
        return machine_.fault("part",
                              words_for(run) + ": row " + std::to_string(of) + " is added out of order");
      ++done;
      read_now.insert(of);
      if (static_cast<std::size_t>(done) == wanted.size()) break;
    }
    put_part(run, output, row, done);
    if (static_cast<std::size_t>(done) < wanted.size()) continue;
    machine_.write(run.model, output, machine_.bytes_of_rows(run.model, output, run.rows->axis, {row}),
                   words_for(run));
    progress.parts.erase(row);
    progress.rows.insert(row);
    if (static_cast<std::int64_t>(progress.rows.size()) == rows_of(run, op)) progress.runs = 1;
  }
  machine_.read(run.model, input,
                machine_.bytes_of_rows(run.model, input, read.axis, {read_now.begin(), read_now.end()}),
                words_for(run) + " (beside its row)", &reading, read.input);
}

std::vector<Bytes> Player::passed(std::size_t index, const std::optional<RowRange>& rows, Times& times) {
  const PlannedTensor& planned = plan_.tensors[index];
  std::vector<int>& counts = times[index];
  if (!rows) {
    counts.resize(1);
    ++counts[0];
    return machine_.all_bytes(planned.model, machine_.tensor_of(index));
  }
  counts.resize(static_cast<std::size_t>((*planned.tensor.shape)[rows->axis]));
  for (const std::int64_t row : rows_in(*rows)) ++counts.at(static_cast<std::size_t>(row));
  return machine_.bytes_of_rows(planned.model, machine_.tensor_of(index), rows->axis, rows_in(*rows));
}

void Player::hand_over(const Arrive& arrive) {
  machine_.write(plan_.tensors[arrive.tensor].model, machine_.tensor_of(arrive.tensor),
                 passed(arrive.tensor, arrive.rows, arrived_),
                 "step " + std::to_string(now_) + ", the caller");
}

void Player::take(const Leave& leave) {
  machine_.read(plan_.tensors[leave.tensor].model, machine_.tensor_of(leave.tensor),
                passed(leave.tensor, leave.rows, left_), "step " + std::to_string(now_) + ", the caller");
}

/// What does neither is there from the start, or up to the end.
bool Player::has_passages(std::size_t model, TensorId tensor) const {
  const auto place = machine_.place_of(model, tensor);
  return place && passing_.contains(*place);
}

void Player::check_order() {
  for (std::size_t m = 0; m < graphs_.size(); ++m) {
    const Subgraph& main = graphs_[m].subgraphs[0];
    const auto progress_of = [&](std::size_t o) -> const Progress* {
      const auto found = progress_.find({m, {0, o}});
      return found == progress_.end() ? nullptr : &found->second;
    };
    const Progress* effect = nullptr;
    for (std::size_t o = 0; o < main.operators.size(); ++o) {
      const Operator& op = main.operators[o];
      const Progress* own = progress_of(o);
      if (op.folded) continue;
      if (own == nullptr || own->runs != 1) {
        machine_.fault("order", "operator '" + op.name + "' is complete " +
                                    std::to_string(own == nullptr ? 0 : own->runs) + " times");
        continue;
      }
      for (const std::size_t before : op.after)
        if (const Progress* other = progress_of(before); other == nullptr || other->done_at >= own->begun_at)
          machine_.fault("order", "operator '" + op.name + "' runs too early");
      if (!op.stateful) continue;
      if (effect != nullptr && effect->done_at >= own->begun_at)
        machine_.fault("order", "stateful operator '" + op.name + "' runs too early");
      effect = own;
    }
  }
  for (const auto* times : {&arrived_, &left_})
    for (const auto& [tensor, counts] : *times)
      for (const int count : counts)
        if (count != 1)
          machine_.fault("rows", "a row of '" + plan_.tensors[tensor].tensor.name + "' arrives or leaves " +
                                     std::to_string(count) + " times");
}

}  // namespace stowage::campaign
