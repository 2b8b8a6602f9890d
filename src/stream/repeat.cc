// A row that is computed without multiplies (a normalisation, an activation) need not be kept for all
// its readers. If its input rows are there anyway, for instance for a residual, each reader computes it anew:
//
//     x --- norm --+-- keys                  x --- norm --- keys
//        \         +-- values                 \--- norm' -- values
//         \        +-- queries                 \--- norm'' - queries
//          \------------------ add              \------------------- add
//
//     x and norm are whole while queries run        only x is
//
// The network gets one copy of these operators for each reader. Orders, bounds and layouts treat the copies
// like any operators. In the plan they are one operator again, whose rows run several times.
//
// Cost: linear in operands for each repeated tensor, with the copies added so far.

#include "stream/repeat.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "stream/choose.h"
#include "stream/program.h"

namespace stowage::stream {
namespace {

/// The writer and the readers of each tensor of the main subgraph.
struct Uses {
  explicit Uses(const Graph& graph) : writer(graph.tensors.size()), readers(graph.tensors.size()) {
    const auto& operators = graph.subgraphs[0].operators;
    for (std::size_t o = 0; o < operators.size(); ++o) {
      for (const auto& output : operators[o].outputs) {
        if (output) writer[*output] = o;
      }
      for (const std::size_t earlier : operators[o].after) is_awaited.insert(earlier);
      for (const auto& input : operators[o].inputs) {
        if (input && (readers[*input].empty() || readers[*input].back() != o)) readers[*input].push_back(o);
      }
    }
  }

  std::vector<std::optional<std::size_t>> writer;
  std::vector<std::vector<std::size_t>> readers;  ///< Ascending.
  std::set<std::size_t> is_awaited{};             ///< Some operator runs after all of its rows.
};

/// Whether it computes rows from the same rows, without multiplies, any number of times.
bool is_free(const Graph& graph, const stowage::Operator& op) {
  const bool is_plain = op.multiplies == 0 && !op.stateful && !op.folded && op.bodies.empty() &&
                        op.after.empty() && op.scratch.empty() && op.outputs.size() == 1 && op.outputs[0];
  if (!is_plain || graph.tensors[*op.outputs[0]].kind != TensorKind::temporary) return false;
  const bool reads_state = std::ranges::any_of(graph.ties, [&](const StateTie& tie) {
    return std::ranges::find(op.inputs, std::optional(tie.input)) != op.inputs.end();
  });
  if (reads_state) return false;  // a later repeat would read the new one
  return std::any_of(op.row_axes.begin(), op.row_axes.end(), [&](const RowAxis& along) {
    return !along.is_windows && !along.reads.empty() &&
           std::all_of(along.reads.begin(), along.reads.end(),
                       [&](const RowRead& read) { return read.rows == RowMap{} && read.axis == along.axis; });
  });
}

class Looking {
 public:
  explicit Looking(const Graph& graph) : graph_(graph), uses_(graph) {}

  [[nodiscard]] std::size_t readers_of(TensorId t) const { return uses_.readers[t].size(); }

  [[nodiscard]] std::optional<Repeatable> made_from_one(TensorId t) const {
    if (uses_.readers[t].size() < 2 || !uses_.writer[t] || !is_free(graph_, op(*uses_.writer[t])))
      return std::nullopt;
    std::set<std::size_t> operators{*uses_.writer[t]};
    for (std::vector<std::size_t> open{*uses_.writer[t]}; !open.empty();) {
      const std::size_t o = open.back();
      open.pop_back();
      for (const auto& input : op(o).inputs) {
        if (!input) continue;
        if (const auto writer = uses_.writer[*input]; writer && is_free(graph_, op(*writer))) {
          if (operators.insert(*writer).second) open.push_back(*writer);
        }
      }
    }
    return trimmed(t, std::move(operators));
  }

 private:
  [[nodiscard]] const stowage::Operator& op(std::size_t o) const { return graph_.subgraphs[0].operators[o]; }

