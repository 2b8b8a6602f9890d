// Which axis of each tensor its rows are along.
//
// Few axes are chosen, all others follow: along an operator that keeps rows apart, the axis of its output
// gives those of its inputs, and vice versa (a transpose turns the axis, too).
//
//     1. chosen axes, and all that follows from them in both directions
//     2. operators that move windows choose: the height of an image, or its width if it has one row only
//     3. from there backward to the network's inputs, then forward
//     4. where no axis arrives: the last but one, the rows of a matrix, or one before it that has more than one row
//
// The batch of one of an input does not spread: what is made of it may have rows along another axis. Where several axes
// of an operator follow, one of several rows goes before one of a single row.
//
// A tensor without rows along any axis, such as a single number, is passed as a whole.
//
// Cost: operators * operands.

#include "stream/axes.h"

#include <algorithm>

namespace stowage::stream {
namespace {

class Spreading {
 public:
  explicit Spreading(const Graph& graph)
      : graph_(graph), axes_(graph.tensors.size()), near_(graph.tensors.size()) {
    const auto orders = topological_orders(graph);
    for (const std::size_t op : orders[0]) {
      if (!operator_at(op).folded) order_.push_back(op);
    }
    for (const std::size_t op : order_) {
      for (const auto& operands : {operator_at(op).inputs, operator_at(op).outputs}) {
        for (const auto& t : operands) {
          if (t && (near_[*t].empty() || near_[*t].back() != op)) near_[*t].push_back(op);
        }
      }
    }
  }

  Axes run(const ChosenAxes& chosen) {
    for (const auto& [tensor, axis] : chosen) choose(tensor, axis);
    follow();
    for (const std::size_t op : order_) choose_window_axis(op);
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) spread_back(*it);
    for (const std::size_t op : order_) spread_forth(op);
    for (TensorId t = 0; t < axes_.size(); ++t) choose(t, default_axis(t));
    return std::move(axes_);
  }

 private:
  [[nodiscard]] const stowage::Operator& operator_at(std::size_t op) const {
    return graph_.subgraphs[0].operators[op];
  }

  [[nodiscard]] bool is_passed_on(TensorId t) const { return stream::is_passed_on(graph_.tensors[t].kind); }

  [[nodiscard]] std::size_t rank_of(TensorId t) const {
    const auto& shape = graph_.tensors[t].shape;
    return shape ? shape->size() : 0;
  }

  /// The last but one, or one before it if that has a single row; none if all have.
  [[nodiscard]] std::optional<std::size_t> axis_of_several(TensorId t) const {
    const std::size_t rank = rank_of(t);
    for (std::size_t axis = rank > 1 ? rank - 1 : rank; axis-- > 0;)
      if ((*graph_.tensors[t].shape)[axis] > 1 && bytes_of_row(graph_.tensors[t], axis)) return axis;
    return std::nullopt;
  }

  /// That, or the last but one, or the first axis with rows.
  [[nodiscard]] std::size_t default_axis(TensorId t) const {
    const std::size_t rank = rank_of(t);
    const std::size_t last_but_one = rank > 1 ? rank - 2 : 0;
    if (const auto several = axis_of_several(t)) return *several;
    if (bytes_of_row(graph_.tensors[t], last_but_one)) return last_but_one;
    std::size_t first = 0;
    while (first < rank && !bytes_of_row(graph_.tensors[t], first)) ++first;
    return first;
  }

  void choose(TensorId t, std::size_t axis) {
    if (axes_[t] || !bytes_of_row(graph_.tensors[t], axis)) return;
    axes_[t] = axis;
    new_.push_back(t);
  }

  void choose_outputs(std::size_t op, std::size_t axis) {
    for (const auto& output : operator_at(op).outputs) {
      if (output) choose(*output, axis);
    }
  }

