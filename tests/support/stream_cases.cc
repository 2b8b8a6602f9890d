#include "stream_cases.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

namespace stowage::testing {
namespace {

using stream::Carrying;
using stream::Operator;
using stream::RowModel;
using stream::Writing;

std::int64_t pick(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

stream::Access random_access(std::mt19937_64& random, std::size_t tensor, std::int64_t rows, bool is_whole) {
  if (is_whole) return {.tensor = tensor, .rows = {.scale = 0, .taps = rows}};
  const std::int64_t taps = pick(random, 1, 4);
  return {.tensor = tensor,
          .rows = {.scale = pick(random, 0, 7) == 0 ? -1 : pick(random, 1, 3),
                   .divisor = pick(random, 0, 3) == 0 ? pick(random, 2, 3) : 1,
                   .offset = -pick(random, 0, taps - 1) + (pick(random, 0, 5) == 0 ? pick(random, -3, 3) : 0),
                   .taps = taps,
                   .dilation = pick(random, 0, 3) == 0 ? 2 : 1}};
}

/// The rows of a tensor that instance i of an operator reads by one access, by trying every row and tap.
bool reads_row(const RowModel& model, const Operator& op, const stream::Access& access, std::int64_t i,
               std::int64_t row) {
  const std::int64_t block = op.backward ? op.instances() - 1 - i : i;
  for (std::int64_t r = block * op.granule; r < (block + 1) * op.granule && r < op.rows; ++r) {
    for (std::int64_t k = 0; k < access.rows.taps; ++k) {
      std::int64_t first = -1000;  // the largest that divisor * first does not exceed the dividend
      while (access.rows.divisor * (first + 1) <= access.rows.scale * r + access.rows.offset) ++first;
      if (first + k * access.rows.dilation == row && row < model.tensors[access.tensor].rows) return true;
    }
  }
  return false;
}

struct NaiveGranule {
  std::size_t tensor = 0;
  Bytes bytes = 0;
  std::optional<NaiveStep> writer{};
  std::vector<NaiveStep> readers{};
  bool stays = false;
};

NaiveGranule granule_of(const RowModel& model, std::size_t t, std::int64_t g) {
  const stream::Tensor& tensor = model.tensors[t];
  const std::int64_t end = std::min(tensor.rows, (g + 1) * tensor.granule);
  NaiveGranule granule{
      .tensor = t, .bytes = (end - g * tensor.granule) * tensor.bytes_per_row, .stays = tensor.stays};
  for (std::size_t o = 0; o < model.operators.size(); ++o) {
    const Operator& op = model.operators[o];
    if (std::find(op.writes.begin(), op.writes.end(), t) != op.writes.end()) {
      const std::int64_t own = op.backward ? op.instances() - 1 - g : g;
      granule.writer = {o, op.writing_of(t) == Writing::row_by_row ? own : op.instances() - 1};
    }
    for (std::int64_t i = 0; i < op.instances(); ++i) {
      bool reads = false;
      for (const stream::Access& access : op.reads) {
        for (std::int64_t row = g * tensor.granule; row < end && access.tensor == t; ++row)
          reads = reads || reads_row(model, op, access, i, row);
      }
      if (reads) granule.readers.push_back({o, i});
    }
  }
  return granule;
}

std::vector<NaiveGranule> granules_of(const RowModel& model) {
  std::vector<NaiveGranule> granules;
  for (std::size_t t = 0; t < model.tensors.size(); ++t) {
    for (std::int64_t g = 0; g * model.tensors[t].granule < model.tensors[t].rows; ++g)
      granules.push_back(granule_of(model, t, g));
  }
  for (std::size_t o = 0; o < model.operators.size(); ++o) {
    const Operator& op = model.operators[o];
    const bool is_first = op.carrying == Carrying::first_pass;
    if (op.accumulator > 0 && (op.instances() > 1 || is_first || op.carrying == Carrying::state)) {
      granules.push_back({.tensor = model.tensors.size(),
                          .bytes = op.accumulator,
                          .writer = NaiveStep{o, 0},
                          .readers = {{o, op.instances() - 1}}});
      // A second pass comes right behind the first.
      if (is_first) granules.back().readers.push_back({o + 1, model.operators[o + 1].instances() - 1});
    }
    for (const std::size_t earlier : op.after)  // a mark without bytes
      granules.push_back({.tensor = model.tensors.size(),
                          .writer = NaiveStep{earlier, model.operators[earlier].instances() - 1},
                          .readers = {{o, 0}}});
  }
  return granules;
}

using Counters = std::vector<std::int64_t>;

bool has_run(const Counters& done, const NaiveStep& step) { return done[step.op] > step.index; }

/// Whether a granule is live while the step runs, if `done` is what has run before it.
bool is_live(const NaiveGranule& granule, const Counters& done, const NaiveStep& step) {
  const bool is_written = !granule.writer || has_run(done, *granule.writer) || *granule.writer == step;
  const bool is_used = std::any_of(granule.readers.begin(), granule.readers.end(),
                                   [&](const NaiveStep& it) { return !has_run(done, it); });
  return is_written && (is_used || granule.stays || granule.writer == step);
}

bool can_run(const std::vector<NaiveGranule>& granules, const Counters& done, const NaiveStep& step) {
  if (done[step.op] != step.index) return false;
  for (const NaiveGranule& granule : granules) {
    const bool reads =
        std::find(granule.readers.begin(), granule.readers.end(), step) != granule.readers.end();
    if (reads && granule.writer && *granule.writer != step && !has_run(done, *granule.writer)) return false;
  }
  return true;
}

Bytes load_of(const std::vector<NaiveGranule>& granules, const Counters& done, const NaiveStep& step) {
  Bytes load = 0;
  for (const NaiveGranule& granule : granules) load += is_live(granule, done, step) ? granule.bytes : 0;
  return load;
}

/// An operator that reads the rows of the last tensor twice, or one that carries a state along them.
void add_carrying(std::mt19937_64& random, RowModel& model) {
  const std::size_t from = model.tensors.size() - 1;
  const stream::Tensor& rows = model.tensors[from];
  Operator op{.name = "carries", .rows = rows.rows, .granule = rows.granule, .reads = {{from}}};
  op.accumulator = pick(random, 0, 9);
  if (pick(random, 0, 1) == 0) {
    Operator first = op;
    first.writing = Writing::at_the_end;
    first.carrying = Carrying::first_pass;
    op.accumulator = 0;
    op.carrying = Carrying::second_pass;
    op.passed = model.operators.size();
    op.after = {op.passed};
    model.operators.push_back(first);
  } else {
    op.carrying = Carrying::state;
    op.backward = pick(random, 0, 1) == 0;
    if (pick(random, 0, 1) == 0) {
      op.ends = op.writes = {model.tensors.size()};
      model.tensors.push_back(
          {.name = "end", .rows = pick(random, 1, 2), .bytes_per_row = pick(random, 1, 9)});
    }
  }
  const auto other = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(from)));
  if (pick(random, 0, 2) == 0)
    op.reads.push_back(random_access(random, other, model.tensors[other].rows, true));
  op.writes.push_back(model.tensors.size());
  model.tensors.push_back(
      {.name = "t", .rows = op.rows, .bytes_per_row = pick(random, 1, 9), .granule = op.granule});
  model.operators.push_back(op);
}

}  // namespace

