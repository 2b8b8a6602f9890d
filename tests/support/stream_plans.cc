#include "stream_plans.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "check_cases.h"

namespace stowage::cases {

using oracle::Choices;

namespace {

Bytes count_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), Bytes{1}, std::multiplies<>());
}

using Row = std::pair<TensorId, std::int64_t>;

/// From when to when a row is there once.
struct Life {
  Row row{};
  Lifetime life{};
};

class NaivePlanner {
 public:
  NaivePlanner(const Graph& graph, Choices& choices) : graph_(graph), choices_(choices), axes_(axes()) {}

  Plan run() {
    plan_.models = {{"rows", "rows.json", ModelFormat::json}};
    plan_.clocks.resize(1);
    plan_.memories = {{.memory = {.name = "arena"}}};
    for (const Tensor& tensor : graph_.tensors) plan_.tensors.push_back({.tensor = tensor});
    order_steps();
    place();
    stack_buffers();
    correct_claims(plan_);
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const std::vector<Operator>& operators() const { return graph_.subgraphs[0].operators; }
  [[nodiscard]] Position now() const { return static_cast<Position>(plan_.clocks[0].steps.size()); }

  /// By whoever runs, reads or passes rows of them. None: as wholes only.
  [[nodiscard]] std::map<TensorId, std::size_t> axes() const {
    std::map<TensorId, std::size_t> axes;
    for (const Operator& op : graph_.subgraphs[0].operators) {
      for (const RowAxis& along : op.row_axes) {
        for (const auto& output : op.outputs) axes[*output] = along.axis;
        for (const RowRead& read : along.reads) axes[*op.inputs[read.input]] = read.axis;
      }
      for (const std::size_t axis : op.sums_over) axes[*op.inputs[0]] = axis;
    }
    return axes;
  }

  [[nodiscard]] std::int64_t rows(TensorId t) const {
    const auto axis = axes_.find(t);
    return axis == axes_.end() ? 1 : (*graph_.tensors[t].shape)[axis->second];
  }

  // Steps

  /// Rows that are added up.
  struct Adding {
    RowRange rows{};
    std::vector<std::int64_t> missing{};  ///< Rows of the input, ascending.
    Position since = 0;
  };

  struct State {
    std::int64_t done = 0;
    bool is_whole = false;
    std::optional<Sums> sums{};
    bool is_finished = false;
    std::optional<Adding> adding{};
  };

  void order_steps() {
    states_.resize(operators().size());
    for (State& state : states_) state.is_whole = choices_.chance(20);
    begin_inputs();
    const bool is_layered = choices_.chance(20);
    const bool repeats = choices_.chance(25);
    for (bool is_done = false; !is_done;) {
      std::vector<std::size_t> ready;
      is_done = true;
      for (std::size_t o = 0; o < operators().size(); ++o) {
        is_done = is_done && states_[o].is_finished;
        if (!states_[o].is_finished && can_run(o)) ready.push_back(o);
      }
      for (const TensorId t : arriving_) {
        is_done = is_done && arrived_[t] == rows(t);
        if (arrived_[t] < rows(t) && (ready.empty() || choices_.chance(20))) arrive(t);
      }
      if (!ready.empty())
        run(is_layered ? ready[0] : choices_.chance(50) ? ready.back() : choices_.one_of(ready));
      if (repeats && choices_.chance(20)) run_again();
      for (const TensorId t : leaving_) {
        if (choices_.chance(60) || is_done) leave(t);
      }
    }
    for (const TensorId t : leaving_) leave(t);
    for (const TensorId t : graph_.subgraphs[0].outputs) {
      if (std::find(leaving_.begin(), leaving_.end(), t) == leaving_.end()) read_all(t, now());
    }
  }

  void begin_inputs() {
    for (const TensorId t : graph_.subgraphs[0].inputs) {
      if (axes_.contains(t) && choices_.chance(40)) {
        arriving_.push_back(t);
      } else {
        for (std::int64_t r = 0; r < rows(t); ++r) write({t, r}, 0);
      }
    }
    for (const TensorId t : graph_.subgraphs[0].outputs) {
      if (axes_.contains(t) && choices_.chance(40)) leaving_.push_back(t);
    }
  }

  void arrive(TensorId t) {
    const std::int64_t end = std::min(rows(t), arrived_[t] + choices_.between(1, 2));
    for (std::int64_t r = arrived_[t]; r < end; ++r) write({t, r}, now());
    plan_.clocks[0].steps.push_back(Arrive{t, RowRange{axes_.at(t), std::exchange(arrived_[t], end), end}});
  }

  void leave(TensorId t) {
    std::int64_t end = left_[t];
    while (end < rows(t) && present_.contains({t, end})) read({t, end++}, now() + 1);
    if (end == left_[t]) return;
    plan_.clocks[0].steps.push_back(Leave{t, RowRange{axes_.at(t), std::exchange(left_[t], end), end}});
  }

  [[nodiscard]] bool has_rows(std::size_t o) const {
    return !states_[o].is_whole && (!operators()[o].row_axes.empty() || !operators()[o].sums_over.empty());
  }

  [[nodiscard]] std::int64_t extent(std::size_t o) const {
    const Operator& op = operators()[o];
    return op.sums_over.empty() ? rows(*op.outputs[0]) : rows(*op.inputs[0]);
  }

  [[nodiscard]] std::set<Row> needs(std::size_t o, std::int64_t begin, std::int64_t end) const {
    const Operator& op = operators()[o];
    std::set<Row> needed;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorId t = *op.inputs[i];
      std::optional<RowMap> map;
      if (has_rows(o) && !op.sums_over.empty()) map = RowMap();
      for (std::size_t r = 0; has_rows(o) && !op.row_axes.empty() && r < op.row_axes[0].reads.size(); ++r) {
        if (op.row_axes[0].reads[r].input == i) map = op.row_axes[0].reads[r].rows;
      }
      if (!map) {
        for (std::int64_t r = 0; r < rows(t); ++r) needed.insert({t, r});
        continue;
      }
      for (std::int64_t r = begin; r < end; ++r)
        for_each_row(*map, rows(t), r, [&](std::int64_t row) { needed.insert({t, row}); });
    }
    return needed;
  }

