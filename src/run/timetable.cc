// The steps of a plan as events. Operators include the steps of their bodies. A model without steps, whose
// outputs are inputs or constants, runs at the position where the live range of its first tensor with a place
// begins, before the step at that position.

#include "run/timetable.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "check/clocks.h"
#include "stowage/run.h"

namespace stowage::run {
namespace {

/// Turns the steps of a clock into events; throws unless they are steps of the graphs.
class ClockReader {
 public:
  ClockReader(std::span<const Graph* const> graphs, const Plan& plan, const model::ClockTree& tree,
              std::size_t clock)
      : graphs_(graphs), plan_(plan), tree_(tree), clock_(clock), steps_(plan.clocks[clock].steps) {}

  std::vector<Event> read() {
    std::vector<Event> events;
    while (at_ < steps_.size()) {
      const Step& step = steps_[at_];
      Event event{.at = static_cast<Position>(at_)};
      const Run* const run = std::get_if<Run>(&step);
      if (run != nullptr && !run->rows) {
        event.model = run->model;
        if (!is_in(event.model, 0, 1)) refuse();
        event.what = read_call(event.model, 0, 1);
        events.push_back(std::move(event));
        continue;
      }
      ++at_;
      if (const Fork* const fork = std::get_if<Fork>(&step)) {
        event.what = *fork;
      } else if (const Pause* const pause = std::get_if<Pause>(&step)) {
        event.what = *pause;
      } else if (const Copy* const copy = std::get_if<Copy>(&step)) {
        event.model = plan_.tensors[copy->tensor].model;
        event.what = *copy;
      } else {
        const auto* const arrive = std::get_if<Arrive>(&step);
        event.model =
            run != nullptr
                ? run->model
                : plan_.tensors[arrive != nullptr ? arrive->tensor : std::get<Leave>(step).tensor].model;
        event.what = OfRows{&step};
      }
      events.push_back(std::move(event));
    }
    return events;
  }

 private:
  [[noreturn]] void refuse() const {
    throw RunFault{fmt::format("step {}{} is not an operator of the network that could run there", at_,
                               tree_.size() == 1 ? "" : fmt::format(" of clock {}", clock_))};
  }

  /// True if the next step is in that subgraph, at that depth below the open operators.
  [[nodiscard]] bool is_in(std::size_t model, std::size_t subgraph, std::size_t depth) const {
    const Run* const run = at_ < steps_.size() ? std::get_if<Run>(&steps_[at_]) : nullptr;
    if (run == nullptr || run->model != model || run->rows) return false;
    const std::vector<std::size_t>& path = run->path;
    return path.size() == 2 * depth && path[2 * depth - 2] == subgraph &&
           std::equal(open_.begin(), open_.end(), path.begin()) &&
           path.back() < graphs_[model]->subgraphs[subgraph].operators.size();
  }

  Call read_call(std::size_t model, std::size_t subgraph, std::size_t depth) {
    const std::vector<std::size_t>& path = std::get<Run>(steps_[at_]).path;
    Call call{.subgraph = subgraph, .op = path.back(), .at = static_cast<Position>(at_)};
    ++at_;
    open_ = path;
    for (const std::size_t body : graphs_[model]->subgraphs[subgraph].operators[call.op].bodies) {
      std::vector<Call>& calls = call.bodies.emplace_back();
      while (is_in(model, body, depth + 1)) calls.push_back(read_call(model, body, depth + 1));
    }
    open_.resize(2 * depth - 2);
    return call;
  }

  std::span<const Graph* const> graphs_;
  const Plan& plan_;
  const model::ClockTree& tree_;
  std::size_t clock_;
  const std::vector<Step>& steps_;
  std::vector<std::size_t> open_{};
  std::size_t at_ = 0;
};

/// The time of a model without steps.
model::Moment standing_place(const Graph& graph, const Plan& plan, std::size_t base) {
  for (const auto* tensors : {&graph.subgraphs[0].inputs, &graph.subgraphs[0].outputs}) {
    for (const TensorId tensor : *tensors) {
      const bool is_of_a_run =
          graph.tensors[tensor].kind != TensorKind::state && graph.tensors[tensor].kind != TensorKind::weight;
      const std::vector<View>& views = plan.tensors[base + tensor].views;
      if (is_of_a_run && !views.empty()) return {plan.buffers[views[0].buffer].clock, views[0].life.lower};
    }
  }
  return {};
}

/// The next model that no other model in the list feeds; the first if there is none.
std::size_t next_of(const std::vector<std::size_t>& standing, const Plan& plan) {
  const auto is_waiting = [&](std::size_t model) {
    return std::ranges::find(standing, model) != standing.end();
  };
  const auto is_ready = [&](std::size_t model) {
    return std::ranges::none_of(plan.feeds, [&](const Feed& feed) {
      return plan.tensors[feed.input].model == model && is_waiting(plan.tensors[feed.output].model);
    });
  };
  const auto ready = std::ranges::find_if(standing, is_ready);
  return ready == standing.end() ? standing.front() : *ready;
}

void insert(const model::Moment& place, std::size_t model, Timetable& table) {
  auto& events = table.clocks[place.clock];
  const auto is_before = [&](const Event& it) {
    return it.at < place.at || (it.at == place.at && std::holds_alternative<Idle>(it.what));
  };
  const auto next = std::ranges::find_if_not(events, is_before);
  events.insert(next, {.at = place.at, .model = model, .what = Idle{}});
  table.clock_of[model] = place.clock;
  table.steps_of[model] = 1;
}

}  // namespace

Timetable timetable_of(std::span<const Graph* const> graphs, const Plan& plan) {
  Timetable table{.tree = model::ClockTree(plan.clocks),
                  .clock_of = std::vector<std::size_t>(graphs.size(), 0),
                  .steps_of = std::vector<std::size_t>(graphs.size(), 0)};
  for (std::size_t clock = 0; clock < plan.clocks.size(); ++clock)
    table.clocks.push_back(ClockReader(graphs, plan, table.tree, clock).read());
  for (const auto& events : table.clocks) {
    for (const Event& it : events) {
      const bool is_of_model =
          !std::holds_alternative<Fork>(it.what) && !std::holds_alternative<Pause>(it.what);
      table.steps_of[it.model] += is_of_model ? 1 : 0;
    }
  }
  const auto spans = check::spans_of(plan);
  std::vector<std::size_t> standing;
  std::vector<model::Moment> places(graphs.size());
  std::size_t base = 0;
  for (std::size_t m = 0; m < graphs.size(); ++m) {
    if (spans[m]) {
      table.clock_of[m] = spans[m]->clock;
    } else {
      standing.push_back(m);
      places[m] = standing_place(*graphs[m], plan, base);
    }
    base += graphs[m]->tensors.size();
  }
  while (!standing.empty()) {
    const std::size_t model = next_of(standing, plan);
    std::erase(standing, model);
    insert(places[model], model, table);
  }
  return table;
}

}  // namespace stowage::run
