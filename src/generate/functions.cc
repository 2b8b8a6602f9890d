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
// A Loop or WHILE is a loop around such calls. Operands are copied to a body's inputs, and its results to the next
// round's inputs or the operator's outputs, where the plan has them in two places.

#include "generate/functions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "generate/refused.h"
#include "generate/text.h"
#include "kernels/kernels.h"
#include "model/plan_blocks.h"
#include "run/interpreter.h"
#include "run/program.h"
#include "run/refusals.h"
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

/// Copies values from tensors to others, of which none may be over one that is read after it.
std::string copies_text(Sources& sources, const std::vector<std::pair<TensorId, TensorId>>& copies,
                        std::string_view indent) {
  const auto place_of = [&](TensorId tensor) { return sources.storage(tensor).whole(); };
  const auto overlap = [](const RowPlace& a, const RowPlace& b) {
    return a.memory == b.memory && a.offset < b.offset + b.pitch && b.offset < a.offset + a.pitch;
  };
  std::string text;
  for (auto copy = copies.begin(); copy != copies.end(); ++copy) {
    const RowPlace to = place_of(copy->second);
    const auto at = [&](TensorId tensor) {
      return sources.is_constant(tensor)
                 ? sources.constant(tensor)
                 : fmt::format("stowage_row(memory, &{}, 0)", sources.place(place_of(tensor), tensor));
    };
    const Bytes bytes = sources.network().graph().tensors[copy->second].bytes;
    const std::string from = at(copy->first), into = at(copy->second);
    if (bytes == 0 || from == into) continue;
    for (auto later = copy + 1; later != copies.end(); ++later)
      if (!sources.is_constant(later->first) && overlap(place_of(later->first), to))
        refuse("a branch hands over values from places that it writes to before that");
    sources.need("stowage_movement");
    text += fmt::format("{}stowage_copy_runs({}, 0, {}, 0, {}, 1);\n", indent, from, into, bytes);
  }
  return text;
}

class FunctionWriter {
 public:
  FunctionWriter(Sources& sources, const Schedule& schedule, const std::vector<std::string>& externs)
      : sources_(sources), graph_(sources.network().graph()), schedule_(schedule), externs_(externs) {}

  /// None if it has none, which is noted.
  std::optional<Function> write(StepKind& kind) {
    const bool has_one_position = !kind.axis || kind.is_one_step;
    sources_.move_to(has_one_position ? std::optional(kind.position) : std::nullopt);
    if (kind.copy) return move_of(sources_, kind);
    const Operator& op = op_of(graph_, kind);
    const bool is_extern = std::ranges::find(externs_, op.type) != externs_.end();
    try {
      if (run::is_control_flow(op)) return write_bodies(kind, op);
      const bool repeats = kind.subgraph == 0 && schedule_.repeats.contains(kind.op);
      return function_for(sources_, kind, repeats, is_extern);
    } catch (const Misplaced& misplaced) {
      note(kind, misplaced.reason);
    } catch (const kernels::Unsupported& unsupported) {
      if (!is_extern && !run::is_control_flow(op)) refusals_.allow_function(graph_, op);
      note(kind, unsupported.reason);
    }
    return std::nullopt;
  }

  void expect_all() const {
    if (refusals_.is_empty()) return;
    std::string all = refusals_.words("for which no C is generated", "");
    if (is_streamed(sources_.plan()))
      all +=
          "\nto run them as wholes: plan without --stream, or with --stream=OP,OP for others; --layout ring "
          "may help, too";
    const Error error("", all);
    if (by_rows_.empty() || model::has_blocks(sources_.plan())) throw error;
    throw RowsRefused(error, {by_rows_.begin(), by_rows_.end()});
  }

 private:
  void note(const StepKind& kind, const std::string& reason) {
    if (kind.axis && kind.subgraph == 0) by_rows_.insert(kind.op);
    refusals_.add(graph_, kind.subgraph, kind.op, reason);
  }

  using Copies = std::vector<std::pair<TensorId, TensorId>>;
  static constexpr std::string_view outer = "  ";  // indents
  static constexpr std::string_view inner = "    ";

