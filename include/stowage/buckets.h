/// Example: a list for each of two sizes, and the plan for a third.
///
///     const auto read = [](const stowage::BucketSizes& sizes) {
///       const std::string bytes = std::to_string(16 * sizes.at("n"));
///       return std::vector<stowage::Input>{
///           stowage::parse_input("id,lower,upper,size\na,0,2," + bytes + "\n", "list.csv")};
///     };
///     const std::vector<stowage::BucketSizes> sizes{{{"n", 8}}, {{"n", 32}}};
///     const stowage::BucketsResult result = stowage::make_buckets(read, sizes);
///     const stowage::Bucket* const bucket = stowage::bucket_for(result.buckets, {{"n", 9}});
///     return bucket != nullptr && bucket->plan.summary.peak == 512 ? 0 : 1;
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/export.h"
#include "stowage/import.h"
#include "stowage/options.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage {

/// Exact sizes by the names of what a model leaves open; with several models, MODEL.NAME.
using BucketSizes = std::map<std::string, std::int64_t>;

/// A plan for exact sizes.
struct Bucket {
  BucketSizes sizes{};
  Plan plan{};

  bool operator==(const Bucket&) const = default;
};

/// A buffer of state or constants that has one place in all plans, so that its bytes stay when the sizes change.
struct SharedPlace {
  std::string buffer{};  ///< Its id.
  std::string memory{};  ///< Its name.
  Bytes offset = 0;
  Bytes size = 0;

  bool operator==(const SharedPlace&) const = default;
};

/// Plans of the same models for several sizes, of which one runs at a time in the same memories.
struct Buckets {
  std::vector<Bucket> all{};
  std::vector<SharedPlace> shared{};

  bool operator==(const Buckets&) const = default;
};

/// Reads the models at these sizes, always in the same order.
using ReadBucket = std::function<std::vector<Input>(const BucketSizes& sizes)>;

struct BucketsResult {
  Buckets buckets{};
  std::vector<Outcome> outcomes{};  ///< By bucket.
  Faults faults{};                  ///< Any fault is a bug in stowage.
};

/// Makes a plan for each of the sizes, each in an equal part of the time limit or effort. State that has equal bytes in
/// all, and constants with equal data where memories are for weights, lie at the same places. Throws UsageError for
/// state that cannot: its size or memory changes with the sizes.
[[nodiscard]] BucketsResult make_buckets(const ReadBucket& read, std::span<const BucketSizes> sizes,
                                         const PlanOptions& options = PlanOptions());

/// The bucket of the smallest sizes that hold these; null if none does. Throws UsageError unless the names are those
/// of the buckets.
[[nodiscard]] const Bucket* bucket_for(const Buckets& buckets, const BucketSizes& sizes);

/// The smallest sizes first, so that the first that holds sizes is the one of `bucket_for`.
[[nodiscard]] std::vector<const Bucket*> in_order_of_size(const Buckets& buckets);

/// For each memory of the plans its name and the largest peak: bytes to allocate.
[[nodiscard]] std::vector<PlannedMemory> memories_of(const Buckets& buckets);

/// "seq=128 batch=1"
[[nodiscard]] std::string in_words(const BucketSizes& sizes);

/// Checks each plan by itself, and that all have the same models, memories, and shared places.
[[nodiscard]] Faults check_buckets(const Buckets& buckets);
/// Also checks each against its models, which are read at its sizes, and that shared constants have equal data.
[[nodiscard]] Faults check_buckets(const Buckets& buckets, const ReadBucket& read);

/// Writes all plans as one JSON document (docs/plan-json.md).
void write_json(const Buckets& buckets, std::ostream& out, PlanForm form = PlanForm::compact);

/// Writes all plans as one header for C99 and C++: tables for each as that of one plan has, which have models with graphs,
/// and a function that chooses by sizes. `read` gives the models of each. Throws UsageError if the prefix is not a C
/// identifier.
void write_header(const Buckets& buckets, const ReadBucket& read, const HeaderOptions& options,
                  std::ostream& out);

/// Reads it back. Throws Error like `parse_plan`.
[[nodiscard]] Buckets parse_buckets(std::string_view json);

}  // namespace stowage
