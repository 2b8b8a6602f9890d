// Plans for several sizes of one memory. Each is made alone; then what stays when the sizes change, state and constants,
// is moved to the bottom of its memory, in one order:
//
//     seq=128   | cache | a    |b|             seq=512   |  a        | cache |  b   |
//     after     | cache | a    |b|             after     | cache |  a        |  b   |
//
// Such a buffer holds its bytes at all times, so nothing lies below and above it at once: all that is below it moves up
// by its size, and what is above stays. No peak grows, as long as its size is a multiple of all alignments.
//
// Cost: buffers * log(buffers) in each plan.

#include "stowage/buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "base/text.h"
#include "plan/limit_parts.h"
#include "share/equal_data.h"
#include "stowage/error.h"

namespace stowage {
namespace {

bool is_kept(const Buffer& buffer) { return buffer.kind == TensorKind::state || is_constant(buffer.kind); }

std::map<std::string, std::size_t> kept_buffers(const Plan& plan) {
  std::map<std::string, std::size_t> kept;
  for (std::size_t b = 0; b < plan.buffers.size(); ++b)
    if (is_kept(plan.buffers[b]) && plan.buffers[b].size > 0) kept.emplace(plan.buffers[b].id, b);
  return kept;
}

/// Moves the buffers, in this order, to the bottom of a memory of the plan.
class Lowering {
 public:
  Lowering(Plan& plan, std::size_t memory, const std::vector<std::size_t>& kept)
      : plan_(plan), memory_(memory), kept_(kept) {}

  /// False if something lies around one of them, or must stay where it is.
  bool run() {
    std::vector<std::size_t> by_offset = kept_;
    std::ranges::sort(by_offset, {}, [&](std::size_t b) { return plan_.places[b].offset; });
    std::vector<bool> is_lowered(plan_.buffers.size(), false);
    Bytes alignment = 1;
    for (const std::size_t b : kept_) is_lowered[b] = true;
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (plan_.places[b].memory != memory_) continue;
      if (plan_.buffers[b].pinned) return false;
      alignment = std::max(alignment, plan_.buffers[b].alignment);
      if (!is_lowered[b] && lies_around(b, by_offset)) return false;
    }
    Bytes end = 0;
    std::vector<Bytes> offsets;
    for (const std::size_t b : kept_) {
      offsets.push_back(base::align_up(end, plan_.buffers[b].alignment));
      end = offsets.back() + plan_.buffers[b].size;
    }
    shift_others(by_offset, is_lowered, end, alignment);
    for (std::size_t i = 0; i < kept_.size(); ++i) plan_.places[kept_[i]].offset = offsets[i];
    return true;
  }

 private:
  [[nodiscard]] bool lies_around(std::size_t b, const std::vector<std::size_t>& by_offset) const {
    const Bytes begin = plan_.places[b].offset, end = begin + plan_.buffers[b].size;
    return std::ranges::any_of(by_offset, [&](std::size_t kept) {
      const Bytes at = plan_.places[kept].offset;
      return begin < at + plan_.buffers[kept].size && at < end;
    });
  }

  /// What lies between two of the buffers moves by whole alignments, and never below what lay below it.
  void shift_others(const std::vector<std::size_t>& by_offset, const std::vector<bool>& is_lowered, Bytes end,
                    Bytes alignment) {
    std::vector<std::pair<Bytes, Bytes>> shifts{
        {0, base::align_up(end, alignment)}};  // from an offset on, how far
    Bytes left = end;
    for (const std::size_t b : by_offset) {
      left -= plan_.buffers[b].size;
      const Bytes least = std::max(left, shifts.back().second - plan_.buffers[b].size);
      shifts.emplace_back(plan_.places[b].offset, base::align_up(least, alignment));
    }
    const auto shift_at = [&](Bytes offset) {
      const auto after = std::ranges::upper_bound(shifts, offset, {}, &std::pair<Bytes, Bytes>::first);
      return (after - 1)->second;
    };
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (plan_.places[b].memory == memory_ && !is_lowered[b])
        plan_.places[b].offset += shift_at(plan_.places[b].offset);
    }
    for (SlotPool& pool : plan_.slots)
      if (pool.place.memory == memory_) pool.place.offset += shift_at(pool.place.offset);
  }

