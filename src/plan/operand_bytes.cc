// Which bytes a step reads and writes. An operator as a whole reads and writes whole tensors. One that runs by rows reads
// the rows that its row rule names, each where the plan has it at that time:
//
//     conv, rows 2..3     reads rows 1..4 of x     x: rows 0..2 in buffer 4, rows 2..4 in buffer 5
//                         writes row 2 of y        y: a ring
//
// Rows of a tensor that is whole in memory may be strided: all bytes from the first to the last count. Steps of blocks are
// steps of the network of blocks (model/plan_blocks.h).
//
// Cost: operands of all steps, times the rows and the views of these rows.

#include "plan/operand_bytes.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include "model/clock_tree.h"
#include "model/plan_blocks.h"
#include "stowage/graph.h"

namespace stowage::plan {
namespace {

using Rows = std::pair<std::int64_t, std::int64_t>;  ///< Rows [begin, end).

/// A tensor of a step, or rows of it.
struct Touched {
  TensorId tensor = 0;
  std::optional<RowRange> rows{};  ///< None: all of it.
};

/// The views of a tensor by their first row; those that have all rows come first.
struct ViewsByRow {
  std::vector<const View*> whole{};
  std::vector<const View*> of_rows{};
  std::int64_t most_rows = 0;  ///< Of one of these.
};

std::int64_t extent_of(const Tensor& tensor, std::size_t axis) { return (*tensor.shape)[axis]; }

/// The rows of the input from which rows of the output are computed, as stretches.
std::vector<Rows> rows_read(const RowMap& map, std::int64_t extent, const RowRange& rows) {
  std::vector<std::int64_t> all;
  for (std::int64_t r = rows.begin; r < rows.end; ++r)
    for_each_row(map, extent, r, [&](std::int64_t row) { all.push_back(row); });
  std::ranges::sort(all);
  std::vector<Rows> stretches;
  for (const std::int64_t row : all) {
    if (!stretches.empty() && row <= stretches.back().second) {
      stretches.back().second = row + 1;
    } else {
      stretches.emplace_back(row, row + 1);
    }
  }
  return stretches;
}

/// The tensors, or rows of them, that a step reads and writes.
class Operands {
 public:
  Operands(const Graph& graph, const Operator& op, const Run& run) : graph_(graph), op_(op), run_(run) {}

  std::vector<Touched> all() {
    if (!run_.rows) {
      read_whole(0);
      write_whole(0);
    } else if (run_.part) {
      add_part();
    } else if (run_.sums) {
      add_sums();
    } else if (const CarriedAxis* const along = carried_axis(op_, run_.rows->axis)) {
      read_first(along->input_axis);
      read_whole(1);
      write(0);
      write_whole(1);
    } else {
      add_rows(*row_axis(op_, run_.rows->axis));
    }
    return std::move(all_);
  }

 private:
  void add(const std::optional<TensorId>& tensor, std::optional<RowRange> rows) {
    if (tensor) all_.push_back({*tensor, rows});
  }
  void read_whole(std::size_t from) {
    for (std::size_t i = from; i < op_.inputs.size(); ++i) add(op_.inputs[i], std::nullopt);
  }
  void write_whole(std::size_t from) {
    for (std::size_t i = from; i < op_.outputs.size(); ++i) add(op_.outputs[i], std::nullopt);
  }
  void write(std::size_t output) { add(op_.outputs[output], run_.rows); }
  void read_first(std::size_t axis) { add(op_.inputs[0], RowRange{axis, run_.rows->begin, run_.rows->end}); }

  void add_part() {
    const RowRead& by_rows = row_axis(op_, run_.rows->axis)->reads[0];
    for (std::size_t i = 0; i < op_.inputs.size(); ++i) {
      const RowRange part{by_rows.axis, run_.part->begin, run_.part->end};
      add(op_.inputs[i], i == by_rows.input ? std::optional(part) : std::nullopt);
    }
    write(0);
  }

  /// The first pass of an operator that reads twice only reads its first input. Others write when they have read all.
  void add_sums() {
    read_first(run_.rows->axis);
    if (!can_sum_up(op_, run_.rows->axis)) return;
    read_whole(1);
    if (run_.rows->end == extent_of(graph_.tensors[*op_.inputs[0]], run_.rows->axis)) write_whole(0);
  }

  void add_rows(const RowAxis& along) {
    for (std::size_t i = 0; i < op_.inputs.size(); ++i) {
      const RowRead* const read = op_.inputs[i] ? row_read(along, i) : nullptr;
      if (read == nullptr) {
        add(op_.inputs[i], std::nullopt);
        continue;
      }
      const std::int64_t extent = extent_of(graph_.tensors[*op_.inputs[i]], read->axis);
      for (const auto& [begin, end] : rows_read(read->rows, extent, *run_.rows))
        add(op_.inputs[i], RowRange{read->axis, begin, end});
    }
    for (std::size_t i = 0; i < op_.outputs.size(); ++i) write(i);
  }

