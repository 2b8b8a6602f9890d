// Operators that run bodies. Their operands keep their places until the last body is done, so values are
// passed by copies: operands to a body's inputs before it runs, its results to the next round's inputs or to
// the operator's outputs after it, unless a result already is where the output lies. All results of a round are read before any is written, because a body may
// return one of its inputs in another place.
// Source: the ONNX operator specification (If, Loop, Scan), and TFLite's IF, WHILE and CALL_ONCE.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "run/interpreter.h"
#include "stowage/error.h"

namespace stowage::run {
namespace {

/// The position of the last step of a body, which may be in a body of its own.
Position last_position(const std::vector<Call>& calls) {
  Position last = calls.back().at;
  for (const std::vector<Call>& body : calls.back().bodies) {
    if (!body.empty()) last = last_position(body);
  }
  return last;
}

std::vector<TensorId> present(const std::vector<std::optional<TensorId>>& operands, std::size_t from) {
  std::vector<TensorId> tensors;
  for (std::size_t i = from; i < operands.size(); ++i) {
    if (operands[i]) tensors.push_back(*operands[i]);
  }
  return tensors;
}

std::vector<TensorId> first(const std::vector<TensorId>& tensors, std::size_t count) {
  return {tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(std::min(count, tensors.size()))};
}

class ControlFlow {
 public:
  ControlFlow(Interpreter& interpreter, const Call& call, const std::string& who)
      : interpreter_(interpreter), call_(call), op_(interpreter.program().op(call)), who_(who) {}

  void run() {
    if (op_.type == "If" || op_.type == "IF") {
      run_branch();
    } else if (op_.type == "Loop") {
      run_loop();
    } else if (op_.type == "Scan") {
      run_scan();
    } else if (op_.type == "WHILE") {
      run_while();
    } else {
      run_body(0);  // CALL_ONCE
    }
  }

 private:
  [[nodiscard]] const Subgraph& body(std::size_t b) const {
    return interpreter_.graph().subgraphs[op_.bodies[b]];
  }

  void run_body(std::size_t b) {
    interpreter_.run(call_.bodies[b]);
    interpreter_.resume(who_);
  }

  /// Copies operands to a body's inputs, whose places begin now.
  void enter(std::size_t b, const std::vector<TensorId>& operands, const std::vector<TensorId>& inputs) {
    interpreter_.enter(op_.bodies[b]);
    interpreter_.copy_all(operands, inputs);
  }

  /// Bodies have run, up to this one: outputs have their places at its last step.
  void finish(std::size_t b) {
    if (!call_.bodies[b].empty()) interpreter_.move_to(last_position(call_.bodies[b]));
  }

  /// Copies results to the operator's outputs; outputs may be omitted.
  void hand_over(const std::vector<TensorId>& results) {
    std::vector<TensorId> from;
    std::vector<TensorId> to;
    for (std::size_t i = 0; i < std::min(results.size(), op_.outputs.size()); ++i) {
      if (!op_.outputs[i]) continue;
      from.push_back(results[i]);
      to.push_back(*op_.outputs[i]);
    }
    interpreter_.copy_all(from, to);
  }

  void run_branch() {
    const bool condition = interpreter_.scalar(*op_.inputs[0]) != 0;
    const std::size_t chosen = condition || op_.bodies.size() == 1 ? 0 : 1;
    if (!call_.bodies[chosen].empty()) interpreter_.move_to(call_.bodies[chosen].front().at);
    enter(chosen, present(op_.inputs, 1), body(chosen).inputs);
    run_body(chosen);
    finish(chosen);
    hand_over(body(chosen).outputs);
  }

  /// Inputs: most rounds, condition, carried values. Inputs of the body: round, condition, carried values.
  /// Its results: condition, carried values, collected values.
  void run_loop() {
    constexpr std::size_t first_carried = 2;
    const std::int64_t most =
        op_.inputs[0] ? interpreter_.scalar(*op_.inputs[0]) : std::numeric_limits<std::int64_t>::max();
    bool goes_on = op_.inputs.size() < 2 || !op_.inputs[1] || interpreter_.scalar(*op_.inputs[1]) != 0;
    const std::vector<TensorId>& inputs = body(0).inputs;
    const std::vector<TensorId> carried(inputs.begin() + first_carried, inputs.end());
    const std::vector<TensorId> results = body(0).outputs;
    const std::vector<TensorId> next(results.begin() + 1,
                                     results.begin() + 1 + static_cast<std::ptrdiff_t>(carried.size()));
    enter(0, present(op_.inputs, first_carried), carried);
    std::int64_t round = 0;
    for (; round < most && goes_on; ++round) {
      interpreter_.set_scalar(inputs[0], round);
      interpreter_.set_scalar(inputs[1], 1);
      run_body(0);
      goes_on = interpreter_.scalar(results[0]) != 0;
      for (std::size_t i = 1 + carried.size(); i < results.size(); ++i) collect(results[i], i - 1, round);
      interpreter_.copy_all(next, carried);
    }
    expect_collected(carried.size(), round);
    finish(0);
    hand_over(carried);
  }

