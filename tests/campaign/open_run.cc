#include "open_run.h"

#include <algorithm>
#include <set>

#include "facts.h"
#include "open_memory.h"
#include "tagged_memory.h"

namespace stowage::campaign {
namespace {

class OpenRunner {
 public:
  OpenRunner(const OpenNet& net, const Graph& graph, const Plan& plan, const World& world, Findings& findings,
             OpenTally& tally)
      : net_(net), graph_(graph), plan_(plan), world_(world), memory_(net, graph, plan, findings, tally) {
    note_nodes(net.main);
  }

  void run() {
    if (steps().empty()) return;
    for (const OpenInput& input : net_.main.inputs) values_[input.name] = value_of(input, world_);
    go(0);
    for (const OpenInput& input : net_.main.inputs) memory_.give(input.name, values_.at(input.name));
    for (std::size_t next = 0; next < steps().size() && memory_.is_right();) next = run_step(next);
    for (const std::string& output : net_.main.outputs) memory_.read(output, find(output), "the caller");
  }

 private:
  [[nodiscard]] const std::vector<Step>& steps() const { return plan_.clocks[0].steps; }
  void go(std::size_t position) { memory_.go(position); }

  void note_nodes(const OpenGraph& graph) {
    for (const OpenNode& node : graph.nodes) {
      for (const std::string& output : node.outputs) writers_[output] = &node;
      for (const OpenGraph& body : node.bodies) note_nodes(body);
    }
  }

  const std::string& name_of(TensorId tensor) const { return graph_.tensors[tensor].name; }

  /// What no step computes is known before the run.
  const OpenValue& find(const std::string& name) {
    if (!values_.contains(name)) {
      if (const auto writer = writers_.find(name); writer != writers_.end()) {
        for (const std::string& input : writer->second->inputs) find(input);
        run_nodes(net_, {*writer->second}, values_, world_);
      }
    }
    return find_value(net_, name, values_, world_);
  }

  void set(const std::string& name, const OpenValue& value) {
    memory_.check_size(name, value);
    values_[name] = value;
  }

  const OpenNode& node_of(const Operator& op) const {
    for (const auto& output : op.outputs)
      if (output)
        if (const auto found = writers_.find(name_of(*output)); found != writers_.end())
          return *found->second;
    throw Misfit("an operator that the file does not have");
  }

  std::size_t run_step(std::size_t position) {
    go(position);
    if (const auto* copy = std::get_if<Copy>(&steps()[position])) {
      memory_.copy(*copy, find(plan_.tensors[copy->tensor].tensor.name));
      return position + 1;
    }
    const Run& run = std::get<Run>(steps()[position]);
    const Operator& op = graph_.subgraphs[run.path[run.path.size() - 2]].operators[run.path.back()];
    const OpenNode& node = node_of(op);
    if (!op.bodies.empty()) return run_bodies(position, run, op, node);
    std::vector<const OpenValue*> inputs;
    for (const std::string& input : node.inputs) inputs.push_back(&find(input));
    const std::string words =
        "step " + std::to_string(position) + ", " + op.type + " '" + node.outputs[0] + "'";
    memory_.begin(op, node, words);
    for (std::size_t k = 0; k < inputs.size(); ++k) memory_.operand(node.inputs[k], *inputs[k], k);
    std::vector<Made> made = evaluate(node, inputs, world_);
    for (std::size_t k = 0; k < made.size() && k < node.outputs.size(); ++k)
      set(node.outputs[k], made[k].value);
    memory_.write_results(op, node, inputs, made);
    for (std::size_t k = 0; k < made.size() && k < node.outputs.size(); ++k)
      memory_.read(node.outputs[k], made[k].value, words + " (its own output)");
    return position + 1;
  }

  [[nodiscard]] bool is_inside(std::size_t position, const Run& owner) const {
    if (position >= steps().size()) return false;
    const auto* run = std::get_if<Run>(&steps()[position]);
    return run != nullptr && run->path.size() > owner.path.size() &&
           std::equal(owner.path.begin(), owner.path.end(), run->path.begin());
  }

  struct Segment {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  /// The steps of a body, which is the one with these outputs.
  Segment segment_of(const Run& owner, const Operator& op, const OpenGraph& body, std::size_t from) const {
    std::optional<std::size_t> subgraph;
    for (const std::size_t candidate : op.bodies)
      if (name_of(graph_.subgraphs[candidate].outputs[0]) == body.outputs[0]) subgraph = candidate;
    Segment found{from, from};
    while (is_inside(found.begin, owner) &&
           std::get<Run>(steps()[found.begin]).path[owner.path.size()] != subgraph)
      ++found.begin;
    found.end = found.begin;
    while (is_inside(found.end, owner) &&
           std::get<Run>(steps()[found.end]).path[owner.path.size()] == subgraph)
      ++found.end;
    return found;
  }

  std::vector<OpenValue> run_body(const Segment& segment, const OpenGraph& body,
                                  const std::vector<OpenValue>& given) {
    // What the body computed in the last round is no more.
    for (const OpenNode& node : body.nodes)
      for (const std::string& output : node.outputs) values_.erase(output);
    if (segment.begin < segment.end) go(segment.begin);
    for (std::size_t k = 0; k < given.size(); ++k) {
      set(body.inputs[k].name, given[k]);
      if (segment.begin < segment.end) memory_.give(body.inputs[k].name, given[k]);
    }
    for (std::size_t next = segment.begin; next < segment.end && memory_.is_right();) next = run_step(next);
    std::vector<OpenValue> results;
    for (const std::string& output : body.outputs) {
      results.push_back(find(output));
      if (segment.begin < segment.end) memory_.read(output, results.back(), "the end of body " + body.name);
    }
    return results;
  }

