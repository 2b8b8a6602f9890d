// Iterations along two axes. An operator along whose second axis blocks are independent becomes an operator for
// each block; each then runs row by row like any other operator.
//
//     q, k, v  [heads, tokens, 64]        q#0 - k#0 - v#0 - scores#0 - ..  -+
//     scores   [heads, tokens, tokens]    q#1 - k#1 - v#1 - scores#1 - ..  -+- projection
//                                         ..                               -+
//
// Whether blocks are independent is what the row rules say along that axis (RowAxis::splits). Which rows an
// element at (row, block) needs follows from both axes: it reads rows that its row reads, in the rows that its
// block reads. An input that both read along one axis is read as a whole block.

#include "model/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/checked.h"
#include "model/multiplies.h"
#include "stowage/error.h"

namespace stowage::model {

std::optional<Tensor> block_of(const Tensor& tensor, const RowRange& block) {
  const auto row = bytes_of_row(tensor, block.axis);
  if (!row) return std::nullopt;
  Tensor part = tensor;
  part.name += fmt::format("#{}", block.begin);
  part.bytes = *row * (block.end - block.begin);
  (*part.shape)[block.axis] = block.end - block.begin;
  return part;
}

RowRange block_read(const RowRead& read, std::int64_t extent, const RowRange& block) {
  const auto [first, last] =
      std::minmax({first_row(read.rows, block.begin), first_row(read.rows, block.end - 1)});
  const std::int64_t end = last + (read.rows.taps - 1) * read.rows.dilation + 1;
  return {read.axis, std::clamp<std::int64_t>(first, 0, extent), std::clamp<std::int64_t>(end, 0, extent)};
}

bool reads_like_part(const RowRead& read, std::int64_t extent, const RowRange& block, std::int64_t rows) {
  const RowRange range = block_read(read, extent, block);
  const auto read_of_all = base::checked_multiply(range.end - range.begin, rows);
  return range.begin < range.end && read_of_all &&
         read_of_all == base::checked_multiply(block.end - block.begin, extent);
}

std::set<TensorId> read_by_bodies(const Graph& graph) {
  std::set<TensorId> tensors;
  const auto add = [&](const Operator& op) {
    for (const auto& input : op.inputs) {
      if (input) tensors.insert(*input);
    }
  };
  for (const stowage::Operator& op : graph.subgraphs[0].operators) {
    if (!op.bodies.empty()) add(op);
  }
  for (std::size_t body = 1; body < graph.subgraphs.size(); ++body) {
    std::ranges::for_each(graph.subgraphs[body].operators, add);
    tensors.insert(graph.subgraphs[body].outputs.begin(), graph.subgraphs[body].outputs.end());
  }
  return tensors;
}

namespace {

class Splitting {
 public:
  Splitting(const Graph& graph, const Splits& splits, const InputBlocks& inputs)
      : graph_(graph), splits_(splits), inputs_(inputs) {
    result_.graph = graph;
    result_.graph.subgraphs[0].operators.clear();
    for (TensorId t = 0; t < graph.tensors.size(); ++t) result_.tensors.push_back({t, std::nullopt});
  }

  SplitNetwork run() {
    writer_.resize(graph_.tensors.size());
    for (std::size_t o = 0; o < operators().size(); ++o) {
      for (const auto& output : operators()[o].outputs) {
        if (output) writer_[*output] = o;
      }
    }
    for (const auto& [t, blocks] : inputs_) add_input(t, blocks);
    for (const auto& [op, blocks] : splits_) add_blocks(op, blocks);
    now_.resize(operators().size());
    for (const std::vector<std::size_t>& together : chains()) {
      const auto split = splits_.find(together.front());
      const std::size_t count = split == splits_.end() ? 1 : split->second.bounds.size() - 1;
      for (std::size_t b = 0; b < count; ++b) {
        for (const std::size_t o : together) add_operator(o, b);
      }
    }
    for (stowage::Operator& op : result_.graph.subgraphs[0].operators) op.after = blocks_of(op.after);
    for (auto* const passed : {&result_.graph.subgraphs[0].inputs, &result_.graph.subgraphs[0].outputs})
      *passed = in_blocks(*passed);
    return std::move(result_);
  }

 private:
  [[nodiscard]] const std::vector<stowage::Operator>& operators() const {
    return graph_.subgraphs[0].operators;
  }

  [[noreturn]] void refuse(std::size_t op, const std::string& why) const {
    throw Error(describe(graph_, 0, op), "is split into blocks, but " + why);
  }

