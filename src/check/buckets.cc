// Plans for several sizes of one memory: each is checked alone. Besides, state and constants that are said to stay
// when the sizes change must be the same bytes at the same place in all plans, and no state may be left out.

#include "stowage/buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "base/text.h"
#include "check/constants.h"

namespace stowage {
namespace {

class BucketsCheck {
 public:
  explicit BucketsCheck(const Buckets& buckets) : buckets_(buckets) {}

  Faults run() {
    if (buckets_.all.empty()) fault(FaultKind::format, "there is no bucket, expected at least one");
    for (std::size_t i = 0; i < buckets_.all.size(); ++i) check_bucket(i);
    if (!faults_.empty()) return std::move(faults_);
    for (const SharedPlace& it : buckets_.shared) {
      if (!ids_.insert(it.buffer).second)
        fault(FaultKind::format, fmt::format("shared buffer {} comes twice", base::quoted(it.buffer)));
      for (const Bucket& bucket : buckets_.all) check_shared(it, bucket);
    }
    for (const Bucket& bucket : buckets_.all) check_state(bucket);
    return std::move(faults_);
  }

 private:
  void fault(FaultKind kind, std::string words) { faults_.push_back({kind, std::move(words)}); }

  void check_bucket(std::size_t i) {
    const Bucket& bucket = buckets_.all[i];
    const Bucket& first = buckets_.all[0];
    const auto has_names = std::ranges::equal(
        bucket.sizes, first.sizes, [](const auto& a, const auto& b) { return a.first == b.first; });
    if (bucket.sizes.empty() || !has_names)
      fault(FaultKind::format,
            fmt::format("bucket {} has sizes {}, expected names as in the first one, {}", i,
                        base::quoted(in_words(bucket.sizes)), base::quoted(in_words(first.sizes))));
    for (std::size_t j = 0; j < i; ++j)
      if (buckets_.all[j].sizes == bucket.sizes)
        fault(FaultKind::format,
              fmt::format("buckets {} and {} are both for {}", j, i, in_words(bucket.sizes)));
    if (bucket.plan.models != first.plan.models)
      fault(FaultKind::format,
            fmt::format("the bucket for {} is of other models than the first", in_words(bucket.sizes)));
    const auto is_same = [](const PlannedMemory& a, const PlannedMemory& b) { return a.memory == b.memory; };
    if (!std::ranges::equal(bucket.plan.memories, first.plan.memories, is_same))
      fault(FaultKind::format,
            fmt::format("the bucket for {} has other memories than the first", in_words(bucket.sizes)));
  }

  void check_shared(const SharedPlace& it, const Bucket& bucket) {
    const std::string where =
        fmt::format("shared buffer {} at {}", base::quoted(it.buffer), in_words(bucket.sizes));
    const Plan& plan = bucket.plan;
    const auto found = std::ranges::find(plan.buffers, it.buffer, &Buffer::id);
    if (found == plan.buffers.end()) return fault(FaultKind::accounting, where + " does not exist");
    const Place& place = plan.places.at(static_cast<std::size_t>(found - plan.buffers.begin()));
    if (found->kind != TensorKind::state && !is_constant(found->kind))
      fault(FaultKind::accounting,
            fmt::format("{} is of kind {}, expected state or constants", where, name_of(found->kind)));
    if (found->size != it.size)
      fault(FaultKind::accounting, fmt::format("{} has {} bytes, expected {}", where, found->size, it.size));
    const std::string& memory = plan.memories.at(place.memory).memory.name;
    if (memory != it.memory || place.offset != it.offset)
      fault(FaultKind::overlap,
            fmt::format("{} is in memory {} at {}, expected {} at {}", where, base::quoted(memory),
                        place.offset, base::quoted(it.memory), it.offset));
  }

  /// State would be lost where it is not at the shared place.
  void check_state(const Bucket& bucket) {
    for (const Buffer& buffer : bucket.plan.buffers) {
      if (buffer.kind == TensorKind::state && buffer.size > 0 && !ids_.contains(buffer.id))
        fault(FaultKind::accounting, fmt::format("state buffer {} at {} has no place that all buckets share",
                                                 base::quoted(buffer.id), in_words(bucket.sizes)));
    }
  }

  const Buckets& buckets_;
  std::set<std::string> ids_{};
  Faults faults_{};
};

void add_of(const Bucket& bucket, const Faults& faults, Faults& all) {
  for (const Fault& it : faults)
    all.push_back({it.kind, fmt::format("{}: {}", in_words(bucket.sizes), it.what)});
}

/// Whether plans with these faults are plans: they may be too large.
bool are_well_formed(const Faults& faults) {
  return std::ranges::all_of(faults, [](const Fault& it) { return it.kind == FaultKind::capacity; });
}

/// Shared constants hold the same in all buckets.
void check_constants(const Buckets& buckets, const std::vector<std::vector<Input>>& inputs, Faults& faults) {
  std::set<std::string> shared;
  for (const SharedPlace& it : buckets.shared) shared.insert(it.buffer);
  check::EqualConstants equal;
  std::map<std::string, check::KnownConstant> first;
  for (std::size_t i = 0; i < buckets.all.size(); ++i) {
    const Plan& plan = buckets.all[i].plan;
    std::size_t base = 0;
    for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
      if (t > 0 && plan.tensors[t].model != plan.tensors[t - 1].model) base = t;
      const PlannedTensor& tensor = plan.tensors[t];
      if (!is_constant(tensor.tensor.kind) || tensor.views.empty()) continue;
      const std::string& id = plan.buffers[tensor.views[0].buffer].id;
      if (!shared.contains(id)) continue;
      const Input& input = inputs[i][tensor.model];
      const check::KnownConstant held{std::get_if<Graph>(&input.content), &input.constants, t - base};
      const auto [known, is_first] = first.emplace(id, held);
      if (!is_first && !equal.are_equal(known->second, held))
        faults.push_back(
            {FaultKind::accounting,
             fmt::format("shared buffer {} holds other data at {}, {}, than elsewhere, or unknown data",
                         base::quoted(id), in_words(buckets.all[i].sizes),
                         base::quoted(tensor.tensor.name))});
    }
  }
}

}  // namespace

Faults check_buckets(const Buckets& buckets) {
  Faults faults;
  for (const Bucket& bucket : buckets.all) add_of(bucket, check_plan(bucket.plan), faults);
  if (are_well_formed(faults)) std::ranges::move(BucketsCheck(buckets).run(), std::back_inserter(faults));
  return faults;
}

Faults check_buckets(const Buckets& buckets, const ReadBucket& read) {
  Faults faults;
  std::vector<std::vector<Input>> inputs;
  for (const Bucket& bucket : buckets.all) {
    inputs.push_back(read(bucket.sizes));
    add_of(bucket, check_plan(bucket.plan, inputs.back()), faults);
  }
  if (!are_well_formed(faults)) return faults;
  Faults more = BucketsCheck(buckets).run();
  if (more.empty()) check_constants(buckets, inputs, more);
  std::ranges::move(more, std::back_inserter(faults));
  return faults;
}

}  // namespace stowage
