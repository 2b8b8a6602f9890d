// Each subgraph becomes a storage (schedule/storage.h). Its parts are values: the operator that
// computes a part writes it, and the readers of any tensor with that part read it. An operator with bodies
// reads what they read from outside. While it runs, it needs their memory, so bodies are ordered first.
//
//     If          own bytes = the largest need of a body; tensors that only bodies read may be gone by then
//     Loop        the same, but the inputs of all bodies are held all the time
//     results     that bodies make in place are part of what these need, and not counted twice
//     scratch     own bytes
//     state       always held
//
// Besides the graph's dependences, some operators keep their order: those that touch the same state, in any
// body, and those with effects outside. An operator that reads an old state (an input tied to an output) runs
// before its replacement, if it does so in the graph's own order.

#include "plan/order_model.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <set>
#include <unordered_map>
#include <utility>

#include "alias/results.h"
#include "base/checked.h"
#include "model/ties.h"
#include "operators/facts.h"

namespace stowage::plan {

using lifetime::Residence;
using schedule::Storage;
using schedule::Value;

/// Makes the storage of one subgraph.
class OrderModels::Maker {
 public:
  Maker(const OrderModels& models, std::size_t subgraph)
      : models_(models),
        subgraph_(subgraph),
        operators_(models.graph_.subgraphs[subgraph].operators),
        numbers_(operators_.size()) {}

  OrderModel take(const std::vector<Bytes>& peaks) {
    for (std::size_t o = 0; o < operators_.size(); ++o) {
      if (operators_[o].folded) continue;
      numbers_[o] = model_.operators.size();
      model_.operators.push_back(o);
    }
    for (const std::size_t o : models_.orders_[subgraph_]) {
      if (numbers_[o]) model_.own.push_back(*numbers_[o]);
    }
    Storage& storage = model_.storage;
    storage.waits_for.resize(model_.operators.size());
    storage.own.reserve(model_.operators.size());
    for (const std::size_t o : model_.operators) add_operator(o, peaks);
    std::ranges::sort(reads_);
    std::ranges::sort(writes_);
    for (const std::size_t reader : model_.own) wait_for_order(reader);
    add_ties();
    add_values();
    for (const std::size_t o : model_.operators) {
      if (operators_[o].body_use == BodyUse::once) add_captures(o);
      if (models_.options_.may_overwrite) add_overwrites(o);
    }
    storage = normalized(std::move(storage));
    const bool has_bodies = std::any_of(operators_.begin(), operators_.end(),
                                        [](const Operator& op) { return !op.bodies.empty(); });
    if (has_bodies) storage.first = 0;  // needed at one position, not while bodies run
    return std::move(model_);
  }

 private:
  using Pair = std::pair<std::size_t, std::size_t>;
  using Pairs = std::vector<Pair>;

  [[nodiscard]] bool is_here(TensorId tensor) const {
    return models_.owners_[tensor] == subgraph_ && models_.residences_[tensor] == Residence::arena;
  }

  [[nodiscard]] std::set<TensorId> read_by(const Operator& op) const {
    std::set<TensorId> read;
    for (const auto& input : op.inputs) {
      if (input) read.insert(*input);
    }
    for (const std::size_t body : op.bodies)
      read.insert(models_.captures_[body].begin(), models_.captures_[body].end());
    return read;
  }

  void add_operator(std::size_t o, const std::vector<Bytes>& peaks) {
    const Operator& op = operators_[o];
    const std::size_t number = *numbers_[o];
    Bytes own = models_.need_of_bodies(op, peaks);
    for (const TensorId scratch : op.scratch)
      own += base::align_up(models_.graph_.tensors[scratch].bytes, models_.options_.alignment);
    model_.storage.own.push_back(own);
    for (const TensorId tensor : read_by(op)) reads_.emplace_back(tensor, number);
    for (const auto& output : op.outputs) {
      if (output) writes_.emplace_back(*output, number);
    }
    for (const std::size_t earlier : op.after) {
      if (numbers_[earlier]) model_.storage.waits_for[number].push_back(*numbers_[earlier]);
    }
  }

  /// An operator waits for the writers of its inputs, and for earlier operators that touch the same state.
  void wait_for_order(std::size_t number) {
    const Operator& op = operators_[model_.operators[number]];
    auto& waits_for = model_.storage.waits_for[number];
    const std::set<TensorId> read = read_by(op);
    for (const TensorId tensor : read) {
      if (const auto writer = writer_of(tensor)) waits_for.push_back(*writer);
    }
    for (const TensorId tensor : models_.touched_by(op)) {
      const auto [last, is_first] = last_to_touch_.emplace(tensor, number);
      if (!is_first) waits_for.push_back(std::exchange(last->second, number));
    }
  }

