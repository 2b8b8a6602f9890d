// Every order runs iteration i at some time. The iterations that have run by then form a closed set: it
// holds, with each iteration, all that this one needs. It holds what i needs, and not i. So
//
//     peak >= max over i of  (bytes i writes) + min over closed sets S that can run i of  live(S)
//
// and live(S) is the sum over granules of
//
//     bytes  if the writer is in S and not all readers are.
//
// A granule costs as much as a pipe, writer -> (all readers), that is cut if the writer is on the source's
// side and a reader is not. Needs are pipes that cannot be cut. So the minimum over 2^iterations sets is a
// minimum cut (closures and projects: J.-C. Picard, "Maximal closure of a graph and applications to
// combinatorial problems", 1976):
//
//        source                                 source ->oo what i needs, i - 1
//          |                                    i      ->oo sink
//       [writer of g] --bytes of g--> (g read)  x      ->oo what x needs
//                                        |oo
//                          [reader 1] [reader 2] ..     "g read" at the source's side needs all readers there
//
// The source writes resident granules; the sink reads granules that stay.
//
// Only the largest minimum matters, so few cuts are needed. Every known closed set is a witness for each
// iteration that it can run: the minimum is no larger. The states of a good order are such sets, and so are
// the sets that cuts find. The iteration with the largest witness is cut first, until no witness exceeds the
// bound.
//
// One iteration at a time says nothing about branches that are alike, such as heads: any of them may be the
// last of all. So branches race. One operator of a group is the last to begin, and then all others have begun:
// what they made waits, or what they read is still there. The least of these cuts, over all operators that may
// be the last, is a bound, too. So is the same of the first operator to end.
//
// The patent leaves its target to the user; this bound shows when nothing is left to gain. It holds for
// orders in which each operator's iterations ascend, which are those that a State can be in.
//
// Cost: a cut is a flow over (iterations + granules) nodes and (reads) pipes. Few cuts are needed; a race
// takes up to one for each operator.

#include "stream/bound.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <vector>

#include "base/max_flow.h"
#include "stream/program.h"
#include "stream/races.h"

namespace stowage::stream {
namespace {

/// What must have run, and what must not, when an iteration runs.
struct Condition {
  std::vector<IterationId> done{};
  std::vector<IterationId> open{};
};

class CutBound {
 public:
  explicit CutBound(const RowProgram& program)
      : program_(program),
        source_(program.instances.size() + program.granules.size()),
        sink_(source_ + 1),
        network_(sink_ + 1),
        witness_(program.instances.size(), base::FlowNetwork::unlimited) {
    for (IterationId i = 0; i < program_.instances.size(); ++i) add_instance(i);
    for (GranuleId g = 0; g < program_.granules.size(); ++g) add_granule(g);
  }

  Bound run(std::span<const IterationId> order, const BoundOptions& options) {
    const std::vector<std::vector<std::size_t>> groups = races_of(program_);
    const base::Deadline deadline = groups.empty() ? options.deadline : options.deadline.part(0.5);
    options.deadline.spend(work_of_node * std::ssize(witness_));
    options.deadline.spend(work_of_look * static_cast<std::int64_t>(order.size() * program_.operators()));
    witness_order(order);
    Bound bound{.bytes = program_.resident};  // before the first iteration
    std::priority_queue<std::pair<Bytes, IterationId>> queue;
    for (IterationId i = 0; i < witness_.size(); ++i) queue.emplace(witness_[i], i);
    for (; !queue.empty() && queue.top().first > bound.bytes && bound.bytes < options.enough;) {
      const auto [bytes, i] = queue.top();
      queue.pop();
      if (bytes > witness_[i]) {  // a better one was found since
        queue.emplace(witness_[i], i);
        continue;
      }
      if (bound.cuts == options.most_cuts || deadline.is_over()) {
        bound.is_complete = false;
        break;
      }
      ++bound.cuts;
      bound.bytes = std::max(bound.bytes, cut(i, deadline));
    }
    bound.is_complete = bound.is_complete && (queue.empty() || queue.top().first <= bound.bytes);
    BoundOptions races = options;
    races.most_cuts = bound.cuts + options.most_cuts;
    for (const std::vector<std::size_t>& group : groups) {
      if (bound.bytes < options.enough && !options.deadline.is_over()) race(group, races, bound);
    }
    return bound;
  }

 private:
  /// In the units of deadlines: to make the node of an iteration, and to look at an operator.
  static constexpr std::int64_t work_of_node = 500;
  static constexpr std::int64_t work_of_look = 1;

  void add_instance(IterationId i) {
    const Iteration& instance = program_.instances[i];
    if (instance.index > 0) network_.add(i, i - 1, base::FlowNetwork::unlimited);
    for (const Dependence& need : instance.needs)
      network_.add(i, program_.at(need.op, need.count - 1), base::FlowNetwork::unlimited);
    from_source_.push_back(network_.add(source_, i, 0));
    to_sink_.push_back(network_.add(i, sink_, 0));
  }

  void add_granule(GranuleId g) {
    const Granule& granule = program_.granules[g];
    if (granule.last_readers.empty() && !granule.stays) return;
    const std::size_t all_read = program_.instances.size() + g;
    const std::size_t writer = granule.writer ? *granule.writer : source_;
    network_.add(writer, granule.stays ? sink_ : all_read, granule.bytes);
    for (const LastReader& reader : granule.last_readers)
      network_.add(all_read, program_.at(reader.op, reader.index), base::FlowNetwork::unlimited);
  }

