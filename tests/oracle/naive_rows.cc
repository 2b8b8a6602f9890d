// States are what steps have computed so far, what of it is in the fast memory, and what slow memory has unchanged. Cost
// adds up along time, so for each state just the cheapest way to it goes on. Without harm to that:
//
//     a row is fetched only for a step that reads it, and if others read it later: one read costs less in slow memory
//     rows leave the fast memory only for a step that needs the room, and no more of them than that needs
//     a row of an input arrives only for the first step that reads it
//     of two states, one costs no more and has all that the other has where it is: only that one goes on

#include "oracle/naive_rows.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

namespace stowage::oracle {
namespace {

constexpr std::size_t height = 2;
using Items = std::uint64_t;

constexpr Items item(std::size_t i) { return Items{1} << i; }

template <typename Visit>
void for_each_item(Items set, Visit visit) {
  for (; set != 0; set &= set - 1) visit(static_cast<std::size_t>(std::countr_zero(set)));
}

/// A row, or a weight.
struct Item {
  Bytes bytes = 0;
  std::int64_t home_cost = 0;
  bool is_weight = false;
  bool is_kept = false;  ///< To the end.
  std::vector<std::pair<std::size_t, std::int64_t>>
      last_readers{};  ///< An operator, and its last row that does.
};

struct Op {
  std::string name{};
  std::size_t model = 0;
  std::int64_t rows = 0;
  std::vector<Items> reads{};     ///< Of each row, weights included.
  std::vector<Items> writes{};    ///< One item for each row.
  std::vector<Items> replaced{};  ///< Rows that may lie where the output row does.
};

using Done = std::vector<std::int64_t>;  ///< Rows of each operator.

struct State {
  Done done{};
  Items fast = 0;
  Items slow = 0;  ///< What slow memory has, too.
  std::int64_t cost = 0;
  std::size_t from = 0;  ///< Index of a state.
  std::string step{};
};

bool is_elementwise(const Operator& op) {
  static const std::set<std::string> types{"Relu", "Sigmoid", "Add"};
  return types.contains(op.type);
}

class RowCosts {
 public:
  RowCosts(std::span<const Graph> graphs, const NaiveRows& wanted) : wanted_(wanted) {
    for (std::size_t m = 0; m < graphs.size(); ++m) add(graphs[m], m);
    if (items_.size() > 64) throw std::length_error("too many rows");
  }

  LeastCost run() {
    begin();
    LeastCost found;
    std::int64_t rows = 0;
    for (const Op& op : ops_) rows += op.rows;
    for (std::int64_t layer = 0; layer < rows; ++layer) {
      for (auto& [done, states] : layers_[layer]) {
        for (const std::size_t state : best_of(states)) go_on(state);
        if (all_.size() > wanted_.most_states) return {.is_given_up = true};
      }
    }
    std::optional<std::size_t> last;
    for (const auto& [done, states] : layers_[rows]) {
      for (const auto& [places, state] : states) {
        if (!last || all_[state].cost < all_[*last].cost) last = state;
      }
    }
    if (!last) return found;
    found.cost = all_[*last].cost;
    for (std::size_t at = *last; at != all_[at].from; at = all_[at].from)
      found.steps = all_[at].step + found.steps;
    return found;
  }

 private:
  using States = std::map<std::pair<Items, Items>, std::size_t>;

  std::size_t add_item(Item it) {
    items_.push_back(std::move(it));
    return items_.size() - 1;
  }

  static std::vector<std::int64_t> rows_of(const RowMap& map, std::int64_t row, std::int64_t count) {
    std::vector<std::int64_t> read;
    for (std::int64_t k = 0; k < map.taps; ++k) {
      std::int64_t at = map.scale * row + map.offset;
      at = (at >= 0 ? at / map.divisor : -((-at + map.divisor - 1) / map.divisor)) + k * map.dilation;
      if (at >= 0 && at < count) read.push_back(at);
    }
    return read;
  }