RowModel random_model(std::mt19937_64& random, const ModelShape& shape) {
  RowModel model;
  model.tensors.push_back(
      {.name = "in", .rows = pick(random, 1, shape.rows), .bytes_per_row = pick(random, 1, 9)});
  model.tensors[0].granule = pick(random, 1, 2);
  if (pick(random, 0, 1) == 0)
    model.operators.push_back({.name = "arrival",
                               .rows = model.tensors[0].rows,
                               .granule = model.tensors[0].granule,
                               .writes = {0}});
  while (model.operators.size() < static_cast<std::size_t>(shape.operators)) {
    if (shape.carries && pick(random, 0, 2) == 0) {
      add_carrying(random, model);
      continue;
    }
    Operator op{.name = "op", .rows = pick(random, 1, shape.rows), .granule = pick(random, 1, 2)};
    const std::size_t inputs = shape.is_chain ? 1 : static_cast<std::size_t>(pick(random, 1, 2));
    for (std::size_t i = 0; i < inputs; ++i) {
      const auto last = static_cast<std::int64_t>(model.tensors.size()) - 1;
      const auto t = static_cast<std::size_t>(shape.is_chain || i == 0 ? last : pick(random, 0, last));
      op.reads.push_back(random_access(random, t, model.tensors[t].rows, pick(random, 0, 9) == 0));
    }
    const bool sums = pick(random, 0, 7) == 0;
    if (sums) {
      op.writing = Writing::at_the_end;
      op.accumulator = pick(random, 0, 9);
    }
    op.backward = shape.carries && !sums && pick(random, 0, 3) == 0;
    const std::int64_t rows = sums ? pick(random, 1, 2) : op.rows;
    op.writes = {model.tensors.size()};
    model.tensors.push_back(
        {.name = "t", .rows = rows, .bytes_per_row = pick(random, 1, 9), .granule = sums ? 1 : op.granule});
    model.operators.push_back(op);
  }
  model.tensors.back().stays = pick(random, 0, 2) != 0;
  return model;
}

