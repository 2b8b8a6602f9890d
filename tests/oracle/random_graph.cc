#include "oracle/random_graph.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

namespace stowage::oracle {
namespace {

/// Makes every subgraph in an order in which its operators could run, and mixes them up afterwards.
class Maker {
 public:
  Maker(std::uint64_t seed, const GraphOptions& options) : choices_(seed), options_(options) {}

  Graph make() {
    graph_.name = "random";
    graph_.subgraphs.emplace_back();
    steps_.push_back(0);
    fill(0, 0, {});
    for (const TensorId output : graph_.subgraphs[0].outputs) {
      if (graph_.tensors[output].kind == TensorKind::temporary) {
        graph_.tensors[output].kind = TensorKind::output;
      }
    }
    if (choices_.chance(5)) fill(add_subgraph(), options_.depth, {});  // nobody runs it
    if (choices_.chance(20)) (void)add_tensor(TensorKind::temporary);  // nobody touches it
    if (choices_.chance(30)) {
      for (Subgraph& subgraph : graph_.subgraphs) mix_up(subgraph);
    }
    return std::move(graph_);
  }

 private:
  using Tensors = std::vector<TensorId>;

  std::size_t add_subgraph() {
    graph_.subgraphs.emplace_back();
    steps_.push_back(0);
    return graph_.subgraphs.size() - 1;
  }

  std::string new_name() {
    if (options_.repeats_names && choices_.chance(10)) return "";
    if (options_.repeats_names && choices_.chance(10)) return "again";
    return "t" + std::to_string(graph_.tensors.size());
  }

  TensorId add_tensor(TensorKind kind) {
    static const std::vector<DType> dtypes{DType::uint8, DType::int4, DType::float16, DType::float32,
                                           DType::boolean};
    Tensor tensor{.name = new_name(), .kind = kind, .dtype = choices_.one_of(dtypes)};
    if (options_.copies > 0 && choices_.chance(50)) {
      tensor.dtype = DType::uint8;
      tensor.bytes = 16 * choices_.between(1, 4);
      tensor.shape = Shape{tensor.bytes};
    } else if (choices_.chance(8)) {
      tensor.bytes = choices_.between(0, 90);
    } else {
      tensor.shape = Shape{choices_.between(1, 7), choices_.between(choices_.chance(6) ? 0 : 1, 6)};
      tensor.bytes = bytes_of(tensor.dtype, *tensor.shape);
    }
    graph_.tensors.push_back(std::move(tensor));
    return graph_.tensors.size() - 1;
  }

  /// One of the tensors that have no producer; all subgraphs may read them.
  TensorId given(TensorKind kind) {
    Tensors& tensors = given_[static_cast<std::size_t>(kind)];
    if (tensors.empty() || choices_.chance(30)) {
      tensors.push_back(add_tensor(kind));
      if (kind == TensorKind::temporary) {  // what nobody writes must be empty
        graph_.tensors.back().shape = Shape{0};
        graph_.tensors.back().bytes = 0;
      }
    }
    return choices_.one_of(tensors);
  }

  TensorId readable(const Tensors& own, const Tensors& outer) {
    const std::size_t roll = choices_.below(100);
    if (roll < 6) return given(TensorKind::weight);
    if (roll < 8) return given(TensorKind::instruction);
    if (roll < 12) return given(TensorKind::state);
    if (roll < 14) return given(TensorKind::temporary);
    if (!outer.empty() && (roll < 35 || own.empty())) return choices_.one_of(outer);
    if (own.empty()) return given(TensorKind::weight);
    if (roll < 75) return own[own.size() - 1 - choices_.below(std::min<std::size_t>(own.size(), 3))];
    return choices_.one_of(own);
  }

  Operator plain_operator(const Tensors& own, const Tensors& outer) {
    static const std::vector<std::string> types{"Add", "Relu", "ScatterND", "Conv", "Concat"};
    Operator op{.type = choices_.one_of(types)};
    for (std::size_t i = choices_.below(5); i > 0; --i) {
      if (choices_.chance(8)) {
        op.inputs.emplace_back();
      } else if (!op.inputs.empty() && choices_.chance(8)) {
        op.inputs.push_back(op.inputs.front());
      } else {
        op.inputs.emplace_back(readable(own, outer));
      }
    }
    for (std::size_t i = choices_.below(10) < 7 ? 1 : choices_.below(4); i > 0; --i) {
      if (choices_.chance(8)) op.outputs.emplace_back();
      op.outputs.emplace_back(add_tensor(TensorKind::temporary));
    }
    if (choices_.chance(15)) op.scratch.push_back(add_tensor(TensorKind::scratch));
    if (choices_.chance(4)) op.scratch.push_back(add_tensor(TensorKind::scratch));
    op.stateful = choices_.chance(15);
    return op;
  }