  /// Inputs: carried values, and those of which each round gets a part. The body has as many inputs. Its results: carried
  /// values, collected values.
  void run_scan() {
    const Scanning scan = scanning_of(interpreter_.graph(), op_, interpreter_.program().attributes(call_));
    const std::vector<TensorId>& inputs = body(0).inputs;
    const std::vector<TensorId> operands = present(op_.inputs, 0);
    const std::vector<TensorId> carried = first(inputs, scan.carried);
    const std::vector<TensorId> results = body(0).outputs;
    interpreter_.enter(op_.bodies[0]);
    interpreter_.copy_all(first(operands, scan.carried), carried);
    for (std::int64_t round = 0; round < scan.rounds; ++round) {
      const auto place = [&](bool is_backward) { return is_backward ? scan.rounds - 1 - round : round; };
      for (std::size_t i = scan.carried; i < inputs.size(); ++i)
        interpreter_.copy_part(operands[i],
                               place(scan.is_backward[i]) * interpreter_.graph().tensors[inputs[i]].bytes,
                               inputs[i]);
      run_body(0);
      for (std::size_t i = scan.carried; i < results.size(); ++i)
        collect(results[i], i, place(scan.is_collected_backward[i]));
      interpreter_.copy_all(first(results, scan.carried), carried);
    }
    hand_over(scan.rounds == 0 ? first(operands, scan.carried) : carried);
  }

  [[nodiscard]] std::int64_t rounds_of(TensorId all, TensorId one) const {
    const Bytes size = interpreter_.graph().tensors[one].bytes;
    return size == 0 ? std::numeric_limits<std::int64_t>::max()
                     : interpreter_.graph().tensors[all].bytes / size;
  }

  void collect(TensorId result, std::size_t output, std::int64_t round) {
    if (output >= op_.outputs.size() || !op_.outputs[output]) return;
    const TensorId all = *op_.outputs[output];
    const Bytes size = interpreter_.graph().tensors[result].bytes;
    if (round >= rounds_of(all, result))
      throw Error(who_, fmt::format("runs more than {} rounds, the size of {}", rounds_of(all, result),
                                    describe(interpreter_.graph(), all)));
    interpreter_.copy(result, all, size == 0 ? 0 : round * size);
  }

  void expect_collected(std::size_t carried, std::int64_t rounds) const {
    for (std::size_t i = 1 + carried; i < body(0).outputs.size(); ++i) {
      if (i - 1 >= op_.outputs.size() || !op_.outputs[i - 1]) continue;
      const TensorId all = *op_.outputs[i - 1];
      const Bytes size = interpreter_.graph().tensors[body(0).outputs[i]].bytes;
      if (rounds * size != interpreter_.graph().tensors[all].bytes)
        throw Error(who_, fmt::format("ended after {} rounds, expected as many as {} has room for", rounds,
                                      describe(interpreter_.graph(), all)));
    }
  }

  /// The first body decides whether to continue, the second runs; both get the carried values.
  void run_while() {
    std::vector<TensorId> values = present(op_.inputs, 0);
    enter(0, values, body(0).inputs);
    enter(1, values, body(1).inputs);
    for (;;) {
      run_body(0);
      if (interpreter_.scalar(body(0).outputs.at(0)) == 0) break;
      run_body(1);
      const std::vector<TensorId> results = body(1).outputs;
      interpreter_.copy_all(results, body(0).inputs);
      interpreter_.copy_all(body(0).inputs, body(1).inputs);
    }
    finish(0);
    finish(1);
    hand_over(body(0).inputs);
  }

