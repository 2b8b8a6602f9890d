// From readings to one graph: see open_sizes.cc.
//
// Cost: tensors and copies, times readings.

#include "import/open_merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "model/motions.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

using Extents = std::vector<std::int64_t>;

class Merger {
 public:
  Merger(Graph& graph, std::span<const OtherReading> others) : graph_(graph), others_(others) {}

  void run() {
    for (TensorId t = 0; t < graph_.tensors.size(); ++t) merge_tensor(t);
    for (std::size_t s = 0; s < graph_.subgraphs.size(); ++s) {
      for (std::size_t o = 0; o < graph_.subgraphs[s].operators.size(); ++o) merge_operator(s, o);
    }
  }

 private:
  void merge_tensor(TensorId t) {
    Tensor& tensor = graph_.tensors[t];
    if (is_the_same_in_all(t)) return;
    for (const OtherReading& other : others_) {
      const TensorSize& same = *other.tensors[t];
      const bool has_rank = tensor.shape && same.shape && same.shape->size() == tensor.shape->size();
      if (tensor.shape && !has_rank) tensor.shape.reset();
      if (same.bytes > tensor.bytes) reject_growth(t, same);
    }
    if (!tensor.shape) {
      tensor.open.clear();
      return;
    }
    std::vector<OpenExtent> open;
    for (std::size_t d = 0; d < tensor.shape->size(); ++d) {
      Extents extents{(*tensor.shape)[d]};
      for (const OtherReading& other : others_) {
        extents.push_back((*other.tensors[t]->shape)[d]);
        if (extents.back() > extents.front()) reject_growth(t, *other.tensors[t]);
      }
      const std::optional<std::size_t> before = symbol_of(tensor, d);
      if (!before && std::ranges::count(extents, extents.front()) == std::ssize(extents)) continue;
      open.push_back({d, symbols_.try_emplace({before, std::move(extents)}, symbols_.size()).first->second});
    }
    tensor.open = std::move(open);
  }

  [[nodiscard]] bool is_the_same_in_all(TensorId t) const {
    const Tensor& tensor = graph_.tensors[t];
    const TensorSize* last = nullptr;
    return tensor.open.empty() && std::ranges::all_of(others_, [&](const OtherReading& other) {
             const TensorSize* const size = other.tensors[t];
             const bool is_same =
                 size == last || (size->shape == tensor.shape && size->bytes == tensor.bytes);
             last = size;
             return is_same;
           });
  }

  [[noreturn]] void reject_growth(TensorId t, const TensorSize& other) const {
    const auto shown = [](const auto& it) {
      return it.shape ? fmt::format("[{}]", fmt::join(*it.shape, ",")) : fmt::format("of {} bytes", it.bytes);
    };
    throw Error(
        describe(graph_, t),
        fmt::format("is {} at the largest of the given sizes but {} at smaller ones, expected that sizes "
                    "fall together; give exact sizes, as N..N, or smaller ranges",
                    shown(graph_.tensors[t]), shown(other)));
  }

  void merge_operator(std::size_t s, std::size_t o) {
    Operator& op = graph_.subgraphs[s].operators[o];
    if (op.copies.empty()) return;
    const std::vector<bool> fixed = fixed_copies(graph_, op);
    const auto stays = [&](std::size_t c) {
      const ByteCopy& copy = op.copies[c];
      const bool has_shapes = graph_.tensors[*op.inputs[copy.input]].shape.has_value() &&
                              graph_.tensors[*op.outputs[copy.output]].shape.has_value();
      if (!fixed[c] || (!has_shapes && (copy.from != 0 || copy.to != 0))) return false;
      if (spans_rows_that_differ(op, copy)) return false;
      return std::ranges::all_of(
          others_, [&](const OtherReading& other) { return has_copy(other, op, other.copies[s][o], copy); });
    };
    std::size_t first = 0;
    while (first < op.copies.size() && stays(first)) ++first;
    if (first == op.copies.size() || are_joined_alike(s, o)) return;
    op.must_copy = model::why_moved(graph_, op, op.copies[first]);
    op.copies.clear();
  }