  const Graph& graph_;
  const Operator& op_;
  const Run& run_;
  std::vector<Touched> all_;
};

class Finder {
 public:
  Finder(const Plan& plan, std::vector<const Graph*> graphs)
      : plan_(plan), graphs_(std::move(graphs)), tree_(plan.clocks), first_(plan.models.size()) {
    for (std::size_t t = plan.tensors.size(); t-- > 0;) first_[plan.tensors[t].model] = t;
    for (const PlannedTensor& tensor : plan.tensors) views_.push_back(by_row(tensor));
  }

  std::vector<std::vector<OperandParts>> run() {
    std::vector<std::vector<OperandParts>> steps;
    for (std::size_t clock = 0; clock < plan_.clocks.size(); ++clock) {
      for (std::size_t at = 0; at < plan_.clocks[clock].steps.size(); ++at) {
        const auto* const run = std::get_if<Run>(&plan_.clocks[clock].steps[at]);
        if (run == nullptr) continue;
        now_ = {clock, {static_cast<Position>(at), static_cast<Position>(at) + 1}};
        steps.push_back(operands_of(*run));
      }
    }
    return steps;
  }

 private:
  static ViewsByRow by_row(const PlannedTensor& tensor) {
    ViewsByRow views;
    for (const View& view : tensor.views) {
      if (!view.rows) {
        views.whole.push_back(&view);
        continue;
      }
      views.of_rows.push_back(&view);
      views.most_rows = std::max(views.most_rows, view.rows->end - view.rows->begin);
    }
    std::ranges::stable_sort(views.of_rows, {}, [](const View* it) { return it->rows->begin; });
    return views;
  }

  std::vector<OperandParts> operands_of(const Run& run) {
    const Graph& graph = *graphs_[run.model];
    const std::size_t depth = run.path.size();
    const Operator& op = graph.subgraphs[run.path[depth - 2]].operators[run.path[depth - 1]];
    std::map<TensorId, OperandParts> by_tensor;
    for (const Touched& touched : Operands(graph, op, run).all()) {
      if (!is_constant(graph.tensors[touched.tensor].kind))
        add_parts(touched, first_[run.model] + touched.tensor, by_tensor[touched.tensor]);
    }
    std::vector<OperandParts> operands;
    for (auto& [tensor, parts] : by_tensor) {
      if (!parts.empty()) operands.push_back(joined(std::move(parts)));
    }
    if (run.sums) operands.push_back({{run.sums->buffer, run.sums->offset, bytes_of_sums(graph, op, run)}});
    if (run.carry) {
      const Bytes bytes = carried_axis(op, run.rows->axis)->carried;
      operands.push_back({{run.carry->buffer, run.carry->offset, bytes}});
    }
    return operands;
  }

  static Bytes bytes_of_sums(const Graph& graph, const Operator& op, const Run& run) {
    if (can_sum_up(op, run.rows->axis)) return stowage::bytes_of_sums(graph.tensors[*op.outputs[0]]);
    return summed_first(op, run.rows->axis)->carried;
  }

  /// What of it the plan has in buffers. If several views have a row, the one in the fastest memory counts.
  void add_parts(const Touched& touched, std::size_t tensor, OperandParts& parts) const {
    const Tensor& it = plan_.tensors[tensor].tensor;
    if (it.bytes == 0) return;
    const ViewsByRow& views = views_[tensor];
    if (views.of_rows.empty()) {
      if (const View* const view = fastest(views.whole)) add_rows(*view, it, touched.rows, parts);
      return;
    }
    const std::size_t axis = views.of_rows[0]->rows->axis;
    const bool has_rows = touched.rows && touched.rows->axis == axis;
    const Rows all{0, extent_of(it, axis)};
    for (auto [row, end] = has_rows ? Rows{touched.rows->begin, touched.rows->end} : all; row < end;) {
      const View* const view = view_of_row(views, row);
      if (view == nullptr) {
        ++row;
        continue;
      }
      const std::int64_t behind = view->rows ? std::min(end, view->rows->end) : end;
      add_rows(*view, it, RowRange{axis, row, behind}, parts);
      row = behind;
    }
  }

  [[nodiscard]] const View* view_of_row(const ViewsByRow& views, std::int64_t row) const {
    std::vector<const View*> having = views.whole;
    auto it = std::ranges::upper_bound(views.of_rows, row - views.most_rows, {},
                                       [](const View* view) { return view->rows->begin; });
    for (; it != views.of_rows.end() && (*it)->rows->begin <= row; ++it) {
      if (row < (*it)->rows->end) having.push_back(*it);
    }
    return fastest(having);
  }