NaiveReplay naive_replay(const RowModel& model, const std::vector<NaiveStep>& steps) {
  const auto granules = granules_of(model);
  Counters done(model.operators.size(), 0);
  NaiveReplay replay{.windows = std::vector<std::int64_t>(model.tensors.size(), 0)};
  for (const NaiveStep& step : steps) {
    if (!can_run(granules, done, step)) {
      replay.is_legal = false;
      return replay;
    }
    replay.loads.push_back(load_of(granules, done, step));
    std::vector<std::int64_t> live(model.tensors.size() + 1, 0);
    for (const NaiveGranule& granule : granules) live[granule.tensor] += is_live(granule, done, step) ? 1 : 0;
    for (std::size_t t = 0; t < model.tensors.size(); ++t)
      replay.windows[t] = std::max(replay.windows[t], live[t]);
    ++done[step.op];
  }
  for (std::size_t o = 0; o < done.size(); ++o)
    replay.is_legal = replay.is_legal && done[o] == model.operators[o].instances();
  return replay;
}

Bytes least_peak(const RowModel& model) {
  const auto granules = granules_of(model);
  using Path = std::pair<Bytes, Counters>;
  std::priority_queue<Path, std::vector<Path>, std::greater<>> open;
  std::set<Counters> closed;
  open.push({0, Counters(model.operators.size(), 0)});
  while (!open.empty()) {
    const auto [peak, done] = open.top();
    open.pop();
    if (!closed.insert(done).second) continue;
    bool is_end = true;
    for (std::size_t o = 0; o < done.size(); ++o) {
      if (done[o] == model.operators[o].instances()) continue;
      is_end = false;
      const NaiveStep step{o, done[o]};
      if (!can_run(granules, done, step)) continue;
      Counters next = done;
      ++next[o];
      open.push({std::max(peak, load_of(granules, done, step)), next});
    }
    if (is_end) return peak;
  }
  return -1;
}

std::vector<NaiveStep> naive_steps(const stream::RowProgram& program,
                                   const std::vector<stream::IterationId>& order) {
  std::vector<NaiveStep> steps;
  for (const auto i : order) steps.push_back({program.instances[i].op, program.instances[i].index});
  return steps;
}

std::vector<stream::IterationId> random_order(const stream::RowProgram& program, std::mt19937_64& random) {
  std::vector<std::int64_t> done(program.operators(), 0);
  std::vector<stream::IterationId> order;
  while (order.size() < program.instances.size()) {
    const auto op = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(done.size()) - 1));
    if (done[op] == program.count(op)) continue;
    const auto& needs = program.instances[program.at(op, done[op])].needs;
    if (std::any_of(needs.begin(), needs.end(), [&](const auto& need) { return done[need.op] < need.count; }))
      continue;
    order.push_back(program.at(op, done[op]++));
  }
  return order;
}

}  // namespace stowage::testing
