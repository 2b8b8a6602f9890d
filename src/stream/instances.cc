// From a network to operators over rows.
//
// Every tensor gets one axis that its rows are along. Operators that move windows say which (the height:
// TFLite has it in dimension 1, ONNX in 2); from there it spreads, backwards to the network's inputs and
// forwards, through operators whose rows are those of their input (a transpose turns the axis, too). Where
// none comes, it is the last axis but one, the rows of a matrix.
//
// An operator then reads rows where its rule maps rows of its output to rows along the input's axis, and
// the whole input otherwise. One without a rule has a single instance.
//
// Cost: operators * operands.

#include "stream/instances.h"

#include <algorithm>

#include "stowage/error.h"
#include "stream/rules.h"

namespace stowage::stream {
namespace {

class Reading {
 public:
  Reading(const Network& network, const InstanceOptions& options)
      : network_(network),
        graph_(network.graph()),
        options_(options),
        axes_(graph_.tensors.size()),
        index_(graph_.tensors.size()) {}

  Model run() {
    refuse_what_is_left_out();
    const stowage::Subgraph& main = graph_.subgraphs[0];
    const auto orders = topological_orders(graph_);
    for (const std::size_t op : orders[0]) {
      if (!main.operators[op].folded) order_.push_back(op);
    }
    choose_axes();
    for (const TensorId t : main.inputs) {
      if (is_variable(t)) add_arrival(t);
    }
    for (const std::size_t op : order_) add_operator(op);
    for (const TensorId t : main.outputs) {
      if (index_[t] && options_.io == Io::arena) model_.tensors[*index_[t]].stays = true;
    }
    return std::move(model_);
  }

 private:
  void refuse_what_is_left_out() const {
    if (graph_.subgraphs.size() != 1)
      throw UsageError("network '" + graph_.name + "' has operators with bodies, which cannot be streamed");
    for (const stowage::Operator& op : graph_.subgraphs[0].operators) {
      for (const auto& operands : {op.inputs, op.outputs}) {
        for (const auto& t : operands) {
          if (t && is_variable(*t) && !graph_.tensors[*t].shape)
            throw UsageError(describe(graph_, *t) + " has no fixed shape, so it cannot be streamed");
        }
      }
    }
  }

  [[nodiscard]] bool is_variable(TensorId t) const {
    const TensorKind kind = graph_.tensors[t].kind;
    return kind == TensorKind::input || kind == TensorKind::output || kind == TensorKind::temporary;
  }

  [[nodiscard]] Site site(std::size_t op) const { return Site(network_, 0, op); }
  [[nodiscard]] const stowage::Operator& operator_at(std::size_t op) const {
    return graph_.subgraphs[0].operators[op];
  }
  [[nodiscard]] const Shape& shape(TensorId t) const { return *graph_.tensors[t].shape; }

  // The axes of rows

  void choose_axes() {
    for (const std::size_t op : order_) choose_window_axis(op);
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) spread_back(*it);
    for (const std::size_t op : order_) spread_forth(op);
    for (TensorId t = 0; t < axes_.size(); ++t) {
      if (!axes_[t]) choose(t, default_axis(t));
    }
  }

  [[nodiscard]] std::size_t default_axis(TensorId t) const {
    const auto& shape = graph_.tensors[t].shape;
    return shape && shape->size() > 1 ? shape->size() - 2 : 0;
  }

  void choose(TensorId t, std::size_t axis) {
    const auto& shape = graph_.tensors[t].shape;
    if (!axes_[t] && shape && axis < shape->size()) axes_[t] = axis;
  }

  void choose_window_axis(std::size_t op) {
    const auto axis = window_axis(site(op));
    if (!axis) return;
    if (operator_at(op).inputs[0]) choose(*operator_at(op).inputs[0], *axis);
    if (operator_at(op).outputs[0]) choose(*operator_at(op).outputs[0], *axis);
  }