  /// Raises the bound to what a group needs when the last of its operators begins, and when the first one ends.
  void race(const std::vector<std::size_t>& group, const BoundOptions& options, Bound& bound) {
    const std::int64_t last = program_.count(group[0]) - 1;
    least_of(group, 0, options, bound, [&](std::size_t other, Condition& condition) {
      condition.done.push_back(program_.at(other, 0));
    });
    least_of(group, last, options, bound, [&](std::size_t other, Condition& condition) {
      condition.open.push_back(program_.at(other, last));
    });
  }

  /// Raises the bound to the least of the cuts at one iteration of each operator, on a condition for all others.
  /// Gives up if one is no higher than the bound, or if there are too many.
  template <typename AddCondition>
  void least_of(const std::vector<std::size_t>& group, std::int64_t index, const BoundOptions& options,
                Bound& bound, const AddCondition& add_condition) {
    Bytes least = base::FlowNetwork::unlimited;
    for (const std::size_t op : group) {
      if (bound.cuts == options.most_cuts || options.deadline.is_over()) return;
      Condition condition;
      for (const std::size_t other : group) {
        if (other != op) add_condition(other, condition);
      }
      ++bound.cuts;
      least = std::min(least, cut(program_.at(op, index), options.deadline, condition));
      if (least <= bound.bytes) return;
    }
    if (least < base::FlowNetwork::unlimited) bound.bytes = least;
  }

  /// The fewest live bytes while the iteration runs, or less; `unlimited` if it never runs on the condition.
  Bytes cut(IterationId i, const base::Deadline& deadline, const Condition& condition = {}) {
    Bytes least = cut(i, std::nullopt, deadline, condition);
    for (const GranuleId g : program_.instances[i].may_overwrite)
      least = std::min(least, cut(i, g, deadline, condition));
    return least;
  }

  /// The same if it writes over a granule that all others have read.
  Bytes cut(IterationId i, std::optional<GranuleId> over, const base::Deadline& deadline,
            const Condition& condition) {
    const Iteration& instance = program_.instances[i];
    std::vector<std::size_t> forced;
    for (const IterationId done : condition.done) forced.push_back(from_source_[done]);
    for (const IterationId open : condition.open) forced.push_back(to_sink_[open]);
    Bytes saved = 0;
    if (over) {
      const Granule& granule = program_.granules[*over];
      saved = std::min(granule.bytes, instance.bytes_written);
      for (const LastReader& reader : granule.last_readers) {
        if (reader.op != instance.op) forced.push_back(from_source_[program_.at(reader.op, reader.index)]);
      }
    }
    if (instance.index > 0) forced.push_back(from_source_[i - 1]);
    for (const Dependence& need : instance.needs)
      forced.push_back(from_source_[program_.at(need.op, need.count - 1)]);
    forced.push_back(to_sink_[i]);
    for (const std::size_t pipe : forced) network_.set_capacity(pipe, base::FlowNetwork::unlimited);
    const Bytes live = network_.cut(source_, sink_, base::FlowNetwork::unlimited, deadline);
    for (const std::size_t pipe : forced) network_.set_capacity(pipe, 0);
    if (live >= base::FlowNetwork::unlimited) return live;  // another reader waits for this iteration
    if (!deadline.is_over()) witness_cut();
    return live + instance.bytes_written - saved;
  }

  /// Live bytes while an operator's next iteration runs, in place if it may.
  [[nodiscard]] Bytes load_of(const State& state, std::size_t op) const {
    const Iteration& instance = state.next(op);
    Bytes saved = 0;
    for (const GranuleId g : instance.may_overwrite) {
      const Granule& granule = program_.granules[g];
      const bool is_read_later =
          std::any_of(granule.last_readers.begin(), granule.last_readers.end(),
                      [&](const LastReader& it) { return it.op != op && state.done(it.op) <= it.index; });
      if (!is_read_later) saved = std::max(saved, std::min(granule.bytes, instance.bytes_written));
    }
    return state.load_of(op) - saved;
  }

  void witness(const State& state) {
    for (std::size_t op = 0; op < program_.operators(); ++op) {
      if (state.is_finished(op) || !state.is_ready(op)) continue;
      Bytes& least = witness_[program_.at(op, state.done(op))];
      least = std::min(least, load_of(state, op));
    }
  }

  void witness_order(std::span<const IterationId> order) {
    State state(program_);
    for (const IterationId id : order) {
      witness(state);
      state.run(program_.instances[id].op);
    }
  }

  void witness_cut() {
    State state(program_);
    for (std::size_t op = 0; op < program_.operators(); ++op) {
      while (!state.is_finished(op) && network_.is_at_source(program_.at(op, state.done(op)))) state.run(op);
    }
    witness(state);
  }

  const RowProgram& program_;
  std::size_t source_;
  std::size_t sink_;
  base::FlowNetwork network_;
  std::vector<std::size_t> from_source_;  ///< Pipes, by iteration; 0 unless it is forced there.
  std::vector<std::size_t> to_sink_;
  std::vector<Bytes> witness_;  ///< By iteration: its live bytes in the best known state.
};

}  // namespace

Bound lower_bound(const RowProgram& program, std::span<const IterationId> order,
                  const BoundOptions& options) {
  if (options.most_cuts == 0 || options.deadline.is_over())
    return {.bytes = program.resident, .is_complete = program.instances.empty()};
  return CutBound(program).run(order, options);
}

}  // namespace stowage::stream
