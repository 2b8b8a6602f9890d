// From groups of tensors to buffers: each group becomes one, named after its largest tensor. Its size is
// rounded up to the alignment, and the piece at its end covers the padding, so that a single tensor takes the
// same bytes as without sharing. State is never in a group:
//
//     kept by a tensor of kind state    a buffer for all of the clock, unless the runtime keeps it
//     tied, an output to an input       one buffer for all of the clock: first the old state, then the new
//     tied, the output copied           the input is of kind state, the output an ordinary one
//
// Cost: linear in tensors and pieces.

#include "alias/buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/unique_names.h"
#include "model/ties.h"
#include "operators/states.h"
#include "stowage/error.h"

namespace stowage::alias {
namespace {

class BufferMaker {
 public:
  BufferMaker(const Graph& graph, const lifetime::Uses& uses, Sharing sharing,
              const std::vector<lifetime::Residence>& residences, const BufferOptions& options)
      : graph_(graph),
        uses_(uses),
        sharing_(std::move(sharing)),
        residences_(residences),
        options_(options) {}

  Buffers run() {
    result_.held.reserve(graph_.tensors.size());
    result_.buffers.reserve(sharing_.groups.size());
    for (Shared& shared : sharing_.groups) add_shared(shared);
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      if (graph_.tensors[t].kind == TensorKind::state && is_kept(t))
        result_.held.push_back({t, add_buffer(t, {0, uses_.end}), 0, {0, uses_.end}});
    }
    for (const StateTie& tie : model::ties_in_place(graph_)) add_tied(tie);
    return std::move(result_);
  }

 private:
  /// Whether a variable has a buffer here. The runtime keeps its own; others have the state that they share.
  [[nodiscard]] bool is_kept(TensorId t) const {
    const bool is_tied = std::ranges::find(graph_.ties, t, &StateTie::input) != graph_.ties.end();
    return is_tied ? residences_[t] != lifetime::Residence::feed : options_.keeps_state;
  }

  /// Names the buffer after its largest tensor.
  void add_shared(Shared& shared) {
    const Member& largest =
        *std::max_element(shared.members.begin(), shared.members.end(), [&](const auto& a, const auto& b) {
          return graph_.tensors[a.tensor].bytes < graph_.tensors[b.tensor].bytes;
        });
    Buffer buffer{.id = id_for(largest.tensor),
                  .size = base::align_up(shared.end, options_.alignment),
                  .alignment = options_.alignment,
                  .pieces = std::move(shared.pieces),
                  .kind = kind_of(shared, largest)};
    if (shared.end == 0) {  // no byte is ever needed
      for (const Lifetime& life : sharing_.lives[largest.tensor]) buffer.pieces.push_back({0, 0, life});
    }
    for (Piece& piece : buffer.pieces) {
      if (piece.offset + piece.size == shared.end) piece.size = buffer.size - piece.offset;
    }
    for (const Member& member : shared.members) {
      buffer.traffic = base::checked_add(buffer.traffic, traffic_of(member.tensor)).value_or(largest_value);
      for (const Lifetime& life : sharing_.lives[member.tensor])
        result_.held.push_back(
            {member.tensor, result_.buffers.size(), member.offset, life, moves_of(member.tensor)});
    }
    result_.buffers.push_back(std::move(buffer));
  }

  [[nodiscard]] model::Motion moves_of(TensorId t) const {
    return sharing_.moves.empty() ? model::Motion() : sharing_.moves[t];
  }

  /// The kind of the largest tensor, unless the buffer has bytes of an output or an input.
  [[nodiscard]] TensorKind kind_of(const Shared& shared, const Member& largest) const {
    for (const TensorKind kind : {TensorKind::output, TensorKind::input}) {
      const auto is_it = [&](const Member& member) { return graph_.tensors[member.tensor].kind == kind; };
      if (std::any_of(shared.members.begin(), shared.members.end(), is_it)) return kind;
    }
    return graph_.tensors[largest.tensor].kind;
  }

