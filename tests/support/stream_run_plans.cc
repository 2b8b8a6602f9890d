#include "stream_run_plans.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace stowage::testing {
namespace {

bool is_variable(const Tensor& tensor) {
  return tensor.kind == TensorKind::input || tensor.kind == TensorKind::output ||
         tensor.kind == TensorKind::temporary || tensor.kind == TensorKind::scratch;
}

/// Rows of an operator, of an input that arrives or of an output that leaves.
struct Turn {
  /// `adding`: the first pass of an operator that reads its rows twice; `carried`: rows with a carried buffer.
  enum class Kind : std::uint8_t { whole, rows, sums, adding, carried, arrival, leaving };
  Kind kind = Kind::whole;
  std::size_t of = 0;  ///< The operator or tensor.
  std::size_t axis = 0;
  std::int64_t extent = 1;
  std::int64_t done = 0;
  bool backward = false;  ///< From the last row to the first.
};

/// Rows of one tensor, as they are computed for the first time, or again.
struct Block {
  TensorId tensor = 0;
  std::int64_t index = 0;
  std::int64_t version = 0;
  auto operator<=>(const Block&) const = default;
};

Lifetime all_of(const std::vector<Lifetime>& lives) {
  Lifetime all = lives.at(0);
  for (const Lifetime& own : lives) all = {std::min(all.lower, own.lower), std::max(all.upper, own.upper)};
  return all;
}

class Maker {
 public:
  Maker(const Network& network, const Axes& axes, const StreamedOptions& options)
      : graph_(network.graph()), axes_(axes), options_(options), random_(options.seed.value_or(0)) {}

  Plan make() {
    plan_.models = {{.name = "m", .source = "m", .format = ModelFormat::json}};
    plan_.clocks.resize(1);
    for (const Tensor& tensor : graph_.tensors) plan_.tensors.push_back({.tensor = tensor});
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) written_.emplace_back(rows_of(t), false);
    take_turns();
    make_places();
    place();
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const Operator& op(std::size_t o) const { return graph_.subgraphs[0].operators[o]; }
  [[nodiscard]] std::size_t rows_of(TensorId t) const {
    return axes_[t] ? static_cast<std::size_t>((*graph_.tensors[t].shape)[*axes_[t]]) : 1;
  }
  [[nodiscard]] Position now() const { return static_cast<Position>(plan_.clocks[0].steps.size()); }

  // Steps

  void add_turns() {
    for (const TensorId t : graph_.subgraphs[0].inputs) {
      if (!is_variable(graph_.tensors[t])) continue;
      if (options_.io_by_rows && axes_[t]) {
        turns_.push_back({Turn::Kind::arrival, t, *axes_[t], static_cast<std::int64_t>(rows_of(t))});
      } else {
        for (std::size_t row = 0; row < rows_of(t); ++row) write(t, static_cast<std::int64_t>(row));
      }
    }
    const auto orders = topological_orders(graph_);
    for (const std::size_t o : orders[0]) {
      if (op(o).folded) continue;
      const Turn turn = turn_of(o);
      if (turn.kind == Turn::Kind::carried && carried_axis(op(o), turn.axis)->reads_twice)
        turns_.push_back({Turn::Kind::adding, o, *axes_[*op(o).inputs[0]], turn.extent});
      turns_.push_back(turn);
    }
    for (const TensorId t : graph_.subgraphs[0].outputs) {
      if (options_.io_by_rows && axes_[t] && is_variable(graph_.tensors[t]))
        turns_.push_back({Turn::Kind::leaving, t, *axes_[t], static_cast<std::int64_t>(rows_of(t))});
    }
  }

  [[nodiscard]] Turn turn_of(std::size_t o) const {
    const auto first = op(o).inputs.empty() ? std::nullopt : op(o).inputs[0];
    if (first && axes_[*first] &&
        std::ranges::find(op(o).sums_over, *axes_[*first]) != op(o).sums_over.end() &&
        op(o).outputs.size() == 1)
      return {Turn::Kind::sums, o, *axes_[*first], static_cast<std::int64_t>(rows_of(*first))};
    const auto output = op(o).outputs.at(0);
    const bool has_rows =
        output && axes_[*output] &&
        std::ranges::find(op(o).row_axes, *axes_[*output], &RowAxis::axis) != op(o).row_axes.end();
    const CarriedAxis* const carried =
        output && axes_[*output] ? carried_axis(op(o), *axes_[*output]) : nullptr;
    if (carried != nullptr && first && axes_[*first] == carried->input_axis)
      return {Turn::Kind::carried, o, carried->axis, static_cast<std::int64_t>(rows_of(*output)), 0,
              carried->backward};
    if (!has_rows) return {.of = o};
    const bool is_backward = options_.seed && o % 5 == *options_.seed % 5;
    return {Turn::Kind::rows, o, *axes_[*output], static_cast<std::int64_t>(rows_of(*output)), 0,
            is_backward};
  }

