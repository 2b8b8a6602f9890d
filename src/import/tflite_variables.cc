// A network keeps numbers from run to run in variables, to which it has handles:
//
//     CALL_ONCE: VAR_HANDLE "seen" -> h; ASSIGN_VARIABLE h, zeros
//     VAR_HANDLE "seen" -> h; READ_VARIABLE h -> old; CONCATENATION old, new -> all; ...; ASSIGN_VARIABLE h, last
//
// Here the tensor of the handle becomes the variable: state, as operators with variables of their own have it.
// CALL_ONCE gives its first value, which every new session begins with.
//
// Cost: linear in the operators.

#include "import/tflite_variables.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "import/flatbuffer.h"

namespace stowage::import {
namespace {

using Name = std::pair<std::string, std::string>;  // of the container and of the variable

class Variables {
 public:
  Variables(const tflite::Model& model, const Graph& graph) : model_(model), graph_(graph) {}

  /// Finds the state for each variable of the main subgraph; false if one cannot be state.
  bool find() {
    for (std::size_t s = 0; s < graph_.subgraphs.size(); ++s)
      for (std::size_t o = 0; o < graph_.subgraphs[s].operators.size(); ++o)
        if (!find_handle(s, o)) return false;
    if (handles_.empty() || !find_first_values()) return false;
    for (std::size_t s = 0; s < graph_.subgraphs.size(); ++s)
      if (!uses_fit(s)) return false;
    return true;
  }

  /// To be called once they are found.
  FirstValues join(Graph& graph) const {
    FirstValues first_values;
    for (Operator& op : graph.subgraphs[0].operators) {
      if (op.type == "VAR_HANDLE" || op.type == "CALL_ONCE") {
        op.folded = true;
        op.stateful = false;
        op.outputs.clear();
        op.bodies.clear();
      } else if (is_use(op)) {
        const Name& name = handles_.at(*op.inputs[0]);
        const TensorId state = states_.at(name);
        Tensor& tensor = graph.tensors[state];
        const Tensor& value = graph.tensors[first_values_.at(name)];
        tensor.kind = TensorKind::state;
        tensor.dtype = value.dtype;
        tensor.shape = value.shape;
        tensor.bytes = value.bytes;
        op.inputs[0] = state;
        first_values[state] = first_values_.at(name);
      }
    }
    return first_values;
  }

 private:
  static bool is_use(const Operator& op) {
    return op.type == "READ_VARIABLE" || op.type == "ASSIGN_VARIABLE";
  }

  bool find_handle(std::size_t s, std::size_t o) {
    const Operator& op = graph_.subgraphs[s].operators[o];
    if (op.type != "VAR_HANDLE") return true;
    const auto* const options =
        at(at(model_.subgraphs(), s).operators(), o).builtin_options_as_VarHandleOptions();
    if (options == nullptr || !op.inputs.empty() || op.outputs.size() != 1 || !op.outputs[0]) return false;
    const Name name{text(options->container()), text(options->shared_name())};
    handles_.emplace(*op.outputs[0], name);
    if (s == 0) states_.emplace(name, *op.outputs[0]);
    return true;
  }

  /// CALL_ONCE comes before all uses, and only assigns constants.
  bool find_first_values() {
    bool is_used = false;
    for (const Operator& op : graph_.subgraphs[0].operators) {
      is_used = is_used || is_use(op);
      if (op.type != "CALL_ONCE") continue;
      if (is_used || op.bodies.size() != 1 || !op.inputs.empty() || !op.outputs.empty()) return false;
      once_.push_back(op.bodies[0]);
      for (const Operator& own : graph_.subgraphs[op.bodies[0]].operators) {
        if (own.type == "VAR_HANDLE") continue;
        if (own.type != "ASSIGN_VARIABLE" || !has_operands(own)) return false;
        if (graph_.tensors[*own.inputs[1]].kind != TensorKind::weight) return false;
        first_values_[handles_.at(*own.inputs[0])] = *own.inputs[1];
      }
    }
    return true;
  }

  /// A handle, and for an assignment its value.
  [[nodiscard]] bool has_operands(const Operator& op) const {
    const bool assigns = op.type == "ASSIGN_VARIABLE";
    return op.inputs.size() == (assigns ? 2U : 1U) && op.outputs.size() == (assigns ? 0U : 1U) &&
           std::ranges::all_of(op.inputs, [](const auto& input) { return input.has_value(); }) &&
           (assigns || op.outputs[0]) && handles_.contains(*op.inputs[0]);
  }

  /// What is read or assigned is as its first value.
  [[nodiscard]] bool is_of_variable(TensorId variable, TensorId value) const {
    const auto first = first_values_.find(handles_.at(variable));
    if (first == first_values_.end() || !states_.contains(first->first)) return false;
    const Tensor& a = graph_.tensors[first->second];
    const Tensor& b = graph_.tensors[value];
    return a.dtype == b.dtype && a.shape == b.shape && a.bytes == b.bytes;
  }

  [[nodiscard]] bool uses_fit(std::size_t s) const {
    const Subgraph& subgraph = graph_.subgraphs[s];
    const auto is_handle = [&](const std::optional<TensorId>& it) { return it && handles_.contains(*it); };
    if (std::ranges::any_of(subgraph.inputs, is_handle) || std::ranges::any_of(subgraph.outputs, is_handle))
      return false;
    const bool is_once = std::ranges::find(once_, s) != once_.end();
    for (const Operator& op : subgraph.operators) {
      if (is_use(op)) {
        if (!has_operands(op) || is_handle(op.inputs.back()) != (op.type == "READ_VARIABLE")) return false;
        if (s != 0 && !is_once) return false;
        const TensorId value = op.outputs.empty() ? *op.inputs[1] : *op.outputs[0];
        if (s == 0 && !is_of_variable(*op.inputs[0], value)) return false;
      } else if (std::ranges::any_of(op.inputs, is_handle)) {
        return false;
      }
      const bool runs_once = std::ranges::any_of(
          op.bodies, [&](std::size_t body) { return std::ranges::find(once_, body) != once_.end(); });
      if (runs_once && (s != 0 || op.type != "CALL_ONCE")) return false;
    }
    return true;
  }

  const tflite::Model& model_;
  const Graph& graph_;
  std::unordered_map<TensorId, Name> handles_{};
  std::map<Name, TensorId> states_{};        ///< The first handle in the main subgraph.
  std::map<Name, TensorId> first_values_{};  ///< The last constant that CALL_ONCE assigns.
  std::vector<std::size_t> once_{};          ///< Subgraphs that CALL_ONCE runs.
};

}  // namespace

FirstValues join_variables(const tflite::Model& model, Graph& graph) {
  Variables variables(model, graph);
  return variables.find() ? variables.join(graph) : FirstValues{};
}

}  // namespace stowage::import