  [[nodiscard]] std::optional<std::size_t> writer_of(TensorId tensor) const {
    return number_paired_with(tensor, writes_);
  }

  [[nodiscard]] auto readers_of(TensorId tensor) const {
    return std::ranges::equal_range(reads_, tensor, {}, &Pair::first) | std::views::values;
  }

  [[nodiscard]] static std::optional<std::size_t> number_paired_with(std::size_t key, const Pairs& sorted) {
    const auto it = std::ranges::lower_bound(sorted, key, {}, &Pair::first);
    return it == sorted.end() || it->first != key ? std::nullopt : std::optional(it->second);
  }

  void add_ties() {
    std::vector<std::size_t> positions(model_.own.size());
    for (std::size_t at = 0; at < model_.own.size(); ++at) positions[model_.own[at]] = at;
    for (const StateTie& tie : model::ties_in_place(models_.graph_)) {
      const auto writer = writer_of(tie.output);
      if (!writer) continue;
      for (const std::size_t reader : readers_of(tie.input)) {
        if (positions[reader] < positions[*writer]) model_.storage.waits_for[*writer].push_back(reader);
      }
    }
  }

  void add_values() {
    const auto& outputs = models_.graph_.subgraphs[subgraph_].outputs;
    const auto& inputs = models_.graph_.subgraphs[subgraph_].inputs;
    const std::set<TensorId> wanted_inputs(inputs.begin(), inputs.end());
    const std::set<TensorId> results(outputs.begin(), outputs.end());
    const auto& parts = models_.parts_of_subgraph_[subgraph_];
    values_of_part_.reserve(parts.size());
    model_.storage.values.reserve(parts.size());
    for (const std::size_t p : parts) {
      const Part& part = models_.parts_.parts[p];
      const auto writer = writer_of(part.source);
      if (!writer && !wanted_inputs.contains(part.source)) continue;  // scratch
      Value value{.size = part.size, .writer = writer};
      for (const TensorId tensor : part.tensors) {
        std::ranges::copy(readers_of(tensor), std::back_inserter(value.readers));
        value.kept = value.kept || results.contains(tensor) ||
                     (models_.is_repeated_[subgraph_] && wanted_inputs.contains(tensor));
      }
      values_of_part_.emplace_back(p, model_.storage.values.size());
      model_.storage.values.push_back(std::move(value));
    }
    if (subgraph_ == 0) model_.storage.always = bytes_of_states();
  }

  [[nodiscard]] Bytes bytes_of_states() const {
    Bytes bytes = 0;
    const auto add = [&](TensorId tensor) {
      bytes += base::align_up(model::bytes_of_variable(models_.graph_, tensor), models_.options_.alignment);
    };
    std::set<TensorId> kept;
    for (TensorId t = 0; t < models_.graph_.tensors.size(); ++t) {
      if (models_.is_state(t) && models_.options_.keeps_state) kept.insert(t);
    }
    for (const StateTie& tie : models_.graph_.ties) kept.insert(tie.input);
    std::ranges::for_each(kept, add);
    return bytes;
  }

  /// A tensor that bodies read from outside is gone after its last reader, maybe before the bodies need most.
  /// So it counts as written over.
  void add_captures(std::size_t o) {
    const Operator& op = operators_[o];
    std::set<TensorId> captured;
    for (const std::size_t body : op.bodies)
      captured.insert(models_.captures_[body].begin(), models_.captures_[body].end());
    for (const auto& input : op.inputs) {
      if (input) captured.erase(*input);
    }
    schedule::Overwrite overwrite{.op = *numbers_[o]};
    for (const TensorId tensor : captured) add_values_of(tensor, overwrite);
    if (!overwrite.values.empty()) model_.storage.overwrites.push_back(std::move(overwrite));
  }

  void add_values_of(TensorId tensor, schedule::Overwrite& overwrite) const {
    for (const std::size_t part : models_.parts_.of_tensor[tensor]) {
      if (const auto value = number_paired_with(part, values_of_part_)) overwrite.values.push_back(*value);
    }
  }

  void add_overwrites(std::size_t o) {
    const Operator& op = operators_[o];
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const auto output = in_place_output(models_.graph_, op, i);
      if (!output || !may_overwrite(op, *op.inputs[i], *output)) continue;
      schedule::Overwrite overwrite{.op = *numbers_[o]};
      add_values_of(*op.inputs[i], overwrite);
      model_.storage.overwrites.push_back(std::move(overwrite));
    }
  }