  /// Calls visit(tensor, row) for all rows, along the tensor's own axis, that the next rows of a turn read.
  template <typename Visit>
  void for_reads(const Turn& turn, std::int64_t begin, std::int64_t end, const Visit& visit) const {
    const auto all = [&](TensorId t) {
      for (std::size_t row = 0; row < rows_of(t); ++row) visit(t, static_cast<std::int64_t>(row));
    };
    if (turn.kind == Turn::Kind::arrival) return;
    if (turn.kind == Turn::Kind::leaving) {
      for (std::int64_t row = begin; row < end; ++row) visit(turn.of, row);
      return;
    }
    const Operator& own = op(turn.of);
    for (std::size_t i = 0; i < own.inputs.size(); ++i) {
      if (!own.inputs[i] || !is_variable(graph_.tensors[*own.inputs[i]])) continue;
      const TensorId t = *own.inputs[i];
      const RowRead* read = nullptr;
      if (turn.kind == Turn::Kind::rows) {
        const auto along = std::ranges::find(own.row_axes, turn.axis, &RowAxis::axis);
        const auto found = std::ranges::find(along->reads, i, &RowRead::input);
        if (found != along->reads.end() && found->axis == axes_[t]) read = &*found;
      }
      if (turn.kind == Turn::Kind::adding && i > 0) continue;
      const bool has_same_rows = turn.kind == Turn::Kind::sums || turn.kind == Turn::Kind::adding ||
                                 turn.kind == Turn::Kind::carried;
      if (has_same_rows && i == 0) {
        for (std::int64_t row = begin; row < end; ++row) visit(t, row);
      } else if (read == nullptr) {
        all(t);
      } else {
        for (std::int64_t row = begin; row < end; ++row)
          for_each_row(read->rows, static_cast<std::int64_t>(rows_of(t)), row,
                       [&](std::int64_t r) { visit(t, r); });
      }
    }
  }

  /// The rows [begin, end) that come next.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> next_of(const Turn& turn) const {
    const std::int64_t after = std::min(turn.extent, turn.done + options_.granule);
    return turn.backward ? std::pair(turn.extent - after, turn.extent - turn.done)
                         : std::pair(turn.done, after);
  }

  [[nodiscard]] bool is_ready(const Turn& turn) const {
    if (turn.done == turn.extent) return false;
    bool is_there = std::ranges::none_of(turns_, [&](const Turn& it) {
      return turn.kind == Turn::Kind::carried && it.kind == Turn::Kind::adding && it.of == turn.of &&
             it.done < it.extent;
    });
    const auto [begin, end] = next_of(turn);
    for_reads(turn, begin, end, [&](TensorId t, std::int64_t row) {
      is_there = is_there && written_[t][static_cast<std::size_t>(row)];
    });
    return is_there;
  }

  void take_turns() {
    add_turns();
    for (;;) {
      std::vector<Turn*> ready;
      for (Turn& turn : turns_) {
        if (is_ready(turn)) ready.push_back(&turn);
      }
      if (ready.empty()) return;
      if (options_.again && random_() % 3 == 0) take_again();
      take(options_.seed ? *ready[random_() % ready.size()] : *ready.front());
    }
  }