  [[nodiscard]] bool are_there(const std::set<Row>& needed) const {
    return std::all_of(needed.begin(), needed.end(), [&](const Row& row) { return present_.contains(row); });
  }

  [[nodiscard]] bool can_run(std::size_t o) const {
    return states_[o].adding || are_there(needs(o, states_[o].done, states_[o].done + 1));
  }

  void run(std::size_t o) {
    State& state = states_[o];
    if (state.adding) return add_part(o);
    const Operator& op = operators()[o];
    Run run{.path = {0, o}};
    std::int64_t end = state.done + 1;
    if (has_rows(o)) {
      const std::int64_t most = choices_.between(1, 3);
      while (end < std::min(extent(o), state.done + most) && are_there(needs(o, state.done, end + 1))) ++end;
      const std::size_t axis = op.sums_over.empty() ? op.row_axes[0].axis : op.sums_over[0];
      run.rows = RowRange{axis, state.done, end};
      if (begin_adding(o, *run.rows)) return add_part(o);
    }
    for (const Row& row : needs(o, state.done, end)) read(row, now() + 1);
    state.is_finished = !has_rows(o) || end == extent(o);
    const bool sums = has_rows(o) && !op.sums_over.empty();
    if (sums) keep_sums(o, run);
    for (const auto& output : op.outputs) {
      for (std::int64_t r = 0; r < rows(*output); ++r) {
        const bool is_run = sums || !has_rows(o) ? state.is_finished : state.done <= r && r < end;
        if (is_run) write({*output, r}, now());
      }
    }
    for (const TensorId scratch : op.scratch) write({scratch, 0}, now());
    state.done = end;
    plan_.clocks[0].steps.push_back(run);
  }

  bool begin_adding(std::size_t o, const RowRange& range) {
    const Operator& op = operators()[o];
    if (op.row_axes.empty() || !op.row_axes[0].adds_rows || choices_.chance(40)) return false;
    std::set<std::int64_t> missing;
    const RowRead& read = op.row_axes[0].reads[0];
    for (std::int64_t r = range.begin; r < range.end; ++r)
      for_each_row(read.rows, rows(*op.inputs[0]), r, [&](std::int64_t row) { missing.insert(row); });
    if (missing.empty()) return false;
    states_[o].adding = Adding{range, {missing.begin(), missing.end()}, now()};
    return true;
  }