  Interpreter& interpreter_;
  const Call& call_;
  const Operator& op_;
  const std::string& who_;
};

/// The reason why values cannot be copied from some tensors to others; empty if they can.
std::string mismatch(const Graph& graph, const std::vector<TensorId>& from, const std::vector<TensorId>& to) {
  if (from.size() != to.size())
    return fmt::format("{} values are handed over, expected {}", from.size(), to.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Tensor& a = graph.tensors[from[i]];
    const Tensor& b = graph.tensors[to[i]];
    if (a.bytes != b.bytes || a.dtype != b.dtype)
      return fmt::format("{} has {} bytes, {} has {}", describe(graph, from[i]), a.bytes,
                         describe(graph, to[i]), b.bytes);
  }
  return "";
}

bool is_scalar(const Graph& graph, TensorId tensor, DType dtype) {
  return graph.tensors[tensor].dtype == dtype && graph.tensors[tensor].bytes == bytes_of(dtype, {});
}

bool is_condition(const Operator& op, std::size_t input, const Graph& graph) {
  return input < op.inputs.size() && op.inputs[input] && is_scalar(graph, *op.inputs[input], DType::boolean);
}

std::string obstacle_to_branches(const Graph& graph, const Operator& op) {
  if (!is_condition(op, 0, graph)) return "its condition is not one boolean";
  if (op.type == "If" && op.bodies.size() != 2) return "it has no two branches";
  for (const std::size_t b : op.bodies) {
    const Subgraph& body = graph.subgraphs[b];
    std::string problem = mismatch(graph, present(op.inputs, 1), body.inputs);
    if (!problem.empty()) return problem;
    if (body.outputs.size() != op.outputs.size()) return "a branch has another number of results";
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      if (!op.outputs[i]) continue;
      problem = mismatch(graph, {body.outputs[i]}, {*op.outputs[i]});
      if (!problem.empty()) return problem;
    }
  }
  return "";
}

std::string obstacle_to_loop(const Graph& graph, const Operator& op) {
  const Subgraph& body = graph.subgraphs[op.bodies[0]];
  const std::vector<TensorId> initial = present(op.inputs, 2);
  if (op.bodies.size() != 1 || op.inputs.empty() || body.inputs.size() != initial.size() + 2 ||
      body.outputs.size() < initial.size() + 1)
    return "its body has another number of inputs or results than it needs";
  if (op.inputs[0] && !is_scalar(graph, *op.inputs[0], DType::int64))
    return "its trip count is not one int64";
  const bool has_condition = op.inputs.size() > 1 && op.inputs[1];
  if (has_condition && !is_condition(op, 1, graph)) return "its condition is not one boolean";
  if (!is_scalar(graph, body.inputs[0], DType::int64) || !is_scalar(graph, body.inputs[1], DType::boolean) ||
      !is_scalar(graph, body.outputs[0], DType::boolean))
    return "its body's round is not one int64, or its condition not one boolean";
  const std::vector<TensorId> carried(body.inputs.begin() + 2, body.inputs.end());
  const std::vector<TensorId> next(body.outputs.begin() + 1,
                                   body.outputs.begin() + 1 + static_cast<std::ptrdiff_t>(initial.size()));
  for (const auto* from : {&initial, &next}) {
    std::string problem = mismatch(graph, *from, carried);
    if (!problem.empty()) return problem;
  }
  for (std::size_t i = 0; i < std::min(op.outputs.size(), carried.size()); ++i) {
    if (!op.outputs[i]) continue;
    std::string problem = mismatch(graph, {carried[i]}, {*op.outputs[i]});
    if (!problem.empty()) return problem;
  }
  return "";
}

std::string obstacle_to_scan(const Graph& graph, const Operator& op, const Attributes& attributes) {
  const std::vector<TensorId> operands = present(op.inputs, 0);
  const auto scanned = attributes.integer("num_scan_inputs", 0);
  if (op.bodies.size() != 1 || scanned < 1 || operands.size() != op.inputs.size() ||
      static_cast<std::size_t>(scanned) > operands.size())
    return "it has no body, or scans no inputs";
  for (const std::string_view axes : {"scan_input_axes", "scan_output_axes"})
    for (const std::int64_t axis : attributes.integers(axes, {}))
      if (axis != 0) return fmt::format("it goes along axis {}, expected 0", axis);
  const TensorId rows = operands[operands.size() - static_cast<std::size_t>(scanned)];
  if (!graph.tensors[rows].shape)
    return fmt::format("the shape of {} depends on data", describe(graph, rows));
  const Scanning scan = scanning_of(graph, op, attributes);
  const Subgraph& body = graph.subgraphs[op.bodies[0]];
  if (body.inputs.size() != operands.size() || body.outputs.size() < scan.carried ||
      body.outputs.size() != op.outputs.size())
    return "its body has another number of inputs or results than it needs";
  const std::vector<TensorId> carried = first(body.inputs, scan.carried);
  for (const auto& from : {first(operands, scan.carried), first(body.outputs, scan.carried)}) {
    std::string problem = mismatch(graph, from, carried);
    if (!problem.empty()) return problem;
  }
  const auto expect_parts = [&](TensorId all, TensorId one) -> std::string {
    const Tensor& whole = graph.tensors[all];
    const Tensor& part = graph.tensors[one];
    const auto bytes = base::checked_multiply(part.bytes, scan.rounds);
    if (whole.dtype == part.dtype && whole.bytes == bytes) return "";
    return fmt::format("{} has {} bytes, expected {} times {} of {}", describe(graph, all), whole.bytes,
                       scan.rounds, part.bytes, describe(graph, one));
  };
  for (std::size_t i = scan.carried; i < operands.size(); ++i) {
    std::string problem = expect_parts(operands[i], body.inputs[i]);
    if (!problem.empty()) return problem;
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!op.outputs[i]) continue;
    std::string problem = i < scan.carried ? mismatch(graph, {carried[i]}, {*op.outputs[i]})
                                           : expect_parts(*op.outputs[i], body.outputs[i]);
    if (!problem.empty()) return problem;
  }
  return "";
}