  /// Rows that have run and are read by others run once more.
  void take_again() {
    const auto may_repeat = [&](const Turn& turn) {
      return turn.kind == Turn::Kind::rows && !turn.backward && turn.done > 0 &&
             turn.extent > options_.granule &&
             std::ranges::none_of(op(turn.of).outputs, [&](const auto& output) {
               return output && graph_.tensors[*output].kind == TensorKind::output;
             });
    };
    std::vector<Turn*> all;
    for (Turn& turn : turns_)
      if (may_repeat(turn)) all.push_back(&turn);
    if (all.empty()) return;
    const Turn& turn = *all[random_() % all.size()];
    const std::int64_t blocks = (turn.done + options_.granule - 1) / options_.granule;
    const std::int64_t block = static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(blocks));
    const std::int64_t begin = block * options_.granule;
    const RowRange rows{turn.axis, begin, std::min(turn.extent, begin + options_.granule)};
    for_reads(turn, rows.begin, rows.end, [&](TensorId t, std::int64_t row) { use(t, row); });
    for (const auto& output : op(turn.of).outputs)
      if (output) ++versions_[{*output, block}];
    for (const TensorId scratch : op(turn.of).scratch) use(scratch, 0);
    write_outputs(turn, rows.begin, rows.end);
    plan_.clocks[0].steps.push_back(Run{.path = {0, turn.of}, .rows = rows});
  }

  void write(TensorId t, std::int64_t row) {
    written_[t][static_cast<std::size_t>(row)] = true;
    use(t, row);
  }

  void use(TensorId t, std::int64_t row) {
    const std::int64_t index = row / options_.granule;
    const auto version = versions_.find({t, index});
    const Block block{t, index, version == versions_.end() ? 0 : version->second};
    const auto [life, is_new] = lives_.try_emplace(block, Lifetime{now(), now() + 1});
    if (!is_new) life->second.upper = now() + 1;
  }

  void take(Turn& turn) {
    const auto [begin, end] = next_of(turn);
    turn.done += end - begin;
    const RowRange rows{turn.axis, begin, end};
    for_reads(turn, begin, end, [&](TensorId t, std::int64_t row) { use(t, row); });
    Step step;
    if (turn.kind == Turn::Kind::arrival || turn.kind == Turn::Kind::leaving) {
      for (std::int64_t row = begin; row < end && turn.kind == Turn::Kind::arrival; ++row)
        write(turn.of, row);
      step = turn.kind == Turn::Kind::arrival ? Step(Arrive{turn.of, rows}) : Step(Leave{turn.of, rows});
    } else {
      Run run{.path = {0, turn.of}};
      const bool sums_up = turn.kind == Turn::Kind::sums && (begin != 0 || end != turn.extent);
      const bool carries = turn.kind == Turn::Kind::adding || turn.kind == Turn::Kind::carried;
      if (turn.kind == Turn::Kind::rows || sums_up || carries) run.rows = rows;
      if (sums_up) run.sums = sums_of(turn.of, bytes_of_sums(graph_.tensors[*op(turn.of).outputs[0]]));
      if (carries) set_carried(turn, run);
      for (const TensorId scratch : op(turn.of).scratch) use(scratch, 0);
      write_outputs(turn, begin, end);
      step = run;
    }
    plan_.clocks[0].steps.push_back(step);
  }

  void write_outputs(const Turn& turn, std::int64_t begin, std::int64_t end) {
    if (turn.kind == Turn::Kind::adding) return;
    if (turn.kind == Turn::Kind::sums && turn.done != turn.extent) return;
    const bool carries = turn.kind == Turn::Kind::carried;
    for (const auto& output : op(turn.of).outputs) {
      if (!output || (carries && output != op(turn.of).outputs[0] && turn.done != turn.extent)) continue;
      const bool is_rows = turn.kind == Turn::Kind::rows || (carries && output == op(turn.of).outputs[0]);
      const std::int64_t last = is_rows ? end : static_cast<std::int64_t>(rows_of(*output));
      for (std::int64_t row = is_rows ? begin : 0; row < last; ++row) write(*output, row);
    }
  }

  void set_carried(const Turn& turn, Run& run) {
    const bool is_first = turn.kind == Turn::Kind::adding;
    const Operator& own = op(turn.of);
    const CarriedAxis& along = *(is_first ? summed_first(own, turn.axis) : carried_axis(own, turn.axis));
    if (along.carried > 0) (is_first ? run.sums : run.carry) = sums_of(turn.of, along.carried);
  }

  Sums sums_of(std::size_t o, Bytes bytes) {
    const auto [sums, is_new] = sums_.try_emplace(o, plan_.buffers.size());
    if (is_new) add_buffer("sums " + std::to_string(o), bytes, {now(), now()});
    plan_.buffers[sums->second].pieces[0].life.upper = now() + 1;
    return {sums->second, 0};
  }

  // Places

  std::size_t add_buffer(const std::string& id, Bytes size, const Lifetime& life) {
    plan_.buffers.push_back({.id = id, .size = size, .alignment = 16, .pieces = {{0, size, life}}});
    return plan_.buffers.size() - 1;
  }

  void make_places() {
    for (const TensorId t : graph_.subgraphs[0].outputs) {
      const bool leaves = options_.io_by_rows && axes_[t];
      for (auto& [block, life] : lives_) {
        if (block.tensor == t && !leaves) life.upper = std::max<Position>(now(), 1);
      }
    }
    for (auto& [block, life] : lives_) life.upper = std::max(life.upper, life.lower + 1);
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      if (!is_variable(graph_.tensors[t]) || !lives_.contains({t, 0, 0})) continue;
      const Form form = !axes_[t]                    ? Form::whole
                        : options_.form == Form::any ? Form(random_() % 3)
                                                     : options_.form;
      const auto repeated = versions_.lower_bound({t, 0});
      if (repeated != versions_.end() && repeated->first.first == t) {
        add_versions(t);
      } else if (form == Form::whole) {
        add_whole(t);
      } else if (form == Form::ring) {
        add_ring(t);
      } else {
        add_rows(t);
      }
    }
  }

  [[nodiscard]] std::vector<Lifetime> lives_of(TensorId t) const {
    std::vector<Lifetime> lives;
    for (auto it = lives_.lower_bound({t, 0, 0}); it != lives_.end() && it->first.tensor == t; ++it)
      lives.push_back(it->second);
    return lives;
  }

  void add_whole(TensorId t) {
    const Lifetime life = all_of(lives_of(t));
    const std::size_t buffer = add_buffer(graph_.tensors[t].name, graph_.tensors[t].bytes, life);
    plan_.tensors[t].views = {{.buffer = buffer, .life = life}};
  }

  void add_versions(TensorId t) {
    for (auto it = lives_.lower_bound({t, 0, 0}); it != lives_.end() && it->first.tensor == t; ++it) {
      const std::int64_t begin = it->first.index * options_.granule;
      const std::int64_t end = std::min(begin + options_.granule, static_cast<std::int64_t>(rows_of(t)));
      const std::size_t buffer = add_buffer(
          graph_.tensors[t].name + " " + std::to_string(begin) + " " + std::to_string(it->first.version),
          (end - begin) * row_bytes(t), it->second);
      plan_.tensors[t].views.push_back(
          {.buffer = buffer, .life = it->second, .rows = RowRange{*axes_[t], begin, end}});
    }
  }

  void add_ring(TensorId t) {
    const std::vector<Lifetime> lives = lives_of(t);
    std::size_t count = 1;
    const auto meets = [&](std::size_t a) {
      for (std::size_t b = a + count; b < lives.size(); b += count)
        if (lives[a].lower < lives[b].upper && lives[b].lower < lives[a].upper) return true;
      return false;
    };
    for (std::size_t a = 0; a < lives.size();) {
      if (meets(a)) {
        ++count;
        a = 0;
      } else {
        ++a;
      }
    }
    const Lifetime life = all_of(lives);
    const Bytes size = static_cast<std::int64_t>(count) * options_.granule * row_bytes(t);
    const std::size_t buffer = add_buffer(graph_.tensors[t].name, size, life);
    plan_.tensors[t].views = {{.buffer = buffer,
                               .life = life,
                               .ring = Ring{*axes_[t], options_.granule, static_cast<std::int64_t>(count)}}};
  }

  [[nodiscard]] Bytes row_bytes(TensorId t) const {
    return graph_.tensors[t].bytes / static_cast<Bytes>(rows_of(t));
  }

  void add_rows(TensorId t) {
    const auto lives = lives_of(t);
    for (std::size_t b = 0; b < lives.size(); ++b) {
      const std::int64_t begin = static_cast<std::int64_t>(b) * options_.granule;
      const std::int64_t end =
          std::min<std::int64_t>(begin + options_.granule, static_cast<std::int64_t>(rows_of(t)));
      const auto replaced = options_.in_place && !options_.again
                                ? replaced_by({t, static_cast<std::int64_t>(b), 0})
                                : std::nullopt;
      std::size_t buffer = 0;
      if (replaced) {
        buffer = *replaced;
        plan_.buffers[buffer].pieces[0].life.upper = lives[b].upper;
      } else {
        buffer = add_buffer(graph_.tensors[t].name + " " + std::to_string(b), (end - begin) * row_bytes(t),
                            lives[b]);
      }
      plan_.tensors[t].views.push_back(
          {.buffer = buffer, .life = lives[b], .rows = RowRange{*axes_[t], begin, end}});
    }
  }

  /// The buffer of the block of an input that the operator may write these rows over.
  [[nodiscard]] std::optional<std::size_t> replaced_by(const Block& block) const {
    const auto& operators = graph_.subgraphs[0].operators;
    for (const Operator& own : operators) {
      if (own.outputs.empty() || own.outputs[0] != block.tensor || !axes_[block.tensor]) continue;
      const auto along = std::ranges::find(own.row_axes, *axes_[block.tensor], &RowAxis::axis);
      if (along == own.row_axes.end()) continue;
      for (const RowRead& read : along->reads) {
        const TensorId t = *own.inputs[read.input];
        if (!is_variable(graph_.tensors[t]) || axes_[t] != read.axis ||
            row_bytes(t) != row_bytes(block.tensor) || rows_of(t) != rows_of(block.tensor))
          continue;
        const bool is_updated = in_place_output(graph_, own, read.input) == block.tensor || read.kept_at == 0;
        if (!is_updated || read.rows.taps != 1 || read.rows.scale != 1 || read.rows.offset != 0 ||
            read.rows.divisor != 1)
          continue;
        const auto replaced = lives_.find({t, block.index, 0});
        if (replaced == lives_.end() || replaced->second.upper != lives_.at(block).lower + 1) continue;
        if (std::ranges::count(own.inputs, std::optional(t)) > 1) continue;
        for (const View& view : plan_.tensors[t].views) {
          if (view.rows && view.rows->begin == block.index * options_.granule) return view.buffer;
        }
      }
    }
    return std::nullopt;
  }

  /// Each buffer as low as those before it leave room.
  void place() {
    Bytes peak = 0;
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      const Buffer& buffer = plan_.buffers[b];
      const Lifetime& life = buffer.pieces[0].life;
      std::set<std::pair<Bytes, Bytes>> taken;
      for (std::size_t o = 0; o < b; ++o) {
        const Lifetime& other = plan_.buffers[o].pieces[0].life;
        const Bytes begin = plan_.places[o].offset;
        if (other.lower < life.upper && life.lower < other.upper)
          taken.insert({begin, begin + plan_.buffers[o].size});
      }
      Bytes at = 0;
      for (const auto& [begin, end] : taken) {
        if (begin >= at + buffer.size) break;
        at = std::max(at, (end + 15) / 16 * 16);
      }
      plan_.places.push_back({.memory = 0, .offset = at});
      peak = std::max(peak, at + buffer.size);
    }
    plan_.memories = {{.memory = {.name = "arena"}, .peak = peak}};
  }

  const Graph& graph_;
  const Axes& axes_;
  StreamedOptions options_;
  std::mt19937_64 random_;
  Plan plan_{};
  std::vector<Turn> turns_{};
  std::vector<std::vector<bool>> written_{};
  std::map<Block, Lifetime> lives_{};
  std::map<std::pair<TensorId, std::int64_t>, std::int64_t>
      versions_{};  ///< Of blocks that run again: the last.
  std::map<std::size_t, std::size_t> sums_{};
};

}  // namespace

