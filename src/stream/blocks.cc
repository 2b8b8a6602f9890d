// Which operators are split into blocks along a second axis, and into how many.
//
// A choice grows from one operator and one of its axes:
//
//     projection - q - scores - softmax - mixed - projection       heads: the second axis of `scores`
//     columns     heads  heads   heads    heads   reads all        of q, a block is 64 of 768 columns
//
// An operator whose blocks need one block of an input each takes the writer of that input in, and readers whose
// blocks need one block of its output. Where neither is so, the choice ends: the operator there reads, or is read,
// as a whole. A choice pays if tensors inside are kept for long, or are wide for a moment.
//
// Cost: operands for each choice; a trial is an order by regions.

#include "stream/blocks.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "stream/repeat.h"

namespace stowage::stream {
namespace {

using model::Blocks;
using model::Splits;

constexpr std::int64_t most_blocks = 16;
constexpr std::size_t most_choices = 6;  ///< Those with the most bytes inside.

class Growing {
 public:
  Growing(const Graph& graph, const Axes& axes)
      : graph_(graph), axes_(axes), writer_(graph.tensors.size()), readers_(graph.tensors.size()) {
    for (std::size_t o = 0; o < operators().size(); ++o) {
      for (const auto& output : operators()[o].outputs) {
        if (output) writer_[*output] = o;
      }
      for (const auto& input : operators()[o].inputs) {
        if (input) readers_[*input].push_back(o);
      }
    }
    const auto& outputs = graph.subgraphs[0].outputs;
    stay_whole_ = model::read_by_bodies(graph);
    stay_whole_.insert(outputs.begin(), outputs.end());
  }

  /// The operators that are split with one along that axis.
  Splits from(std::size_t op, std::size_t axis, std::int64_t count) {
    splits_.clear();
    todo_.clear();
    const std::int64_t extent = extent_of(*operators()[op].outputs[0], axis);
    Blocks blocks{.axis = axis};
    for (std::int64_t b = 0; b <= count; ++b) blocks.bounds.push_back(b * (extent / count));
    join(op, std::move(blocks));
    while (!todo_.empty()) {
      const std::size_t next = todo_.back();
      todo_.pop_back();
      grow_back(next);
      grow_on(next);
    }
    return std::move(splits_);
  }

  [[nodiscard]] bool can_split(std::size_t op, std::size_t axis) const {
    const stowage::Operator& own = operators()[op];
    const RowAxis* const along = row_axis(own, axis);
    if (along == nullptr || !along->splits || own.folded || own.stateful || !own.after.empty()) return false;
    if (own.outputs.size() != 1 || !own.outputs[0] || !own.scratch.empty()) return false;
    const TensorId output = *own.outputs[0];
    return graph_.tensors[output].kind == TensorKind::temporary && !stay_whole_.contains(output) &&
           axes_[output] != axis;
  }

  [[nodiscard]] std::int64_t extent_of(TensorId t, std::size_t axis) const {
    return (*graph_.tensors[t].shape)[axis];
  }

 private:
  [[nodiscard]] const std::vector<stowage::Operator>& operators() const {
    return graph_.subgraphs[0].operators;
  }

  void join(std::size_t op, Blocks blocks) {
    if (!can_split(op, blocks.axis) || splits_.contains(op) || !reads_like_parts(op, blocks)) return;
    splits_.emplace(op, std::move(blocks));
    todo_.push_back(op);
  }

  /// A reshape, for instance, may make a row of several rows: then not every number of blocks fits.
  [[nodiscard]] bool reads_like_parts(std::size_t op, const Blocks& blocks) const {
    for (const RowRead& read : row_axis(operators()[op], blocks.axis)->reads) {
      const std::int64_t extent = extent_of(*operators()[op].inputs[read.input], read.axis);
      for (std::size_t b = 0; b + 1 < blocks.bounds.size(); ++b) {
        if (!model::reads_like_part(read, extent, block(blocks, b), blocks.bounds.back())) return false;
      }
    }
    return true;
  }

  static RowRange block(const Blocks& blocks, std::size_t b) {
    return {blocks.axis, blocks.bounds[b], blocks.bounds[b + 1]};
  }