  /// Spreads new axes to all operators next to them, in both directions.
  void follow() {
    while (!new_.empty()) {
      const TensorId t = new_.back();
      new_.pop_back();
      if (!is_passed_on(t)) continue;
      for (const std::size_t op : near_[t]) {
        const auto& outputs = operator_at(op).outputs;
        if (std::ranges::find(outputs, std::optional(t)) != outputs.end()) {
          choose_outputs(op, *axes_[t]);
          spread_back(op);
        } else {
          spread_from(op, t);
        }
      }
    }
  }

  void choose_window_axis(std::size_t op) {
    const stowage::Operator& source = operator_at(op);
    const RowAxis* best = nullptr;
    for (const RowAxis& along : source.row_axes) {
      if (!along.is_windows) continue;
      const RowRead read = data_read(along);
      const Shape shape = graph_.tensors[*source.inputs[read.input]].shape.value_or(Shape{});
      const bool has_more = read.axis < shape.size() && shape[read.axis] > 1;
      if (best == nullptr || has_more) best = &along;
      if (has_more) break;
    }
    if (best == nullptr) return;
    choose(*source.outputs[0], best->axis);
    const RowRead read = data_read(*best);
    choose(*source.inputs[read.input], read.axis);
  }

  /// The rows that windows move over. An operator that reads no rows sums over all of its first input.
  static RowRead data_read(const RowAxis& along) {
    return along.reads.empty() ? RowRead{.input = 0, .axis = along.axis} : along.reads[0];
  }

  /// Spreads the axis from the output to the inputs.
  void spread_back(std::size_t op) {
    const auto& outputs = operator_at(op).outputs;
    if (outputs.empty() || !outputs[0] || !axes_[*outputs[0]]) return;
    const std::size_t axis = *axes_[*outputs[0]];
    if (const CarriedAxis* const carried = carried_axis(operator_at(op), axis))
      choose(*operator_at(op).inputs[0], carried->input_axis);
    const RowAxis* const along = row_axis(operator_at(op), axis);
    if (along == nullptr) return;
    for (const RowRead& read : along->reads) choose(*operator_at(op).inputs[read.input], read.axis);
  }

  /// Spreads the axis of an input to the outputs that have it, along an axis of one row if there is no other.
  void spread_from(std::size_t op, TensorId t) {
    const stowage::Operator& source = operator_at(op);
    for (const bool has_one : {false, true}) {
      for (const RowAxis& along : source.row_axes) {
        if (has_one != ((*graph_.tensors[*source.outputs[0]].shape)[along.axis] == 1)) continue;
        for (const RowRead& read : along.reads) {
          if (source.inputs[read.input] == t && axes_[t] == read.axis) choose_outputs(op, along.axis);
        }
      }
    }
    for (const CarriedAxis& along : source.carries) {
      if (source.inputs[0] == t && axes_[t] == along.input_axis) choose(*source.outputs[0], along.axis);
    }
  }

  /// Spreads the axis to the outputs, from the first input whose axis they have.
  void spread_forth(std::size_t op) {
    for (const auto& input : operator_at(op).inputs) {
      if (!input || !is_passed_on(*input)) continue;
      if (const auto axis = axis_of_several(*input)) choose(*input, *axis);
      spread_from(op, *input);
    }
    if (operator_at(op).outputs.empty() || !operator_at(op).outputs[0]) return;
    if (const auto axis = axis_of_several(*operator_at(op).outputs[0])) choose_outputs(op, *axis);
  }

  const Graph& graph_;
  Axes axes_;
  std::vector<std::size_t> order_{};              ///< Operators that run.
  std::vector<std::vector<std::size_t>> near_{};  ///< By tensor: operators that read or write it.
  std::vector<TensorId> new_{};                   ///< Axes that were not spread yet.
};

}  // namespace

bool is_passed_on(TensorKind kind) {
  return kind == TensorKind::input || kind == TensorKind::output || kind == TensorKind::temporary;
}

Axes axes_of(const Graph& graph, const ChosenAxes& chosen) { return Spreading(graph).run(chosen); }

}  // namespace stowage::stream