Axes axes_of(const Network& network) {
  const Graph& graph = network.graph();
  Axes axes(graph.tensors.size());
  for (const Operator& op : graph.subgraphs[0].operators) {
    for (const RowAxis& along : op.row_axes) {
      if (!along.is_windows) continue;
      if (!axes[*op.outputs[0]]) axes[*op.outputs[0]] = along.axis;
      if (op.inputs[0] && !axes[*op.inputs[0]]) axes[*op.inputs[0]] = along.axis;
    }
    if (!op.sums_over.empty() && op.inputs[0] && !axes[*op.inputs[0]]) axes[*op.inputs[0]] = op.sums_over[0];
  }
  const auto orders = topological_orders(graph);
  for (const std::size_t o : orders[0]) {
    const Operator& op = graph.subgraphs[0].operators[o];
    for (const RowAxis& along : op.row_axes) {
      for (const RowRead& read : along.reads) {
        const auto from = axes[*op.inputs[read.input]];
        if (!from || *from != read.axis || !is_variable(graph.tensors[*op.inputs[read.input]])) continue;
        for (const auto& output : op.outputs) {
          if (output && !axes[*output]) axes[*output] = along.axis;
        }
      }
    }
  }
  for (TensorId t = 0; t < axes.size(); ++t) {
    if (!is_variable(graph.tensors[t]) || !graph.tensors[t].shape || graph.tensors[t].bytes == 0)
      axes[t].reset();
  }
  return axes;
}

Plan streamed_plan(const Network& network, const StreamedOptions& options) {
  return streamed_plan(network, axes_of(network), options);
}

Plan streamed_plan(const Network& network, const Axes& axes, const StreamedOptions& options) {
  return Maker(network, axes, options).make();
}

}  // namespace stowage::testing