  Function write_bodies(StepKind& kind, const Operator& op) {
    const bool is_loop = op.type == "Loop", is_while = op.type == "WHILE", is_scan = op.type == "Scan";
    if (!is_loop && !is_while && !is_scan && op.type != "If" && op.type != "IF")
      refuse("it runs a body, for which no C is generated");
    const Attributes& attributes = sources_.network().details.at(kind.subgraph).at(kind.op).attributes;
    const std::string obstacle = run::obstacle_to_control_flow(graph_, op, attributes);
    if (!obstacle.empty()) refuse("{}", obstacle);
    kind.bodies.resize(op.bodies.size());
    Function function{.name = function_name(op, number_of(sources_, kind))};
    std::string& callees = function.callees;
    function.text =
        fmt::format("static void {}(uint8_t *const *memory) {{\n{}}}\n", function.name,
                    is_loop    ? loop_text(kind, op, callees)
                    : is_while ? while_text(kind, op, callees)
                    : is_scan  ? scan_text(kind, op, run::scanning_of(graph_, op, attributes), callees)
                               : branches_text(kind, op, callees));
    return function;
  }

  std::string branches_text(StepKind& kind, const Operator& op, std::string& definitions) {
    const std::string condition = condition_of(*op.inputs.at(0));
    std::string text;
    for (std::size_t b = 0; b < op.bodies.size(); ++b) {
      const Subgraph& body = graph_.subgraphs[op.bodies[b]];
      text += b > 0                   ? "  } else {\n"
              : op.bodies.size() == 1 ? "  {\n"
                                      : fmt::format("  if ({}) {{\n", condition);
      text += copies_at(first_position(kind, b), pairs_of(present(op.inputs, 1), body.inputs), inner);
      text += calls_text(kind, b, definitions);
      text += copies_at(last_position(kind, b), results_of(body.outputs, op), inner);
    }
    return text + "  }\n";
  }

  /// Inputs: most rounds, condition, carried values. Inputs of the body: round, condition, carried values. Its results:
  /// condition, carried values.
  std::string loop_text(StepKind& kind, const Operator& op, std::string& definitions) {
    const Subgraph& body = graph_.subgraphs[op.bodies[0]];
    const std::vector<TensorId> first = present(op.inputs, 2);
    const std::vector<TensorId> carried(body.inputs.begin() + 2, body.inputs.end());
    const std::vector<TensorId> next(body.outputs.begin() + 1,
                                     body.outputs.begin() + 1 + static_cast<std::ptrdiff_t>(carried.size()));
    const bool has_condition = op.inputs.size() > 1 && op.inputs[1];
    std::string text = fmt::format("  const int64_t most = {};\n",
                                   op.inputs[0] ? element_of(*op.inputs[0], "int64_t") : "INT64_MAX");
    text += fmt::format("  int goes_on = {};\n  int64_t round;\n",
                        has_condition ? condition_of(*op.inputs[1]) : "1");
    text += copies_at(first_position(kind, 0), pairs_of(first, carried), outer);
    text += "  for (round = 0; round < most && goes_on; round++) {\n";
    text += assignment(body.inputs[0], "int64_t", "round") + assignment(body.inputs[1], "uint8_t", "1");
    text += calls_text(kind, 0, definitions);
    text += fmt::format("    goes_on = {};\n", condition_of(body.outputs[0]));
    for (std::size_t i = carried.size(); i < op.outputs.size(); ++i)
      if (op.outputs[i]) text += collected_text(kind, body.outputs.at(i + 1), *op.outputs[i], "round");
    text += copies_at(last_position(kind, 0), pairs_of(next, carried), inner) + "  }\n";
    return text + copies_at(last_position(kind, 0), results_of(carried, op), outer);
  }