  [[nodiscard]] RowRange block(std::size_t op, std::size_t b) const { return block(splits_.at(op), b); }
  [[nodiscard]] static RowRange block(const Blocks& blocks, std::size_t b) {
    return {blocks.axis, blocks.bounds[b], blocks.bounds[b + 1]};
  }

  [[nodiscard]] std::int64_t extent(TensorId t, std::size_t axis) const {
    const auto& shape = graph_.tensors[t].shape;
    return shape && axis < shape->size() ? (*shape)[axis] : 0;
  }

  /// Whether the blocks are all rows of a tensor.
  [[nodiscard]] bool are_all(const Blocks& blocks, TensorId t) const {
    return blocks.bounds.size() >= 2 && blocks.bounds.front() == 0 &&
           blocks.bounds.back() == extent(t, blocks.axis) &&
           std::ranges::adjacent_find(blocks.bounds, std::greater_equal<>()) == blocks.bounds.end();
  }

  /// The tensors, with blocks in the place of those that are stored in blocks.
  [[nodiscard]] std::vector<TensorId> in_blocks(const std::vector<TensorId>& tensors) const {
    std::vector<TensorId> all;
    for (const TensorId t : tensors) {
      const auto found = result_.blocks.find(t);
      if (found == result_.blocks.end()) {
        all.push_back(t);
      } else {
        all.insert(all.end(), found->second.begin(), found->second.end());
      }
    }
    return all;
  }

  void add_input(TensorId t, const Blocks& blocks) {
    const auto& inputs = graph_.subgraphs[0].inputs;
    const char* why = nullptr;
    if (std::ranges::find(inputs, t) == inputs.end() || graph_.tensors[t].kind != TensorKind::input)
      why = "it is no input of the network";
    else if (read_by_bodies_.contains(t))
      why = "an operator with bodies reads it";
    else if (!are_all(blocks, t))
      why = "they are not all of its rows";
    if (why != nullptr)
      throw Error(describe(graph_, t),
                  fmt::format("arrives in blocks along axis {}, but {}", blocks.axis, why));
    for (std::size_t b = 0; b + 1 < blocks.bounds.size(); ++b)
      result_.blocks[t].push_back(add_tensor(t, block(blocks, b), TensorKind::input));
  }

  /// The tensors that a split operator writes.
  void add_blocks(std::size_t op, const Blocks& blocks) {
    if (op >= operators().size()) throw Error(graph_.name, fmt::format("has no operator {} to split", op));
    const stowage::Operator& own = operators()[op];
    const RowAxis* const along = row_axis(own, blocks.axis);
    if (along == nullptr || !along->splits || own.outputs.size() != 1 || !own.outputs[0] || own.folded ||
        own.stateful || !own.scratch.empty())
      refuse(op, fmt::format("cannot be along axis {}", blocks.axis));
    const TensorId output = *own.outputs[0];
    const TensorKind kind = graph_.tensors[output].kind;
    if (kind != TensorKind::temporary && kind != TensorKind::output)
      refuse(op, "its output is no output of the network and no tensor inside it");
    if (read_by_bodies_.contains(output)) refuse(op, "an operator with bodies reads its output");
    if (!are_all(blocks, output))
      refuse(op, fmt::format("its blocks are not all of its {} rows", extent(output, blocks.axis)));
    for (std::size_t b = 0; b + 1 < blocks.bounds.size(); ++b)
      result_.blocks[output].push_back(add_tensor(output, block(op, b), kind));
  }

  TensorId add_tensor(TensorId of, const RowRange& range, TensorKind kind) {
    auto tensor = block_of(graph_.tensors[of], range);
    if (!tensor)
      throw Error(describe(graph_, of),
                  fmt::format("is in blocks along axis {}, whose rows are not whole bytes", range.axis));
    tensor->kind = kind;
    result_.graph.tensors.push_back(std::move(*tensor));
    result_.tensors.push_back({of, range});
    return result_.graph.tensors.size() - 1;
  }

  // Order

  /// Whether the operator reads that input block by block, as its writer writes it.
  [[nodiscard]] bool follows(std::size_t op, const RowRead& read) const {
    const auto& input = operators()[op].inputs.at(read.input);
    if (!input || !writer_[*input]) return false;
    const auto before = splits_.find(*writer_[*input]);
    const std::size_t count = splits_.at(op).bounds.size();
    if (before == splits_.end() || before->second.axis != read.axis || before->second.bounds.size() != count)
      return false;
    for (std::size_t b = 0; b + 1 < count; ++b) {
      if (block_read(read, extent(*input, read.axis), block(op, b)) != block(before->first, b)) return false;
    }
    return true;
  }

