// From an order of rows to a plan: steps and live ranges -> rings and granules -> offsets.
//
// Cost: linear in iterations and the granules that they read, plus the packing.

#include "plan/row_placing.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/checked.h"
#include "base/unique_names.h"
#include "plan/arrangement.h"
#include "stream/bodies.h"
#include "stream/recompute.h"
#include "stream/replay.h"
#include "stream/timetable.h"

namespace stowage::plan {
namespace {

/// Whether a row is in two places at once.
bool is_ambiguous(const PlannedTensor& tensor) {
  std::vector<View> views = tensor.views;
  std::sort(views.begin(), views.end(),
            [](const View& a, const View& b) { return a.life.lower < b.life.lower; });
  for (std::size_t i = 0; i < views.size(); ++i) {
    for (std::size_t k = i + 1; k < views.size() && views[k].life.lower < views[i].life.upper; ++k) {
      const auto &a = views[i].rows, &b = views[k].rows;
      if (!a || !b || (a->begin < b->end && b->begin < a->end)) return true;
    }
  }
  return false;
}

/// Whether each tensor has its rows along one axis in all its repeats.
bool has_one_axis_each(const RowNetwork& streamed) {
  std::map<TensorId, std::optional<std::size_t>> axes;
  return std::all_of(streamed.model.tensors.begin(), streamed.model.tensors.end(), [&](const auto& tensor) {
    if (!tensor.source) return true;
    return axes.emplace(streamed.network.tensors[*tensor.source], tensor.axis).first->second == tensor.axis;
  });
}

/// Moves views of repeated tensors to the network's own. False if a row would be in two places at once.
bool bring_together(const stream::Repeated& network, std::vector<PlannedTensor>& tensors) {
  std::set<TensorId> repeated;
  std::size_t count = 0;  // of the network's own, which come first
  for (TensorId t = 0; t < tensors.size(); ++t) {
    const TensorId own = network.tensors[t];
    if (own == t) {
      ++count;
      continue;
    }
    std::move(tensors[t].views.begin(), tensors[t].views.end(), std::back_inserter(tensors[own].views));
    repeated.insert(own);
  }
  tensors.resize(count);
  return std::none_of(repeated.begin(), repeated.end(), [&](TensorId t) { return is_ambiguous(tensors[t]); });
}

/// The steps of the plan, with the operators of the network and the places of their sums.
std::vector<Step> steps_of(const RowNetwork& streamed, stream::RowTimetable timetable,
                           const stream::Layout& layout) {
  std::vector<Step> steps = std::move(timetable.steps);
  for (std::size_t op = 0; op < streamed.model.operators.size(); ++op) {
    const bool is_state = streamed.model.operators[op].carrying == stream::Carrying::state;
    for (const std::size_t step : timetable.summing[op]) {
      Run& run = std::get<Run>(steps[step]);
      (is_state || timetable.is_second_pass[step] ? run.carry : run.sums) = layout.sums[op];
    }
  }
  for (Step& step : steps) {
    if (auto* const run = std::get_if<Run>(&step)) run->path[1] = streamed.network.operators[run->path[1]];
  }
  return steps;
}

Bytes largest(const std::vector<Bytes>& loads) {
  return loads.empty() ? 0 : *std::max_element(loads.begin(), loads.end());
}

AffineSchedule schedule_of(const RowNetwork& streamed, bool is_followed) {
  const stream::AffineOrder& affine = *streamed.affine;
  AffineSchedule schedule{.is_followed = is_followed};
  for (std::size_t op = 0; op < streamed.model.operators.size(); ++op) {
    const stream::Operator& it = streamed.model.operators[op];
    const stream::AffineTime& time = affine.times[op];
    const bool sums = it.keeps_accumulator() && it.carrying != stream::Carrying::state;
    TimedSteps steps{.sums = sums,
                     .count = streamed.program.count(op),
                     .scale = time.scale,
                     .shift = time.shift,
                     .position = time.position};
    if (it.source) steps.op = streamed.network.operators[*it.source];
    if (!it.source) steps.tensor = streamed.network.tensors[*streamed.model.tensors[it.writes[0]].source];
    schedule.operators.push_back(steps);
  }
  return schedule;
}

/// Live bytes at each step, rounded up to the alignment, with all that arenas hold: inputs that nobody reads, too.
std::vector<Bytes> rounded_loads(const stream::RowProgram& program,
                                 const std::vector<stream::IterationId>& steps, Bytes alignment) {
  std::vector<Bytes> loads = stream::replay(program, steps).loads;
  if (!loads.empty()) loads.front() += program.unread;
  for (Bytes& load : loads) load = base::align_up(load, alignment);
  return loads;
}

/// Steps that run an operator which reads the tensor, or one that writes it: from the first to behind the last.
Lifetime life_of_uses(const Graph& graph, const stream::Bodies& bodies, const std::vector<Step>& steps,
                      TensorId tensor) {
  std::optional<Lifetime> life;
  for (std::size_t at = 0; at < steps.size(); ++at) {
    const auto* const run = std::get_if<Run>(&steps[at]);
    if (run == nullptr || run->path.size() > 2) continue;
    const Operator& op = graph.subgraphs[0].operators[run->path[1]];
    const auto is_it = [&](const std::optional<TensorId>& it) { return it == tensor; };
    const std::vector<TensorId> read_by_bodies = bodies.read_by(run->path[1]);
    const bool is_in_bodies = std::ranges::binary_search(read_by_bodies, tensor);
    if (std::ranges::none_of(op.inputs, is_it) && std::ranges::none_of(op.outputs, is_it) && !is_in_bodies)
      continue;
    const auto position = static_cast<Position>(at);
    if (!life) life = Lifetime{position, position};
    life->upper = position + 1;
    if (!op.bodies.empty()) life->upper += std::ssize(bodies.run_of(run->path[1]).steps);
  }
  return life.value_or(Lifetime{});
}

/// Tensors of bodies each have a buffer, while their operator runs.
void add_bodies(const Graph& graph, const std::vector<Step>& steps, const Around& around,
                base::UniqueNames& ids, stream::Layout& layout) {
  if (graph.subgraphs.size() == 1) return;
  const stream::Bodies bodies(graph);
  std::map<TensorId, std::size_t> buffer_of;
  for (std::size_t at = 0; at < steps.size(); ++at) {
    const auto* const run = std::get_if<Run>(&steps[at]);
    if (run == nullptr || run->path.size() > 2 || graph.subgraphs[0].operators[run->path[1]].bodies.empty())
      continue;
    const auto begin = static_cast<Position>(at);
    for (const auto& [t, lives] : bodies.run_of(run->path[1]).lives) {
      const Tensor& tensor = graph.tensors[t];
      const Bytes size = base::align_up(tensor.bytes, around.alignment);
      const auto [entry, is_new] = buffer_of.emplace(t, layout.buffers.size());
      if (is_new)
        layout.buffers.push_back({.id = ids.unique(tensor.name),
                                  .size = size,
                                  .alignment = around.alignment,
                                  .kind = tensor.kind});
      Buffer& buffer = layout.buffers[entry->second];
      for (const Lifetime& life : lives) {
        const Lifetime there{life.lower + begin, life.upper + begin};
        buffer.pieces.push_back({0, size, there});
        buffer.traffic = base::checked_add(buffer.traffic, 2 * tensor.bytes).value_or(largest_value);
        layout.tensors[t].views.push_back({.buffer = entry->second, .life = there});
      }
    }
  }
}

/// State keeps its buffer all the time. A new state is written over the old one, after all its readers.
void add_state(const Graph& graph, const std::vector<Step>& steps, const Around& around,
               base::UniqueNames& ids, stream::Layout& layout) {
  const auto end = static_cast<Position>(steps.size());
  const auto add_buffer = [&](TensorId t) {
    const Bytes size = base::align_up(graph.tensors[t].bytes, around.alignment);
    layout.buffers.push_back({.id = ids.unique(graph.tensors[t].name),
                              .size = size,
                              .alignment = around.alignment,
                              .pieces = {{0, size, {0, end}}},
                              .kind = TensorKind::state});
    const auto accesses = std::ranges::count_if(graph.subgraphs[0].operators, [&](const Operator& op) {
      return std::ranges::find(op.inputs, std::optional(t)) != op.inputs.end();
    });
    layout.buffers.back().traffic = base::checked_multiply(size, accesses).value_or(largest_value);
  };
  const auto add_view = [&](TensorId t, const Lifetime& life) {
    layout.tensors[t].views.push_back({.buffer = layout.buffers.size() - 1, .life = life});
  };
  for (TensorId t = 0; t < graph.tensors.size() && around.keeps_state; ++t) {
    if (graph.tensors[t].kind != TensorKind::state) continue;
    add_buffer(t);
    add_view(t, {0, end});
  }
  const stream::Bodies bodies(graph);
  for (const StateTie& tie : graph.ties) {
    add_buffer(tie.input);
    layout.buffers.back().traffic += graph.tensors[tie.output].bytes;
    add_view(tie.input, {0, std::max<Position>(1, life_of_uses(graph, bodies, steps, tie.input).upper)});
    add_view(tie.output, {life_of_uses(graph, bodies, steps, tie.output).lower, end});
  }
}

/// With a capacity, solves in longer and longer tries, since any plan that fits is low enough.
Solution solve_until_it_fits(const Problem& problem, const SolveOptions& options,
                             const base::Deadline& deadline) {
  const std::optional<Bytes> capacity = problem.memories[0].capacity;
  base::Deadline::Seconds limit = capacity ? base::Deadline::Seconds(0.02) : deadline.left();
  while (true) {
    const base::Deadline::Seconds left = deadline.left();
    Solution solution = solve_provably(problem, options, deadline.within(limit));
    if (limit >= left || !solution.interrupted || total_peak(problem, solution) <= capacity.value_or(0))
      return solution;
    limit *= 8;
  }
}

}  // namespace

double recomputed(const RowNetwork& streamed) {
  const auto once = static_cast<double>(std::max<std::int64_t>(1, stream::multiplies_of(streamed.once)));
  return std::max(1.0, static_cast<double>(stream::multiplies_of(streamed.model)) / once);
}

Streaming streaming_of(const RowNetwork& streamed, const RowOrder& order, const StreamOptions& options,
                       Bytes alignment) {
  const stream::RowProgram whole =
      stream::unroll(stream::without_rows(streamed.once), {.alignment = alignment});
  const std::vector<Bytes> of_layers = rounded_loads(whole, stream::layer_by_layer(whole), alignment);
  const stream::RowProgram counted =
      stream::unroll(streamed.model, {.alignment = order.counted_in, .alignment_of_wholes = alignment});
  const std::vector<Bytes> of_steps = rounded_loads(counted, order.steps, alignment);
  std::vector<Bytes> loads(streamed.model.operators.size(), 0);  // while its rows are computed
  for (std::size_t step = 0; step < order.steps.size(); ++step) {
    Bytes& load = loads[streamed.program.instances[order.steps[step]].op];
    load = std::max(load, of_steps[step]);
  }
  Streaming result{.granule = granule_of(options),
                   .load = largest(of_steps),
                   .load_of_layers = largest(of_layers),
                   .recomputed = recomputed(streamed),
                   .recompute_limit = options.recompute};
  if (streamed.affine) {
    result.affine = schedule_of(streamed, order.steps == streamed.affine->steps);
    result.affine->load = largest(rounded_loads(counted, streamed.affine->steps, alignment));
  }
  std::set<std::size_t> seen;  // an operator that is repeated, or in two passes, is in its first region
  for (const stream::Region& region : order.regions) {
    StreamRegion entry;
    bool has_operators = false;
    for (std::size_t op = region.begin; op < region.end; ++op) {
      const auto source = streamed.model.operators[op].source;
      has_operators = has_operators || source;
      if (source && seen.insert(streamed.network.operators[*source]).second)
        entry.operators.push_back(streamed.network.operators[*source]);
      entry.load = std::max(entry.load, loads[op]);
      entry.load_of_layers = std::max(entry.load_of_layers, of_layers[op]);
    }
    if (has_operators && entry.operators.empty()) {
      StreamRegion& before = result.regions.back();
      before.load = std::max(before.load, entry.load);
      before.load_of_layers = std::max(before.load_of_layers, entry.load_of_layers);
    } else {
      result.regions.push_back(std::move(entry));
    }
  }
  return result;
}

std::optional<PlacedRows> place_with_io(const Attempt& attempt, const PlacingOptions& options) {
  RowNetwork inside = *attempt.streamed;
  std::set<TensorId> tied;  // they have places of their own: see add_state
  for (const StateTie& tie : inside.network.graph.ties) tied.insert({tie.input, tie.output});
  for (stream::RowModel* const model : {&inside.once, &inside.model}) {
    for (stream::Tensor& tensor : model->tensors) {
      if (!tensor.source || options.around.passed.contains(*tensor.source) || tied.contains(*tensor.source))
        continue;
      const Tensor& source = inside.network.graph.tensors[*tensor.source];
      if (source.kind == TensorKind::input || source.kind == TensorKind::output)
        tensor.bytes_per_row = (source.bytes + tensor.rows - 1) / tensor.rows;
    }
  }
  inside.program = stream::unroll(inside.model, {.deadline = options.deadline});
  if (options.deadline.is_over()) return std::nullopt;
  auto placed = place_rows(inside, *attempt.order, attempt.form, options);
  if (placed)
    placed->streaming = streaming_of(inside, *attempt.order, *options.plan.stream, options.around.alignment);
  return placed;
}

std::optional<PlacedRows> lay_rows(const RowNetwork& streamed, const RowOrder& order, stream::Form form,
                                   const PlacingOptions& options) {
  if (!has_one_axis_each(streamed)) return std::nullopt;
  constexpr std::int64_t work_of_step = 500;  // to lay its rows out
  options.deadline.spend(work_of_step * std::ssize(order.steps));
  stream::RowTimetable timetable = stream::timetable_of(streamed.model, streamed.program, order.steps,
                                                        options.plan.moves == Moves::allowed);
  if (options.deadline.is_over()) return std::nullopt;
  stream::Layout layout =
      stream::lay_out(streamed.network.graph, streamed.model, streamed.program, timetable,
                      {.form = form, .alignment = options.around.alignment, .slots = options.around.slots});
  if (options.deadline.is_over() || !bring_together(streamed.network, layout.tensors)) return std::nullopt;
  base::UniqueNames ids;
  for (const Buffer& buffer : layout.buffers) ids.reserve(buffer.id);
  add_bodies(streamed.network.graph, timetable.steps, options.around, ids, layout);
  add_state(streamed.network.graph, timetable.steps, options.around, ids, layout);
  if (!layout.accesses.empty()) layout.accesses.resize(layout.buffers.size());
  return PlacedRows{.steps = steps_of(streamed, std::move(timetable), layout),
                    .tensors = std::move(layout.tensors),
                    .problem = problem_of(std::move(layout.buffers), options.plan.memories),
                    .accesses = std::move(layout.accesses),
                    .alignment = options.around.alignment,
                    .recomputed = recomputed(streamed)};
}

std::optional<PlacedRows> place_rows(const RowNetwork& streamed, const RowOrder& order, stream::Form form,
                                     const PlacingOptions& options) {
  std::optional<PlacedRows> placed = lay_rows(streamed, order, form, options);
  if (!placed) return std::nullopt;
  SolveOptions solving = options.plan.solve;
  solving.strategy = options.strategy;
  placed->solution = solve_until_it_fits(placed->problem, solving, options.deadline);
  placed->peak = total_peak(placed->problem, placed->solution);
  return placed;
}

WithoutFed without_fed(const PlacedRows& rows, std::span<const TensorId> inputs) {
  WithoutFed result{.rows = rows};
  PlacedRows& kept = result.rows;
  kept.solution = {};
  std::vector<bool> is_out(rows.problem.buffers.size(), false);
  for (const TensorId input : inputs) {
    for (const View& view : kept.tensors[input].views) {
      is_out[view.buffer] = true;
      result.fed[input] = rows.problem.buffers[view.buffer];
    }
    kept.tensors[input].views.clear();
  }
  std::vector<std::size_t> index;  // of each buffer among those that are left
  kept.problem.buffers.clear();
  for (std::size_t b = 0; b < is_out.size(); ++b) {
    index.push_back(kept.problem.buffers.size());
    if (!is_out[b]) kept.problem.buffers.push_back(rows.problem.buffers[b]);
  }
  for (PlannedTensor& tensor : kept.tensors) {
    for (View& view : tensor.views) view.buffer = index[view.buffer];
  }
  for (Step& step : kept.steps) {
    auto* const run = std::get_if<Run>(&step);
    if (run == nullptr) continue;
    if (run->sums) run->sums->buffer = index[run->sums->buffer];
    if (run->carry) run->carry->buffer = index[run->carry->buffer];
  }
  return result;
}

}  // namespace stowage::plan
