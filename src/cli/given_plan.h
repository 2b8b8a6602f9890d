#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/models.h"
#include "cli/options.h"
#include "cli/plan_sizes.h"
#include "stowage/import.h"
#include "stowage/network.h"
#include "stowage/offset_functions.h"
#include "stowage/open_rows.h"
#include "stowage/plan.h"

namespace stowage::cli {

/// A plan that somebody has made, and its offsets as functions of sizes, or its open rows, if it has these.
struct GivenPlan {
  Plan plan{};
  std::optional<OffsetFunctions> functions{};
  std::optional<OpenRows> rows{};
};

/// From a document. Throws Error.
[[nodiscard]] GivenPlan parse_given_plan(std::string_view text);
/// From a file. Throws Error that names it.
[[nodiscard]] GivenPlan read_given_plan(const std::string& file);

/// Faults of the plan's functions; none if it has none.
[[nodiscard]] Faults faults_of_functions(const GivenPlan& given);

/// The sizes at which a plan is wanted.
struct WantedSizes {
  ModelTexts texts{};  ///< To read its models with.
  std::optional<ModelTexts>
      range{};  ///< If the sizes are within those of the plan: the same for all of these.
  std::vector<std::int64_t> values{};  ///< Of the plan's functions, if all are given.
  std::optional<std::int64_t> rows{};  ///< Of a plan with open rows: how many.
};

/// The sizes that the options give; what they leave open is as in the plan. Throws UsageError for sizes that are not the
/// plan's, and Error for functions that are wrong.
[[nodiscard]] WantedSizes wanted_sizes(const GivenPlan& given, const std::vector<NamedFile>& models,
                                       const ReadModel& read, const ModelTexts& texts);
/// The same for models in files.
[[nodiscard]] WantedSizes wanted_sizes(const GivenPlan& given, const std::vector<std::string>& models,
                                       const ModelTexts& texts);

using ReadInputs = std::function<std::vector<Input>(const ModelTexts& texts)>;
using ReadNetworks = std::function<std::vector<Network>(const ModelTexts& texts)>;

/// The plan at some sizes.
struct PlanAtSizes {
  Plan plan{};
  /// What the plan has otherwise than its models at these sizes; then it must not be used.
  Faults faults{};
  /// The networks as read at the sizes, if those that the plan is for have more operators: see `plan_at_sizes`.
  std::vector<Network> exact{};
};

/// The plan at these sizes: with functions, in the offsets of these; otherwise, in its own. The models were read at the
/// sizes; they become those that the plan is for: what only exact sizes make constant is computed there.
[[nodiscard]] PlanAtSizes plan_at_sizes(const GivenPlan& given, const WantedSizes& sizes,
                                        std::vector<Input>& models, const ReadInputs& read);
[[nodiscard]] PlanAtSizes plan_at_sizes(const GivenPlan& given, const WantedSizes& sizes,
                                        std::vector<Network>& models, const ReadNetworks& read);

}  // namespace stowage::cli
