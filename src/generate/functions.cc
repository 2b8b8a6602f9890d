// Operators become functions. An If is a function that calls those of its branches:
//
//     static void if_8(uint8_t *const *memory) {
//       if (*(const uint8_t *)stowage_row(memory, &place_4, 0) != 0) {
//         relu_8_1_0(memory);
//       } else {
//         tanh_8_2_0(memory);
//         stowage_copy_runs(...);
//       }
//     }
//
// Operands are copied to a branch's inputs, and its results to the operator's outputs, where the plan has them in two
// places.

#include "generate/functions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "generate/refused.h"
#include "generate/text.h"
#include "kernels/kernels.h"
#include "model/plan_blocks.h"
#include "run/interpreter.h"
#include "run/program.h"
#include "stowage/error.h"

namespace stowage::generate {
namespace {

using kernels::refuse;

/// Rows that one step computes together may be stored as a whole tensor, or row by row.
Function function_for(Sources& sources, StepKind& kind, bool repeats, bool is_extern) {
  if (kind.is_one_step && kind.axis && !repeats && !kind.carry && !kind.is_first_pass) {
    const StepKind as_whole{.op = kind.op, .position = kind.position};
    try {
      Function function = function_of(sources, as_whole, is_extern);
      kind = as_whole;
      return function;
    } catch (const kernels::Unsupported&) {
    }
  }
  return function_of(sources, kind, is_extern);
}

/// Whether a function of the user's can have its operands: C has no resources, for instance.
bool has_c_operands(const Graph& graph, const Operator& op) {
  const auto has_type = [&](const std::optional<TensorId>& operand) {
    return !operand || find_c_type(graph.tensors[*operand].dtype);
  };
  return std::ranges::all_of(op.inputs, has_type) && std::ranges::all_of(op.outputs, has_type);
}

/// Copies values from tensors to others, of which none may be over one that is read after it.
std::string copies_text(Sources& sources, const std::vector<std::pair<TensorId, TensorId>>& copies) {
  const auto place_of = [&](TensorId tensor) { return sources.storage(tensor).whole(); };
  const auto overlap = [](const RowPlace& a, const RowPlace& b) {
    return a.memory == b.memory && a.offset < b.offset + b.pitch && b.offset < a.offset + a.pitch;
  };
  std::string text;
  for (auto copy = copies.begin(); copy != copies.end(); ++copy) {
    const RowPlace to = place_of(copy->second);
    for (auto later = copy + 1; later != copies.end(); ++later)
      if (!sources.is_constant(later->first) && overlap(place_of(later->first), to))
        refuse("a branch hands over values from places that it writes to before that");
    const auto at = [&](TensorId tensor) {
      return sources.is_constant(tensor)
                 ? sources.constant(tensor)
                 : fmt::format("stowage_row(memory, &{}, 0)", sources.place(place_of(tensor), tensor));
    };
    const Bytes bytes = sources.network().graph().tensors[copy->second].bytes;
    const std::string from = at(copy->first), into = at(copy->second);
    if (bytes == 0 || from == into) continue;
    sources.need("stowage_movement");
    text += fmt::format("    stowage_copy_runs({}, 0, {}, 0, {}, 1);\n", from, into, bytes);
  }
  return text;
}

class FunctionWriter {
 public:
  FunctionWriter(Sources& sources, const Schedule& schedule, const std::vector<std::string>& externs)
      : sources_(sources), graph_(sources.network().graph()), schedule_(schedule), externs_(externs) {}

  /// None if it has none, which is noted.
  std::optional<Function> write(StepKind& kind) {
    sources_.move_to(kind.position);
    if (kind.copy) return move_of(sources_, kind);
    const Operator& op = op_of(graph_, kind);
    const bool is_extern = std::ranges::find(externs_, op.type) != externs_.end();
    try {
      if (run::is_control_flow(op)) return write_branches(kind, op);
      const bool repeats = kind.subgraph == 0 && schedule_.repeats.contains(kind.op);
      return function_for(sources_, kind, repeats, is_extern);
    } catch (const Misplaced& misplaced) {
      note(kind, misplaced.reason);
    } catch (const kernels::Unsupported& unsupported) {
      if (!is_extern && !run::is_control_flow(op) && has_c_operands(graph_, op)) unknown_.insert(op.type);
      note(kind, unsupported.reason);
    }
    return std::nullopt;
  }

