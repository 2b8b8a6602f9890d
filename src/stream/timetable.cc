// Each iteration becomes a step. If rows of an output leave, another step follows. The accesses of all
// iterations tell when a granule is read last, for each tensor separately: its bytes live on in what takes it
// over.
//
// Cost: that of unrolling the model.

#include "stream/timetable.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace stowage::stream {
namespace {

class Recorder {
 public:
  Recorder(const RowModel& model, const RowProgram& program, bool wants_accesses)
      : model_(model), program_(program), wants_accesses_(wants_accesses) {
    for (std::size_t t = 0; t < model.tensors.size(); ++t) {
      const auto granules = static_cast<std::size_t>(program.ranges[t].count);
      if (wants_accesses) table_.accesses.emplace_back(granules);
      table_.lives.emplace_back(granules, Lifetime{0, 1});
      table_.traffic.emplace_back(granules, 0);
    }
    table_.sums.resize(model.operators.size());
    table_.summing.resize(model.operators.size());
  }

  RowTimetable run(std::span<const IterationId> order) {
    for (const IterationId id : order) take(program_.instances[id]);
    const auto end = static_cast<Position>(table_.steps.size());
    for (std::size_t t = 0; t < model_.tensors.size(); ++t) {
      if (!model_.tensors[t].stays) continue;
      for (Lifetime& life : table_.lives[t]) life.upper = std::max(life.upper, end);
      for (std::size_t g = 0; g < table_.lives[t].size() && end > 0; ++g)
        note_access(t, g, {end - 1, end - 1});
    }
    complete_accesses();
    table_.is_second_pass.resize(table_.steps.size(), false);
    return std::move(table_);
  }

 private:
  void take(const Iteration& instance) {
    const Operator& op = model_.operators[instance.op];
    const auto at = static_cast<Position>(table_.steps.size());
    table_.steps.push_back(step_of(instance));
    table_.steps.insert(table_.steps.end(), op.inside.begin(), op.inside.end());
    const auto end = static_cast<Position>(table_.steps.size());
    table_.is_second_pass.resize(table_.steps.size(), false);
    table_.is_second_pass[static_cast<std::size_t>(at)] = op.carrying == Carrying::second_pass;
    const std::size_t keeper = op.carrying == Carrying::second_pass ? op.passed : instance.op;
    if (model_.operators[keeper].keeps_accumulator()) {
      auto& sums = table_.sums[keeper];
      if (!sums) sums = Lifetime{at, at};
      sums->upper = at + 1;
      table_.summing[keeper].push_back(static_cast<std::size_t>(at));
    }
    for (const Access& access : op.reads) note_read(access, instance, {at, end});
    for (const std::size_t t : op.writes) note_written(t, instance, {at, end});
  }

  /// The one row that an iteration adds.
  [[nodiscard]] RowRange part_of(const Operator& op, std::int64_t instance) const {
    const Access& access = op.reads[0];
    return rows_of(model_.tensors[access.tensor], access.listed[static_cast<std::size_t>(instance)][0]);
  }

  /// A tensor without rows passes as a whole.
  template <typename Passage>
  [[nodiscard]] static Step passage(const Tensor& tensor, std::int64_t granule) {
    return Passage{*tensor.source, tensor.axis ? std::optional(rows_of(tensor, granule)) : std::nullopt};
  }

  [[nodiscard]] Step step_of(const Iteration& instance) const {
    const Operator& op = model_.operators[instance.op];
    if (!op.source) return passage<Arrive>(model_.tensors[op.writes[0]], instance.index);
    Run run{.path = {0, *op.source}};
    const bool is_whole = op.writing == Writing::at_the_end && op.instances() == 1 && !op.keeps_accumulator();
    if (op.writing == Writing::row_by_row) {
      run.rows = rows_of(model_.tensors[op.writes[0]], op.granule_of(instance.index));
      if (op.adds_rows) run.part = part_of(op, instance.index);
    } else if (!is_whole) {
      run.rows = rows_of(model_.tensors[op.reads[0].tensor], instance.index);
    }
    return run;
  }