  // Operators that pass on bytes. Their outputs are bytes without a shape of interest, mostly.

  /// Often a recent one, so that copies follow copies.
  TensorId passable(const Tensors& own, const Tensors& outer) {
    if (own.empty() || choices_.chance(15)) return readable(own, outer);
    return own[own.size() - 1 - choices_.below(std::min<std::size_t>(own.size(), 5))];
  }

  TensorId add_bytes(Bytes bytes) {
    const TensorId t = add_tensor(TensorKind::temporary);
    Tensor& tensor = graph_.tensors[t];
    tensor.dtype = DType::uint8;
    tensor.shape = Shape{bytes};
    tensor.bytes = bytes;
    return t;
  }

  TensorId add_alike(TensorId model) {
    const TensorId t = add_tensor(TensorKind::temporary);
    Tensor& tensor = graph_.tensors[t];
    tensor.dtype = graph_.tensors[model].dtype;
    tensor.shape = graph_.tensors[model].shape;
    tensor.bytes = graph_.tensors[model].bytes;
    return t;
  }

  static void pass_on(Operator& op, const ByteCopy& copy) {
    if (copy.size > 0) op.copies.push_back(copy);
  }

  Operator reshape(TensorId input) {
    static const std::vector<std::string> types{"Reshape", "Identity", "Dropout"};
    Operator op{.type = choices_.one_of(types), .inputs = {input}, .outputs = {add_alike(input)}};
    if (op.type == "Reshape" && choices_.chance(50)) op.inputs.emplace_back(given(TensorKind::weight));
    if (op.type == "Dropout" && choices_.chance(30)) op.outputs.emplace_back(add_bytes(8));  // computed
    pass_on(op, {0, 0, 0, 0, graph_.tensors[input].bytes});
    return op;
  }

  /// The inputs one after the other; sometimes with bytes of its own between them.
  Operator concat(const Tensors& own, const Tensors& outer) {
    Operator op{.type = "Concat"};
    Bytes end = 0;
    const bool has_gaps = choices_.chance(10);
    for (std::size_t i = choices_.between(1, 4) == 1 ? 1 : 2 + choices_.below(3); i > 0; --i) {
      const TensorId input = !op.inputs.empty() && choices_.chance(8) ? *op.inputs[0] : passable(own, outer);
      if (end + graph_.tensors[input].bytes > most_bytes) continue;
      if (has_gaps) end += choices_.between(0, 5);
      pass_on(op, {op.inputs.size(), 0, 0, end, graph_.tensors[input].bytes});
      op.inputs.emplace_back(input);
      end += graph_.tensors[input].bytes;
    }
    op.outputs = {add_bytes(end)};
    return op;
  }

  /// Parts of the input, one after the other, mostly all of it.
  Operator split(TensorId input) {
    Operator op{.type = "Split", .inputs = {input}};
    const Bytes bytes = graph_.tensors[input].bytes;
    const Bytes unit = bytes % 16 == 0 && choices_.chance(70) ? 16 : 1;
    Bytes from = 0;
    for (std::size_t i = 1 + choices_.below(4); i > 0; --i) {
      if (choices_.chance(10)) from = choices_.between(0, bytes / unit) * unit;  // a gap, or bytes again
      const Bytes rest = bytes - from;
      const Bytes size = i == 1 ? rest : choices_.between(0, rest / unit) * unit;
      pass_on(op, {0, op.outputs.size(), from, 0, size});
      op.outputs.emplace_back(add_bytes(size));
      from += size;
    }
    return op;
  }

  Operator elementwise(const Tensors& own, const Tensors& outer) {
    static const std::vector<std::string> types{"Relu", "Add", "BatchNormalization", "Add"};
    const TensorId input = passable(own, outer);
    Operator op{.type = choices_.one_of(types), .inputs = {input}};
    if (op.type != "Relu") {
      Tensors alike;  // perhaps another name for the same bytes
      for (const TensorId t : own) {
        if (graph_.tensors[t].bytes == graph_.tensors[input].bytes) alike.push_back(t);
      }
      op.inputs.emplace_back(choices_.chance(60) && !alike.empty() ? choices_.one_of(alike)
                                                                   : passable(own, outer));
      if (choices_.chance(30)) std::swap(op.inputs[0], op.inputs[1]);
    }
    op.outputs = {add_alike(input)};
    return op;
  }