  void expect_all() const {
    if (refused_.empty()) return;
    std::string all = obstacles_;
    if (!unknown_.empty())
      all +=
          fmt::format("\nto write their functions yourself: --extern {}", fmt::join(unknown_, " --extern "));
    if (is_streamed(sources_.plan()))
      all += "\nto run them as wholes: plan without --stream, or with --stream=OP,OP for others";
    const Error error("", fmt::format("has {} operator{} for which no C is generated:{}", refused_.size(),
                                      refused_.size() == 1 ? "" : "s", all));
    if (by_rows_.empty() || model::has_blocks(sources_.plan())) throw error;
    throw RowsRefused(error, {by_rows_.begin(), by_rows_.end()});
  }

 private:
  void note(const StepKind& kind, const std::string& reason) {
    if (kind.axis && kind.subgraph == 0) by_rows_.insert(kind.op);
    if (refused_.emplace(kind.subgraph, kind.op).second)
      obstacles_ += fmt::format("\n  {}: {}", describe(graph_, kind.subgraph, kind.op), reason);
  }

  Function write_branches(StepKind& kind, const Operator& op) {
    if (op.type != "If" && op.type != "IF") refuse("it runs a body, for which no C is generated");
    const std::string obstacle = run::obstacle_to_control_flow(graph_, op);
    if (!obstacle.empty()) refuse("{}", obstacle);
    kind.bodies.resize(op.bodies.size());
    Function function{.name = function_name(op, number_of(sources_, kind))};
    const std::string condition = condition_of(*op.inputs.at(0));
    std::string text = fmt::format("static void {}(uint8_t *const *memory) {{\n", function.name);
    for (std::size_t b = 0; b < op.bodies.size(); ++b) {
      const std::string branch = branch_text(kind, op, b, function.callees);
      text += b > 0                   ? "  } else {\n"
              : op.bodies.size() == 1 ? "  {\n"
                                      : fmt::format("  if ({}) {{\n", condition);
      text += branch;
    }
    function.text = text + "  }\n}\n";
    return function;
  }

  std::string condition_of(TensorId tensor) {
    if (sources_.is_constant(tensor)) return fmt::format("*{} != 0", sources_.constant(tensor));
    const RowPlace place = sources_.storage(tensor).whole();
    return fmt::format("*(const uint8_t *)stowage_row(memory, &{}, 0) != 0", sources_.place(place, tensor));
  }

  /// The calls of a branch between copies; the functions that it calls become definitions.
  std::string branch_text(StepKind& kind, const Operator& op, std::size_t b, std::string& definitions) {
    const Subgraph& body = graph_.subgraphs[op.bodies[b]];
    std::vector<StepKind>& steps = kind.bodies[b];
    std::vector<std::pair<TensorId, TensorId>> taken, given;
    for (std::size_t i = 1; i < op.inputs.size(); ++i)
      if (op.inputs[i]) taken.emplace_back(*op.inputs[i], body.inputs.at(taken.size()));
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
      if (op.outputs[i]) given.emplace_back(body.outputs.at(i), *op.outputs[i]);
    sources_.move_to(steps.empty() ? kind.position : steps.front().position);
    std::string text = copies_text(sources_, taken);
    for (StepKind& step : steps) {
      const auto function = write(step);
      if (!function) continue;
      definitions += function->callees + comment_of(graph_, step) + definition_of(*function) + "\n";
      text += fmt::format("    {}(memory);\n", function->name);
    }
    sources_.move_to(steps.empty() ? kind.position : steps.back().position);
    return text + copies_text(sources_, given);
  }

  Sources& sources_;
  const Graph& graph_;
  const Schedule& schedule_;
  const std::vector<std::string>& externs_;
  std::set<std::string> unknown_{};
  std::set<std::pair<std::size_t, std::size_t>> refused_{};  // an operator may run in two passes
  std::set<std::size_t> by_rows_{};                          // of these
  std::string obstacles_{};
};

}  // namespace

std::vector<Function> functions_for(Sources& sources, Schedule& schedule,
                                    const std::vector<std::string>& externs) {
  FunctionWriter writer(sources, schedule, externs);
  std::vector<Function> functions;
  for (StepKind& kind : schedule.operators)
    if (auto function = writer.write(kind)) functions.push_back(*std::move(function));
  writer.expect_all();
  return functions;
}

}  // namespace stowage::generate