  /// Of those that live during the step, or up to it, if the step writes over them.
  [[nodiscard]] const View* fastest(const std::vector<const View*>& views) const {
    const View* best = nullptr;
    bool is_best_live = false;
    for (const View* const view : views) {
      const auto now = tree_.seen_from(plan_.buffers[view->buffer].clock, now_);
      if (!now || view->life.lower > now->lower || view->life.upper < now->lower) continue;
      const bool is_live = view->life.upper > now->lower;
      const auto memory = [&](const View* it) { return plan_.places[it->buffer].memory; };
      if (best != nullptr && std::pair(is_live, memory(best)) <= std::pair(is_best_live, memory(view)))
        continue;
      best = view;
      is_best_live = is_live;
    }
    return best;
  }

  /// Where the view has these rows; all of them if there are none, or if it has rows along another axis.
  static void add_rows(const View& view, const Tensor& tensor, const std::optional<RowRange>& rows,
                       OperandParts& parts) {
    const std::size_t axis = view.ring   ? view.ring->axis
                             : view.rows ? view.rows->axis
                             : rows      ? rows->axis
                                         : 0;
    const auto row = rows || view.ring || view.rows ? bytes_of_row(tensor, axis) : std::nullopt;
    if (!row) {
      parts.push_back({view.buffer, view.offset, tensor.bytes});
      return;
    }
    const bool has_all = !rows || rows->axis != axis;
    const Rows all = view.rows ? Rows{view.rows->begin, view.rows->end} : Rows{0, extent_of(tensor, axis)};
    const Rows some = has_all ? all : Rows{rows->begin, rows->end};
    if (view.ring) {
      add_rows_of_ring(view, *row, some, parts);
    } else if (view.rows) {
      const auto [begin, end] = some;
      parts.push_back({view.buffer, view.offset + (begin - view.rows->begin) * *row, (end - begin) * *row});
    } else {
      parts.push_back(strided(view, tensor, axis, some));
    }
  }

  static void add_rows_of_ring(const View& view, Bytes row, Rows rows, OperandParts& parts) {
    const Ring& ring = *view.ring;
    for (auto [begin, end] = rows; begin < end;) {
      const std::int64_t block = begin / ring.granule;
      const std::int64_t behind = std::min(end, (block + 1) * ring.granule);
      const std::int64_t at = block % ring.count * ring.granule + begin % ring.granule;
      parts.push_back({view.buffer, view.offset + at * row, (behind - begin) * row});
      begin = behind;
    }
  }

  /// In row-major order a row is as many runs of bytes as there are indices before its axis.
  static OperandBytes strided(const View& view, const Tensor& tensor, std::size_t axis, Rows rows) {
    const Shape& shape = *tensor.shape;
    const std::int64_t runs =
        std::accumulate(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis), std::int64_t{1},
                        std::multiplies<>());
    const Bytes stride = tensor.bytes / runs;
    const Bytes row = stride / shape[axis];
    return {view.buffer, view.offset + rows.first * row,
            (runs - 1) * stride + (rows.second - rows.first) * row};
  }

  /// Parts that touch or overlap are one.
  static OperandParts joined(OperandParts parts) {
    std::ranges::sort(parts, {}, [](const OperandBytes& it) { return std::pair(it.buffer, it.offset); });
    OperandParts result;
    for (const OperandBytes& part : parts) {
      const bool goes_on = !result.empty() && result.back().buffer == part.buffer &&
                           part.offset <= result.back().offset + result.back().bytes;
      if (goes_on) {
        OperandBytes& last = result.back();
        last.bytes = std::max(last.bytes, part.offset + part.bytes - last.offset);
      } else {
        result.push_back(part);
      }
    }
    return result;
  }

  const Plan& plan_;
  std::vector<const Graph*> graphs_;
  model::ClockTree tree_;
  std::vector<std::size_t> first_;  ///< Of each model: its first tensor.
  std::vector<ViewsByRow> views_;   ///< Of each tensor.
  model::Stretch now_{};            ///< The step.
};

}  // namespace

std::vector<std::vector<OperandParts>> operands_of(Plan plan, std::span<const Input> inputs) {
  std::vector<const Graph*> graphs;
  std::deque<Graph> of_blocks;
  for (std::size_t m = 0; m < inputs.size(); ++m) {
    const Graph& graph = std::get<Graph>(inputs[m].content);
    graphs.push_back(&graph);
    if (!model::has_blocks(plan, m)) continue;
    std::vector<std::size_t> places;
    for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
      if (plan.tensors[t].model == m) places.push_back(t);
    }
    const model::SplitNetwork network =
        model::split(graph, model::splits_of(plan, m, graph), model::input_blocks_of(plan, places));
    plan = model::plan_of_blocks(plan, m, network, places);
    graphs.back() = &of_blocks.emplace_back(model::stored(network));
  }
  return Finder(plan, std::move(graphs)).run();
}

}  // namespace stowage::plan