  void add(const Graph& graph, std::size_t model) {
    const Subgraph& main = graph.subgraphs[0];
    std::vector<std::vector<std::size_t>> items_of(graph.tensors.size());
    const auto add_rows = [&](TensorId t) {
      const std::int64_t count = (*graph.tensors[t].shape)[height];
      const bool is_kept = !wanted_.arrives_by_rows && graph.tensors[t].kind == TensorKind::output;
      for (std::int64_t r = 0; r < count; ++r)
        items_of[t].push_back(add_item(
            {.bytes = graph.tensors[t].bytes / count, .home_cost = wanted_.slow, .is_kept = is_kept}));
    };
    inputs_.push_back(0);
    for (const TensorId input : main.inputs) {
      add_rows(input);
      for (const std::size_t i : items_of[input]) {
        inputs_.back() |= item(i);
      }
    }
    for (const Operator& of : main.operators) {
      if (!of.copies.empty() || !of.sums_over.empty() || of.stateful || of.outputs.size() != 1)
        throw std::invalid_argument("not for this operator: " + of.type);
      const auto axis = std::find_if(of.row_axes.begin(), of.row_axes.end(),
                                     [](const RowAxis& it) { return it.axis == height; });
      if (axis == of.row_axes.end()) throw std::invalid_argument("no rows: " + of.type);
      add_rows(*of.outputs[0]);
      const std::vector<std::size_t>& written = items_of[*of.outputs[0]];
      Op op{.name = of.name, .model = model, .rows = std::ssize(written)};
      op.reads.resize(written.size());
      op.replaced.resize(written.size());
      for (const std::size_t i : written) op.writes.push_back(item(i));
      for (std::size_t k = 0; k < of.inputs.size(); ++k) {
        const TensorId t = *of.inputs[k];
        if (is_constant(graph.tensors[t].kind)) {
          if (!wanted_.weights) continue;
          if (items_of[t].empty())
            items_of[t] = {add_item(
                {.bytes = graph.tensors[t].bytes, .home_cost = *wanted_.weights, .is_weight = true})};
          for (Items& reads : op.reads) reads |= item(items_of[t][0]);
          continue;
        }
        const auto read = std::find_if(axis->reads.begin(), axis->reads.end(),
                                       [&](const RowRead& it) { return it.input == k && it.axis == height; });
        if (read == axis->reads.end()) throw std::invalid_argument("not by rows: " + of.type);
        for (std::size_t r = 0; r < written.size(); ++r) {
          for (const std::int64_t of_input :
               rows_of(read->rows, static_cast<std::int64_t>(r), std::ssize(items_of[t])))
            op.reads[r] |= item(items_of[t][static_cast<std::size_t>(of_input)]);
          if (wanted_.may_share && is_elementwise(of)) op.replaced[r] |= item(items_of[t][r]);
        }
      }
      ops_.push_back(std::move(op));
      for (std::int64_t r = 0; r < ops_.back().rows; ++r)
        for_each_item(ops_.back().reads[static_cast<std::size_t>(r)],
                      [&](std::size_t i) { note_reader(i, ops_.size() - 1, r); });
    }
  }

  void note_reader(std::size_t i, std::size_t op, std::int64_t row) {
    auto& readers = items_[i].last_readers;
    if (readers.empty() || readers.back().first != op) readers.emplace_back(op, row);
    readers.back().second = row;
  }

  [[nodiscard]] bool is_read_after(std::size_t i, const Done& done) const {
    return std::any_of(items_[i].last_readers.begin(), items_[i].last_readers.end(),
                       [&](const auto& reader) { return done[reader.first] <= reader.second; });
  }

  [[nodiscard]] Items read_after(const Done& done) const {
    Items alive = 0;
    for (std::size_t i = 0; i < items_.size(); ++i)
      if (is_read_after(i, done)) alive |= item(i);
    return alive;
  }

  [[nodiscard]] Items kept() const {
    Items all = 0;
    for (std::size_t i = 0; i < items_.size(); ++i)
      if (items_[i].is_kept) all |= item(i);
    return all;
  }

  /// All rows of the tensors that have some of these.
  [[nodiscard]] Items outputs_of(Items set) const {
    Items all = 0;
    for (const Op& op : ops_) {
      const Items written = union_of(op.writes, 0, op.rows);
      if ((written & set) != 0) all |= written;
    }
    return all;
  }

  [[nodiscard]] Bytes bytes_of(Items set) const {
    Bytes bytes = 0;
    for_each_item(set, [&](std::size_t i) { bytes += items_[i].bytes; });
    return bytes;
  }

  [[nodiscard]] std::int64_t cost_at_home(Items set) const {
    std::int64_t cost = 0;
    for_each_item(set, [&](std::size_t i) { cost += items_[i].bytes * items_[i].home_cost; });
    return cost;
  }

  [[nodiscard]] static Items union_of(const std::vector<Items>& sets, std::int64_t begin, std::int64_t end) {
    Items all = 0;
    for (std::int64_t r = begin; r < end; ++r) all |= sets[static_cast<std::size_t>(r)];
    return all;
  }