  Plan& plan_;
  std::size_t memory_;
  const std::vector<std::size_t>& kept_;
};

/// Numbers for what constants in buffers hold: equal for equal data. By bucket and buffer; 0: not known.
std::vector<std::vector<std::size_t>> data_in_buffers(const Buckets& buckets,
                                                      const std::vector<std::vector<Input>>& inputs) {
  struct Owner {
    std::size_t bucket = 0;
    std::size_t first_tensor = 0;
  };
  std::vector<Owner> owners;  // of each model of all plans
  std::vector<std::vector<std::size_t>> data;
  for (std::size_t i = 0; i < buckets.all.size(); ++i) {
    const Plan& plan = buckets.all[i].plan;
    data.emplace_back(plan.buffers.size(), 0);
    for (std::size_t t = 0; t < plan.tensors.size(); ++t)
      if (t == 0 || plan.tensors[t].model != plan.tensors[t - 1].model) owners.push_back({i, t});
  }
  const auto has_constants = [](const Bucket& it) {
    return std::ranges::any_of(it.plan.buffers,
                               [](const Buffer& buffer) { return is_constant(buffer.kind); });
  };
  if (std::ranges::none_of(buckets.all, has_constants)) return data;
  std::vector<Input> all;
  for (const auto& of_bucket : inputs) all.insert(all.end(), of_bucket.begin(), of_bucket.end());
  const share::EqualData equal = share::equal_data(all);
  for (std::size_t c = 0; c < equal.size(); ++c) {
    for (const share::ConstantRef& it : equal[c]) {
      const Owner& owner = owners[it.model];
      const auto& views = buckets.all[owner.bucket].plan.tensors[owner.first_tensor + it.tensor].views;
      if (!views.empty()) data[owner.bucket][views[0].buffer] = c + 1;
    }
  }
  return data;
}

/// Peaks and what follows from them, after buffers have moved.
void update_peaks(Plan& plan) {
  std::vector<Bytes> peaks(plan.memories.size(), 0);
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    Bytes& peak = peaks[plan.places[b].memory];
    peak = std::max(peak, plan.places[b].offset + plan.buffers[b].size);
  }
  for (const SlotPool& pool : plan.slots) {
    Bytes& peak = peaks[pool.place.memory];
    peak = std::max(peak, pool.place.offset + pool.size * pool.count);
  }
  const Bytes before = plan.summary.peak;
  for (std::size_t m = 0; m < peaks.size(); ++m) {
    if (plan.memories[m].memory.role == MemoryRole::working)
      plan.summary.peak += peaks[m] - plan.memories[m].peak;
    plan.memories[m].peak = peaks[m];
  }
  if (plan.summary.peak == before) return;
  for (Claim& claim : plan.claims) claim.proven_optimal = claim.lower_bound == plan.summary.peak;
}

class SharedPlaces {
 public:
  SharedPlaces(Buckets& buckets, const std::vector<std::vector<Input>>& inputs)
      : buckets_(buckets), data_(data_in_buffers(buckets, inputs)) {}

  void run() {
    std::vector<std::map<std::string, std::size_t>> kept;
    for (const Bucket& bucket : buckets_.all) kept.push_back(kept_buffers(bucket.plan));
    for (const auto& [id, b] : kept.back()) {
      if (is_alike(id, kept)) ids_.push_back(id);
    }
    expect_state_shared(kept);
    const Plan& model = buckets_.all.back().plan;
    std::ranges::stable_sort(ids_, std::ranges::greater{}, [&](const std::string& id) {
      return model.buffers[kept.back().at(id)].alignment;
    });
    for (std::size_t m = 0; m < model.memories.size(); ++m) lower(m, kept);
    for (const std::string& id : ids_) note_shared(id, kept);
  }

