// A plan runs one event at a time: an operator with all its bodies, or a copy. After a fork, a random
// number picks the branch that runs next, so that different seeds try different interleavings. A clock with
// branches waits for them. Only active clocks are stored, so forks may nest without limit.
//
//   clock 0    a0  a1  fork .............. d0
//   clock 1               b0      b1
//   clock 2                   c0              one of the orders: a0 a1 b0 c0 b1 d0
//
// A branch that has ended keeps its bytes until the clock that forked it continues. A model's inputs are
// written before its first event. Released outputs are read right after the model's last event, before time
// advances, and so is state that a later model overwrites; all others at the end of the run, since the plan keeps them
// until then. State is given at the start. If several models share it, each reads what the last one has written.
//
// At each pause the other clock runs once, so that whatever it breaks is found. Its models begin anew, with the inputs that
// they had and the state that they have left.
//
// If only outputs are compared, the reference runs when the plan's memories are gone: so a check takes the larger of
// both, not their sum.

#include "run/plan_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/text.h"
#include "check/states.h"
#include "model/ties.h"
#include "run/output_check.h"
#include "run/reference.h"
#include "stowage/error.h"

namespace stowage::run {
namespace {

Timetable sound_timetable(std::span<const ModelToRun> models, const Plan& plan) {
  std::vector<const Graph*> graphs = graphs_of(models);
  for (std::size_t m = 0; m < models.size(); ++m) {
    if (models[m].blocks != nullptr) graphs[m] = &models[m].blocks->split_network().graph;
  }
  expect_plan_of(graphs, plan);
  return timetable_of(graphs, plan);
}

}  // namespace

std::vector<const Graph*> graphs_of(std::span<const ModelToRun> models) {
  std::vector<const Graph*> graphs;
  for (const ModelToRun& model : models) graphs.push_back(model.program->graph);
  return graphs;
}

struct PlanRun::Resident {
  Resident(ModelToRun of, Device& device, std::size_t index, std::size_t clock, const RunOptions& options,
           RunResult& result)
      : model(std::move(of)), home(device, index, clock) {
    const bool is_by_rows = runs_rows(model, device.plan(), index);
    if (options.check == RunCheck::tensors)
      reference = reference_of(model, device.plan(), index, options, result);
    const Setting setting{.network = is_by_rows ? model.network : nullptr,
                          .program = *model.program,
                          .home = home,
                          .options = options,
                          .result = result,
                          .blocks = model.blocks,
                          .reference = reference.get()};
    interpreter = is_by_rows ? std::make_unique<Interpreter>(setting, device.plan().clocks[clock].steps)
                             : std::make_unique<Interpreter>(setting);
  }