  /// What is left to do costs at least so much: all in the fast memory, but for the first read of what is not there yet.
  [[nodiscard]] std::int64_t least_after(const Done& done, Items fast, Items read_later) const {
    std::int64_t cost = 0;
    for (std::size_t o = 0; o < ops_.size(); ++o) {
      const Op& op = ops_[o];
      if (done[o] == op.rows) continue;
      cost += wanted_.fast * bytes_of(union_of(op.writes, done[o], op.rows));
      const bool is_by_one =
          wanted_.steps == StepRows::one || (wanted_.steps == StepRows::one_or_all && done[o] > 0);
      if (!is_by_one) cost += wanted_.fast * bytes_of(union_of(op.reads, done[o], op.rows));
      for (std::int64_t r = done[o]; is_by_one && r < op.rows; ++r)
        cost += wanted_.fast * bytes_of(op.reads[static_cast<std::size_t>(r)]);
    }
    const Items at_home = made(done) & read_later & ~fast;
    return cost + cost_at_home(at_home) - wanted_.fast * bytes_of(at_home);
  }

  /// What has been computed, arrived, or always been there.
  [[nodiscard]] Items made(const Done& done) const {
    Items all = 0;
    for (std::size_t i = 0; i < items_.size(); ++i)
      if (items_[i].is_weight) all |= item(i);
    for (std::size_t o = 0; o < ops_.size(); ++o) {
      if (!wanted_.arrives_by_rows && done[o] > 0) all |= inputs_[ops_[o].model];
      all |= union_of(ops_[o].writes, 0, done[o]);
      all |= union_of(ops_[o].reads, 0, done[o]);
    }
    return all;
  }

  void begin() {
    all_.clear();
    layers_.clear();
    Items weights = 0;
    for (std::size_t i = 0; i < items_.size(); ++i)
      if (items_[i].is_weight) weights |= item(i);
    reach({.done = Done(ops_.size(), 0), .slow = weights}, true);
  }

  void reach(State state, bool is_first = false) {
    const Items alive = read_after(state.done);
    if (state.cost + least_after(state.done, state.fast, alive) > wanted_.at_most) return;
    if (!is_first) {
      state.fast &= alive | kept();
      state.slow &= alive | (kept() & state.fast);
    }
    std::int64_t layer = 0;
    for (const std::int64_t rows : state.done) layer += rows;
    States& states = layers_[layer][state.done];
    const auto [at, is_new] = states.try_emplace({state.fast, state.slow}, all_.size());
    if (!is_new && all_[at->second].cost <= state.cost) return;
    if (is_first) state.from = all_.size();
    at->second = all_.size();
    all_.push_back(std::move(state));
  }

  [[nodiscard]] std::vector<std::size_t> best_of(const States& states) const {
    std::vector<std::size_t> sorted;
    for (const auto& [places, state] : states) sorted.push_back(state);
    std::sort(sorted.begin(), sorted.end(), [&](auto a, auto b) { return all_[a].cost < all_[b].cost; });
    std::vector<std::size_t> best;
    for (const std::size_t state : sorted) {
      const State& it = all_[state];
      const bool is_worse = std::any_of(best.begin(), best.end(), [&](std::size_t other) {
        const State& better = all_[other];
        const Items more = better.fast & ~it.fast;
        return (it.fast & ~better.fast) == 0 && (more & ~better.slow) == 0 && (it.slow & ~better.slow) == 0 &&
               wanted_.may_move;
      });
      if (!is_worse) best.push_back(state);
    }
    return best;
  }

  [[nodiscard]] bool is_ready(std::size_t o, const State& state, Items reads) const {
    for (std::size_t p = 0; p < ops_.size(); ++p) {
      if (ops_[p].model < ops_[o].model && state.done[p] < ops_[p].rows) return false;
      const Items missing = union_of(ops_[p].writes, state.done[p], ops_[p].rows);
      if ((missing & reads) != 0) return false;
    }
    return true;
  }

  void go_on(std::size_t from) {
    if (!wanted_.order.empty()) {
      for (const RowStep& step : wanted_.order) {
        if (all_[from].done[step.op] != step.begin) continue;
        take_step(from, step.op, step.begin, step.end);
        return;
      }
    }
    for (std::size_t o = 0; o < ops_.size(); ++o) {
      const std::int64_t begin = all_[from].done[o];
      for (std::int64_t end = begin + 1; end <= ops_[o].rows; ++end) {
        const bool is_one = end == begin + 1;
        const bool is_all = begin == 0 && end == ops_[o].rows;
        if (wanted_.steps == StepRows::one && !is_one) continue;
        if (wanted_.steps == StepRows::all && !is_all) continue;
        if (wanted_.steps == StepRows::one_or_all && !is_one && !is_all) continue;
        if (is_ready(o, all_[from], union_of(ops_[o].reads, begin, end))) take_step(from, o, begin, end);
      }
    }
  }

