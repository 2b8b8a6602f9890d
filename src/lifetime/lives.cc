// From a graph to live ranges, in three steps: the order of steps nearest to the order of the file, the
// positions where these steps write and read every tensor, and the place of a tensor's bytes. The second step
// has its own explanation below.

#include "lifetime/lives.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "model/ties.h"
#include "stowage/error.h"

namespace stowage::lifetime {
namespace {

/// Nested bodies can unfold to exponentially many steps; this many path entries are about 100 MB.
constexpr std::size_t most_path_entries = 4'000'000;
constexpr std::size_t longest_path = 1'000;

class Unfolding {
 public:
  Unfolding(const Graph& graph, std::size_t model, const std::vector<std::vector<std::size_t>>& orders)
      : graph_(graph), model_(model), orders_(orders) {
    if (!orders.empty()) clock_.steps.reserve(orders[0].size());
  }

  void add(std::size_t subgraph) {
    if (path_.size() > longest_path)
      throw Error(fmt::format("subgraph {}", subgraph), "bodies are nested too deeply");
    for (const std::size_t o : orders_[subgraph]) {
      const Operator& op = graph_.subgraphs[subgraph].operators[o];
      if (op.folded) continue;
      path_.push_back(subgraph);
      path_.push_back(o);
      path_entries_ += path_.size();
      if (path_entries_ > most_path_entries) {
        throw Error(describe(graph_, subgraph, o),
                    fmt::format("unfolds to more than {} path entries", most_path_entries));
      }
      clock_.steps.emplace_back(Run{model_, path_, std::nullopt});
      for (const std::size_t body : op.bodies) add(body);
      path_.resize(path_.size() - 2);
    }
  }

  [[nodiscard]] Clock result() { return std::move(clock_); }

 private:
  const Graph& graph_;
  std::size_t model_;
  const std::vector<std::vector<std::size_t>>& orders_;
  std::vector<std::size_t> path_;
  std::size_t path_entries_ = 0;
  Clock clock_;
};

}  // namespace

Clock keep_order(const Graph& graph, std::size_t model) {
  return clock_of(graph, model, topological_orders(graph));
}

Clock clock_of(const Graph& graph, std::size_t model, const std::vector<std::vector<std::size_t>>& orders) {
  Unfolding unfolding(graph, model, orders);
  unfolding.add(0);
  return unfolding.result();
}

std::vector<OperatorId> operators_of(const Clock& clock) {
  std::vector<OperatorId> operators;
  operators.reserve(clock.steps.size());
  std::vector<std::vector<bool>> seen;  // per subgraph and operator; a body may run many times
  for (const Step& step : clock.steps) {
    const auto& path = std::get<Run>(step).path;
    const OperatorId id{path[path.size() - 2], path.back()};
    if (seen.size() <= id.subgraph) seen.resize(id.subgraph + 1);
    auto& of_subgraph = seen[id.subgraph];
    if (of_subgraph.size() <= id.op) of_subgraph.resize(id.op + 1, false);
    if (of_subgraph[id.op]) continue;
    of_subgraph[id.op] = true;
    operators.push_back(id);
  }
  return operators;
}

Clock clock_of(const Graph& graph, std::size_t model, std::span<const OperatorId> operators) {
  std::vector<std::vector<std::size_t>> orders(graph.subgraphs.size());
  for (const auto& [subgraph, op] : operators) orders[subgraph].push_back(op);
  return clock_of(graph, model, orders);
}

// One pass over the steps finds when every tensor is written and last read. The operator at
// position t writes its outputs and reads its inputs at t, so a tensor written at a and last read
// at b lives in [a, b+1). Beyond that:
//
//   model input    from position 0 to its last reader; unread: [0, 1)
//   model output   from its producer to the end of the clock
//   state          the whole clock
//   If at t        holds its operands from t to the end of its last body; results may lie where branches
//                  compute them, and then take no bytes before (alias/results.cc)
//                    t   If                                     operands  |-----------|
//                    t+1   first step of the then-branch        its inputs  |--|
//                    ..    last step of the then-branch         its outputs   |-|
//                    ..    first step of the else-branch        its inputs       |--|
//                    ..    last step of the else-branch
//   a branch       its inputs live from its first step to their last reader, its outputs to its
//                  last step, where they are handed over
//   Loop at t      the same, but its body runs again: outside tensors that the body reads, and the
//                  body's inputs, live until the loop ends
//
// The tensors of a subgraph that several operators run are alive several times: one buffer, one piece per
// run. Source: the interval rule of docs/design.md.

namespace {

class UsesOfSteps {
 public:
  UsesOfSteps(const Graph& graph, const Clock& clock)
      : graph_(graph),
        steps_(clock.steps),
        owners_(owners_of(graph)),
        depth_of_(graph.subgraphs.size(), 0),
        uses_{std::vector<std::vector<Lifetime>>(graph.tensors.size()),
              std::vector<std::int64_t>(graph.tensors.size(), 0),
              std::max<Position>(static_cast<Position>(clock.steps.size()), 1),
              {}} {}

