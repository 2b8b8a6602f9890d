// Samples of a batch that no operator mixes run one after the other. The first is planned, as a network of its own. All
// others do the same behind it, in the same bytes: their steps and live ranges are those of the first, as much later as
// one sample takes.
//
//     x, y [8, ..]      x#0 - a#0 - y#0,  x#1 - a#1 - y#1,  ..   blocks of one sample each (model/blocks.h)
//     a [8, ..]         steps of sample 0 at 0 .. t - 1, of sample 1 at t .. 2t - 1, ..
//
// No order of the same rows of all samples needs less: of each, the steps of one sample are an order of that.
//
// An operator mixes no samples if its row rule says that blocks along the axis of the batch are independent. That axis is
// the first one of the outputs; from there it is followed to the inputs, along whichever axis they have it.
//
// Cost: operands times samples, and the steps and live ranges of one sample times samples.

#include "plan/row_samples.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "stream/axes.h"

namespace stowage::plan {
namespace {

using model::Blocks;

class Following {
 public:
  explicit Following(const Graph& graph) : graph_(graph), main_(graph.subgraphs[0]) {}

  std::optional<Samples> run() {
    if (graph_.subgraphs.size() != 1 || !graph_.ties.empty() || !begin()) return std::nullopt;
    const std::vector<std::size_t> order = topological_orders(graph_)[0];
    for (const std::size_t op : std::views::reverse(order)) {
      if (!main_.operators[op].folded && !follow(op)) return std::nullopt;
    }
    model::InputBlocks inputs;
    for (const TensorId t : main_.inputs) {
      if (is_constant(graph_.tensors[t].kind)) continue;
      const auto found = blocks_.find(t);
      if (found == blocks_.end() || graph_.tensors[t].kind != TensorKind::input) return std::nullopt;
      inputs.insert(*found);
    }
    if (inputs.empty()) return std::nullopt;
    Samples samples{.network = model::split(graph_, splits_, inputs), .count = count_};
    samples.first = model::stored(samples.network);
    keep_first(samples);
    return samples;
  }

 private:
  [[nodiscard]] std::int64_t extent(TensorId t, std::size_t axis) const {
    const auto& shape = graph_.tensors[t].shape;
    return shape && axis < shape->size() ? (*shape)[axis] : 0;
  }

  [[nodiscard]] static RowRange block(const Blocks& blocks, std::size_t b) {
    return {blocks.axis, blocks.bounds[b], blocks.bounds[b + 1]};
  }

  /// The samples of the outputs.
  bool begin() {
    if (main_.outputs.empty()) return false;
    count_ = extent(main_.outputs[0], 0);
    if (count_ < 2) return false;
    Blocks blocks;
    for (std::int64_t b = 0; b <= count_; ++b) blocks.bounds.push_back(b);
    return std::ranges::all_of(main_.outputs, [&](TensorId t) {
      return graph_.tensors[t].kind == TensorKind::output && extent(t, 0) == count_ && note(t, blocks);
    });
  }

  /// False if another operator has other samples of the tensor.
  bool note(TensorId t, const Blocks& blocks) {
    return bytes_of_row(graph_.tensors[t], blocks.axis) &&
           blocks_.try_emplace(t, blocks).first->second == blocks;
  }

  /// Finds the samples of what the operator reads. False if it mixes some.
  bool follow(std::size_t o) {
    const Operator& op = main_.operators[o];
    if (op.outputs.size() != 1 || !op.outputs[0] || op.stateful || !op.scratch.empty() ||
        !op.bodies.empty() || !op.after.empty())
      return false;
    const auto own = blocks_.find(*op.outputs[0]);
    if (own == blocks_.end()) return false;
    const Blocks blocks = own->second;
    const RowAxis* const along = row_axis(op, blocks.axis);
    if (along == nullptr || !along->splits) return false;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (!op.inputs[i]) continue;
      const bool is_read = is_constant(graph_.tensors[*op.inputs[i]].kind)
                               ? reads_alike(op, i, *along, blocks)
                               : reads_samples(op, i, *along, blocks);
      if (!is_read) return false;
    }
    splits_.emplace(o, blocks);
    return true;
  }

  /// Whether all samples read as much of a constant.
  [[nodiscard]] bool reads_alike(const Operator& op, std::size_t i, const RowAxis& along,
                                 const Blocks& blocks) const {
    const RowRead* const read = row_read(along, i);
    if (read == nullptr) return true;
    const std::int64_t rows = extent(*op.inputs[i], read->axis);
    for (std::size_t b = 0; b + 1 < blocks.bounds.size(); ++b) {
      if (!model::reads_like_part(*read, rows, block(blocks, b), blocks.bounds.back())) return false;
    }
    return true;
  }