std::string obstacle_to_while(const Graph& graph, const Operator& op) {
  if (op.bodies.size() != 2) return "it has no condition and body";
  const Subgraph& condition = graph.subgraphs[op.bodies[0]];
  const Subgraph& body = graph.subgraphs[op.bodies[1]];
  if (op.bodies[0] == op.bodies[1]) return "its condition and body are one subgraph";
  if (condition.outputs.size() != 1 || !is_scalar(graph, condition.outputs[0], DType::boolean))
    return "its condition is not one boolean";
  const std::vector<TensorId> values = present(op.inputs, 0);
  for (const auto* to : {&condition.inputs, &body.inputs, &body.outputs}) {
    std::string problem = mismatch(graph, values, *to);
    if (!problem.empty()) return problem;
  }
  const std::vector<TensorId> results = present(op.outputs, 0);
  return mismatch(graph, first(values, results.size()), results);
}

}  // namespace

void run_control_flow(Interpreter& interpreter, const Call& call, const std::string& who) {
  ControlFlow(interpreter, call, who).run();
}

Scanning scanning_of(const Graph& graph, const Operator& op, const Attributes& attributes) {
  const auto scanned = static_cast<std::size_t>(attributes.integer("num_scan_inputs", 0));
  Scanning scan{.carried = op.inputs.size() - scanned,
                .is_backward = std::vector<bool>(op.inputs.size()),
                .is_collected_backward = std::vector<bool>(op.outputs.size())};
  const auto take = [&](std::string_view name, std::vector<bool>& into) {
    const std::vector<std::int64_t> directions = attributes.integers(name, {});
    for (std::size_t i = 0; i < directions.size() && scan.carried + i < into.size(); ++i)
      into[scan.carried + i] = directions[i] != 0;
  };
  take("scan_input_directions", scan.is_backward);
  take("scan_output_directions", scan.is_collected_backward);
  const Shape& shape = *graph.tensors[*op.inputs[scan.carried]].shape;
  scan.rounds = shape.empty() ? 0 : shape[0];
  return scan;
}

std::string obstacle_to_control_flow(const Graph& graph, const Operator& op, const Attributes& attributes) {
  if (op.type == "If" || op.type == "IF") return obstacle_to_branches(graph, op);
  if (op.type == "Loop") return obstacle_to_loop(graph, op);
  if (op.type == "Scan") return obstacle_to_scan(graph, op, attributes);
  if (op.type == "WHILE") return obstacle_to_while(graph, op);
  if (op.type == "CALL_ONCE") return op.bodies.size() == 1 ? "" : "it has no body";
  return fmt::format("there is no kernel for {}", op.type);
}

}  // namespace stowage::run