  void take_step(std::size_t from, std::size_t o, std::int64_t begin, std::int64_t end) {
    const State state = all_[from];
    const Items reads = union_of(ops_[o].reads, begin, end);
    const Items writes = union_of(ops_[o].writes, begin, end);
    Done done = state.done;
    done[o] = end;
    const Items later = read_after(done);
    const Items arriving = inputs_[ops_[o].model] & ~state.fast & ~state.slow & ~made(state.done) &
                           (wanted_.arrives_by_rows ? reads : ~Items{0});
    Items fetchable = reads & ~state.fast & later & ~arriving;
    if (!wanted_.may_move) fetchable = 0;
    const Items earlier = kept() & outputs_of(writes) & made(state.done);
    const Items choices = arriving | fetchable | writes;
    const std::vector<Items> ways_to_leave = subsets_of(wanted_.may_move ? state.fast : 0);
    for (Items in_fast = choices;; in_fast = (in_fast - 1) & choices) {
      std::vector<Items> enough;
      // The rows of a whole output are written in one memory.
      const Items of_output = kept() & writes;
      const Items wanted_in_fast = earlier == 0 ? of_output & in_fast : earlier & state.fast;
      const bool is_whole = (wanted_in_fast == 0 ? Items{0} : of_output) == (of_output & in_fast);
      for (const Items leaving : ways_to_leave) {
        if (!is_whole ||
            std::any_of(enough.begin(), enough.end(), [&](Items it) { return (it & ~leaving) == 0; }))
          continue;
        const Items during = (state.fast & ~leaving) | in_fast;
        if (bytes_of(during) - bytes_shared(o, begin, end, during, later) > wanted_.capacity) continue;
        enough.push_back(leaving);
        const Items spilled = leaving & ~state.slow;
        const Items fetched = in_fast & fetchable;
        State next{.done = done, .fast = during, .from = from};
        next.slow = state.slow | spilled | (arriving & ~in_fast) | (writes & ~in_fast);
        next.cost =
            state.cost +
            wanted_.fast * (bytes_of((reads | writes) & during) + bytes_of(spilled) + bytes_of(fetched)) +
            cost_at_home(((reads | writes) & ~during)) + cost_at_home(spilled) + cost_at_home(fetched);
        next.step = words_for(o, begin, end, spilled, fetched, during, reads, writes);
        reach(std::move(next));
      }
      if (in_fast == 0) break;
    }
  }

  /// Smaller ones before those that have them.
  static std::vector<Items> subsets_of(Items set) {
    std::vector<Items> subsets;
    for (Items part = set;; part = (part - 1) & set) {
      subsets.push_back(part);
      if (part == 0) break;
    }
    std::stable_sort(subsets.begin(), subsets.end(),
                     [](Items a, Items b) { return std::popcount(a) < std::popcount(b); });
    return subsets;
  }

  /// Bytes that output rows have in common with rows that nobody reads later.
  [[nodiscard]] Bytes bytes_shared(std::size_t o, std::int64_t begin, std::int64_t end, Items during,
                                   Items later) const {
    Bytes shared = 0;
    for (std::int64_t r = begin; r < end; ++r) {
      const Items written = ops_[o].writes[static_cast<std::size_t>(r)];
      if ((written & during) == 0) continue;
      const Items replaced = ops_[o].replaced[static_cast<std::size_t>(r)] & during & ~later & ~kept();
      if (replaced != 0) shared += bytes_of(written);
    }
    return shared;
  }

  [[nodiscard]] std::string words_for(std::size_t o, std::int64_t begin, std::int64_t end, Items spilled,
                                      Items fetched, Items during, Items reads, Items writes) const {
    const auto list = [](Items set) {
      std::string words;
      for_each_item(set, [&](std::size_t i) { words += " " + std::to_string(i); });
      return words;
    };
    std::string words;
    if (spilled != 0) words += "spill" + list(spilled) + ", ";
    if (fetched != 0) words += "fetch" + list(fetched) + ", ";
    return words + ops_[o].name + " " + std::to_string(begin) + ".." + std::to_string(end) +
           ": in slow memory" + list((reads | writes) & ~during) + "\n";
  }

  const NaiveRows& wanted_;
  std::vector<Item> items_{};
  std::vector<Op> ops_{};
  std::vector<Items> inputs_{};  ///< Of each network.
  std::vector<State> all_{};
  std::map<std::int64_t, std::map<Done, States>> layers_{};
};

}  // namespace

LeastCost least_cost_of_rows(std::span<const Graph> graphs, const NaiveRows& wanted) {
  return RowCosts(graphs, wanted).run();
}

}  // namespace stowage::oracle