  /// Inputs and inputs of the body: carried values, and those of which each round gets a part. Results: carried values,
  /// and those of which each round makes a part.
  std::string scan_text(StepKind& kind, const Operator& op, const run::Scanning& scan,
                        std::string& definitions) {
    const Subgraph& body = graph_.subgraphs[op.bodies[0]];
    const std::vector<TensorId> operands = present(op.inputs, 0);
    const auto carried_of = [&](const std::vector<TensorId>& all) {
      return std::vector<TensorId>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(scan.carried));
    };
    const std::vector<TensorId> carried = carried_of(body.inputs);
    const auto place = [&](bool is_backward) {
      return is_backward ? fmt::format("{} - round", scan.rounds - 1) : "round";
    };
    std::string text = "  int64_t round;\n";
    text += copies_at(first_position(kind, 0), pairs_of(carried_of(operands), carried), outer);
    text += fmt::format("  for (round = 0; round < {}; round++) {{\n", scan.rounds);
    for (std::size_t i = scan.carried; i < operands.size(); ++i) {
      if (sources_.plan().tensors[body.inputs[i]].views.empty())
        continue;  // no operator of the body reads it
      sources_.move_to(first_position(kind, 0));
      text += part_text(operands[i], body.inputs[i], place(scan.is_backward[i]), true);
    }
    text += calls_text(kind, 0, definitions);
    for (std::size_t i = scan.carried; i < op.outputs.size(); ++i)
      if (op.outputs[i])
        text += collected_text(kind, body.outputs[i], *op.outputs[i], place(scan.is_collected_backward[i]));
    text += copies_at(last_position(kind, 0), pairs_of(carried_of(body.outputs), carried), inner) + "  }\n";
    return text + copies_at(last_position(kind, 0), results_of(carried, op), outer);
  }

  /// Copies part `number` (C) of a tensor to another one, which is as large, or the other way round; not what is out of
  /// it.
  std::string part_text(TensorId all, TensorId one, const std::string& number, bool is_read) {
    constexpr Bytes most_parts = 65535;
    const Bytes bytes = graph_.tensors[one].bytes;
    if (bytes == 0) return "";
    const Bytes parts = graph_.tensors[all].bytes / bytes;
    if (parts > most_parts) refuse("it goes over {} parts, expected at most {}", parts, most_parts);
    const auto at = [&](TensorId tensor) {
      if (sources_.is_constant(tensor))
        return tensor != all
                   ? sources_.constant(tensor)
                   : fmt::format("(const uint8_t *){} + ({}) * {}", sources_.constant(tensor), number, bytes);
      RowPlace place = sources_.storage(tensor).whole();
      if (tensor == all) place.pitch = bytes;
      if (tensor == all) place.rows = place.ring = parts;
      return fmt::format("stowage_row(memory, &{}, {})", sources_.place(place, tensor),
                         tensor == all ? fmt::format("(int32_t)({})", number) : "0");
    };
    sources_.need("stowage_movement");
    const std::string copy = fmt::format("stowage_copy_runs({}, 0, {}, 0, {}, 1);\n", at(is_read ? all : one),
                                         at(is_read ? one : all), bytes);
    return is_read ? "    " + copy : fmt::format("    if (round < {})\n      {}", parts, copy);
  }

  /// A value of each round.
  std::string collected_text(const StepKind& kind, TensorId one, TensorId all, const std::string& number) {
    sources_.move_to(last_position(kind, 0));
    return part_text(all, one, number, false);
  }

  /// The first body decides whether to continue, the second runs; both get the carried values.
  std::string while_text(StepKind& kind, const Operator& op, std::string& definitions) {
    const Subgraph& condition = graph_.subgraphs[op.bodies[0]];
    const Subgraph& body = graph_.subgraphs[op.bodies[1]];
    const std::vector<TensorId> first = present(op.inputs, 0);
    std::string text = copies_at(first_position(kind, 0), pairs_of(first, condition.inputs), outer);
    text += copies_at(first_position(kind, 0), pairs_of(first, body.inputs), outer);
    text += "  for (;;) {\n" + calls_text(kind, 0, definitions);
    text += fmt::format("    if (!({})) break;\n", condition_of(condition.outputs.at(0)));
    text += calls_text(kind, 1, definitions);
    text += copies_at(last_position(kind, 1), pairs_of(body.outputs, condition.inputs), inner);
    text += copies_at(last_position(kind, 1), pairs_of(condition.inputs, body.inputs), inner) + "  }\n";
    return text + copies_at(last_position(kind, 1), results_of(condition.inputs, op), outer);
  }

  static std::vector<TensorId> present(const std::vector<std::optional<TensorId>>& operands,
                                       std::size_t from) {
    std::vector<TensorId> tensors;
    for (std::size_t i = from; i < operands.size(); ++i)
      if (operands[i]) tensors.push_back(*operands[i]);
    return tensors;
  }

  static Copies pairs_of(const std::vector<TensorId>& from, const std::vector<TensorId>& to) {
    Copies copies;
    for (std::size_t i = 0; i < to.size(); ++i) copies.emplace_back(from.at(i), to[i]);
    return copies;
  }

  static Copies results_of(const std::vector<TensorId>& results, const Operator& op) {
    Copies copies;
    for (std::size_t i = 0; i < std::min(results.size(), op.outputs.size()); ++i)
      if (op.outputs[i]) copies.emplace_back(results[i], *op.outputs[i]);
    return copies;
  }

  static Position first_position(const StepKind& kind, std::size_t b) {
    return kind.bodies[b].empty() ? kind.position : kind.bodies[b].front().position;
  }
  static Position last_position(const StepKind& kind, std::size_t b) {
    return kind.bodies[b].empty() ? kind.position : kind.bodies[b].back().position;
  }

  std::string copies_at(Position at, const Copies& copies, std::string_view indent) {
    sources_.move_to(at);
    return copies_text(sources_, copies, indent);
  }

  std::string element_of(TensorId tensor, std::string_view type) {
    if (sources_.is_constant(tensor)) return "*" + sources_.constant(tensor);
    const RowPlace place = sources_.storage(tensor).whole();
    return fmt::format("*(const {} *)stowage_row(memory, &{}, 0)", type, sources_.place(place, tensor));
  }

  /// Nothing if no operator of the body reads it.
  std::string assignment(TensorId tensor, std::string_view type, std::string_view value) {
    if (sources_.plan().tensors[tensor].views.empty()) return "";
    const RowPlace place = sources_.storage(tensor).whole();
    return fmt::format("    *({} *)stowage_row(memory, &{}, 0) = {};\n", type, sources_.place(place, tensor),
                       value);
  }

  std::string condition_of(TensorId tensor) { return element_of(tensor, "uint8_t") + " != 0"; }

  /// The calls of a body; the functions that it calls become definitions.
  std::string calls_text(StepKind& kind, std::size_t b, std::string& definitions) {
    std::string text;
    for (StepKind& step : kind.bodies[b]) {
      const auto function = write(step);
      if (!function) continue;
      if (function->reads_now) misplace("a body reads or writes rows that are in several memories");
      definitions += function->callees + comment_of(graph_, step) + definition_of(*function) + "\n";
      text += fmt::format("    {}(memory);\n", function->name);
    }
    return text;
  }

  Sources& sources_;
  const Graph& graph_;
  const Schedule& schedule_;
  const std::vector<std::string>& externs_;
  run::Refusals refusals_{};
  std::set<std::size_t> by_rows_{};  ///< Operators of these that run by rows.
};

}  // namespace

std::vector<Function> functions_for(Sources& sources, Schedule& schedule,
                                    const std::vector<std::string>& externs) {
  FunctionWriter writer(sources, schedule, externs);
  std::vector<Function> functions;
  functions.resize(schedule.operators.size());
  for (const bool are_copies : {false, true})  // operators say which constants are to be copied
    for (std::size_t i = 0; i < functions.size(); ++i) {
      StepKind& kind = schedule.operators[i];
      if (kind.copy.has_value() != are_copies) continue;
      if (auto function = writer.write(kind)) functions[i] = *std::move(function);
    }
  writer.expect_all();
  return functions;
}

}  // namespace stowage::generate