  Operator passing_operator(const Tensors& own, const Tensors& outer) {
    const std::size_t roll = choices_.below(100);
    if (roll < 25) return reshape(passable(own, outer));
    if (roll < 50) return concat(own, outer);
    if (roll < 75) return split(passable(own, outer));
    return elementwise(own, outer);
  }

  Operator folded_operator() {
    Operator op{.type = "Constant", .folded = true};
    for (std::size_t i = choices_.below(3); i > 0; --i) op.inputs.emplace_back(given(TensorKind::weight));
    op.outputs.emplace_back(add_tensor(TensorKind::weight));
    return op;
  }

  /// Gives the operator bodies: new ones, or one that another operator of a subgraph around runs.
  /// (A subgraph that runs while a loop keeps its inputs for another run has no single place.)
  void add_bodies(Operator& op, std::size_t depth, const Tensors& own, const Tensors& outer) {
    const bool repeats = choices_.chance(45);
    op.body_use = repeats ? BodyUse::repeated : BodyUse::once;
    op.type = repeats ? "Loop" : "If";
    const std::size_t most_steps = 40;
    if (!finished_.empty() && choices_.chance(25)) {
      const std::size_t body = choices_.one_of(finished_);
      if (steps_[body] < most_steps) {
        op.bodies = {body};
        return;
      }
    }
    Tensors visible = outer;
    visible.insert(visible.end(), own.begin(), own.end());
    const std::size_t finished_before = finished_.size();
    for (std::size_t i = 1 + choices_.below(repeats ? 2 : 3); i > 0; --i) {
      const std::size_t body = add_subgraph();
      fill(body, depth + 1, visible);
      finished_.resize(finished_before);  // bodies of it may read what is not visible here
      op.bodies.push_back(body);
    }
    finished_.insert(finished_.end(), op.bodies.begin(), op.bodies.end());
    if (options_.results == 0 || !choices_.chance(options_.results)) return;
    if (repeats) {
      add_carried(op);
    } else {
      for (const std::size_t body : op.bodies) add_results(op, body);
    }
  }

  TensorId add_tensor_like(TensorId other, TensorKind kind) {
    Tensor tensor = graph_.tensors[other];
    tensor.name = new_name();
    tensor.kind = kind;
    graph_.tensors.push_back(std::move(tensor));
    return graph_.tensors.size() - 1;
  }

  /// The loop's first body carries a value for each output, behind two other inputs.
  void add_carried(const Operator& op) {
    Subgraph& body = graph_.subgraphs[op.bodies[0]];
    while (body.inputs.size() < 2) body.inputs.push_back(add_tensor(TensorKind::temporary));
    auto place = body.inputs.begin() + 2;
    for (const auto& output : op.outputs) {
      const TensorId carried =
          output ? add_tensor_like(*output, TensorKind::temporary) : add_tensor(TensorKind::temporary);
      place = body.inputs.insert(place, carried) + 1;
    }
  }

  /// A body has a result like each output: made there, a weight, or the one before.
  void add_results(const Operator& op, std::size_t body) {
    Tensors own = graph_.subgraphs[body].inputs;
    for (const Operator& inner : graph_.subgraphs[body].operators) {
      for (const auto& output : inner.outputs) {
        if (output) own.push_back(*output);
      }
    }
    Tensors results;
    for (const auto& output : op.outputs) {
      const auto is_like = [&](TensorId other) {
        return output && graph_.tensors[other].bytes == graph_.tensors[*output].bytes &&
               graph_.tensors[other].dtype == graph_.tensors[*output].dtype;
      };
      if (!results.empty() && is_like(results.back()) && choices_.chance(30)) {
        results.push_back(results.back());
      } else if (output && choices_.chance(12)) {
        results.push_back(add_tensor_like(*output, TensorKind::weight));
      } else {
        results.push_back(output ? add_tensor_like(*output, TensorKind::temporary)
                                 : add_tensor(TensorKind::temporary));
        Operator maker{.type = choices_.chance(50) ? "Relu" : "Conv", .outputs = {results.back()}};
        if (!own.empty()) maker.inputs.emplace_back(choices_.one_of(own));
        maker.name =
            "op" + std::to_string(body) + "_" + std::to_string(graph_.subgraphs[body].operators.size());
        graph_.subgraphs[body].operators.push_back(std::move(maker));
        ++steps_[body];
        own.push_back(results.back());
      }
    }
    graph_.subgraphs[body].outputs = std::move(results);
  }

  Operator next_operator(std::size_t depth, const Tensors& own, const Tensors& outer) {
    if (options_.copies > 0 && choices_.chance(options_.copies)) return passing_operator(own, outer);
    if (choices_.chance(6)) return folded_operator();
    Operator op = plain_operator(own, outer);
    if (depth < options_.depth && choices_.chance(25)) add_bodies(op, depth, own, outer);
    return op;
  }