  [[nodiscard]] bool may_overwrite(const Operator& op, TensorId input, TensorId output) const {
    if (!is_here(input) || !is_here(output) || models_.outlives_readers_[input]) return false;
    if (!models_.parts_.is_computed[output]) return false;  // it repeats what it would be written over
    return operators::may_write_over(models_.graph_, op, input, output);
  }

  const OrderModels& models_;
  std::size_t subgraph_;
  const std::vector<Operator>& operators_;
  std::vector<std::optional<std::size_t>> numbers_;  ///< Per operator of the subgraph, in the storage.
  // Sorted, so that they take little memory where there are many.
  Pairs reads_;   ///< Tensors and those that read them.
  Pairs writes_;  ///< Tensors and who writes them.
  Pairs values_of_part_;
  std::unordered_map<TensorId, std::size_t> last_to_touch_;  ///< Of state.
  OrderModel model_;
};

OrderModels::OrderModels(const Graph& graph, std::vector<Residence> residences, const Parts& parts,
                         const OrderModelOptions& options)
    : graph_(graph),
      residences_(std::move(residences)),
      parts_(parts),
      options_(options),
      orders_(topological_orders(graph)),
      captures_(captures_of(graph)),
      owners_(owners_of(graph)),
      is_repeated_(graph.subgraphs.size(), false),
      outlives_readers_(graph.tensors.size(), false),
      parts_of_subgraph_(graph.subgraphs.size()),
      states_(graph.subgraphs.size()) {
  for (const Subgraph& subgraph : graph.subgraphs) {
    for (const TensorId tensor : subgraph.outputs) outlives_readers_[tensor] = true;
    for (const Operator& op : subgraph.operators) {
      if (op.body_use == BodyUse::once) continue;
      for (const std::size_t body : op.bodies) {
        is_repeated_[body] = true;
        for (const TensorId tensor : graph.subgraphs[body].inputs) outlives_readers_[tensor] = true;
      }
    }
  }
  for (std::size_t p = 0; p < parts.parts.size(); ++p) {
    if (const auto owner = owners_[parts.parts[p].source]) parts_of_subgraph_[*owner].push_back(p);
  }
}

bool OrderModels::is_state(TensorId tensor) const { return graph_.tensors[tensor].kind == TensorKind::state; }

std::set<TensorId> OrderModels::touched_by(const Operator& op) const {
  std::set<TensorId> touched;
  for (const auto* operands : {&op.inputs, &op.outputs}) {
    for (const auto& tensor : *operands) {
      if (tensor && is_state(*tensor)) touched.insert(*tensor);
    }
  }
  if (op.stateful) touched.insert(graph_.tensors.size());
  for (const std::size_t body : op.bodies) touched.insert(states_[body].begin(), states_[body].end());
  return touched;
}

OrderModel OrderModels::model_of(std::size_t subgraph, const std::vector<Bytes>& peaks) {
  for (const Operator& op : graph_.subgraphs[subgraph].operators) states_[subgraph].merge(touched_by(op));
  return Maker(*this, subgraph).take(peaks);
}

Bytes OrderModels::planned_inputs_of(std::size_t subgraph) const {
  const auto& inputs = graph_.subgraphs[subgraph].inputs;
  const std::set<TensorId> unique(inputs.begin(), inputs.end());
  Bytes bytes = 0;
  for (const TensorId tensor : unique) {
    if (residences_[tensor] != Residence::arena) continue;
    for (const std::size_t part : parts_.of_tensor[tensor]) bytes += parts_.parts[part].size;
  }
  return bytes;
}

Bytes OrderModels::need_of_bodies(const Operator& op, const std::vector<Bytes>& peaks) const {
  Bytes inputs = 0;
  Bytes most = 0;
  std::vector<Bytes> in_place(op.bodies.size(), 0);  // outputs that count as written by the operator
  if (options_.may_overwrite && !op.bodies.empty()) {
    for (const operators::Result& it : alias::results_made_in_bodies(graph_, owners_, residences_, op)) {
      for (const std::size_t part : parts_.of_tensor[it.to]) in_place[it.body] += parts_.parts[part].size;
    }
  }
  const bool repeats = op.body_use == BodyUse::repeated;
  for (std::size_t b = 0; b < op.bodies.size(); ++b) {
    const std::size_t body = op.bodies[b];
    const Bytes held = is_repeated_[body] ? planned_inputs_of(body) : 0;  // part of its peak, all the time
    if (repeats) inputs += held;
    most = std::max(most, peaks[body] - held - (repeats ? 0 : in_place[b]));
  }
  return std::max<Bytes>(inputs + most - (repeats && !in_place.empty() ? in_place[0] : 0), 0);
}

}  // namespace stowage::plan
