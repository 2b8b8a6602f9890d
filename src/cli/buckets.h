#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "stowage/buckets.h"

namespace stowage::cli {

/// All combinations of the sizes that several --dim give, the largest last. Throws UsageError for more than 64.
[[nodiscard]] std::vector<BucketSizes> sizes_of_buckets(const ModelTexts& texts);

/// The texts of the models at one of them.
[[nodiscard]] ModelTexts with_sizes(const ModelTexts& texts, const BucketSizes& sizes);

/// Whether a --dim gives several sizes: `--dim seq=128,512`.
[[nodiscard]] bool gives_several_sizes(const ModelTexts& texts);

/// The sizes of "128,512", ascending. Throws UsageError for other values of a --dim.
[[nodiscard]] std::vector<std::int64_t> parse_sizes(const std::string& name, const std::string& value);

/// `stowage plan` with several sizes: a plan for each combination of them, in one file.
[[nodiscard]] ExitStatus plan_buckets(const PlanCommand& command);

/// The plans of a file that `plan_buckets` has written; none for another file. Throws Error that names it.
[[nodiscard]] std::optional<Buckets> read_buckets(const std::string& file);

/// Reads models at the sizes of a bucket and what else the texts give.
[[nodiscard]] ReadBucket reader_of(const std::vector<std::string>& models, const ModelTexts& texts,
                                   Wanted wanted);

/// The bucket for the sizes that --dim, or inputs of the only model, have; its sizes become --dim of the texts. Throws
/// UsageError if they are missing or too large.
[[nodiscard]] const Bucket& chosen_bucket(const Buckets& buckets, const std::vector<std::string>& models,
                                          const RunOptions& run, ModelTexts& texts);

}  // namespace stowage::cli
