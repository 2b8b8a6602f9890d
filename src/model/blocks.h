#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::model {

/// How an operator is split: block b is rows [bounds[b], bounds[b + 1]) of its output along that axis.
struct Blocks {
  std::size_t axis = 0;
  std::vector<std::int64_t> bounds{};  ///< Ascending, from 0 to the extent.

  bool operator==(const Blocks&) const = default;
};

/// By operator of the main subgraph.
using Splits = std::map<std::size_t, Blocks>;

/// Of inputs of the main subgraph that arrive block by block. All others are stored as wholes.
using InputBlocks = std::map<TensorId, Blocks>;

/// An operator or a tensor of a network, or a block of it.
struct BlockOf {
  std::size_t of = 0;
  std::optional<RowRange> block{};
};

/// A network in which one operator for each block replaces an operator that is split.
struct SplitNetwork {
  /// The network as kernels see it. Tensors of the network come first; those of blocks follow, also blocks of
  /// constants and of tensors that are stored whole. An operator that reads all blocks of a tensor has the
  /// tensor as input. Folded operators are left out.
  Graph graph{};
  std::vector<BlockOf> operators{};
  std::vector<BlockOf> tensors{};
  std::map<TensorId, std::vector<TensorId>> blocks{};  ///< Of tensors that are stored in blocks.
};

/// The block of a tensor, without a place in a network. None if its rows are not whole bytes.
[[nodiscard]] std::optional<Tensor> block_of(const Tensor& tensor, const RowRange& block);

/// The input rows along `read.axis`, of `extent`, from which a block of the output is computed.
[[nodiscard]] RowRange block_read(const RowRead& read, std::int64_t extent, const RowRange& block);

/// True if a block of an output of `rows` rows reads as large a part of the input rows, of `extent`. Only then can
/// the operator run on the block as it runs on the whole.
[[nodiscard]] bool reads_like_part(const RowRead& read, std::int64_t extent, const RowRange& block,
                                   std::int64_t rows);

/// What bodies, and the operators that run them, read: these tensors stay whole.
[[nodiscard]] std::set<TensorId> read_by_bodies(const Graph& graph);

/// Splits operators. Blocks of operators that read each other block by block follow each other: all of block 0,
/// then all of block 1. Blocks of inputs and outputs of the network are inputs and outputs in their place. Throws Error
/// for operators and inputs that cannot be split so. Cost: operands times blocks.
[[nodiscard]] SplitNetwork split(const Graph& graph, const Splits& splits, const InputBlocks& inputs = {});

/// The network as memory sees it: operators read the tensors that are stored. An operand that is stored in
/// blocks is left out; its blocks are operands behind all others.
[[nodiscard]] Graph stored(const SplitNetwork& network);

}  // namespace stowage::model
