// Element types that need less. Live ranges stay, sizes of live bytes shrink, and the fullest step is looked for
// again: another one may then be the fullest. Cost: n log n in pieces for each remedy; there are a few.

#include "report/narrower_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "export/readable.h"
#include "pack/bounds.h"
#include "stowage/graph.h"

namespace stowage::report {
namespace {

using exporting::readable;

/// What networks are usually converted to, the narrowest last.
constexpr std::array<std::pair<DType, DType>, 6> usual_types{{{DType::float64, DType::float32},
                                                              {DType::float32, DType::float16},
                                                              {DType::float32, DType::int8},
                                                              {DType::float16, DType::int8},
                                                              {DType::bfloat16, DType::int8},
                                                              {DType::int16, DType::int8}}};
constexpr std::size_t most_tensors = 3;

/// Buffers that change their type together: those that hold the same tensors.
class Together {
 public:
  explicit Together(const Plan& plan) : of_(plan.buffers.size()), types_(plan.buffers.size()) {
    for (std::size_t b = 0; b < of_.size(); ++b) of_[b] = b;
    for (const PlannedTensor& planned : plan.tensors) {
      for (const View& view : planned.views) of_[first(view.buffer)] = first(planned.views[0].buffer);
    }
    for (std::size_t b = 0; b < of_.size(); ++b) of_[b] = first(b);
    std::vector<bool> is_mixed(of_.size(), false);
    tensors_.resize(of_.size());
    for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
      if (plan.tensors[t].views.empty()) continue;
      const std::size_t group = of_[plan.tensors[t].views[0].buffer];
      const DType type = plan.tensors[t].tensor.dtype;
      if (types_[group] && *types_[group] != type) is_mixed[group] = true;
      types_[group] = type;
      tensors_[group].push_back(t);
    }
    for (std::size_t g = 0; g < of_.size(); ++g) {
      if (is_mixed[g]) types_[g] = std::nullopt;
    }
  }

  [[nodiscard]] std::size_t group_of(std::size_t buffer) const { return of_[buffer]; }
  /// None: several, or none.
  [[nodiscard]] std::optional<DType> type_of(std::size_t buffer) const { return types_[of_[buffer]]; }
  [[nodiscard]] const std::vector<std::size_t>& tensors_of(std::size_t group) const {
    return tensors_[group];
  }

 private:
  std::size_t first(std::size_t b) {
    while (of_[b] != b) b = of_[b] = of_[of_[b]];
    return b;
  }

  std::vector<std::size_t> of_;  ///< Per buffer: its group, the number of one of its buffers.
  std::vector<std::optional<DType>> types_;
  std::vector<std::vector<std::size_t>> tensors_{};
};

class NarrowerTypes {
 public:
  NarrowerTypes(const Plan& plan, std::size_t memory) : plan_(plan), memory_(memory), together_(plan) {
    const std::vector<Buffer> all = exporting::on_one_axis(plan);
    for (std::size_t b = 0; b < all.size(); ++b) {
      if (plan.places[b].memory != memory) continue;
      buffers_.push_back(all[b]);
      numbers_.push_back(b);
    }
    most_ = pack::fullest(buffers_);
  }

  std::vector<Remedy> all() && {
    const std::vector<std::size_t> groups = groups_at_peak();
    for (const auto& [from, to] : usual_types)
      add(fmt::format("All {} tensors", name_of(from)), from, to,
          [&](std::size_t b) { return together_.type_of(b) == from; });
    for (const std::size_t group : std::span(groups).first(std::min(groups.size(), most_tensors))) {
      const std::optional<DType> from = together_.type_of(group);
      const auto narrowest = std::ranges::find(usual_types.rbegin(), usual_types.rend(), from,
                                               [](const auto& types) { return std::optional(types.first); });
      if (narrowest == usual_types.rend()) continue;
      add(name_of_group(group), *from, narrowest->second,
          [&](std::size_t b) { return together_.group_of(b) == group; });
    }
    return std::move(remedies_);
  }

 private:
  /// Most live bytes first.
  [[nodiscard]] std::vector<std::size_t> groups_at_peak() const {
    std::vector<Bytes> bytes(plan_.buffers.size(), 0);
    std::vector<std::size_t> groups;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const std::size_t group = together_.group_of(numbers_[i]);
      for (const Piece& piece : buffers_[i].pieces) {
        if (most_.at < piece.life.lower || piece.life.upper <= most_.at || piece.size == 0) continue;
        if (bytes[group] == 0) groups.push_back(group);
        bytes[group] += piece.size;
      }
    }
    std::ranges::stable_sort(groups, std::greater<>(), [&](std::size_t group) { return bytes[group]; });
    return groups;
  }

  [[nodiscard]] std::string name_of_group(std::size_t group) const {
    const std::vector<std::size_t>& tensors = together_.tensors_of(group);
    const std::string name = exporting::shortened(plan_.tensors[tensors[0]].tensor.name, 60);
    if (tensors.size() == 1) return name;
    return fmt::format("{} and {} that share{} bytes with it", name,
                       tensors.size() == 2 ? "one tensor" : fmt::format("{} tensors", tensors.size() - 1),
                       tensors.size() == 2 ? "s" : "");
  }

  template <typename IsChanged>
  void add(const std::string& what, DType from, DType to, const IsChanged& is_changed) {
    const Bytes old_bits = bits_of(from).value_or(1);
    const Bytes new_bits = bits_of(to).value_or(1);
    std::vector<Buffer> changed = buffers_;
    for (std::size_t i = 0; i < changed.size(); ++i) {
      if (!is_changed(numbers_[i])) continue;
      for (Piece& piece : changed[i].pieces)
        piece.size =
            piece.size / old_bits * new_bits + (piece.size % old_bits * new_bits + old_bits - 1) / old_bits;
    }
    const Bytes after = pack::fullest(changed).bytes;
    if (after == most_.bytes) return;
    remedies_.push_back(
        {Remedy::Verdict::possible,
         fmt::format("{} as {} instead of {}", what, name_of(to), name_of(from)),
         fmt::format("In this order, the fullest step then has {} live{} instead of {}.", readable(after),
                     plan_.memories.size() > 1 ? " in " + plan_.memories[memory_].memory.name : std::string(),
                     readable(most_.bytes)),
         most_.bytes - after,
         {}});
  }

  const Plan& plan_;
  std::size_t memory_;
  Together together_;
  std::vector<Buffer> buffers_{};       ///< Of the memory, on one axis.
  std::vector<std::size_t> numbers_{};  ///< Their indices in the plan.
  pack::Load most_{};
  std::vector<Remedy> remedies_{};
};

}  // namespace

std::vector<Remedy> narrower_types(const Plan& plan, std::size_t memory) {
  return NarrowerTypes(plan, memory).all();
}

}  // namespace stowage::report
