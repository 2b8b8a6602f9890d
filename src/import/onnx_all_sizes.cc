// A size is read once: what was found there is kept, as numbers of types and values, for the second look, when all
// values are known that others contradict. Only of more sizes than are held at a time, the others are read twice.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "import/onnx_copies.h"
#include "import/onnx_read.h"
#include "import/open_merge.h"
#include "import/open_sizes.h"
#include "model/motions.h"

namespace stowage::import {
namespace {

class OpenReader {
 public:
  OpenReader(OnnxModel& model, const ImportOptions& options, const Inferred& largest)
      : model_(model), graph_(model.graph()), shared_(model.shared()), options_(options), largest_(largest) {
    if (!largest.own.empty()) own_ = &largest.own;
    varying_.resize(largest.values.size());
  }

  OfAllSizes read() {
    if (has_ranges(largest_.ranges)) expect_accepted(at_largest(largest_.ranges));
    const ReadAt read_at = [&](const ImportOptions& exact, Turns& turns) {
      expect_accepted(exact);
      return read_other(exact, turns);
    };
    const std::string rejected =
        read_at_others(largest_.ranges, largest_.is_drawn, turns_of(largest_.values), read_at);
    OfAllSizes result{.known = model_.infer(options_, {.varying = varying_})};
    const bool is_known_before = have_same_ranges(largest_.ranges, options_);
    if (is_known_before) result.rejected = rejected;
    write_sizes(shared_, result.known, graph_.graph);
    find_copies(graph_, shared_.versions, result.known.values);
    hold_for_others();
    if (largest_.is_drawn || !is_known_before) model::copy_what_moves(graph_.graph);
    return result;
  }

 private:
  struct Other {
    std::size_t number = 0;
    ImportOptions exact{};
    std::unique_ptr<Inferred> known{};  ///< Null: there are too many to hold them all.
  };

  /// Throws Error if the model rejects these sizes. Branches that only they decide are left open elsewhere, and what is in
  /// one that may not run is no reason to reject anything.
  void expect_accepted(const ImportOptions& exact) {
    if (!has_branches(model_.graph().graph)) return;
    const Reading reading{.number = numbers_ + 1, .own = own_, .takes_branches = true};
    static_cast<void>(model_.copy().take_sure_branches(exact, reading));
  }

  [[nodiscard]] Turns turns_of(const Values& values) const {
    return turns_in(graph_.graph, [&](TensorId t) { return values[t] ? &*values[t] : nullptr; });
  }

  /// Notes the values that are others at these sizes. Returns whether something was drawn.
  bool read_other(const ImportOptions& exact, Turns& turns) {
    const Reading reading{.number = ++numbers_, .own = own_};
    const SharedReading::Extent before = shared_.extent();
    Other other{.number = reading.number, .exact = exact};
    try {
      other.known = std::make_unique<Inferred>(model_.infer(exact, reading));
    } catch (...) {
      shared_.forget_after(before);
      throw;
    }
    const Values& values = other.known->values;
    turns = turns_of(values);
    for (TensorId t = 0; t < varying_.size(); ++t) {
      const bool is_known = largest_.values.number(t) != 0;
      varying_[t] = varying_[t] || (is_known && largest_.values.number(t) != values.number(t));
    }
    const bool is_drawn = other.known->is_drawn;
    if (others_.size() >= readings_at_once) {
      other.known.reset();
      shared_.forget_after(before);
    }
    others_.push_back(std::move(other));
    return is_drawn;
  }

  void hold_for_others() {
    std::vector<OtherReading> found;
    const SharedReading::Extent before = shared_.extent();
    for (Other& other : others_) {
      found.push_back(sizes_at(other));
      if (found.size() < readings_at_once) continue;
      hold_for_all(graph_.graph, found);
      found.clear();
      shared_.forget_after(before);
    }
    hold_for_all(graph_.graph, found);
  }

  /// With the values that other readings contradict fewer operators are folded, and then a size that nobody needed may be open.
  OtherReading sizes_at(Other& other) {
    Inferred found;
    if (other.known && !other.known->has_open_sizes) {
      found = *std::move(other.known);
      found.folding = fold(shared_, found.values, varying_);
      for (TensorId t = 0; t < varying_.size(); ++t)
        if (varying_[t]) found.values.set_number(t, 0);
    } else {
      found = model_.infer(other.exact, {.number = other.number, .varying = varying_, .own = own_});
    }
    return sizes_and_copies(found);
  }

  OtherReading sizes_and_copies(const Inferred& found) {
    OtherReading result;
    for (TensorId t = 0; t < found.types.size(); ++t)
      result.tensors.push_back(&*shared_.size_of(found.types.number(t)).size);
    if (!found.bounded.empty()) {
      const auto bounded = std::make_shared<std::vector<TensorSize>>();
      bounded->reserve(found.bounded.size());
      for (const auto& [t, bytes] : found.bounded)
        result.tensors[t] = &bounded->emplace_back(TensorSize{.bytes = bytes});
      result.holder = bounded;
    }
    for (const Subgraph& subgraph : graph_.graph.subgraphs)
      result.copies.emplace_back(subgraph.operators.size(), nullptr);
    add_copies(0, found, result);
    return result;
  }

  /// Folded operators and their bodies have none.
  void add_copies(std::size_t subgraph, const Inferred& found, OtherReading& result) {
    const std::vector<Operator>& operators = graph_.graph.subgraphs[subgraph].operators;
    for (std::size_t o = 0; o < operators.size(); ++o) {
      if (found.folding.operators[subgraph][o]) continue;
      if (!operators[o].copies.empty())
        result.copies[subgraph][o] =
            shared_.copies_of(subgraph, o, result.tensors, found.types, found.values);
      for (const std::size_t body : operators[o].bodies) add_copies(body, found, result);
    }
  }

  OnnxModel& model_;
  OnnxGraph& graph_;  ///< Of the model.
  SharedReading& shared_;
  const ImportOptions& options_;
  const Inferred& largest_;
  const std::vector<Type>* own_ = nullptr;
  std::size_t numbers_ = 0;
  std::vector<Other> others_{};
  std::vector<bool> varying_{};
};

}  // namespace

OfAllSizes read_at_all_sizes(OnnxModel& model, const ImportOptions& options, const Inferred& largest) {
  return OpenReader(model, options, largest).read();
}

}  // namespace stowage::import