  /// The blocks of an input that each need but one of these; none if they overlap or leave rows out.
  [[nodiscard]] std::optional<Blocks> read_by(const RowRead& read, TensorId input,
                                              const Blocks& blocks) const {
    Blocks needed{.axis = read.axis, .bounds = {0}};
    for (std::size_t b = 0; b + 1 < blocks.bounds.size(); ++b) {
      const RowRange range = model::block_read(read, extent_of(input, read.axis), block(blocks, b));
      if (range.begin != needed.bounds.back() || range.end <= range.begin) return std::nullopt;
      needed.bounds.push_back(range.end);
    }
    return needed.bounds.back() == extent_of(input, read.axis) ? std::optional(needed) : std::nullopt;
  }

  void grow_back(std::size_t op) {
    const Blocks blocks = splits_.at(op);
    for (const RowRead& read : row_axis(operators()[op], blocks.axis)->reads) {
      const TensorId input = *operators()[op].inputs[read.input];
      if (!writer_[input]) continue;
      if (auto needed = read_by(read, input, blocks)) join(*writer_[input], std::move(*needed));
    }
  }

  void grow_on(std::size_t op) {
    const Blocks blocks = splits_.at(op);
    const TensorId output = *operators()[op].outputs[0];
    for (const std::size_t reader : readers_[output]) {
      for (const RowAxis& along : operators()[reader].row_axes) {
        if (!along.splits) continue;
        for (const RowRead& read : along.reads) {
          if (operators()[reader].inputs[read.input] != output || read.axis != blocks.axis) continue;
          Blocks made = made_from(read.rows, along.axis, blocks);
          if (made.bounds.back() == extent_of(*operators()[reader].outputs[0], along.axis) &&
              read_by(read, output, made) == blocks)
            join(reader, std::move(made));
        }
      }
    }
  }

  /// The blocks of an output that these blocks of an input make, if the rule is that of a reshape.
  static Blocks made_from(const RowMap& rows, std::size_t axis, const Blocks& blocks) {
    Blocks made{.axis = axis};
    for (const std::int64_t bound : blocks.bounds) {
      const std::int64_t inner = std::max<std::int64_t>(rows.scale, 1);
      made.bounds.push_back(rows.divisor > 1 && bound <= largest_value / rows.divisor ? bound * rows.divisor
                                                                                      : bound / inner);
    }
    return made;
  }

  const Graph& graph_;
  const Axes& axes_;
  std::vector<std::optional<std::size_t>> writer_;
  std::vector<std::vector<std::size_t>> readers_;
  std::set<TensorId> stay_whole_{};
  Splits splits_{};
  std::vector<std::size_t> todo_{};
};

/// Numbers of blocks to try.
std::vector<std::int64_t> counts_of(std::int64_t extent) {
  std::vector<std::int64_t> counts;
  std::int64_t most = std::min(extent, most_blocks);
  while (most > 1 && extent % most != 0) --most;
  if (most > 1) counts.push_back(most);
  for (const std::int64_t count : std::array<std::int64_t, 2>{4, 2}) {
    if (extent % count == 0 && count < most) counts.push_back(count);
  }
  return counts;
}

/// What chains that are alike have in common.
using ChainTypes = std::vector<std::tuple<std::string, std::size_t, std::size_t>>;

ChainTypes types_of(const Graph& graph, const Splits& splits) {
  ChainTypes types;
  for (const auto& [op, blocks] : splits)
    types.emplace_back(graph.subgraphs[0].operators[op].type, blocks.axis, blocks.bounds.size());
  return types;
}

/// Adds splits of other operators. False if an operator is in both.
bool add(const Splits& more, Splits& splits) {
  for (const auto& [op, blocks] : more) {
    if (splits.contains(op)) return false;
  }
  splits.insert(more.begin(), more.end());
  return true;
}

}  // namespace

std::vector<Splits> block_choices(const Graph& graph, const ChosenAxes& chosen) {
  const Axes axes = axes_of(graph, chosen);
  Growing growing(graph, axes);
  std::set<std::tuple<std::size_t, std::size_t, std::size_t>> seen;
  std::map<ChainTypes, std::size_t> alike;
  std::vector<Splits> choices;
  const auto& operators = graph.subgraphs[0].operators;
  for (std::size_t o = 0; o < operators.size(); ++o) {
    for (const RowAxis& along : operators[o].row_axes) {
      if (!growing.can_split(o, along.axis)) continue;
      for (const std::int64_t count : counts_of(growing.extent_of(*operators[o].outputs[0], along.axis))) {
        if (seen.contains({o, along.axis, static_cast<std::size_t>(count) + 1})) continue;
        const Splits splits = growing.from(o, along.axis, count);
        for (const auto& [op, blocks] : splits) seen.emplace(op, blocks.axis, blocks.bounds.size());
        if (splits.size() < 2) continue;
        const auto [found, is_new] = alike.try_emplace(types_of(graph, splits), choices.size());
        if (is_new) {
          choices.push_back(splits);
        } else {
          add(splits, choices[found->second]);
        }
      }
    }
  }
  return choices;
}

namespace {

/// Bytes of the tensors that are split.
Bytes bytes_in(const Graph& graph, const Splits& splits) {
  Bytes bytes = 0;
  for (const auto& [op, blocks] : splits)
    bytes =
        std::min(largest_value, bytes + graph.tensors[*graph.subgraphs[0].operators[op].outputs[0]].bytes);
  return bytes;
}

/// The number of blocks; all operators of a choice have as many.
std::size_t count_of(const Splits& splits) { return splits.begin()->second.bounds.size(); }

bool have_common(const Splits& a, const Splits& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& it) { return b.contains(it.first); });
}