  bool reads_samples(const Operator& op, std::size_t i, const RowAxis& along, const Blocks& blocks) {
    const RowRead* const read = row_read(along, i);
    const TensorId input = *op.inputs[i];
    if (read == nullptr || !stream::is_passed_on(graph_.tensors[input].kind) ||
        !reads_alike(op, i, along, blocks))
      return false;
    Blocks needed{.axis = read->axis, .bounds = {0}};
    for (std::size_t b = 0; b + 1 < blocks.bounds.size(); ++b) {
      const RowRange range = model::block_read(*read, extent(input, read->axis), block(blocks, b));
      if (range.begin != needed.bounds.back()) return false;  // they overlap or leave rows out
      needed.bounds.push_back(range.end);
    }
    return needed.bounds.back() == extent(input, read->axis) && note(input, needed);
  }

  static void keep_first(Samples& samples) {
    Subgraph& main = samples.first.subgraphs[0];
    std::vector<Operator> operators;
    for (std::size_t o = 0; o < main.operators.size(); ++o) {
      const auto& block = samples.network.operators[o].block;
      if (!block || block->begin > 0) continue;
      samples.ops.push_back(o);
      operators.push_back(std::move(main.operators[o]));
    }
    main.operators = std::move(operators);
    const auto is_later = [&](TensorId t) {
      const auto& block = samples.network.tensors[t].block;
      return block && block->begin > 0;
    };
    std::erase_if(main.inputs, is_later);
    std::erase_if(main.outputs, is_later);
    for (TensorId t = 0; t < samples.first.tensors.size(); ++t)
      samples.first.tensors[t].name = samples.first.tensors[samples.network.tensors[t].of].name;
  }

  const Graph& graph_;
  const Subgraph& main_;
  std::int64_t count_ = 0;
  std::map<TensorId, Blocks> blocks_{};
  model::Splits splits_{};
};

/// Operators of all samples, by that of the network which they stand for.
std::map<std::size_t, std::vector<std::size_t>> operators_of(const model::SplitNetwork& network) {
  std::map<std::size_t, std::vector<std::size_t>> all;
  for (std::size_t o = 0; o < network.operators.size(); ++o) all[network.operators[o].of].push_back(o);
  for (auto& [of, those] : all)
    std::ranges::sort(those, {}, [&](std::size_t o) { return network.operators[o].block->begin; });
  return all;
}

void shift(Lifetime& life, Position by) {
  life.lower += by;
  life.upper += by;
}

}  // namespace

std::optional<Samples> samples_of(const Graph& graph) { return Following(graph).run(); }

PlacedRows one_after_another(PlacedRows first, const Samples& samples) {
  const model::SplitNetwork& network = samples.network;
  const auto operators = operators_of(network);
  const auto count = static_cast<std::size_t>(samples.count);
  const auto length = static_cast<Position>(first.steps.size());
  const auto in_sample = [&](std::size_t& tensor, std::size_t sample) {
    tensor = network.blocks.at(network.tensors[tensor].of).at(sample);
  };
  PlacedRows all = std::move(first);
  const std::vector<Step> steps = std::move(all.steps);
  all.steps.clear();
  for (std::size_t sample = 0; sample < count; ++sample) {
    for (Step step : steps) {
      if (auto* const run = std::get_if<Run>(&step))
        run->path[1] = operators.at(network.operators[samples.ops[run->path[1]]].of).at(sample);
      if (auto* const arrive = std::get_if<Arrive>(&step)) in_sample(arrive->tensor, sample);
      if (auto* const leave = std::get_if<Leave>(&step)) in_sample(leave->tensor, sample);
      all.steps.push_back(std::move(step));
    }
  }
  for (const auto& [of, blocks] : network.blocks) {
    const std::vector<View> views = all.tensors[blocks[0]].views;
    for (std::size_t sample = 1; sample < count; ++sample) {
      all.tensors[blocks[sample]].views = views;
      for (View& view : all.tensors[blocks[sample]].views)
        shift(view.life, static_cast<Position>(sample) * length);
    }
  }
  for (Buffer& buffer : all.problem.buffers) {
    const std::vector<Piece> pieces = buffer.pieces;
    for (std::size_t sample = 1; sample < count; ++sample) {
      for (Piece piece : pieces) {
        shift(piece.life, static_cast<Position>(sample) * length);
        buffer.pieces.push_back(piece);
      }
    }
    buffer.traffic = base::checked_multiply(buffer.traffic, samples.count).value_or(largest_value);
  }
  for (StreamRegion& region : all.streaming.regions) {
    for (std::size_t& op : region.operators) op = samples.ops[op];
  }
  all.streaming.affine.reset();  // each sample follows one, all together do not
  return all;
}

}  // namespace stowage::plan