  void note_read(const Access& access, const Iteration& instance, const Lifetime& step) {
    const Tensor& tensor = model_.tensors[access.tensor];
    for_each_read(model_, model_.operators[instance.op], access, instance.index, [&](std::int64_t row) {
      const auto granule = static_cast<std::size_t>(row / tensor.granule);
      Lifetime& life = table_.lives[access.tensor][granule];
      life.upper = std::max(life.upper, step.upper);
      count(tensor.bytes_per_row, table_.traffic[access.tensor][granule]);
      note_access(access.tensor, granule, {step.lower, step.upper - 1, tensor.bytes_per_row});
    });
  }

  void note_access(std::size_t t, std::size_t granule, const RowAccess& access) {
    if (!wants_accesses_) return;
    auto& all = table_.accesses[t][granule];
    if (!all.empty() && access.first <= all.back().last) {
      all.back().last = std::max(all.back().last, access.last);
      all.back().bytes += access.bytes;
      all.back().writes = all.back().writes || access.writes;
    } else {
      all.push_back(access);
    }
  }

  /// What no iteration writes is given at the start.
  void complete_accesses() {
    for (std::size_t t = 0; t < table_.accesses.size(); ++t) {
      for (std::size_t g = 0; g < table_.accesses[t].size(); ++g) {
        auto& all = table_.accesses[t][g];
        const Position begin = table_.lives[t][g].lower;
        if (all.empty() || all.front().first > begin) all.insert(all.begin(), RowAccess{begin, begin});
        all.front().writes = true;
      }
    }
  }

  void note_written(std::size_t t, const Iteration& instance, const Lifetime& step) {
    const Operator& op = model_.operators[instance.op];
    const bool is_by_row = op.writing_of(t) == Writing::row_by_row;
    if (!is_by_row && instance.index + 1 < op.instances()) return;
    auto& lives = table_.lives[t];
    const std::int64_t own = op.granule_of(instance.index);
    const std::size_t begin = is_by_row ? static_cast<std::size_t>(own) : 0;
    const std::size_t end = is_by_row ? begin + 1 : lives.size();
    const bool is_there = !op.adds_rows || op.instances_for(own + 1) == instance.index + 1;
    for (std::size_t g = begin; g < end; ++g) {
      if (!op.adds_rows || op.instances_for(own) == instance.index) lives[g].lower = step.lower;
      lives[g].upper = step.upper;
      if (op.source)  // what arrives is the caller's work
        count(program_.granules[program_.ranges[t].first + g].bytes, table_.traffic[t][g]);
      note_write_access(t, g, op, lives[g].lower, step.lower);
      if (!model_.tensors[t].leaves || !is_there) continue;
      table_.steps.push_back(passage<Leave>(model_.tensors[t], static_cast<std::int64_t>(g)));
      lives[g].upper = static_cast<Position>(table_.steps.size());
      note_access(t, g, {lives[g].upper - 1, lives[g].upper - 1});
    }
  }

  /// A granule that is added up stays where it is until it is complete.
  void note_write_access(std::size_t t, std::size_t granule, const Operator& op, Position since,
                         Position at) {
    if (!wants_accesses_) return;
    auto& all = table_.accesses[t][granule];
    const Bytes bytes = op.source ? program_.granules[program_.ranges[t].first + granule].bytes : 0;
    if (!all.empty() && since < at && all.back().first >= since) {
      all.back().last = at;
      all.back().bytes += bytes;
    } else {
      note_access(t, granule, {at, at, bytes, true});
    }
  }

  static void count(Bytes bytes, Bytes& traffic) {
    traffic = std::min(base::checked_add(traffic, bytes).value_or(largest_value), largest_value);
  }

  const RowModel& model_;
  const RowProgram& program_;
  bool wants_accesses_;
  RowTimetable table_{};
};

}  // namespace

RowRange rows_of(const Tensor& tensor, std::int64_t granule) {
  const std::size_t axis = tensor.axis.value();
  if (!tensor.again.empty()) {
    const std::int64_t row = tensor.again[static_cast<std::size_t>(granule * tensor.granule)];
    return {axis, row, row + tensor.granule};
  }
  return {axis, granule * tensor.granule, std::min(tensor.rows, (granule + 1) * tensor.granule)};
}

RowTimetable timetable_of(const RowModel& model, const RowProgram& program,
                          std::span<const IterationId> order, bool wants_accesses) {
  return Recorder(model, program, wants_accesses).run(order);
}

}  // namespace stowage::stream
