// Idea. One pass over the steps finds when every tensor is written and last read. The operator at
// position t writes its outputs and reads its inputs at t, so a tensor written at a and last read
// at b lives in [a, b+1). Beyond that:
//
//   model input    from position 0 to its last reader; unread: [0, 1)
//   model output   from its producer to the end of the clock
//   state          the whole clock
//   If at t        holds its operands from t to the end of its last body
//                    t   If                                     operands  |-----------|
//                    t+1   first step of the then-branch        its inputs  |--|
//                    ..    last step of the then-branch         its outputs   |-|
//                    ..    first step of the else-branch        its inputs       |--|
//                    ..    last step of the else-branch
//   a branch       its inputs live from its first step to their last reader, its outputs to its
//                  last step, where they are handed over
//   Loop at t      the same, but its body runs again: what the body reads from outside, and the
//                  body's inputs, live until the loop is done
//
// A subgraph that several operators run has its tensors alive several times: one buffer, one piece
// per run. Source: the interval rule of docs/design.md.

#include "lifetime/lifetimes.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "base/checked.h"
#include "stowage/error.h"

namespace stowage::lifetime {
namespace {

/// When each tensor is alive, one lifetime for each run of the subgraph it belongs to.
struct Uses {
  std::vector<std::vector<Lifetime>> lives;
  std::vector<std::int64_t> accesses;  ///< How often steps read or write it.
};

class UsesOfSteps {
 public:
  UsesOfSteps(const Graph& graph, const Clock& clock)
      : graph_(graph),
        steps_(clock.steps),
        owners_(owners_of(graph)),
        depth_of_(graph.subgraphs.size(), 0),
        uses_{std::vector<std::vector<Lifetime>>(graph.tensors.size()),
              std::vector<std::int64_t>(graph.tensors.size(), 0)} {}

  Uses take() {
    const auto end = static_cast<Position>(steps_.size());
    const Position clock_end = std::max<Position>(end, 1);
    for (const TensorId input : graph_.subgraphs[0].inputs) start(input, 0, 1);
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      if (graph_.tensors[t].kind == TensorKind::state) start(t, 0, clock_end);
    }
    run(0, 0, end);
    for (const TensorId output : graph_.subgraphs[0].outputs) hold(output, clock_end);
    return std::move(uses_);
  }

 private:
  const Run& step(Position at) const { return std::get<Run>(steps_[static_cast<std::size_t>(at)]); }

  void start(TensorId tensor, Position at, Position until) {
    auto& lives = uses_.lives[tensor];
    if (graph_.tensors[tensor].kind == TensorKind::state && !lives.empty()) return;  // lives always
    // Its producer is the only one that starts it, but an input may be listed twice.
    if (!lives.empty() && lives.back().lower == at) {
      lives.back().upper = std::max(lives.back().upper, until);
    } else {
      lives.push_back({at, until});
    }
  }

  /// Keeps a tensor alive to `until`, and if a loop stands between it and its reader, to the end of
  /// the outermost of them, whose body may read it again.
  void hold(TensorId tensor, Position until) {
    auto& lives = uses_.lives[tensor];
    if (lives.empty()) return;  // has a value of its own, or no bytes
    const std::size_t depth = owners_[tensor] ? depth_of_[*owners_[tensor]] : 0;
    for (std::size_t d = depth; d < loop_ends_.size(); ++d) until = std::max(until, loop_ends_[d]);
    lives.back().upper = std::max(lives.back().upper, until);
  }

  /// The steps [begin, end) are a run of `subgraph`; operators of it stand at one depth of paths.
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
    const bool repeats = op.body_use == BodyUse::repeated;
    loop_ends_.push_back(repeats ? end : 0);
    Position begin = at + 1;
    for (const std::size_t body : op.bodies) {
      const Position body_end = end_of_body(body, begin, end);
      const Position from = repeats || begin == body_end ? at : begin;
      for (const TensorId input : graph_.subgraphs[body].inputs) start(input, from, repeats ? end : from + 1);
      run(body, begin, body_end);
      for (const TensorId output : graph_.subgraphs[body].outputs) hold(output, body_end);
      begin = body_end;
    }
    loop_ends_.pop_back();
  }

  /// The steps of a body follow those of the one before; each says which subgraph it is of.
  Position end_of_body(std::size_t body, Position begin, Position end) const {
    const std::size_t place = 2 * loop_ends_.size();
    Position at = begin;
    while (at < end && step(at).path[place] == body) ++at;
    return at;
  }

  const Graph& graph_;
  const std::vector<Step>& steps_;
  std::vector<std::optional<std::size_t>> owners_;
  std::vector<std::size_t> depth_of_;  ///< Of subgraphs that run at the moment.
  std::vector<Position> loop_ends_;    ///< Per open operator with bodies: where it ends if a loop, else 0.
  Uses uses_;
};

bool is_outside_arena(TensorKind kind, StateKeeper state_keeper) {
  return kind == TensorKind::weight || kind == TensorKind::instruction ||
         (kind == TensorKind::state && state_keeper == StateKeeper::runtime);
}