  /// One or two rows more.
  void add_part(std::size_t o) {
    State& state = states_[o];
    const Operator& op = operators()[o];
    Adding& adding = *state.adding;
    const auto count = std::min<std::size_t>(adding.missing.size(), 1 + choices_.below(2));
    const RowRange part{op.row_axes[0].reads[0].axis, adding.missing[0], adding.missing[count - 1] + 1};
    for (std::size_t i = 0; i < count; ++i) read({*op.inputs[0], adding.missing[i]}, now() + 1);
    adding.missing.erase(adding.missing.begin(), adding.missing.begin() + static_cast<std::ptrdiff_t>(count));
    for (const TensorId scratch : op.scratch) write({scratch, 0}, now());
    plan_.clocks[0].steps.push_back(Run{.path = {0, o}, .rows = adding.rows, .part = part});
    if (!adding.missing.empty()) return;
    for (std::int64_t r = adding.rows.begin; r < adding.rows.end; ++r) {
      write({*op.outputs[0], r}, now() - 1);
      lives_.back().life.lower = adding.since;
    }
    state.done = adding.rows.end;
    state.is_finished = state.done == extent(o);
    state.adding.reset();
  }

  void keep_sums(std::size_t o, Run& run) {
    State& state = states_[o];
    if (state.is_finished && run.rows->begin == 0 && choices_.chance(70)) {
      run.rows.reset();  // as a whole it needs none
      return;
    }
    const Bytes bytes = 4 * graph_.tensors[*operators()[o].outputs[0]].bytes;
    if (!state.sums) state.sums = Sums{add_buffer(bytes, {now(), now()}), 0};
    plan_.buffers[state.sums->buffer].pieces[0].life.upper = now() + 1;
    run.sums = state.sums;
  }

  /// Rows that have been run before.
  void run_again() {
    std::vector<std::size_t> candidates;
    for (std::size_t o = 0; o < operators().size(); ++o) {
      if (has_rows(o) && operators()[o].sums_over.empty() && states_[o].done > 0 && !states_[o].adding)
        candidates.push_back(o);
    }
    if (candidates.empty()) return;
    const std::size_t o = choices_.one_of(candidates);
    const std::int64_t begin = choices_.between(0, states_[o].done - 1);
    const std::int64_t end = choices_.between(begin + 1, states_[o].done);
    for (const Row& row : needs(o, begin, end)) read(row, now() + 1);
    for (const auto& output : operators()[o].outputs) {
      for (std::int64_t r = begin; r < end; ++r) write({*output, r}, now());
    }
    for (const TensorId scratch : operators()[o].scratch) write({scratch, 0}, now());
    plan_.clocks[0].steps.push_back(
        Run{.path = {0, o}, .rows = RowRange{operators()[o].row_axes[0].axis, begin, end}});
  }

  // Lives

  void write(const Row& row, Position at) {
    present_[row] = lives_.size();
    lives_.push_back({row, {at, at + 1}});
  }
  void read(const Row& row, Position until) {
    Lifetime& life = lives_[present_.at(row)].life;
    life.upper = std::max(life.upper, until);
  }
  void read_all(TensorId t, Position until) {
    for (std::int64_t r = 0; r < rows(t); ++r) read({t, r}, until);
  }

  // Places

  std::size_t add_buffer(Bytes size, const Lifetime& life) {
    plan_.buffers.push_back(
        {.id = "b" + std::to_string(plan_.buffers.size()), .size = size, .pieces = {{0, size, life}}});
    plan_.places.emplace_back();
    return plan_.buffers.size() - 1;
  }