Splits joined(const std::vector<Splits>& all) {
  Splits splits;
  for (const Splits& it : all) splits.insert(it.begin(), it.end());
  return splits;
}

/// The options with axes that are chosen for tensors also chosen for their blocks.
InstanceOptions options_of_blocks(const model::SplitNetwork& network, InstanceOptions options) {
  for (const auto& [tensor, blocks] : network.blocks) {
    const auto chosen = options.axes.find(tensor);
    if (chosen == options.axes.end()) continue;
    const std::size_t axis = chosen->second;
    for (const TensorId block : blocks) options.axes[block] = axis;
  }
  return options;
}

/// The least peak with nothing repeated, or all that may be.
Bytes peak_of(const Graph& graph, const InstanceOptions& options, const TrialEffort& effort, Bytes limit) {
  const Bytes once = least_peak_of(instances_of(graph, options), effort, limit);
  const Repeated again = repeat_all(stream::once(graph), effort.deadline);
  if (again.operators.size() == graph.subgraphs[0].operators.size()) return once;
  return std::min(once, least_peak_of(instances_of(again.graph, options), effort, std::min(once, limit)));
}

}  // namespace

SplitChoice split_where_it_helps(const Graph& graph, const InstanceOptions& options,
                                 std::int64_t most_iterations, const TrialEffort& effort) {
  constexpr std::int64_t work_of_operator = 3000;  // in the units of deadlines: to make it for a trial
  std::vector<Splits> choices = block_choices(graph, options.axes);
  std::stable_sort(choices.begin(), choices.end(), [&](const Splits& a, const Splits& b) {
    const Bytes of_a = bytes_in(graph, a);
    const Bytes of_b = bytes_in(graph, b);
    return of_a != of_b ? of_a > of_b : count_of(a) > count_of(b);
  });
  SplitChoice result;
  if (choices.empty()) return result;
  choices.resize(std::min(choices.size(), most_choices));
  std::vector<Splits> best;
  Bytes peak = peak_of(graph, options, effort, std::numeric_limits<Bytes>::max());
  for (const Splits& choice : choices) {
    result.is_cut = effort.deadline.is_over();
    if (result.is_cut) break;
    std::vector<Splits> trial = best;
    std::erase_if(trial, [&](const Splits& it) { return have_common(it, choice); });
    trial.push_back(choice);
    const model::SplitNetwork network = model::split(graph, joined(trial));
    const Graph blocks = model::stored(network);
    effort.deadline.spend(work_of_operator * std::ssize(blocks.subgraphs[0].operators));
    const InstanceOptions own = options_of_blocks(network, options);
    const std::int64_t iterations = iterations_of(instances_of(blocks, own));
    if (iterations > most_iterations) {
      result.least_left_out =
          result.least_left_out == 0 ? iterations : std::min(result.least_left_out, iterations);
      continue;
    }
    const Bytes with = peak_of(blocks, own, effort, peak - 1);
    if (with >= peak) continue;
    peak = with;
    best = std::move(trial);
  }
  result.is_cut = result.is_cut || effort.deadline.is_over();
  result.splits = joined(best);
  return result;
}

}  // namespace stowage::stream
