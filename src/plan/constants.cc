#include "plan/constants.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "base/unique_names.h"
#include "stowage/error.h"

namespace stowage::plan {
namespace {

class ConstantPlacer {
 public:
  ConstantPlacer(const std::vector<ReadsOfConstant>& reads, Bytes alignment, Plan& plan)
      : reads_(reads),
        alignment_(alignment),
        plan_(plan),
        life_{0, std::max<Position>(static_cast<Position>(plan.clocks[0].steps.size()), 1)} {
    for (std::size_t m = 0; m < plan.memories.size(); ++m) {
      if (plan.memories[m].memory.role != MemoryRole::weights) continue;
      plan.memories[m].memory.alignment = std::max(plan.memories[m].memory.alignment, alignment);
      memories_.push_back(m);
    }
    for (const Buffer& buffer : plan.buffers) ids_.reserve(buffer.id);
    first_tensor_.resize(plan.models.size());
    for (std::size_t t = plan.tensors.size(); t-- > 0;) first_tensor_[plan.tensors[t].model] = t;
  }

  void place(const std::vector<share::ConstantRef>& equal) {
    const PlannedTensor& first = tensor(equal.front());
    const Bytes size = base::align_up(first.tensor.bytes, alignment_);
    PlannedMemory& memory = plan_.memories[memory_for(size)];
    Bytes traffic = 0;
    for (const share::ConstantRef& constant : equal) {
      traffic = sum_of(traffic, traffic_of(index_of(constant)));
      home_[index_of(constant)] = plan_.buffers.size();
      auto& views = tensor(constant).views;
      views.insert(views.begin(), {plan_.buffers.size(), 0, life_, std::nullopt});
    }
    plan_.places.push_back({static_cast<std::size_t>(&memory - plan_.memories.data()), memory.peak});
    plan_.buffers.push_back({.id = unique_id(first),
                             .size = size,
                             .alignment = alignment_,
                             .pieces = {{0, size, life_}},
                             .kind = first.tensor.kind,
                             .traffic = traffic});
    memory.peak += size;
    memory.traffic = sum_of(memory.traffic, traffic);
    memory.lower_bound = memory.peak;  // all of it is always needed
  }

  /// Of staged constants.
  void connect_copies() {
    for (Clock& clock : plan_.clocks) {
      for (Step& step : clock.steps) {
        auto* const copy = std::get_if<Copy>(&step);
        if (copy != nullptr && is_constant(plan_.tensors[copy->tensor].tensor.kind))
          copy->from = home_.at(copy->tensor);
      }
    }
  }

  /// Of the memories for weights; with one memory for all else, there is no cost.
  void count_cost() {
    if (std::ranges::count_if(plan_.memories, is_working) < 2) return;
    for (const std::size_t m : memories_) {
      const auto cost = base::checked_multiply(plan_.memories[m].traffic, plan_.memories[m].memory.cost);
      const auto sum = cost ? base::checked_add(plan_.summary.cost, *cost) : std::nullopt;
      if (!sum) throw Error("", "the cost of all reads and writes overflows");
      plan_.summary.cost = *sum;
      plan_.summary.cost_bound += *cost;
    }
    plan_.summary.cost_bound = std::max<std::int64_t>(0, plan_.summary.cost_bound);
  }

 private:
  static bool is_working(const PlannedMemory& memory) { return memory.memory.role == MemoryRole::working; }

  static Bytes sum_of(Bytes a, Bytes b) {
    return std::min(largest_value, base::checked_add(a, b).value_or(largest_value));
  }

  [[nodiscard]] std::size_t index_of(const share::ConstantRef& constant) const {
    return first_tensor_[constant.model] + constant.tensor;
  }

  PlannedTensor& tensor(const share::ConstantRef& constant) { return plan_.tensors[index_of(constant)]; }

  /// What steps read where a constant lies: what is staged is read there once for each stay.
  [[nodiscard]] Bytes traffic_of(std::size_t t) const {
    const PlannedTensor& constant = plan_.tensors[t];
    const auto bytes_in = [&](const View& view) { return bytes_of(plan_, {.tensor = t, .rows = view.rows}); };
    Bytes traffic = 0;
    for (const View& view : constant.views) traffic = sum_of(traffic, bytes_in(view));
    for (const ReadOfConstant& read : reads_[t]) {
      Bytes left = read.bytes;
      for (const View& view : constant.views) {
        const bool has_it = !view.rows || !read.rows || *view.rows == *read.rows;
        if (has_it && view.life.lower <= read.at && read.at < view.life.upper)
          left -= std::min(left, bytes_in(view));
      }
      traffic = sum_of(traffic, left);
    }
    return traffic;
  }

  [[nodiscard]] std::size_t memory_for(Bytes size) const {
    for (const std::size_t m : memories_) {
      const PlannedMemory& memory = plan_.memories[m];
      if (size <= memory.memory.capacity.value_or(largest_value) - memory.peak) return m;
    }
    return memories_.back();
  }

  std::string unique_id(const PlannedTensor& it) {
    std::string id = it.tensor.name;
    if (plan_.models.size() > 1) id = plan_.models[it.model].name + "." + id;
    return ids_.unique(std::move(id));
  }

  const std::vector<ReadsOfConstant>& reads_;
  Bytes alignment_;
  Plan& plan_;
  Lifetime life_;
  std::vector<std::size_t> memories_;
  std::vector<std::size_t> first_tensor_;  ///< Per model: index in Plan::tensors.
  base::UniqueNames ids_;
  std::map<std::size_t, std::size_t> home_;  ///< The buffer of a tensor.
};

}  // namespace

void place_constants(const share::EqualData& classes, const std::vector<ReadsOfConstant>& reads,
                     Bytes alignment, Plan& plan) {
  ConstantPlacer placer(reads, alignment, plan);
  for (const auto& equal : classes) placer.place(equal);
  placer.connect_copies();
  placer.count_cost();
}

}  // namespace stowage::plan
