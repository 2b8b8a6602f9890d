// A plan of blocks runs as a plan of another network, in which each block is an operator with tensors of its own.
// Weights are cut once, before the run. Where an operator reads a tensor that is stored in blocks, or a block of a
// tensor that is stored whole, the runs of bytes are renumbered:
//
//     whole, 2 rows of 6        block 0 [0, 3)     block 1 [3, 6)
//     0 1 2 3 4 5               0 1 2              0 1 2
//     6 7 8 9 a b               3 4 5              3 4 5
//
// Cost: linear in runs of bytes.

#include "run/blocks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/plan_blocks.h"
#include "stowage/error.h"

namespace stowage::run {
namespace {

/// Where the bytes of a block are in its tensor, in runs that repeat.
class Cut {
 public:
  Cut(const Tensor& whole, const model::BlockOf& part) {
    if (!part.block || whole.bytes == 0) {
      all_ = chunk_ = whole.bytes;
      return;
    }
    Bytes inner = *bytes_of_row(whole, part.block->axis);
    for (std::size_t d = 0; d < part.block->axis; ++d) inner /= (*whole.shape)[d];
    all_ = inner * (*whole.shape)[part.block->axis];
    begin_ = inner * part.block->begin;
    chunk_ = inner * (part.block->end - part.block->begin);
  }

  /// Bytes of the block as bytes of the tensor.
  void out(const PlacedPart& part, PlacedPart& whole) const {
    for (PlacedBytes bytes : part) {
      while (bytes.size > 0) {
        const Bytes size = std::min(bytes.size, chunk_ - bytes.offset % chunk_);
        whole.push_back({bytes.at, bytes.offset / chunk_ * all_ + begin_ + bytes.offset % chunk_, size});
        bytes = behind(bytes, size);
      }
    }
  }

  /// Bytes of the tensor as bytes of the block; leaves out all others.
  void in(const PlacedPart& whole, PlacedPart& part) const {
    for (PlacedBytes bytes : whole) {
      while (bytes.size > 0) {
        const Bytes at = bytes.offset % all_;
        const Bytes end = at < begin_ ? begin_ : at < begin_ + chunk_ ? begin_ + chunk_ : all_;
        const Bytes size = std::min(bytes.size, end - at);
        if (at >= begin_ && at < begin_ + chunk_)
          part.push_back({bytes.at, bytes.offset / all_ * chunk_ + at - begin_, size});
        bytes = behind(bytes, size);
      }
    }
  }

 private:
  /// Without the first bytes. Some have no address.
  static PlacedBytes behind(const PlacedBytes& bytes, Bytes size) {
    return {bytes.at == nullptr ? nullptr : bytes.at + size, bytes.offset + size, bytes.size - size};
  }

  Bytes all_ = 0;    ///< From one run to the next.
  Bytes begin_ = 0;  ///< Of the first run.
  Bytes chunk_ = 0;  ///< Bytes of a run.
};

/// Where the tensors of a model are in the plan.
std::vector<std::size_t> places_of(const Plan& plan, std::size_t model) {
  std::vector<std::size_t> places;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    if (plan.tensors[t].model == model) places.push_back(t);
  }
  return places;
}

model::SplitNetwork split(const Graph& graph, const Plan& plan, std::size_t model) {
  try {
    return model::split(graph, model::splits_of(plan, model, graph),
                        model::input_blocks_of(plan, places_of(plan, model)));
  } catch (const Error& error) {
    throw RunFault{error.what()};
  }
}

Plan plan_of(const Plan& plan, std::size_t model, const model::SplitNetwork& network) {
  try {
    return model::plan_of_blocks(plan, model, network, places_of(plan, model));
  } catch (const Error& error) {
    throw RunFault{error.what()};
  }
}

/// The bytes of a block.
std::vector<std::byte> cut_out(const Tensor& whole, const model::BlockOf& part,
                               std::span<const std::byte> data) {
  PlacedPart runs;
  Cut(whole, part).in({{.size = whole.bytes}}, runs);
  PlacedPart from;
  Cut(whole, part).out(runs, from);
  std::vector<std::byte> bytes;
  for (const PlacedBytes& run : from)
    bytes.insert(bytes.end(), data.begin() + run.offset, data.begin() + run.offset + run.size);
  return bytes;
}

/// The pairs of a block's own rows.
Quantization cut(const Quantization& all, const RowRange& block) {
  Quantization part = all;
  if (all.scales.size() < 2 || all.axis != block.axis) return part;
  const auto keep = [&](auto& values) {
    if (static_cast<std::int64_t>(values.size()) < block.end) return;
    values = {values.begin() + block.begin, values.begin() + block.end};
  };
  keep(part.scales);
  keep(part.zero_points);
  return part;
}

}  // namespace