  /// Drops operators whose output is read elsewhere, and what only they need. None if the others read more
  /// than one outside tensor, or if nothing is gained.
  [[nodiscard]] std::optional<Repeatable> trimmed(TensorId t, std::set<std::size_t> operators) const {
    const std::size_t last = *uses_.writer[t];
    for (bool is_changed = true; is_changed;) {
      is_changed =
          std::erase_if(operators, [&](std::size_t o) {
            const auto& readers = uses_.readers[*op(o).outputs[0]];
            return o != last && !std::all_of(readers.begin(), readers.end(),
                                             [&](std::size_t reader) { return operators.contains(reader); });
          }) > 0;
    }
    std::set<TensorId> from;
    for (const std::size_t o : operators) {
      for (const auto& input : op(o).inputs) {
        const bool is_inside = input && uses_.writer[*input] && operators.contains(*uses_.writer[*input]);
        if (input && !is_inside && !is_constant(graph_.tensors[*input].kind)) from.insert(*input);
      }
    }
    const auto is_awaited = [&](std::size_t o) { return uses_.is_awaited.contains(o); };
    if (from.size() != 1 || std::any_of(operators.begin(), operators.end(), is_awaited)) return std::nullopt;
    const auto& readers = uses_.readers[*from.begin()];
    const bool is_there = std::any_of(readers.begin(), readers.end(),
                                      [&](std::size_t reader) { return !operators.contains(reader); });
    if (!is_there && graph_.tensors[*from.begin()].bytes >= graph_.tensors[t].bytes) return std::nullopt;
    return Repeatable{t, {operators.begin(), operators.end()}};
  }

  const Graph& graph_;
  Uses uses_;
};

/// Rewrites a network.
class Repeating {
 public:
  Repeating(const Repeated& repeated, const Repeatable& what)
      : given_(repeated), what_(what), result_(repeated) {
    result_.operators.clear();
    result_.graph.subgraphs[0].operators.clear();
  }

  Repeated run() {
    const auto& operators = given_.graph.subgraphs[0].operators;
    bool is_first = true;
    std::vector<std::size_t> now(operators.size());
    for (std::size_t o = 0; o < operators.size(); ++o) {
      stowage::Operator op = operators[o];
      if (std::find(op.inputs.begin(), op.inputs.end(), what_.tensor) != op.inputs.end()) {
        if (!is_first) {
          const TensorId own = add_again();
          std::replace(op.inputs.begin(), op.inputs.end(), std::optional(what_.tensor), std::optional(own));
        }
        is_first = false;
      }
      now[o] = result_.operators.size();
      add(std::move(op), given_.operators[o]);
    }
    for (const std::size_t o : now) {  // an operator may be listed before one that it runs after
      for (std::size_t& earlier : result_.graph.subgraphs[0].operators[o].after) earlier = now[earlier];
    }
    return std::move(result_);
  }

 private:
  void add(stowage::Operator op, std::size_t source) {
    result_.graph.subgraphs[0].operators.push_back(std::move(op));
    result_.operators.push_back(source);
  }

  /// Adds the operators once more. Returns the tensor that they write.
  TensorId add_again() {
    std::map<TensorId, TensorId> own;
    for (const std::size_t o : what_.operators) {
      stowage::Operator op = given_.graph.subgraphs[0].operators[o];
      for (auto& input : op.inputs) {
        if (const auto found = input ? own.find(*input) : own.end(); found != own.end())
          input = found->second;
      }
      const TensorId output = *op.outputs[0];
      op.outputs[0] = own[output] = result_.graph.tensors.size();
      result_.graph.tensors.push_back(given_.graph.tensors[output]);
      result_.tensors.push_back(given_.tensors[output]);
      add(std::move(op), given_.operators[o]);
    }
    return own.at(what_.tensor);
  }