  std::size_t operators_at(std::size_t depth) {
    return depth == 0 ? choices_.below(options_.operators + 1)
                      : choices_.below(6 - std::min<std::size_t>(depth, 4));
  }

  void fill(std::size_t subgraph, std::size_t depth, const Tensors& outer) {
    Subgraph made{.name = "subgraph" + std::to_string(subgraph)};
    for (std::size_t i = choices_.below(4); i > 0; --i) {
      made.inputs.push_back(add_tensor(depth == 0 ? TensorKind::input : TensorKind::temporary));
    }
    Tensors own = made.inputs;
    for (std::size_t i = operators_at(depth); i > 0; --i) {
      Operator op = next_operator(depth, own, outer);
      op.name = "op" + std::to_string(subgraph) + "_" + std::to_string(made.operators.size());
      if (!made.operators.empty() && choices_.chance(10)) {
        op.after.push_back(choices_.below(made.operators.size()));
      }
      if (!op.folded) ++steps_[subgraph];
      for (const std::size_t body : op.bodies) steps_[subgraph] += steps_[body];
      for (const auto& output : op.outputs) {
        if (output) own.push_back(*output);
      }
      if (options_.has_ties && subgraph == 0 && choices_.chance(25)) tie(made, op, own);
      made.operators.push_back(std::move(op));
    }
    add_outputs(made, depth, own, outer);
    graph_.subgraphs[subgraph] = std::move(made);
  }

  void add_outputs(Subgraph& made, std::size_t depth, const Tensors& own, const Tensors& outer) {
    for (std::size_t i = choices_.below(4); i > 0; --i) {
      if (!made.outputs.empty() && choices_.chance(8)) {
        made.outputs.push_back(made.outputs.front());
      } else if (depth > 0 && !outer.empty() && choices_.chance(15)) {
        made.outputs.push_back(choices_.one_of(outer));
      } else if (choices_.chance(4)) {
        made.outputs.push_back(given(TensorKind::weight));
      } else if (!own.empty()) {
        made.outputs.push_back(choices_.one_of(own));
      }
    }
    if (choices_.chance(5)) (void)add_tensor(TensorKind::weight);
  }

  /// Makes the operator's output the new state of an input that no other output is the state of.
  void tie(Subgraph& made, const Operator& op, Tensors& own) {
    if (!op.copies.empty()) return;  // sizes must stay as they are
    if (op.folded || made.inputs.empty() || op.outputs.empty() || !op.outputs.back()) return;
    const TensorId output = *op.outputs.back();
    const TensorId input = choices_.one_of(made.inputs);
    for (const StateTie& tie : graph_.ties) {
      if (tie.input == input) return;
    }
    Tensor& state = graph_.tensors[output];
    state.dtype = graph_.tensors[input].dtype;
    state.shape = graph_.tensors[input].shape;
    state.bytes = graph_.tensors[input].bytes;
    made.outputs.push_back(output);
    graph_.ties.push_back({output, input});
    if (choices_.chance(85)) std::erase(own, input);
  }