  void place() {
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      std::vector<Life> lives;
      std::copy_if(lives_.begin(), lives_.end(), std::back_inserter(lives),
                   [&](const Life& life) { return life.row.first == t; });
      if (lives.empty()) continue;
      const std::size_t form = axes_.contains(t) ? choices_.below(4) : 0;
      if (form == 0 || form == 1) {
        place_whole(t, lives);
      } else if (form == 2 && place_in_ring(t, lives)) {
        continue;
      } else {
        for (const Life& life : lives) place_row(life);
      }
    }
  }

  static Lifetime span_of(const std::vector<Life>& lives) {
    Lifetime span = lives[0].life;
    for (const Life& it : lives)
      span = {std::min(span.lower, it.life.lower), std::max(span.upper, it.life.upper)};
    return span;
  }

  void place_whole(TensorId t, const std::vector<Life>& lives) {
    const Lifetime span = span_of(lives);
    if (const auto below = choices_.chance(50) ? whole_below(t) : std::nullopt) {
      plan_.tensors[t].views = {{.buffer = *below, .life = span}};
      Lifetime& life = plan_.buffers[*below].pieces[0].life;
      life.upper = std::max(life.upper, span.upper);
      return;
    }
    const std::size_t buffer = add_buffer(graph_.tensors[t].bytes, span);
    plan_.tensors[t].views = {{.buffer = buffer, .life = span}};
    if (choices_.chance(50)) reserve_rows(t, lives, buffer);
  }

  /// The buffer of an input of the tensor's writer, if it is whole there and as large.
  [[nodiscard]] std::optional<std::size_t> whole_below(TensorId t) const {
    for (const Operator& op : operators()) {
      if (op.outputs[0] != t) continue;
      for (const auto& input : op.inputs) {
        const auto& views = plan_.tensors[*input].views;
        if (views.size() != 1 || views[0].ring || views[0].rows) continue;
        const Buffer& buffer = plan_.buffers[views[0].buffer];
        if (buffer.size == graph_.tensors[t].bytes && buffer.pieces.size() == 1) return views[0].buffer;
      }
    }
    return std::nullopt;
  }

  /// Only bytes of rows that are there.
  void reserve_rows(TensorId t, const std::vector<Life>& lives, std::size_t buffer) {
    auto& pieces = plan_.buffers[buffer].pieces;
    pieces.clear();
    const auto axis = axes_.find(t);
    const Shape& shape = *graph_.tensors[t].shape;
    const Bytes run =
        axis == axes_.end()
            ? graph_.tensors[t].bytes
            : count_of(Shape(shape.begin() + static_cast<std::ptrdiff_t>(axis->second) + 1, shape.end()));
    for (const Life& it : lives) {
      for (Bytes at = it.row.second * run; at < graph_.tensors[t].bytes; at += run * rows(t))
        pieces.push_back({at, run, it.life});
    }
  }

  /// In the ring of an input of the tensor's writer.
  bool put_over_ring(TensorId t, const Lifetime& span) {
    for (const Operator& op : operators()) {
      if (op.outputs[0] != t || op.row_axes.empty()) continue;
      for (const auto& input : op.inputs) {
        const std::vector<View> views = plan_.tensors[*input].views;
        if (views.size() != 1 || !views[0].ring || rows(*input) != rows(t)) continue;
        Buffer& buffer = plan_.buffers[views[0].buffer];
        const Bytes bytes = graph_.tensors[t].bytes / rows(t) * views[0].ring->granule * views[0].ring->count;
        if (buffer.pieces.size() != 1 || bytes > buffer.size) continue;
        const Ring& ring = *views[0].ring;
        plan_.tensors[t].views = {
            {.buffer = views[0].buffer, .life = span, .ring = Ring{axes_.at(t), ring.granule, ring.count}}};
        buffer.pieces[0].life.upper = std::max(buffer.pieces[0].life.upper, span.upper);
        return true;
      }
    }
    return false;
  }

  /// With as few granules as do.
  bool place_in_ring(TensorId t, const std::vector<Life>& lives) {
    const std::int64_t granule = choices_.between(1, 2);
    std::int64_t count = 1;
    const auto slot = [&](const Life& it) {
      return it.row.second / granule % count * granule + it.row.second % granule;
    };
    const auto clashes = [&] {
      for (const Life& a : lives) {
        for (const Life& b : lives) {
          if (a.row != b.row && slot(a) == slot(b) && a.life.lower < b.life.upper &&
              b.life.lower < a.life.upper)
            return true;
        }
      }
      return false;
    };
    while (clashes()) ++count;
    const Lifetime span = span_of(lives);
    if (choices_.chance(50) && put_over_ring(t, span)) return true;
    const Bytes row_bytes = graph_.tensors[t].bytes / rows(t);
    const std::size_t buffer = add_buffer(granule * count * row_bytes, span);
    plan_.tensors[t].views = {{.buffer = buffer, .life = span, .ring = Ring{axes_.at(t), granule, count}}};
    if (choices_.chance(50)) return true;
    plan_.buffers[buffer].pieces.clear();
    for (const Life& it : lives)
      plan_.buffers[buffer].pieces.push_back({slot(it) * row_bytes, row_bytes, it.life});
    return true;
  }

  void place_row(const Life& it) {
    const TensorId t = it.row.first;
    const Bytes bytes = graph_.tensors[t].bytes / rows(t);
    View view{.life = it.life, .rows = RowRange{axes_.at(t), it.row.second, it.row.second + 1}};
    if (!choices_.chance(60) || !put_over(it, bytes, view)) {
      view.offset = choices_.chance(20) ? 1 : 0;  // room for what is put in front
      view.buffer = add_buffer(view.offset + bytes, it.life);
    }
    plan_.tensors[t].views.push_back(view);
  }

  /// Over a row that its writer reads last when it writes it.
  bool put_over(const Life& it, Bytes bytes, View& view) {
    for (std::size_t o = 0; o < operators().size(); ++o) {
      const Operator& op = operators()[o];
      if (op.outputs[0] != it.row.first || op.row_axes.empty()) continue;
      for (const RowRead& read : op.row_axes[0].reads) {
        const TensorId input = *op.inputs[read.input];
        for (const View& below : plan_.tensors[input].views) {
          Buffer& buffer = plan_.buffers[below.buffer];
          if (!below.rows || below.life.upper != it.life.lower + 1 ||
              below.rows->begin != it.row.second + read.rows.offset || buffer.pieces.size() != 1 ||
              buffer.pieces[0].life.upper != below.life.upper)
            continue;
          const Bytes kept_at = read.kept_at.value_or(0);
          if (kept_at > below.offset || (bytes > buffer.size && !read.kept_at)) continue;
          view.buffer = below.buffer;
          view.offset = below.offset - kept_at;
          buffer.size = std::max(buffer.size, view.offset + bytes);
          buffer.pieces = {{0, buffer.size, {buffer.pieces[0].life.lower, it.life.upper}}};
          return true;
        }
      }
    }
    return false;
  }

  /// Each at the first place where it meets no other, or somewhere above.
  void stack_buffers() {
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      Place& place = plan_.places[b];
      place.offset = choices_.chance(90) ? 0 : choices_.between(0, 8);
      while (meets_another(b)) ++place.offset;
    }
  }

  [[nodiscard]] bool meets_another(std::size_t b) const {
    for (std::size_t other = 0; other < b; ++other) {
      const Bytes apart = plan_.places[other].offset - plan_.places[b].offset;
      for (const Piece& p : plan_.buffers[b].pieces) {
        for (const Piece& q : plan_.buffers[other].pieces) {
          if (p.life.lower < q.life.upper && q.life.lower < p.life.upper &&
              p.offset < apart + q.offset + q.size && apart + q.offset < p.offset + p.size)
            return true;
        }
      }
    }
    return false;
  }

  const Graph& graph_;
  Choices& choices_;
  std::map<TensorId, std::size_t> axes_;
  Plan plan_;
  std::vector<State> states_;
  std::vector<TensorId> arriving_;
  std::vector<TensorId> leaving_;
  std::map<TensorId, std::int64_t> arrived_;
  std::map<TensorId, std::int64_t> left_;
  std::map<Row, std::size_t> present_;  ///< Each row's present life.
  std::vector<Life> lives_;
};

}  // namespace

Plan naive_stream_plan(const Graph& graph, Choices& choices) { return NaivePlanner(graph, choices).run(); }

}  // namespace stowage::cases
