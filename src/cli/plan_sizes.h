#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cli/models.h"
#include "cli/options.h"
#include "stowage/import.h"
#include "stowage/plan.h"

namespace stowage::cli {

/// What the models of a plan leave open, at the sizes of the plan.
struct PlannedSizes {
  ModelTexts
      texts{};  ///< The options, with a --dim or --value for each that the plan has and they do not give.
  bool is_within = false;  ///< They give sizes within the plan's ranges, as numbers.
  ModelTexts range{};      ///< The options with the ranges of the plan in place of these.
};

/// Reads a model, by its index. Throws Error for what it rejects.
using ReadModel = std::function<void(std::size_t model, const ImportOptions& options)>;

/// Sizes are found in the shapes of the plan's inputs, ranges in its models. Where a plan is for a range and does not have
/// that, its smallest size is the smallest that the model accepts. Throws UsageError for a --dim that is not the plan's.
[[nodiscard]] PlannedSizes sizes_in(const Plan& plan, const std::vector<NamedFile>& models,
                                    const ReadModel& read, const ModelTexts& texts);
/// The same for models in files.
[[nodiscard]] PlannedSizes sizes_in(const Plan& plan, const std::vector<std::string>& models,
                                    const ModelTexts& texts);

}  // namespace stowage::cli
