#include "oracle/naive_interpreter.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

namespace stowage::oracle {
namespace {

class Loader {
 public:
  Loader(const Graph& graph, const Clock& clock) : graph_(graph), clock_(clock) {}

  std::vector<Call> load() {
    std::vector<Call> calls = load_subgraph(0);
    if (at_ != clock_.steps.size()) throw std::invalid_argument("steps are left over");
    return calls;
  }

 private:
  std::vector<Call> load_subgraph(std::size_t subgraph) {
    const auto& operators = graph_.subgraphs[subgraph].operators;
    std::vector<Call> calls;
    std::vector<bool> has_run(operators.size(), false);
    const auto count =
        std::count_if(operators.begin(), operators.end(), [](const Operator& op) { return !op.folded; });
    for (auto i = count; i > 0; --i) {
      if (at_ >= clock_.steps.size()) throw std::invalid_argument("steps are missing");
      const Run& run = std::get<Run>(clock_.steps[at_]);
      const std::size_t o = run.path.empty() ? operators.size() : run.path.back();
      path_.push_back(subgraph);
      path_.push_back(o);
      if (o >= operators.size() || has_run[o] || operators[o].folded || run.path != path_) {
        throw std::invalid_argument("step " + std::to_string(at_) + " cannot run there");
      }
      has_run[o] = true;
      calls.push_back({&operators[o], static_cast<Position>(at_++), {}});
      for (const std::size_t body : operators[o].bodies) calls.back().bodies.push_back(load_subgraph(body));
      path_.resize(path_.size() - 2);
    }
    return calls;
  }

  const Graph& graph_;
  const Clock& clock_;
  std::size_t at_ = 0;
  std::vector<std::size_t> path_;
};

class Machine {
 public:
  Machine(const Graph& graph, Outputs outputs)
      : graph_(graph), outputs_(outputs), is_written_(graph.tensors.size(), false) {}

  Execution run(const std::vector<Call>& calls) {
    if (calls.empty()) execution_.moments.push_back(0);  // a clock without steps has one position
    for (const TensorId input : graph_.subgraphs[0].inputs) write(input, 0);
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      if (graph_.tensors[t].kind == TensorKind::state) write(t, 0);
    }
    for (const Call& call : calls) run_operator(call);
    for (const TensorId output : graph_.subgraphs[0].outputs) read(output);
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      if (graph_.tensors[t].kind == TensorKind::state) read(t);  // for the next run
    }
    return std::move(execution_);
  }

 private:
  static constexpr int rounds_of_a_loop = 2;

  [[nodiscard]] std::size_t now() const { return execution_.moments.size() - 1; }

  void write(TensorId tensor, std::size_t moment) {
    is_written_[tensor] = true;
    execution_.events.push_back({tensor, moment, Use::write, nullptr});
  }

  void read(TensorId tensor, const Operator* reader = nullptr) {
    if (!is_written_[tensor]) {
      const Tensor& it = graph_.tensors[tensor];
      if (it.kind == TensorKind::weight || it.kind == TensorKind::instruction || it.bytes == 0) return;
      throw std::invalid_argument("tensor " + std::to_string(tensor) + " is read before it is written");
    }
    execution_.events.push_back({tensor, now(), Use::read, reader});
  }

  void run_operator(const Call& call) {
    const Operator& op = *call.op;
    execution_.moments.push_back(call.at);
    const std::size_t started = now();
    for (const auto& input : op.inputs) {
      if (input) read(*input, &op);
    }
    // Results of bodies arrive later, but their memory is the operator's from its own position on.
    const auto sources = known_sources(op);
    for (std::size_t o = 0; o < op.outputs.size(); ++o) {
      if (op.outputs[o] && !sources[o]) write(*op.outputs[o], started);
    }
    for (const TensorId scratch : op.scratch) write(scratch, started);
    if (op.bodies.empty()) return;
    if (op.body_use == BodyUse::once) {
      run_branches(call, started);
    } else {
      run_loop(call, started);
    }
    hand_over(op, now());  // there it stays
    // The operator is done only now: until then it holds its operands and its scratch.
    for (const auto* operands : {&op.inputs, &op.outputs}) {
      for (const auto& tensor : *operands) {
        if (tensor) read(*tensor);
      }
    }
    for (const TensorId scratch : op.scratch) read(scratch);
  }

  [[nodiscard]] std::vector<std::optional<TensorId>> known_sources(const Operator& op) const {
    if (outputs_ == Outputs::from_the_start || op.bodies.empty())
      return std::vector<std::optional<TensorId>>(op.outputs.size());
    return sources_of_outputs(graph_, op, 0);
  }

  void hand_over(const Operator& op, std::size_t moment) {
    const auto sources = known_sources(op);
    for (std::size_t o = 0; o < op.outputs.size(); ++o) {
      if (sources[o]) write(*op.outputs[o], moment);
    }
  }

  void run_branches(const Call& call, std::size_t started) {
    for (std::size_t b = 0; b < call.bodies.size(); ++b) {
      const Subgraph& body = graph_.subgraphs[call.op->bodies[b]];
      // Operands are copied into the branch's inputs as its first step begins; a branch without
      // steps has only the position of the operator.
      const std::size_t first = call.bodies[b].empty() ? started : now() + 1;
      for (const TensorId input : body.inputs) write(input, first);
      for (const Call& inner : call.bodies[b]) run_operator(inner);
      for (const TensorId output : body.outputs) read(output);  // handed over
      hand_over(*call.op, call.bodies[b].empty() ? started : now());
    }
  }