  const Repeated& given_;
  const Repeatable& what_;
  Repeated result_;
};

}  // namespace

Repeated once(const Graph& graph) {
  Repeated repeated{.graph = graph};
  repeated.operators.resize(graph.subgraphs[0].operators.size());
  repeated.tensors.resize(graph.tensors.size());
  std::iota(repeated.operators.begin(), repeated.operators.end(), std::size_t{0});
  std::iota(repeated.tensors.begin(), repeated.tensors.end(), TensorId{0});
  return repeated;
}

Repeated in_order(const Graph& graph, const std::vector<std::size_t>& order) {
  Repeated repeated = once(graph);
  repeated.operators = order;
  std::vector<std::size_t> places(order.size());
  for (std::size_t place = 0; place < order.size(); ++place) places[order[place]] = place;
  auto& operators = repeated.graph.subgraphs[0].operators;
  for (std::size_t place = 0; place < order.size(); ++place) {
    operators[place] = graph.subgraphs[0].operators[order[place]];
    for (std::size_t& earlier : operators[place].after) earlier = places[earlier];
  }
  return repeated;
}

std::vector<Repeatable> repeatables(const Graph& graph) {
  const Looking looking(graph);
  std::vector<Repeatable> found;
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    if (auto it = looking.made_from_one(t)) found.push_back(std::move(*it));
  }
  const auto is_inside = [](const Repeatable& it, const Repeatable& other) {
    return it.tensor != other.tensor &&
           std::binary_search(other.operators.begin(), other.operators.end(), it.operators.back());
  };
  std::vector<Repeatable> outermost;
  for (const Repeatable& it : found) {
    if (std::none_of(found.begin(), found.end(), [&](const auto& other) { return is_inside(it, other); }))
      outermost.push_back(it);
  }
  std::stable_sort(outermost.begin(), outermost.end(), [&](const Repeatable& a, const Repeatable& b) {
    return looking.readers_of(a.tensor) < looking.readers_of(b.tensor);
  });
  return outermost;
}

Repeated repeat(const Repeated& repeated, const Repeatable& what) { return Repeating(repeated, what).run(); }

namespace {

/// Whether repeats can interleave. Rows can run again at any time, but not sums or whole operators.
bool can_interleave(const Repeated& repeated, const RowModel& model) {
  std::vector<int> times(repeated.operators.size(), 0);
  for (const std::size_t own : repeated.operators) ++times[own];
  return std::all_of(model.operators.begin(), model.operators.end(), [&](const Operator& op) {
    const bool may_run_again = op.writing == Writing::row_by_row && op.carrying == Carrying::sums;
    return may_run_again || !op.source || times[repeated.operators[*op.source]] == 1;
  });
}

std::vector<TensorId> candidates_of(const Repeated& given) {
  std::vector<TensorId> candidates;
  for (const Repeatable& it : repeatables(given.graph)) candidates.push_back(it.tensor);
  return candidates;
}

/// Repeats the operators that compute each of these tensors, until the deadline.
template <typename Tensors>
Repeated repeat_each(const Repeated& given, const Tensors& tensors, const base::Deadline& deadline) {
  constexpr std::int64_t work_of_operator = 700;  // in the units of deadlines: to look at it, and to copy it
  Repeated repeated = given;
  for (const TensorId tensor : tensors) {
    if (deadline.is_over()) break;
    deadline.spend(work_of_operator * std::ssize(repeated.operators));
    const auto all = repeatables(repeated.graph);
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& it) { return it.tensor == tensor; });
    if (found != all.end()) repeated = repeat(repeated, *found);
  }
  return repeated;
}

}  // namespace

Repeated repeat_all(const Repeated& given, const base::Deadline& deadline) {
  return repeat_each(given, candidates_of(given), deadline);
}

Repeated repeat_where_it_helps(const Repeated& given, const InstanceOptions& options,
                               const TrialEffort& effort) {
  const auto with = [&](const std::set<TensorId>& tensors, const base::Deadline& deadline) {
    return repeat_each(given, tensors, deadline);
  };
  const auto peak_of = [&](const Repeated& it, Bytes limit) {
    const RowModel model = instances_of(it.graph, options);
    if (!can_interleave(it, model)) return std::numeric_limits<Bytes>::max();
    return least_peak_of(model, effort, limit);
  };
  const std::set<TensorId> chosen = choose_tensors(
      groups_of_alike(given.graph, candidates_of(given)),
      [&](const std::set<TensorId>& tensors, Bytes limit) {
        return peak_of(with(tensors, effort.deadline), limit);
      },
      effort.deadline);
  return with(chosen, effort.deadline.without_limit());
}

}  // namespace stowage::stream
