#include "stowage/buckets.h"

#include <fmt/format.h>

#include <algorithm>

#include "stowage/error.h"

namespace stowage {

std::vector<const Bucket*> in_order_of_size(const Buckets& buckets) {
  const auto product = [](const Bucket* bucket) {
    double result = 1;
    for (const auto& [name, size] : bucket->sizes) result *= static_cast<double>(size);
    return result;
  };
  std::vector<const Bucket*> sorted;
  for (const Bucket& it : buckets.all) sorted.push_back(&it);
  std::ranges::stable_sort(sorted, {}, product);
  return sorted;
}

const Bucket* bucket_for(const Buckets& buckets, const BucketSizes& sizes) {
  const auto has_names = [&](const Bucket& bucket) {
    return std::ranges::equal(bucket.sizes, sizes,
                              [](const auto& a, const auto& b) { return a.first == b.first; });
  };
  if (!std::ranges::all_of(buckets.all, has_names))
    throw UsageError(fmt::format("the sizes are {}, expected those of the buckets, as {}",
                                 sizes.empty() ? "missing" : in_words(sizes),
                                 buckets.all.empty() ? "" : in_words(buckets.all.front().sizes)));
  for (const Bucket* const bucket : in_order_of_size(buckets)) {
    if (std::ranges::all_of(sizes, [&](const auto& it) { return it.second <= bucket->sizes.at(it.first); }))
      return bucket;
  }
  return nullptr;
}

std::vector<PlannedMemory> memories_of(const Buckets& buckets) {
  std::vector<PlannedMemory> memories;
  for (const Bucket& bucket : buckets.all) {
    memories.resize(std::max(memories.size(), bucket.plan.memories.size()));
    for (std::size_t m = 0; m < bucket.plan.memories.size(); ++m) {
      memories[m].memory = bucket.plan.memories[m].memory;
      memories[m].peak = std::max(memories[m].peak, bucket.plan.memories[m].peak);
    }
  }
  return memories;
}

std::string in_words(const BucketSizes& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, size);
  return text;
}

}  // namespace stowage