  /// To the inputs, from the output.
  void spread_back(std::size_t op) {
    const auto& outputs = operator_at(op).outputs;
    if (outputs.empty() || !outputs[0] || !axes_[*outputs[0]]) return;
    const auto& inputs = operator_at(op).inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i] || !is_variable(*inputs[i])) continue;
      if (const auto map = row_map(site(op), i, *axes_[*outputs[0]])) choose(*inputs[i], map->axis);
    }
  }

  /// To the outputs, from the first input whose axis the output has.
  void spread_forth(std::size_t op) {
    const auto& inputs = operator_at(op).inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i] || !is_variable(*inputs[i])) continue;
      choose(*inputs[i], default_axis(*inputs[i]));
      const std::size_t rank = site(op).output_shape().size();
      for (std::size_t axis = 0; axis < rank; ++axis) {
        const auto map = row_map(site(op), i, axis);
        if (map && axes_[*inputs[i]] == map->axis) choose_outputs(op, axis);
      }
    }
    choose_outputs(op, site(op).output_shape().empty() ? 0 : default_axis(*operator_at(op).outputs[0]));
  }

  void choose_outputs(std::size_t op, std::size_t axis) {
    for (const auto& output : operator_at(op).outputs) {
      if (output) choose(*output, axis);
    }
  }

  // The model

  [[nodiscard]] std::int64_t rows_of(TensorId t) const {
    return axes_[t] ? std::max<std::int64_t>(1, shape(t)[*axes_[t]]) : 1;
  }

  std::size_t add_tensor(TensorId t) {
    const std::int64_t rows = rows_of(t);
    const Bytes bytes = graph_.tensors[t].bytes;
    index_[t] = model_.tensors.size();
    model_.tensors.push_back({.name = graph_.tensors[t].name,
                              .rows = rows,
                              .bytes_per_row = (bytes + rows - 1) / rows,
                              .granule = std::min(options_.granule, rows),
                              .source = t});
    return *index_[t];
  }

  void add_arrival(TensorId t) {
    const std::size_t tensor = add_tensor(t);
    if (options_.io == Io::arena) return;
    model_.operators.push_back({.name = graph_.tensors[t].name,
                                .rows = model_.tensors[tensor].rows,
                                .granule = model_.tensors[tensor].granule,
                                .writes = {tensor}});
  }

  void add_operator(std::size_t op) {
    const stowage::Operator& source = operator_at(op);
    Operator added{.name = source.name.empty() ? source.type : source.name, .source = op};
    for (const auto& output : source.outputs) {
      if (output && is_variable(*output)) added.writes.push_back(add_tensor(*output));
    }
    const auto way = way_of(op);
    if (way == Rowwise::yes) {
      added.rows = model_.tensors[added.writes[0]].rows;
      added.granule = model_.tensors[added.writes[0]].granule;
    } else {
      added.writing = Writing::at_the_end;
    }
    if (way == Rowwise::sums_up) {
      const Tensor& summed = model_.tensors[*index_[*source.inputs[0]]];
      added.rows = summed.rows;
      added.granule = summed.granule;
      added.accumulator = accumulator_of(*source.outputs[0]);
    }
    for (std::size_t i = 0; i < source.inputs.size(); ++i) add_read(op, i, way, added);
    model_.operators.push_back(std::move(added));
  }

  [[nodiscard]] Rowwise way_of(std::size_t op) const {
    const stowage::Operator& source = operator_at(op);
    if (source.outputs.empty() || !source.outputs[0] || !is_variable(*source.outputs[0])) return Rowwise::no;
    const bool has_rows = !source.inputs.empty() && source.inputs[0] && index_[*source.inputs[0]];
    return rowwise(site(op), *axes_[*source.outputs[0]], has_rows ? axes_[*source.inputs[0]] : std::nullopt);
  }

  void add_read(std::size_t op, std::size_t input, Rowwise way, Operator& added) const {
    const auto& t = operator_at(op).inputs[input];
    if (!t || !index_[*t]) return;
    Access access{.scale = 0, .taps = model_.tensors[*index_[*t]].rows};
    if (way == Rowwise::sums_up && input == 0) access = {};
    if (way == Rowwise::yes) {
      const auto map = row_map(site(op), input, *axes_[*operator_at(op).outputs[0]]);
      if (map && map->axis == axes_[*t]) access = map->access;
    }
    access.tensor = *index_[*t];
    added.reads.push_back(access);
  }

  /// Sums of small integers are kept in 32 bits.
  [[nodiscard]] Bytes accumulator_of(TensorId output) const {
    const stowage::Tensor& tensor = graph_.tensors[output];
    const auto bits = bits_of(tensor.dtype).value_or(32);
    return bits >= 32 ? tensor.bytes : tensor.bytes * 32 / bits;
  }

  const Network& network_;
  const Graph& graph_;
  InstanceOptions options_;
  std::vector<std::size_t> order_{};               ///< Operators that run.
  std::vector<std::optional<std::size_t>> axes_;   ///< Of rows, by tensor; none for a single number.
  std::vector<std::optional<std::size_t>> index_;  ///< In the model, by tensor.
  Model model_{};
};

}  // namespace

Model instances_of(const Network& network, const InstanceOptions& options) {
  if (options.granule < 1) throw UsageError("a granule has at least one row");
  return Reading(network, options).run();
}

Model without_rows(const Model& model) {
  Model whole = model;
  for (Tensor& tensor : whole.tensors) tensor.granule = tensor.rows;
  for (Operator& op : whole.operators) {
    op.granule = op.rows;
    op.accumulator = 0;
  }
  return whole;
}

}  // namespace stowage::stream