BlockNetwork::BlockNetwork(const Network& network, const Program& program, const Plan& plan,
                           std::size_t model)
    : split_(split(network.graph(), plan, model)), plan_(plan_of(plan, model, split_)) {
  network_.input.info = network.input.info;
  Graph graph = split_.graph;
  // The caller hands over inputs and takes outputs as wholes, whatever the steps do with them.
  graph.subgraphs[0].inputs = network.graph().subgraphs[0].inputs;
  graph.subgraphs[0].outputs = network.graph().subgraphs[0].outputs;
  network_.input.content = std::move(graph);
  add_details(network);
  add_constants(network, program);
  program_ = make_program(network_, {.kernels = KernelSet::plain});
}

void BlockNetwork::add_details(const Network& network) {
  network_.details = network.details;  // those of bodies stay
  auto& details = network_.details.at(0);
  details.clear();
  for (const model::BlockOf& op : split_.operators) {
    details.push_back(network.details.at(0).at(op.of));
    Attributes& attributes = details.back().attributes;
    if (op.block) details.back().shapes_of_data = {};  // those of the whole operator
    // With several groups, blocks are of channels that are groups of their own.
    if (op.block && op.block->axis == 1 && attributes.integer("group", 1) > 1)
      attributes.set("group", op.block->end - op.block->begin);
  }
  network_.quantizations = network.quantizations;
  for (TensorId t = network.graph().tensors.size(); t < split_.tensors.size(); ++t) {
    const auto& whole = network.quantizations.at(split_.tensors[t].of);
    network_.quantizations.push_back(whole ? std::optional(cut(*whole, *split_.tensors[t].block))
                                           : std::nullopt);
  }
}

/// Also those that were computed or made random, and first values of state.
void BlockNetwork::add_constants(const Network& network, const Program& program) {
  for (TensorId t = 0; t < split_.tensors.size(); ++t) {
    const model::BlockOf& part = split_.tensors[t];
    std::span<const std::byte> data = program.constants[part.of];
    if (data.data() == nullptr) data = network.input.constants.of(part.of);
    if (data.data() == nullptr) continue;
    if (!part.block) {
      network_.input.constants.set(t, data);
      continue;
    }
    network_.input.constants.set(t, cut_out(network.graph().tensors[part.of], part, data));
  }
}

std::vector<std::byte> BlockNetwork::part_of(TensorId tensor, std::span<const std::byte> whole) const {
  return cut_out(split_.graph.tensors[whole_of(tensor)], split_.tensors[tensor], whole);
}

PlacedPart BlockNetwork::in_whole(TensorId tensor, const PlacedPart& part) const {
  PlacedPart whole;
  Cut(split_.graph.tensors[whole_of(tensor)], split_.tensors[tensor]).out(part, whole);
  return whole;
}

bool BlockNetwork::is_gathered(TensorId tensor) const {
  const auto stored = split_.blocks.find(whole_of(tensor));
  if (stored == split_.blocks.end()) return split_.tensors[tensor].block.has_value();
  return std::ranges::find(stored->second, tensor) == stored->second.end();
}

std::vector<TensorPart> BlockNetwork::stored_parts(const TensorPart& part) const {
  const TensorId whole = whole_of(part.tensor);
  const auto& own = split_.tensors[part.tensor].block;
  const auto found = split_.blocks.find(whole);
  std::vector<TensorPart> parts;
  for (const TensorId stored : found == split_.blocks.end() ? std::vector{whole} : found->second) {
    const auto& block = split_.tensors[stored].block;
    if (own && block && own->axis == block->axis && (own->end <= block->begin || block->end <= own->begin))
      continue;
    TensorPart& it = parts.emplace_back(TensorPart{.tensor = stored, .row = part.row});
    if (!part.row) continue;
    if (own && own->axis == part.row->axis) it.row->index += own->begin;
    if (!block || block->axis != part.row->axis) continue;
    if (it.row->index >= block->begin && it.row->index < block->end) {
      it.row->index -= block->begin;
    } else {
      parts.pop_back();
    }
  }
  return parts;
}

PlacedPart BlockNetwork::gather(const TensorPart& part,
                                const std::function<PlacedPart(const TensorPart&)>& read) const {
  PlacedPart all;
  for (const TensorPart& stored : stored_parts(part))
    Cut(split_.graph.tensors[whole_of(part.tensor)], split_.tensors[part.tensor])
        .in(in_whole(stored.tensor, read(stored)), all);
  std::ranges::sort(all, {}, &PlacedBytes::offset);
  return all;
}

}  // namespace stowage::run