  Uses run() {
    const auto end = static_cast<Position>(steps_.size());
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      if (graph_.tensors[t].kind == TensorKind::state) start(t, 0, uses_.end);
    }
    for (const TensorId input : graph_.subgraphs[0].inputs) start(input, 0, 1);
    run(0, 0, end);
    for (const TensorId output : graph_.subgraphs[0].outputs) hold(output, uses_.end);
    return std::move(uses_);
  }

 private:
  const Run& step(Position at) const { return std::get<Run>(steps_[static_cast<std::size_t>(at)]); }

  void start(TensorId tensor, Position at, Position until) {
    auto& lives = uses_.lives[tensor];
    if (graph_.tensors[tensor].kind == TensorKind::state && !lives.empty()) return;  // always alive
    // Only its producer starts it, but an input may be listed twice.
    if (!lives.empty() && lives.back().lower == at) {
      lives.back().upper = std::max(lives.back().upper, until);
    } else {
      lives.push_back({at, until});
    }
  }

  /// Keeps a tensor alive to `until`. If its reader is in a loop and its producer is outside, keeps it to the
  /// end of the outermost such loop, whose body may read it again.
  void hold(TensorId tensor, Position until) {
    auto& lives = uses_.lives[tensor];
    if (lives.empty()) return;  // has its own value, or no bytes
    const std::size_t depth = owners_[tensor] ? depth_of_[*owners_[tensor]] : 0;
    for (std::size_t d = depth; d < loop_ends_.size(); ++d) until = std::max(until, loop_ends_[d]);
    lives.back().upper = std::max(lives.back().upper, until);
  }

  /// The steps [begin, end) are a run of `subgraph`; its operators have paths of one depth.
  void run(std::size_t subgraph, Position begin, Position end) {
    const std::size_t length = 2 * (loop_ends_.size() + 1);
    depth_of_[subgraph] = loop_ends_.size();
    for (Position at = begin; at < end;) {
      Position next = at + 1;
      while (next < end && step(next).path.size() > length) ++next;
      execute(graph_.subgraphs[subgraph].operators[step(at).path.back()], at, next);
      at = next;
    }
  }

  void execute(const Operator& op, Position at, Position end) {
    for (const auto& output : op.outputs) {
      if (output) start(*output, at, end);
    }
    for (const TensorId scratch : op.scratch) start(scratch, at, end);
    for (const auto& input : op.inputs) {
      if (input) hold(*input, end);
    }
    for (const auto* operands : {&op.inputs, &op.outputs}) {
      for (const auto& tensor : *operands) {
        if (tensor) ++uses_.accesses[*tensor];
      }
    }
    if (op.bodies.empty()) return;
    const std::size_t number = uses_.runs.size();
    const auto& path = step(at).path;
    uses_.runs.push_back({{path[path.size() - 2], path.back()}, at, {}, end});
    const bool repeats = op.body_use == BodyUse::repeated;
    loop_ends_.push_back(repeats ? end : 0);
    Position begin = at + 1;
    for (const std::size_t body : op.bodies) {
      const Position body_end = end_of_body(body, begin, end);
      uses_.runs[number].bodies.push_back({begin, body_end});
      const Position from = repeats || begin == body_end ? at : begin;
      for (const TensorId input : graph_.subgraphs[body].inputs) start(input, from, repeats ? end : from + 1);
      run(body, begin, body_end);
      for (const TensorId output : graph_.subgraphs[body].outputs) {
        hold(output, body_end);
        ++uses_.accesses[output];  // handing over counts
      }
      begin = body_end;
    }
    loop_ends_.pop_back();
  }

  /// The steps of a body follow those of the one before; each names its subgraph.
  Position end_of_body(std::size_t body, Position begin, Position end) const {
    const std::size_t place = 2 * loop_ends_.size();
    Position at = begin;
    while (at < end && step(at).path[place] == body) ++at;
    return at;
  }

  const Graph& graph_;
  const std::vector<Step>& steps_;
  std::vector<std::optional<std::size_t>> owners_;
  std::vector<std::size_t> depth_of_;  ///< Of the subgraphs that are running.
  std::vector<Position> loop_ends_;    ///< Per open operator with bodies: the end of a loop, otherwise 0.
  Uses uses_;
};

}  // namespace

Uses uses_of(const Graph& graph, const Clock& clock) { return UsesOfSteps(graph, clock).run(); }

std::vector<Residence> residences_of(const Graph& graph, const Uses& uses, Io io) {
  std::vector<Residence> residences(graph.tensors.size(), Residence::arena);
  if (io == Io::external) {
    for (const auto* tensors : {&graph.subgraphs[0].inputs, &graph.subgraphs[0].outputs}) {
      for (const TensorId tensor : *tensors) residences[tensor] = Residence::caller;
    }
  }
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    const TensorKind kind = graph.tensors[t].kind;
    if (is_constant(kind)) {
      residences[t] = Residence::weights;
    } else if (kind == TensorKind::state) {
      residences[t] = Residence::state;
    } else if (uses.lives[t].empty()) {
      residences[t] = Residence::nowhere;
    }
  }
  for (const StateTie& tie : model::ties_in_place(graph))
    residences[tie.input] = residences[tie.output] = Residence::state;
  return residences;
}

}  // namespace stowage::lifetime