  std::string id_for(TensorId t) {
    const std::string& name = graph_.tensors[t].name;
    return ids_.unique(name.empty() ? fmt::format("tensor{}", t) : name);
  }

  std::size_t add_buffer(TensorId t, const Lifetime& life) {
    const Bytes size = base::align_up(model::bytes_of_variable(graph_, t), options_.alignment);
    result_.buffers.push_back({.id = id_for(t),
                               .size = size,
                               .alignment = options_.alignment,
                               .pieces = {{0, size, life}},
                               .kind = TensorKind::state,
                               .traffic = traffic_of(t)});
    return result_.buffers.size() - 1;
  }

  /// The buffer holds the old state until the new one is written over it.
  void add_tied(const StateTie& tie) {
    const Lifetime old_life = uses_.lives[tie.input].front();
    const Lifetime new_life =
        uses_.lives[tie.output].empty() ? Lifetime{uses_.end, uses_.end} : uses_.lives[tie.output].front();
    const auto& outputs = graph_.subgraphs[0].outputs;
    const bool goes_out = std::find(outputs.begin(), outputs.end(), tie.input) != outputs.end();
    const bool is_unread = uses_.accesses[tie.input] == 0;
    const bool is_last_reader =
        old_life.upper == new_life.lower + 1 && !goes_out && (is_unread || writes_over(tie));
    if (old_life.upper > new_life.lower && !is_last_reader) {
      throw Error(describe(graph_, tie.output),
                  fmt::format("is written at position {}, while the state it replaces, {}, is read until {}; "
                              "expected it to be "
                              "written after that, or in place by the last reader",
                              new_life.lower, describe(graph_, tie.input), old_life.upper - 1));
    }
    if (residences_[tie.input] == lifetime::Residence::feed) return;
    const std::size_t index = add_buffer(tie.input, {0, uses_.end});
    result_.buffers[index].traffic += traffic_of(tie.output);
    result_.held.push_back({tie.input, index, 0, {0, new_life.lower}});
    result_.held.push_back({tie.output, index, 0, new_life});
  }

  [[nodiscard]] bool writes_over(const StateTie& tie) const {
    for (const Operator& op : graph_.subgraphs[0].operators) {
      if (std::find(op.outputs.begin(), op.outputs.end(), std::optional(tie.output)) == op.outputs.end())
        continue;
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        if (op.inputs[i] == tie.input && !operators::may_write_over_state(graph_, op, i, tie.output))
          return false;
      }
      return op.bodies.empty();
    }
    return false;
  }

  [[nodiscard]] Bytes traffic_of(TensorId t) const {
    const auto bytes = base::checked_multiply(graph_.tensors[t].bytes, uses_.accesses[t]);
    return bytes && *bytes <= largest_value ? *bytes - sharing_.spared[t] : largest_value;
  }

  const Graph& graph_;
  const lifetime::Uses& uses_;
  Sharing sharing_;
  const std::vector<lifetime::Residence>& residences_;
  const BufferOptions& options_;
  base::UniqueNames ids_;
  Buffers result_;
};

}  // namespace

Buffers buffers_of(const Graph& graph, const lifetime::Uses& uses, Sharing sharing,
                   const std::vector<lifetime::Residence>& residences, const BufferOptions& options) {
  return BufferMaker(graph, uses, std::move(sharing), residences, options).run();
}

std::vector<PlannedTensor> planned_tensors(const Graph& graph, std::span<const Held> held,
                                           std::size_t model) {
  std::vector<PlannedTensor> tensors;
  tensors.reserve(graph.tensors.size());
  for (const Tensor& tensor : graph.tensors) tensors.push_back({model, tensor, {}});
  for (const auto& [tensor, buffer, offset, life, moves] : held) {
    View& view = tensors[tensor].views.emplace_back(View{.buffer = buffer, .offset = offset, .life = life});
    if (!moves.empty()) view.moves = moves;
  }
  return tensors;
}

}  // namespace stowage::alias