  std::vector<OpenValue> find_all(const std::vector<std::string>& names, std::size_t from) {
    std::vector<OpenValue> found;
    for (std::size_t k = from; k < names.size(); ++k) found.push_back(find(names[k]));
    return found;
  }

  std::size_t run_bodies(std::size_t position, const Run& run, const Operator& op, const OpenNode& node) {
    std::size_t end = position + 1;
    while (is_inside(end, run)) ++end;
    const auto segment = [&](std::size_t body) {
      return segment_of(run, op, node.bodies[body], position + 1);
    };
    for (const std::string& input : node.inputs)
      memory_.read(input, find(input), "operator " + node.outputs[0]);
    std::vector<OpenValue> results;
    if (node.kind == OpenKind::branch) {
      const std::size_t chosen = chosen_body(node, world_);
      std::vector<OpenValue> given = find_all(node.inputs, 1);
      given.resize(node.bodies[chosen].inputs.size());
      results = run_body(segment(chosen), node.bodies[chosen], given);
    } else if (node.kind == OpenKind::loop) {
      results = run_loop(segment(0), node);
    } else if (node.kind == OpenKind::scan) {
      results = run_scan(segment(0), node);
    } else {
      results = run_repeat(segment(0), segment(1), node);
    }
    go(end - 1);
    for (std::size_t k = 0; k < results.size(); ++k) {
      set(node.outputs[k], results[k]);
      memory_.give(node.outputs[k], results[k]);
    }
    return end;
  }

  std::vector<OpenValue> run_loop(const Segment& segment, const OpenNode& node) {
    const auto carried = static_cast<std::size_t>(node.numbers[0]);
    std::vector<OpenValue> state = find_all(node.inputs, 1);
    std::vector<std::vector<OpenValue>> rows(node.outputs.size() - carried);
    const std::int64_t rounds = rounds_of(net_, node, values_, world_);
    for (std::int64_t round = 0; round < rounds && memory_.is_right(); ++round) {
      world_.rounds.push_back(round);
      std::vector<OpenValue> given{single(Elements::whole, round, world_),
                                   single(Elements::truth, 1, world_)};
      given.insert(given.end(), state.begin(), state.end());
      std::vector<OpenValue> results = run_body(segment, node.bodies[0], given);
      for (std::size_t k = 0; k < carried; ++k) state[k] = results[1 + k];
      for (std::size_t k = 0; k < rows.size(); ++k) {
        rows[k].push_back(results[1 + carried + k]);
        memory_.give_row(node.outputs[carried + k], rows[k].back(), round);
      }
      world_.rounds.pop_back();
    }
    return with_rows(std::move(state), rows, node);
  }

  std::vector<OpenValue> run_scan(const Segment& segment, const OpenNode& node) {
    OpenValue state = find(node.inputs[0]);
    const OpenValue rows = find(node.inputs[1]);
    std::vector<std::vector<OpenValue>> collected(1);
    for (std::int64_t row = 0; row < rows.shape[0] && memory_.is_right(); ++row) {
      world_.rounds.push_back(row);
      memory_.read(node.inputs[1], rows, "a round of " + node.outputs[0]);
      const std::vector<OpenValue> results = run_body(segment, node.bodies[0], {state, row_of(rows, row)});
      state = results[0];
      collected[0].push_back(results[1]);
      memory_.give_row(node.outputs[1], results[1], row);
      world_.rounds.pop_back();
    }
    return with_rows({state}, collected, node);
  }

  /// Rows that were written one by one must still be there at the end.
  std::vector<OpenValue> with_rows(std::vector<OpenValue> state,
                                   const std::vector<std::vector<OpenValue>>& rows, const OpenNode& node) {
    for (const std::vector<OpenValue>& collected : rows) {
      if (!memory_.is_right()) return {};
      const std::string& output = node.outputs[state.size()];
      state.push_back(stacked(collected));
      memory_.read(output, state.back(), "the end of loop " + node.outputs[0]);
    }
    return state;
  }

  std::vector<OpenValue> run_repeat(const Segment& condition, const Segment& body, const OpenNode& node) {
    std::vector<OpenValue> state = find_all(node.inputs, 0);
    for (std::int64_t round = 0; memory_.is_right(); ++round) {
      world_.rounds.push_back(round);
      const std::vector<OpenValue> goes_on = run_body(condition, node.bodies[0], state);
      if ((*goes_on[0].numbers)[0] == 0) break;
      state = run_body(body, node.bodies[1], state);
      world_.rounds.pop_back();
    }
    if (!world_.rounds.empty()) world_.rounds.pop_back();
    return state;
  }

  const OpenNet& net_;
  const Graph& graph_;
  const Plan& plan_;
  World world_;
  OpenMemory memory_;
  OpenValues values_;
  std::map<std::string, const OpenNode*> writers_;
};

}  // namespace

Findings run_open(const OpenNet& net, const Graph& graph, const Plan& plan, const World& world,
                  OpenTally& tally) {
  Findings findings;
  ++tally.runs;
  OpenRunner(net, graph, plan, world, findings, tally).run();
  return findings;
}

}  // namespace stowage::campaign