  /// Whether the operator joins the same whole tensors in all readings, or cuts one into them, back to back in one order.
  [[nodiscard]] bool are_joined_alike(std::size_t s, std::size_t o) const {
    const Operator& op = graph_.subgraphs[s].operators[o];
    if (!model::has_places_that_move(graph_, op)) return false;
    const std::vector<model::CopyMotion> motions = model::motions_of_copies(graph_, op);
    const bool is_cut =
        std::ranges::any_of(motions, [](const model::CopyMotion& it) { return !it.from.empty(); });
    const auto by_place = [](const ByteCopy& a, const ByteCopy& b) {
      return std::pair(a.to, a.from) < std::pair(b.to, b.from);
    };
    std::vector<ByteCopy> in_order = op.copies;
    std::ranges::sort(in_order, by_place);
    return std::ranges::all_of(others_, [&](const OtherReading& other) {
      std::vector<ByteCopy> expected;
      Bytes place = 0;
      for (ByteCopy copy : in_order) {
        copy.size = other.tensors[is_cut ? *op.outputs[copy.output] : *op.inputs[copy.input]]->bytes;
        (is_cut ? copy.from : copy.to) = place;
        if (copy.size > 0) expected.push_back(copy);
        place += copy.size;
      }
      if (other.copies[s][o] == nullptr) return expected.empty();
      std::vector<ByteCopy> found = *other.copies[s][o];
      std::ranges::sort(found, by_place);
      return found == expected;
    });
  }

  /// Whether a copy has several rows at the largest sizes, of which one tensor may have more columns than the other at
  /// sizes that no reading has:
  ///
  ///     x [n,4] ──slice, m columns──> y [n,m]     one copy of n * 4 elements for m = 4, else n copies
  ///
  /// Where both have as many bytes in all readings, one is the other in another shape.
  [[nodiscard]] bool spans_rows_that_differ(const Operator& op, const ByteCopy& copy) const {
    const TensorId input = *op.inputs[copy.input];
    const TensorId output = *op.outputs[copy.output];
    const bool are_equal = std::ranges::all_of(others_, [&](const OtherReading& other) {
      return other.tensors[input]->bytes == other.tensors[output]->bytes;
    });
    const Tensor& from = graph_.tensors[input];
    const Tensor& to = graph_.tensors[output];
    if (are_equal || !from.shape || !to.shape || from.shape->size() != to.shape->size()) return false;
    for (std::size_t d = 1; d < from.shape->size(); ++d) {
      if (symbol_of(from, d) == symbol_of(to, d)) continue;
      const bool is_in_one_row =
          copy.size <= bytes_of_index(from, d - 1) && copy.size <= bytes_of_index(to, d - 1);
      if (!is_in_one_row) return true;
    }
    return false;
  }

  static std::optional<std::size_t> symbol_of(const Tensor& tensor, std::size_t axis) {
    const auto found = std::ranges::find(tensor.open, axis, &OpenExtent::axis);
    return found == tensor.open.end() ? std::nullopt : std::optional(found->symbol);
  }

  /// At the largest sizes, of all that has one index along an axis and the axes before it.
  static Bytes bytes_of_index(const Tensor& tensor, std::size_t axis) {
    Bytes bytes = tensor.bytes;
    for (std::size_t d = 0; d <= axis; ++d) bytes /= std::max<std::int64_t>(1, (*tensor.shape)[d]);
    return bytes;
  }

  /// Whether the operator copies the same bytes at other sizes, or fewer of them, and all by the same distance: a slice
  /// of whole rows may be one of parts of rows there.
  static bool has_copy(const OtherReading& other, const Operator& op, const std::vector<ByteCopy>* copies,
                       const ByteCopy& copy) {
    const auto is_empty = [&](const auto& operand) {
      return !operand || other.tensors[*operand]->bytes == 0;
    };
    if (is_empty(op.inputs[copy.input]) || is_empty(op.outputs[copy.output])) return true;
    bool begins_alike = false;
    if (copies == nullptr) return false;
    for (const ByteCopy& it : *copies) {
      if (it.input != copy.input || it.output != copy.output) continue;
      const bool is_inside = it.from >= copy.from && it.from < copy.from + copy.size;
      if (is_inside && it.to - it.from != copy.to - copy.from) return false;
      begins_alike = begins_alike || (it.from == copy.from && it.to == copy.to && it.size <= copy.size);
    }
    return begins_alike;
  }

  Graph& graph_;
  std::span<const OtherReading> others_;
  std::map<std::pair<std::optional<std::size_t>, Extents>, std::size_t>
      symbols_{};  ///< By that of before, if any, and extents.
};

}  // namespace

OtherReading reading_of(Graph graph) {
  struct Held {
    Graph graph{};
    std::vector<TensorSize> sizes{};
  };
  const auto held = std::make_shared<Held>(Held{.graph = std::move(graph)});
  OtherReading reading{.holder = held};
  held->sizes.reserve(held->graph.tensors.size());
  for (Tensor& tensor : held->graph.tensors)
    reading.tensors.push_back(&held->sizes.emplace_back(TensorSize{std::move(tensor.shape), tensor.bytes}));
  for (const Subgraph& subgraph : held->graph.subgraphs) {
    auto& copies = reading.copies.emplace_back();
    for (const Operator& op : subgraph.operators) copies.push_back(&op.copies);
  }
  return reading;
}

void hold_for_all(Graph& largest, std::span<const OtherReading> others) { Merger(largest, others).run(); }

}  // namespace stowage::import