  /// Operators that are split alike and follow each other, where the last of them is in the network's order;
  /// all others alone.
  [[nodiscard]] std::vector<std::vector<std::size_t>> chains() const {
    std::vector<std::size_t> parent(operators().size());
    std::iota(parent.begin(), parent.end(), std::size_t{0});
    const auto root = [&](std::size_t o) {
      while (parent[o] != o) o = parent[o] = parent[parent[o]];
      return o;
    };
    for (const auto& [op, blocks] : splits_) {
      for (const RowRead& read : row_axis(operators()[op], blocks.axis)->reads) {
        if (follows(op, read)) parent[root(op)] = root(*writer_[*operators()[op].inputs[read.input]]);
      }
    }
    const auto order = topological_orders(graph_)[0];
    std::map<std::size_t, std::vector<std::size_t>> of_root;
    for (const std::size_t o : order) of_root[root(o)].push_back(o);
    std::vector<std::vector<std::size_t>> all;
    for (const std::size_t o : order) {
      std::vector<std::size_t>& chain = of_root[root(o)];
      if (chain.back() == o && !operators()[o].folded) all.push_back(std::move(chain));
    }
    return all;
  }

  [[nodiscard]] std::vector<std::size_t> blocks_of(const std::vector<std::size_t>& those) const {
    std::vector<std::size_t> all;
    for (const std::size_t op : those) all.insert(all.end(), now_[op].begin(), now_[op].end());
    return all;
  }

  // Operators

  void add_operator(std::size_t o, std::size_t b) {
    const bool is_split = splits_.contains(o);
    now_[o].push_back(result_.operators.size());
    result_.operators.push_back({o, is_split ? std::optional(block(o, b)) : std::nullopt});
    result_.graph.subgraphs[0].operators.push_back(is_split ? block_operator(o, b) : operators()[o]);
  }

  [[nodiscard]] stowage::Operator block_operator(std::size_t o, std::size_t b) {
    const RowRange range = block(o, b);
    const stowage::Operator& own = operators()[o];
    const RowAxis& along = *row_axis(own, range.axis);
    stowage::Operator op = own;
    if (!op.name.empty()) op.name += fmt::format("#{}", range.begin);
    op.outputs[0] = result_.blocks.at(*own.outputs[0]).at(b);
    for (const RowRead& read : along.reads) op.inputs.at(read.input) = input_block(o, read, b);
    op.copies.clear();
    op.must_copy.clear();
    op.sums_over.clear();
    op.carries.clear();
    if (is_dense_copy(own)) op.copies = {{.size = result_.graph.tensors[*op.outputs[0]].bytes}};
    if (own.multiplies)
      op.multiplies =
          multiplies_of_rows(*own.multiplies, splits_.at(o).bounds.back(), range.begin, range.end);
    op.row_axes.clear();
    for (const RowAxis& other : own.row_axes) {
      if (other.axis != range.axis && bytes_of_row(result_.graph.tensors[*op.outputs[0]], other.axis))
        op.row_axes.push_back(rows_in_block(own, op, along, other));
    }
    return op;
  }

  /// Whether the operator copies its only input, byte by byte.
  [[nodiscard]] bool is_dense_copy(const stowage::Operator& op) const {
    const Bytes bytes = graph_.tensors[*op.outputs[0]].bytes;
    return op.copies.size() == 1 && op.copies[0] == ByteCopy{.size = bytes};
  }

  /// The block of an input that a block reads; the input itself if that is all of it.
  [[nodiscard]] TensorId input_block(std::size_t o, const RowRead& read, std::size_t b) {
    const TensorId t = *operators()[o].inputs[read.input];
    const RowRange range = block_read(read, extent(t, read.axis), block(o, b));
    if (!reads_like_part(read, extent(t, read.axis), block(o, b), splits_.at(o).bounds.back()))
      refuse(o, "a block does not read as large a part of " + describe(graph_, t));
    if (range.begin == 0 && range.end == extent(t, read.axis)) return t;
    if (const auto stored = result_.blocks.find(t); stored != result_.blocks.end()) {
      for (const TensorId part : stored->second) {
        if (result_.tensors[part].block == range) return part;
      }
    }
    const auto key = std::tuple(t, range.axis, range.begin, range.end);
    const auto found = slices_.find(key);
    const TensorKind kind = graph_.tensors[t].kind;
    return found != slices_.end()
               ? found->second
               : slices_[key] = add_tensor(t, range, is_constant(kind) ? kind : TensorKind::temporary);
  }