/// Names for buffers: those of the tensors, made unique.
class UniqueIds {
 public:
  std::string operator()(const Tensor& tensor, TensorId index) {
    std::string id = tensor.name.empty() ? fmt::format("tensor{}", index) : tensor.name;
    while (!taken_.insert(id).second) id += fmt::format("#{}", index);
    return id;
  }

 private:
  std::unordered_set<std::string> taken_;
};

class BufferMaker {
 public:
  BufferMaker(const Graph& graph, const Clock& clock, const Options& options)
      : graph_(graph),
        options_(options),
        uses_(UsesOfSteps(graph, clock).take()),
        clock_end_(std::max<Position>(static_cast<Position>(clock.steps.size()), 1)) {
    if (options.io == Io::external) {
      for (const auto* tensors : {&graph.subgraphs[0].inputs, &graph.subgraphs[0].outputs}) {
        external_.insert(tensors->begin(), tensors->end());
      }
    }
  }

  Buffers take() {
    std::vector<std::optional<StateTie>> ties(graph_.tensors.size());
    for (const StateTie& tie : graph_.ties) ties[tie.input] = ties[tie.output] = tie;
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      result_.tensors.push_back({options_.model, graph_.tensors[t], {}});
      const TensorKind kind = graph_.tensors[t].kind;
      const bool is_elsewhere = is_outside_arena(kind, options_.state_keeper) || external_.contains(t);
      if (is_elsewhere || ties[t] || uses_.lives[t].empty()) continue;
      add_buffer(t, uses_.lives[t], kind);
    }
    for (const StateTie& tie : graph_.ties) add_state(tie);
    return std::move(result_);
  }

 private:
  std::size_t add_buffer(TensorId t, const std::vector<Lifetime>& lives, TensorKind kind) {
    const Tensor& tensor = graph_.tensors[t];
    Buffer buffer{.id = unique_id_(tensor, t),
                  .size = base::align_up(tensor.bytes, options_.alignment),
                  .alignment = options_.alignment,
                  .kind = kind,
                  .traffic = traffic_of(t)};
    const std::size_t index = result_.buffers.size();
    for (const Lifetime& life : lives) {
      buffer.pieces.push_back({0, buffer.size, life});
      result_.tensors[t].views.push_back({index, 0, life, std::nullopt});
    }
    result_.buffers.push_back(std::move(buffer));
    return index;
  }

  /// The old state is in the buffer until the new one is written over it.
  void add_state(const StateTie& tie) {
    const Lifetime old_life = uses_.lives[tie.input].front();
    const Lifetime new_life =
        uses_.lives[tie.output].empty() ? Lifetime{clock_end_, clock_end_} : uses_.lives[tie.output].front();
    const auto& outputs = graph_.subgraphs[0].outputs;
    const bool goes_out = std::find(outputs.begin(), outputs.end(), tie.input) != outputs.end();
    const bool is_unread = uses_.accesses[tie.input] == 0;
    const bool is_last_reader =
        old_life.upper == new_life.lower + 1 && !goes_out && (is_unread || writes_over(tie));
    if (old_life.upper > new_life.lower && !is_last_reader) {
      throw Error(describe(graph_, tie.output),
                  fmt::format("is written at position {}, while the state it replaces, {}, is read until {}; "
                              "expected it to be "
                              "written after that, or in place by the last reader",
                              new_life.lower, describe(graph_, tie.input), old_life.upper - 1));
    }
    const std::size_t index = add_buffer(tie.input, {{0, clock_end_}}, TensorKind::state);
    result_.buffers[index].traffic += traffic_of(tie.output);
    result_.tensors[tie.input].views = {{index, 0, {0, new_life.lower}, std::nullopt}};
    result_.tensors[tie.output].views = {{index, 0, new_life, std::nullopt}};
  }

  [[nodiscard]] bool writes_over(const StateTie& tie) const {
    for (const Operator& op : graph_.subgraphs[0].operators) {
      if (std::find(op.outputs.begin(), op.outputs.end(), std::optional(tie.output)) == op.outputs.end())
        continue;
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        if (op.inputs[i] == tie.input && !updates_in_place(op, i)) return false;
      }
      return op.bodies.empty();
    }
    return false;
  }

  [[nodiscard]] Bytes traffic_of(TensorId t) const {
    return base::checked_multiply(graph_.tensors[t].bytes, uses_.accesses[t])
        .value_or(std::numeric_limits<Bytes>::max() / 2);
  }

  const Graph& graph_;
  const Options& options_;
  Uses uses_;
  Position clock_end_;
  std::unordered_set<TensorId> external_;
  UniqueIds unique_id_;
  Buffers result_;
};

}  // namespace

Buffers buffers_of(const Graph& graph, const Clock& clock, const Options& options) {
  return BufferMaker(graph, clock, options).take();
}

}  // namespace stowage::lifetime
