// With any sharing, every byte that is still needed is in memory at every position. Bytes that several
// tensors repeat (a view, a slot of a concat, a slice) are needed once. So tensors are cut into parts for the
// least load of an order. A part is the bytes of a source that the same tensors have.
//
//     a = conv    [a a a a]           parts   a[0:2]  of a, c, d
//     c = concat  [a a a a|b b]               a[2:4]  of a, c
//     d = c[0:2]  [a a]                       b       of b, c
//
// Every sharing needs at least the parts; planning an order shows the real need. A part includes the padding
// of its tensor if all tensors that may ever share its buffer are as large. Otherwise the place of the
// padding is unknown, and it counts as 0.
//
// Cost: linear in fragments, except for overlapping slices. A source with too many pieces counts for its own
// readers only, not for its views, which is less than it needs.

#include "plan/order_parts.h"

#include <algorithm>
#include <utility>

#include "alias/group.h"
#include "alias/results.h"
#include "base/checked.h"
#include "base/union_find.h"

namespace stowage::plan {
namespace {

using alias::Fragment;
using lifetime::Residence;

constexpr std::size_t most_pieces = 1'000'000;  ///< Of one source: parts times tensors.

/// Sets of tensors that may share a buffer.
class Buffers {
 public:
  explicit Buffers(std::size_t tensors) : tensors_(tensors), is_uneven_(tensors, false) {}

  void join(TensorId a, TensorId b, bool are_alike) {
    const bool is_uneven = !is_even(a) || !is_even(b) || !are_alike;
    is_uneven_[tensors_.join(a, b)] = is_uneven;
  }

  [[nodiscard]] bool is_even(TensorId tensor) { return !is_uneven_[tensors_.find(tensor)]; }

 private:
  base::UnionFind tensors_;
  std::vector<bool> is_uneven_;
};

/// The bytes of a source that a tensor has.
struct HeldBytes {
  Bytes begin = 0;
  Bytes end = 0;
  TensorId tensor = 0;
};

class PartsMaker {
 public:
  PartsMaker(const Graph& graph, const std::vector<Residence>& residences, const SharingWorld& world,
             Bytes alignment)
      : graph_(graph),
        residences_(residences),
        world_(world),
        alignment_(alignment),
        owners_(owners_of(graph)),
        buffers_(graph.tensors.size()) {}

  Parts take(std::span<const lifetime::OperatorId> operators) {
    parts_.of_tensor.resize(graph_.tensors.size());
    parts_.is_computed.assign(graph_.tensors.size(), true);
    parts_.parts.reserve(graph_.tensors.size());  // of most there is one
    join_what_may_share();
    std::vector<std::vector<HeldBytes>> stretches = stretches_of(operators);
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) cut(t, std::exchange(stretches[t], {}));
    return std::move(parts_);
  }

 private:
  /// For each source, the bytes of it that tensors have. Also notes which tensors are computed.
  std::vector<std::vector<HeldBytes>> stretches_of(std::span<const lifetime::OperatorId> operators) {
    const auto contents = alias::contents_of(
        graph_, operators,
        [&](std::size_t s, std::size_t o, const ByteCopy& copy) { return may_remove(s, o, copy); });
    std::vector<std::vector<HeldBytes>> stretches(graph_.tensors.size());
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) {
      if (residences_[t] != Residence::arena) continue;
      for (const Fragment& fragment : contents[t]) {
        const Bytes end = fragment.source_begin + fragment.end - fragment.begin;
        stretches[fragment.source].push_back({fragment.source_begin, end, t});
        parts_.is_computed[t] = parts_.is_computed[t] && fragment.source == t;
      }
    }
    return stretches;
  }