  void run_loop(const Call& call, std::size_t started) {
    // The memory of the bodies' inputs is theirs from the operator's position to the loop's end.
    for (const std::size_t body : call.op->bodies) {
      for (const TensorId input : graph_.subgraphs[body].inputs) write(input, started);
    }
    for (int round = 0; round < rounds_of_a_loop; ++round) {
      for (std::size_t b = 0; b < call.bodies.size(); ++b) {
        for (const Call& inner : call.bodies[b]) run_operator(inner);
        for (const TensorId output : graph_.subgraphs[call.op->bodies[b]].outputs)
          read(output);  // handed over
      }
      for (const std::size_t body : call.op->bodies) {
        for (const TensorId input : graph_.subgraphs[body].inputs) {
          read(input);          // held while the round runs, used or not
          write(input, now());  // the next round's value
        }
      }
    }
  }

  const Graph& graph_;
  Outputs outputs_;
  std::vector<bool> is_written_;
  Execution execution_;
};

/// A value's bytes are there at all positions from its writing to its last reading.
struct Value {
  std::size_t written = 0;
  std::size_t last_read = 0;
};

std::vector<std::vector<Value>> values_of(const Graph& graph, const Execution& execution) {
  std::vector<std::vector<Value>> values(graph.tensors.size());
  for (const Event& event : execution.events) {
    auto& of_tensor = values[event.tensor];
    if (event.use == Use::write) {
      of_tensor.push_back({event.moment, event.moment});
    } else {
      of_tensor.back().last_read = std::max(of_tensor.back().last_read, event.moment);
    }
  }
  return values;
}

/// Adds a life, joined with those it has a position in common with.
void add_life(std::vector<Positions>& lives, Positions life) {
  std::vector<Positions> apart;
  for (Positions& other : lives) {
    const bool meets =
        std::any_of(other.begin(), other.end(), [&](Position position) { return life.contains(position); });
    if (meets) {
      life.merge(other);
    } else {
      apart.push_back(std::move(other));
    }
  }
  apart.push_back(std::move(life));
  lives = std::move(apart);
}

}  // namespace

std::vector<Call> program_of(const Graph& graph, const Clock& clock) { return Loader(graph, clock).load(); }

std::vector<std::optional<TensorId>> sources_of_outputs(const Graph& graph, const Operator& op,
                                                        std::size_t body) {
  const std::vector<std::optional<TensorId>> unknown(op.outputs.size());
  std::vector<std::optional<TensorId>> sources;
  for (std::size_t b = 0; b < op.bodies.size(); ++b) {
    const Subgraph& own = graph.subgraphs[op.bodies[b]];
    const bool is_if = op.type == "If" && op.body_use == BodyUse::once;
    const bool is_loop = op.type == "Loop" && op.body_use == BodyUse::repeated;
    if (!is_if && !(is_loop && b == 0)) break;
    if (is_if && own.outputs.size() != op.outputs.size()) return unknown;
    std::vector<std::optional<TensorId>> of_body;
    for (std::size_t o = 0; o < op.outputs.size(); ++o) {
      const std::vector<TensorId>& from = is_if ? own.outputs : own.inputs;
      const std::size_t i = is_if ? o : o + 2;
      of_body.emplace_back(op.outputs[o] && i < from.size() ? std::optional(from[i]) : std::nullopt);
      if (!of_body.back()) continue;
      const Tensor& one = graph.tensors[*of_body.back()];
      const Tensor& other = graph.tensors[*op.outputs[o]];
      if (one.bytes != other.bytes || one.dtype != other.dtype || one.open != other.open) return unknown;
    }
    if (b == body) sources = of_body;
  }
  return sources.empty() ? unknown : sources;
}

Execution execute(const Graph& graph, const Clock& clock, Outputs outputs) {
  return Machine(graph, outputs).run(program_of(graph, clock));
}

std::vector<std::vector<Positions>> needs_of(const Graph& graph, const Execution& execution) {
  std::vector<std::vector<Positions>> needs(graph.tensors.size());
  const auto values = values_of(graph, execution);
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    const TensorKind kind = graph.tensors[t].kind;
    if (kind == TensorKind::weight || kind == TensorKind::instruction) continue;
    for (const Value& value : values[t]) {
      Positions life;
      for (std::size_t moment = value.written; moment <= value.last_read; ++moment) {
        life.insert(execution.moments[moment]);
      }
      add_life(needs[t], std::move(life));
    }
  }
  for (const StateTie& tie : graph.ties) {
    for (Positions& life : needs[tie.input]) {
      life.erase(life.lower_bound(new_state_at(execution, tie)), life.end());
    }
  }
  return needs;
}

Position new_state_at(const Execution& execution, const StateTie& tie) {
  for (const Event& event : execution.events) {
    if (event.tensor == tie.output) return execution.moments[event.moment];
  }
  return *std::max_element(execution.moments.begin(), execution.moments.end()) + 1;
}

bool is_old_state_lost(const Execution& execution, const StateTie& tie) {
  const Position written = new_state_at(execution, tie);
  const auto updates = [&](const Operator& op) {
    if (!op.bodies.empty()) return false;
    if (std::find(op.outputs.begin(), op.outputs.end(), std::optional(tie.output)) == op.outputs.end())
      return false;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i] == tie.input && !updates_in_place(op, i)) return false;
    }
    return true;
  };
  return std::any_of(execution.events.begin(), execution.events.end(), [&](const Event& event) {
    if (event.tensor != tie.input || event.use != Use::read) return false;
    const Position at = execution.moments[event.moment];
    return at >= written && !(at == written && event.reader != nullptr && updates(*event.reader));
  });
}

}  // namespace stowage::oracle