 private:
  [[nodiscard]] bool is_alike(const std::string& id,
                              const std::vector<std::map<std::string, std::size_t>>& kept) const {
    const Plan& model = buckets_.all.back().plan;
    const std::size_t b = kept.back().at(id);
    for (std::size_t i = 0; i + 1 < buckets_.all.size(); ++i) {
      const Plan& plan = buckets_.all[i].plan;
      const auto same = kept[i].find(id);
      if (same == kept[i].end()) return false;
      const Buffer& other = plan.buffers[same->second];
      if (other.kind != model.buffers[b].kind || other.size != model.buffers[b].size ||
          other.alignment != model.buffers[b].alignment ||
          plan.places[same->second].memory != model.places[b].memory)
        return false;
      if (is_constant(other.kind) && (data_.back()[b] == 0 || data_[i][same->second] != data_.back()[b]))
        return false;
    }
    return true;
  }

  void expect_state_shared(const std::vector<std::map<std::string, std::size_t>>& kept) const {
    for (std::size_t i = 0; i < buckets_.all.size(); ++i) {
      for (const auto& [id, b] : kept[i]) {
        const Buffer& buffer = buckets_.all[i].plan.buffers[b];
        if (buffer.kind != TensorKind::state || std::ranges::find(ids_, id) != ids_.end()) continue;
        throw UsageError(
            fmt::format("state {} has {} bytes at {}, and other bytes or memory at other sizes: it cannot "
                        "stay when the sizes change; give its sizes as one number, or as a range",
                        base::quoted(id), buffer.size, in_words(buckets_.all[i].sizes)));
      }
    }
  }

  void lower(std::size_t memory, const std::vector<std::map<std::string, std::size_t>>& kept) {
    for (std::size_t i = 0; i < buckets_.all.size(); ++i) {
      Plan& plan = buckets_.all[i].plan;
      std::vector<std::size_t> lowered;
      for (const std::string& id : ids_)
        if (const std::size_t b = kept[i].at(id); plan.places[b].memory == memory) lowered.push_back(b);
      if (lowered.empty()) return;
      if (Lowering(plan, memory, lowered).run()) update_peaks(plan);
    }
  }

  void note_shared(const std::string& id, const std::vector<std::map<std::string, std::size_t>>& kept) {
    const Plan& model = buckets_.all.back().plan;
    const std::size_t b = kept.back().at(id);
    const Place& place = model.places[b];
    for (std::size_t i = 0; i < buckets_.all.size(); ++i) {
      if (buckets_.all[i].plan.places[kept[i].at(id)] == place) continue;
      if (model.buffers[b].kind != TensorKind::state) return;
      throw UsageError(fmt::format(
          "state {} lies at different places at {} and {}, as places are given: give it one, "
          "too, with --place",
          base::quoted(id), in_words(buckets_.all[i].sizes), in_words(buckets_.all.back().sizes)));
    }
    buckets_.shared.push_back(
        {id, model.memories[place.memory].memory.name, place.offset, model.buffers[b].size});
  }

  Buckets& buckets_;
  std::vector<std::vector<std::size_t>> data_;
  std::vector<std::string> ids_{};
};

}  // namespace

BucketsResult make_buckets(const ReadBucket& read, std::span<const BucketSizes> sizes,
                           const PlanOptions& options) {
  BucketsResult result;
  PlanOptions own = options;
  own.solve = plan::with_part(options.solve, 1 / static_cast<double>(std::max<std::size_t>(1, sizes.size())));
  std::vector<std::vector<Input>> inputs;
  for (const BucketSizes& at : sizes) {
    inputs.push_back(read(at));
    PlanResult made = make_plan(inputs.back(), own);
    std::ranges::move(made.faults, std::back_inserter(result.faults));
    result.buckets.all.push_back({at, std::move(made.plan)});
    result.outcomes.push_back(made.outcome);
  }
  if (!result.faults.empty() || sizes.empty()) return result;
  SharedPlaces(result.buckets, inputs).run();
  result.faults = check_buckets(result.buckets, [&](const BucketSizes& at) {
    return inputs[static_cast<std::size_t>(std::ranges::find(sizes, at) - sizes.begin())];
  });
  // What does not fit is no fault of the plans: `outcomes` says it.
  if (std::ranges::count(result.outcomes, Outcome::fits) != std::ssize(result.outcomes))
    std::erase_if(result.faults, [](const Fault& it) { return it.kind == FaultKind::capacity; });
  return result;
}

}  // namespace stowage