  /// How a block computes rows along another axis.
  [[nodiscard]] RowAxis rows_in_block(const stowage::Operator& own, const stowage::Operator& op,
                                      const RowAxis& along, const RowAxis& other) const {
    RowAxis rows{.axis = other.axis, .is_windows = other.is_windows};
    for (RowRead read : other.reads) {
      const RowRead* const block = row_read(along, read.input);
      const bool is_cut = op.inputs[read.input] != own.inputs[read.input];
      if (is_cut && block->axis == read.axis) continue;
      if (!bytes_of_row(result_.graph.tensors[*op.inputs[read.input]], read.axis)) continue;
      if (read.kept_at) read.kept_at = kept_at(own, op, read, is_cut);
      rows.reads.push_back(read);
    }
    return rows;
  }

  /// Where a row of a block repeats the input's: the bytes in front of it shrink like the row.
  [[nodiscard]] std::optional<Bytes> kept_at(const stowage::Operator& own, const stowage::Operator& op,
                                             const RowRead& read, bool is_cut) const {
    const Bytes all = graph_.tensors[*own.outputs[0]].bytes;
    const Bytes part = result_.graph.tensors[*op.outputs[0]].bytes;
    const auto shrunk = static_cast<double>(*read.kept_at) * static_cast<double>(part);
    if (!is_cut || shrunk > static_cast<double>(std::int64_t{1} << 52) || *read.kept_at * part % all != 0)
      return std::nullopt;
    return *read.kept_at * part / all;
  }

  const Graph& graph_;
  const Splits& splits_;
  const InputBlocks& inputs_;
  SplitNetwork result_{};
  std::set<TensorId> read_by_bodies_ = model::read_by_bodies(graph_);
  std::vector<std::optional<std::size_t>> writer_{};
  std::vector<std::vector<std::size_t>> now_{};  ///< By operator of the network.
  std::map<std::tuple<TensorId, std::size_t, std::int64_t, std::int64_t>, TensorId> slices_{};
};

/// Lets an operator read what is stored.
class Storing {
 public:
  explicit Storing(const SplitNetwork& network) : network_(network) {}

  /// One that reads blocks or parts is of a type of its own, for it writes over none of them.
  [[nodiscard]] stowage::Operator operator()(stowage::Operator op) const {
    const std::vector<std::optional<TensorId>> inputs = op.inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (op.inputs[i]) replace(i, op);
    }
    if (op.inputs != inputs) op.type += " of blocks";
    return op;
  }

 private:
  void replace(std::size_t i, stowage::Operator& op) const {
    const TensorId t = *op.inputs[i];
    const BlockOf& part = network_.tensors[t];
    const auto stored = network_.blocks.find(part.of);
    if (stored == network_.blocks.end()) {
      if (!part.block || is_constant(network_.graph.tensors[t].kind)) return;
      op.inputs[i] = part.of;
      forget_places(i, op);
      return;
    }
    if (std::find(stored->second.begin(), stored->second.end(), t) != stored->second.end()) return;
    op.inputs[i].reset();
    for (RowAxis& along : op.row_axes) read_blocks(i, op.inputs.size(), stored->second, along);
    std::erase_if(op.row_axes, [](const RowAxis& it) { return it.is_windows && it.reads.empty(); });
    op.inputs.insert(op.inputs.end(), stored->second.begin(), stored->second.end());
    op.copies.clear();
    if (i != 0) return;
    op.sums_over.clear();
    op.carries.clear();
  }

  /// A row of the whole tensor is not what the operator keeps.
  static void forget_places(std::size_t i, stowage::Operator& op) {
    op.copies.clear();
    for (RowAxis& along : op.row_axes) {
      for (RowRead& read : along.reads) {
        if (read.input == i) read.kept_at.reset();
      }
    }
  }

  void read_blocks(std::size_t i, std::size_t first, const std::vector<TensorId>& blocks,
                   RowAxis& along) const {
    const RowRead* const found = row_read(along, i);
    if (found == nullptr) return;
    const RowRead read = *found;
    std::erase_if(along.reads, [&](const RowRead& it) { return it.input == i; });
    along.adds_rows = false;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (network_.tensors[blocks[b]].block->axis != read.axis &&
          bytes_of_row(network_.graph.tensors[blocks[b]], read.axis))
        along.reads.push_back({.input = first + b, .axis = read.axis, .rows = read.rows});
    }
  }

  const SplitNetwork& network_;
};

}  // namespace

SplitNetwork split(const Graph& graph, const Splits& splits, const InputBlocks& inputs) {
  return Splitting(graph, splits, inputs).run();
}

Graph stored(const SplitNetwork& network) {
  Graph graph = network.graph;
  const Storing store(network);
  for (stowage::Operator& op : graph.subgraphs[0].operators) op = store(std::move(op));
  return graph;
}

}  // namespace stowage::model