  ModelToRun model;
  Home home;
  std::unique_ptr<Reference> reference{};  ///< Runs in lockstep; null without RunCheck::tensors.
  std::unique_ptr<Interpreter> interpreter{};
  std::size_t steps_done = 0;
  std::vector<NamedArray> outputs{};  ///< In the network's order; empty arrays until they are read.
  std::map<TensorId, std::vector<std::byte>> states{};  ///< That it began with, if it ran before.
  std::vector<NamedArray> before{};                     ///< The outputs of its run before.
};

PlanRun::PlanRun(std::span<const ModelToRun> models, const Plan& plan, const RunOptions& options,
                 RunResult& result)
    : models_(models.begin(), models.end()),
      plan_(plan),
      options_(options),
      result_(result),
      table_(sound_timetable(models, plan)),
      device_(graphs_of(models), plan, table_.tree),
      progress_(plan.clocks.size()),
      turns_(options.seed),
      sources_(check::sources_of_states(plan)),
      taken_(plan.released.begin(), plan.released.end()) {
  for (const Feed& feed : plan.feeds) sources_.emplace(feed.input, feed.output);
  for (const check::SharedState& state : check::shared_states(plan)) {
    for (const check::StateUser& user : state) {
      if (user.input && !user.source) old_states_.insert(*user.input);
      if (user.output && user.is_overwritten) taken_.insert(*user.output);
    }
  }
  std::size_t steps = 0;
  for (const Clock& clock : plan.clocks) steps += clock.steps.size();
  result.steps.reserve(steps);
  for (std::size_t m = 0; m < models.size(); ++m) residents_.push_back(resident_of(m));
}

std::unique_ptr<PlanRun::Resident> PlanRun::resident_of(std::size_t model) {
  const ModelToRun& it = models_[model];
  try {
    return std::make_unique<Resident>(it, device_, model, table_.clock_of[model], options_, result_);
  } catch (const Error& error) {
    throw it.file.empty() ? error : error.in_file(it.file);
  }
}

PlanRun::~PlanRun() = default;

std::vector<NamedArray> PlanRun::run() {
  device_.move_to(0, 0);
  give_states();
  while (advance()) {
  }
  for (std::size_t m = 0; m < residents_.size(); ++m) {
    if (!table_.tree.pausing_clock(table_.clock_of[m])) read_outputs(m, When::at_the_end);
  }
  std::vector<NamedArray> outputs;
  for (const auto& resident : residents_) std::ranges::move(resident->outputs, std::back_inserter(outputs));
  return outputs;
}

/// State is on the root, whichever clock its model is on.
void PlanRun::give_states() {
  for (std::size_t m = 0; m < residents_.size(); ++m) {
    const auto& resident = residents_[m];
    const std::vector<Tensor>& tensors = resident->model.program->graph->tensors;
    for (TensorId t = 0; t < tensors.size(); ++t) {
      const bool is_shared = old_states_.contains(device_.first_tensor_of(m) + t);
      if (is_shared || (tensors[t].kind == TensorKind::state && !source_of(m, t)))
        resident->interpreter->give(t, resident->model.value(t));
    }
  }
}

bool PlanRun::advance() {
  std::size_t clock = 0;
  while (!progress_[clock].branches.empty()) {
    const auto& branches = progress_[clock].branches;
    clock = branches[turns_() % branches.size()];
  }
  const std::vector<Event>& events = table_.clocks[clock];
  Progress& progress = progress_[clock];
  if (progress.next < events.size()) take(clock, events[progress.next++]);
  end_clocks(clock);
  return !is_done_;
}

void PlanRun::take(std::size_t clock, const Event& event) {
  leave_branches(clock);
  if (const Fork* const fork = std::get_if<Fork>(&event.what)) {
    device_.move_to(clock, event.at);
    progress_[clock].branches = fork->clocks;
    return;
  }
  if (const Pause* const pause = std::get_if<Pause>(&event.what)) {
    device_.move_to(clock, event.at);
    begin_again(pause->clock);
    progress_[clock].branches = {pause->clock};
    return;
  }
  Resident& resident = *residents_[event.model];
  try {
    take_step(resident, event);
  } catch (const Error& error) {
    throw resident.model.file.empty() ? error : error.in_file(resident.model.file);
  }
}

/// Ends the clock if it has no more events, then clocks that only waited for it.
void PlanRun::end_clocks(std::size_t clock) {
  while (progress_[clock].branches.empty() && progress_[clock].next == table_.clocks[clock].size()) {
    const auto& origin = table_.tree.fork_of(clock);
    if (!origin) {
      is_done_ = true;
      return;
    }
    if (table_.tree.is_at_pauses(clock)) read_outputs_of(clock);
    std::erase(progress_[origin->clock].branches, clock);
    progress_[origin->clock].ended.push_back(clock);
    clock = origin->clock;
  }
}

void PlanRun::leave_branches(std::size_t clock) {
  std::vector<std::size_t> open = std::move(progress_[clock].ended);
  progress_[clock].ended.clear();
  for (std::size_t i = 0; i < open.size(); ++i) {
    const std::vector<std::size_t> inner = std::move(progress_[open[i]].ended);
    open.insert(open.end(), inner.begin(), inner.end());
    device_.leave(open[i]);
  }
}

void PlanRun::begin_again(std::size_t clock) {
  for (std::size_t c = 0; c < progress_.size(); ++c) {
    if (table_.tree.is_within(c, clock)) progress_[c] = {};
  }
  for (std::size_t m = 0; m < residents_.size(); ++m) {
    if (residents_[m]->steps_done == 0 || !table_.tree.is_within(table_.clock_of[m], clock)) continue;
    const std::unique_ptr<Resident> before = std::exchange(residents_[m], resident_of(m));
    Resident& now = *residents_[m];
    const Graph& graph = *before->model.program->graph;
    now.before = std::move(before->outputs);
    const auto go_on = [&](TensorId input, TensorId output) {
      take_value(now, input, *before, output);
      const auto copied = copied_.find(device_.first_tensor_of(m) + output);
      now.states[input] =
          copied == copied_.end() ? before->interpreter->read(output) : bytes_of(copied->second);
    };
    std::set<TensorId> tied;
    for (const StateTie& tie : graph.ties) {
      go_on(tie.input, tie.output);
      tied.insert({tie.input, tie.output});
    }
    for (TensorId t = 0; t < graph.tensors.size(); ++t) {
      if (graph.tensors[t].kind == TensorKind::state && !tied.contains(t)) go_on(t, t);
    }
  }
}

void PlanRun::read_outputs_of(std::size_t clock) {
  for (std::size_t m = 0; m < residents_.size(); ++m) {
    if (table_.tree.pausing_clock(table_.clock_of[m]) != clock) continue;
    read_outputs(m, When::at_the_end);
    const Resident& it = *residents_[m];
    for (std::size_t i = 0; it.states.empty() && i < it.before.size(); ++i) {
      if (it.before[i].array == it.outputs[i].array) continue;
      throw RunFault{fmt::format("output {}{} is not what it was at the pause before",
                                 base::quoted(it.outputs[i].name), device_.of_model(m))};
    }
  }
}

const std::map<TensorId, std::vector<std::byte>>& PlanRun::last_states(std::size_t model) const {
  return residents_[model]->states;
}

void PlanRun::take_step(Resident& resident, const Event& event) {
  const Copy* const copy = std::get_if<Copy>(&event.what);
  if (copy != nullptr) resident.home.await(*copy);
  resident.interpreter->move_to(event.at);
  if (resident.steps_done == 0) begin_model(event.model);
  if (const Call* const call = std::get_if<Call>(&event.what)) {
    resident.interpreter->run(*call);
  } else if (const OfRows* const rows = std::get_if<OfRows>(&event.what)) {
    resident.interpreter->run_rows(*rows->step);
  } else if (copy != nullptr) {
    resident.interpreter->run(*copy);
  }
  if (++resident.steps_done != table_.steps_of[event.model]) return;
  read_outputs(event.model, When::released);
  copy_states(event.model);
}

void PlanRun::copy_states(std::size_t model) {
  const Resident& resident = *residents_[model];
  for (const StateTie& tie : model::copied_ties(*resident.model.program->graph)) {
    copied_[device_.first_tensor_of(model) + tie.output] =
        resident.interpreter->copy_state(tie.output, tie.input);
  }
}

void PlanRun::take_value(Resident& resident, TensorId input, Resident& from, TensorId tensor) {
  const auto copied = copied_.find(device_.first_tensor_of(from.home.model()) + tensor);
  if (copied == copied_.end())
    resident.interpreter->take(input, *from.interpreter, tensor);
  else
    resident.interpreter->take(input, *from.interpreter, tensor, copied->second);
}

void PlanRun::begin_model(std::size_t model) {
  Resident& resident = *residents_[model];
  const Graph& graph = *resident.model.program->graph;
  std::set<TensorId> given;
  for (const TensorId input : graph.subgraphs[0].inputs) {
    const TensorKind kind = graph.tensors[input].kind;
    if (kind == TensorKind::weight || !given.insert(input).second) continue;
    if (kind == TensorKind::state && !source_of(model, input)) continue;
    if (old_states_.contains(device_.first_tensor_of(model) + input) || resident.states.contains(input))
      continue;
    if (const auto source = source_of(model, input)) {
      const std::size_t from = plan_.tensors[*source].model;
      take_value(resident, input, *residents_[from], *source - device_.first_tensor_of(from));
    } else {
      resident.interpreter->give(input, resident.model.value(input));
    }
  }
}

std::optional<std::size_t> PlanRun::source_of(std::size_t model, TensorId input) const {
  const auto source = sources_.find(device_.first_tensor_of(model) + input);
  return source == sources_.end() ? std::nullopt : std::optional(source->second);
}

void PlanRun::read_outputs(std::size_t model, When when) {
  Resident& resident = *residents_[model];
  const Graph& graph = *resident.model.program->graph;
  const std::vector<TensorId>& outputs = graph.subgraphs[0].outputs;
  resident.outputs.resize(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool is_released = taken_.contains(device_.first_tensor_of(model) + outputs[i]);
    if (is_released != (when == When::released)) continue;
    const Tensor& tensor = graph.tensors[outputs[i]];
    resident.outputs[i] = {
        tensor.name,
        {tensor.dtype, tensor.shape.value_or(Shape{}), resident.interpreter->read(outputs[i])},
        model};
  }
}

void run_models(std::span<const ModelToRun> models, const Plan& plan, const RunOptions& options,
                RunResult& result, std::span<const Program> exact) {
  std::vector<NamedArray> outputs;
  std::vector<ModelToRun> last(models.begin(), models.end());  // as they ran last
  {
    PlanRun run(models, plan, options, result);
    outputs = run.run();
    for (std::size_t m = 0; m < last.size(); ++m) {
      last[m].value = [value = last[m].value, states = run.last_states(m)](TensorId tensor) {
        const auto state = states.find(tensor);
        return state == states.end() ? value(tensor) : state->second;
      };
    }
  }
  const bool has_exact = !exact.empty() && options.check != RunCheck::none;
  for (std::size_t m = 0; m < last.size() && has_exact; ++m) last[m].program = &exact[m];
  if (options.check == RunCheck::outputs || has_exact) compare_outputs(last, plan, options, outputs, result);
  result.outputs = std::move(outputs);
}

}  // namespace stowage::run