  /// Joins tensors that may share a buffer.
  void join_what_may_share() {
    for (std::size_t s = 0; s < graph_.subgraphs.size(); ++s) {
      for (std::size_t o = 0; o < graph_.subgraphs[s].operators.size(); ++o) {
        const Operator& op = graph_.subgraphs[s].operators[o];
        for (const ByteCopy& copy : op.copies) {
          if (!may_remove(s, o, copy)) continue;
          const TensorId input = *op.inputs[copy.input];
          const TensorId output = *op.outputs[copy.output];
          const bool is_whole =
              copy.size == graph_.tensors[input].bytes && copy.size == graph_.tensors[output].bytes;
          buffers_.join(input, output, is_whole);
        }
        for (std::size_t i = 0; i < op.inputs.size(); ++i) {
          const auto output = in_place_output(graph_, op, i);
          if (output && world_.may_overwrite) buffers_.join(*op.inputs[i], *output, true);
        }
        if (!world_.may_overwrite || op.bodies.empty()) continue;
        for (const operators::Result& it : alias::results_made_in_bodies(graph_, owners_, residences_, op))
          buffers_.join(it.from, it.to, true);
      }
    }
  }

  /// Whether sharing may remove a copy.
  [[nodiscard]] bool may_remove(std::size_t subgraph, std::size_t o, const ByteCopy& copy) const {
    const Operator& op = graph_.subgraphs[subgraph].operators[o];
    return world_.may_pass_on[subgraph][o] && may_share(*op.inputs[copy.input], *op.outputs[copy.output]);
  }

  [[nodiscard]] bool may_share(TensorId a, TensorId b) const {
    return residences_[a] == Residence::arena && residences_[b] == Residence::arena &&
           owners_[a] == owners_[b];
  }

  [[nodiscard]] Bytes planned_size(TensorId source, Bytes size) {
    return buffers_.is_even(source) ? base::align_up(size, alignment_) : size;
  }

  void cut(TensorId source, const std::vector<HeldBytes>& stretches) {
    std::vector<Bytes> edges;
    for (const HeldBytes& stretch : stretches) edges.insert(edges.end(), {stretch.begin, stretch.end});
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    if (edges.size() < 2) return;
    std::vector<Part> pieces(edges.size() - 1, Part{.source = source});
    const auto index_of = [&](Bytes at) {
      return static_cast<std::size_t>(std::lower_bound(edges.begin(), edges.end(), at) - edges.begin());
    };
    std::size_t count = 0;
    for (const HeldBytes& stretch : stretches) count += index_of(stretch.end) - index_of(stretch.begin);
    if (count > most_pieces) {
      add({source, planned_size(source, graph_.tensors[source].bytes), {source}});
      return;
    }
    for (const HeldBytes& stretch : stretches) {
      for (std::size_t i = index_of(stretch.begin); i < index_of(stretch.end); ++i)
        pieces[i].tensors.push_back(stretch.tensor);
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      auto& tensors = pieces[i].tensors;
      std::sort(tensors.begin(), tensors.end());
      tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
      pieces[i].size = edges[i + 1] - edges[i];
    }
    join_alike(std::move(pieces));
  }

  /// Joins pieces of one source that the same tensors have into one part.
  void join_alike(std::vector<Part> pieces) {
    std::stable_sort(pieces.begin(), pieces.end(),
                     [](const Part& a, const Part& b) { return a.tensors < b.tensors; });
    for (std::size_t i = 0; i < pieces.size();) {
      Part part = pieces[i];
      for (++i; i < pieces.size() && pieces[i].tensors == part.tensors; ++i) part.size += pieces[i].size;
      if (part.tensors.empty()) continue;
      part.size = planned_size(part.source, part.size);
      add(std::move(part));
    }
  }

  void add(Part part) {
    for (const TensorId tensor : part.tensors) parts_.of_tensor[tensor].push_back(parts_.parts.size());
    parts_.parts.push_back(std::move(part));
  }

  const Graph& graph_;
  const std::vector<Residence>& residences_;
  const SharingWorld& world_;
  Bytes alignment_;
  std::vector<std::optional<std::size_t>> owners_;
  Buffers buffers_;
  Parts parts_;
};

}  // namespace

Parts parts_of(const Graph& graph, std::span<const lifetime::OperatorId> operators,
               const std::vector<Residence>& residences, const SharingWorld& world, Bytes alignment) {
  return PartsMaker(graph, residences, world, alignment).take(operators);
}

}  // namespace stowage::plan