  /// Another order in the file. Operators with side effects keep theirs, which means something.
  void mix_up(Subgraph& subgraph) {
    std::vector<std::size_t> order(subgraph.operators.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    choices_.shuffle(order);
    std::vector<std::size_t> stateful;
    for (const std::size_t o : order) {
      if (subgraph.operators[o].stateful) stateful.push_back(o);
    }
    std::sort(stateful.begin(), stateful.end());
    auto next = stateful.begin();
    for (std::size_t& o : order) {
      if (subgraph.operators[o].stateful) o = *next++;
    }
    std::vector<std::size_t> index_of(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) index_of[order[i]] = i;
    std::vector<Operator> mixed;
    for (const std::size_t o : order) {
      mixed.push_back(std::move(subgraph.operators[o]));
      for (std::size_t& earlier : mixed.back().after) earlier = index_of[earlier];
    }
    subgraph.operators = std::move(mixed);
  }

  static constexpr Bytes most_bytes = 400;  ///< Of a concat.

  Choices choices_;
  GraphOptions options_;
  Graph graph_;
  std::array<Tensors, 7> given_;       ///< By kind.
  std::vector<std::size_t> finished_;  ///< Bodies that read nothing but what the next operator may read.
  std::vector<std::size_t> steps_;     ///< Of each subgraph, with those of its bodies.
};

void add_reads(const Graph& graph, const Operator& op, std::set<TensorId>& reads) {
  for (const auto& input : op.inputs) {
    if (input) reads.insert(*input);
  }
  for (const std::size_t body : op.bodies) {
    for (const Operator& inner : graph.subgraphs[body].operators) add_reads(graph, inner, reads);
    reads.insert(graph.subgraphs[body].outputs.begin(), graph.subgraphs[body].outputs.end());
  }
}

void unfold(const Graph& graph, std::size_t subgraph, Choices& choices, std::vector<std::size_t>& path,
            Clock& clock) {
  auto missing = waits_for(graph, subgraph);
  std::vector<std::size_t> waiting(missing.size());
  std::iota(waiting.begin(), waiting.end(), std::size_t{0});
  while (!waiting.empty()) {
    std::vector<std::size_t> ready;
    std::copy_if(waiting.begin(), waiting.end(), std::back_inserter(ready),
                 [&](std::size_t o) { return missing[o].empty(); });
    if (ready.empty()) throw std::logic_error("a random graph has a cycle");
    const std::size_t next = choices.one_of(ready);
    std::erase(waiting, next);
    for (auto& others : missing) others.erase(next);
    const Operator& op = graph.subgraphs[subgraph].operators[next];
    if (op.folded) continue;
    path.push_back(subgraph);
    path.push_back(next);
    clock.steps.emplace_back(Run{.model = 0, .path = path});
    for (const std::size_t body : op.bodies) unfold(graph, body, choices, path, clock);
    path.resize(path.size() - 2);
  }
}

}  // namespace

std::size_t Choices::below(std::size_t count) { return static_cast<std::size_t>(engine_() % count); }

std::int64_t Choices::between(std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(below(static_cast<std::size_t>(most - least + 1)));
}

Graph random_graph(std::uint64_t seed, const GraphOptions& options) {
  Graph graph = Maker(seed, options).make();
  validate(graph);
  return graph;
}

std::vector<std::set<std::size_t>> waits_for(const Graph& graph, std::size_t subgraph) {
  const auto& operators = graph.subgraphs[subgraph].operators;
  std::vector<std::set<std::size_t>> earlier(operators.size());
  for (std::size_t o = 0; o < operators.size(); ++o) {
    std::set<TensorId> reads;
    add_reads(graph, operators[o], reads);
    for (std::size_t other = 0; other < operators.size(); ++other) {
      for (const auto& output : operators[other].outputs) {
        if (output && reads.contains(*output)) earlier[o].insert(other);
      }
      if (other < o && operators[other].stateful && operators[o].stateful) earlier[o].insert(other);
    }
    earlier[o].insert(operators[o].after.begin(), operators[o].after.end());
  }
  return earlier;
}

Clock random_clock(const Graph& graph, std::uint64_t seed) {
  Choices choices(seed);
  std::vector<std::size_t> path;
  Clock clock;
  unfold(graph, 0, choices, path, clock);
  return clock;
}

std::size_t Sketch::subgraph(const Names& inputs, const Names& outputs) {
  const bool is_network = graph_.subgraphs.empty();
  Subgraph made;
  for (const std::string& name : inputs) {
    made.inputs.push_back(id(name));
    if (is_network) tensor(name).kind = TensorKind::input;
  }
  for (const std::string& name : outputs) {
    made.outputs.push_back(id(name));
    if (is_network && tensor(name).kind == TensorKind::temporary) tensor(name).kind = TensorKind::output;
  }
  graph_.subgraphs.push_back(std::move(made));
  return graph_.subgraphs.size() - 1;
}

Operator& Sketch::add(std::size_t subgraph, const std::string& type, const Names& inputs,
                      const Names& outputs) {
  Operator op{.type = type};
  const auto operand = [&](const std::string& name) {
    return name.empty() ? std::nullopt : std::optional(id(name));
  };
  for (const std::string& name : inputs) op.inputs.push_back(operand(name));
  for (const std::string& name : outputs) op.outputs.push_back(operand(name));
  auto& operators = graph_.subgraphs[subgraph].operators;
  op.name = type + std::to_string(operators.size());
  operators.push_back(std::move(op));
  return operators.back();
}

TensorId Sketch::id(const std::string& name) {
  const auto [entry, is_new] = ids_.try_emplace(name, graph_.tensors.size());
  if (is_new) {
    graph_.tensors.push_back({.name = name, .dtype = DType::uint8, .shape = Shape{16}, .bytes = 16});
  }
  return entry->second;
}

void Sketch::tie(const std::string& output, const std::string& input) {
  graph_.ties.push_back({id(output), id(input)});
}

}  // namespace stowage::oracle
