#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "stowage/import.h"
#include "stowage/offset_functions.h"

namespace stowage::cli {

/// The functions that --offsets asks for; none if it does not. Throws UsageError for options that do not go with it.
[[nodiscard]] std::optional<FoundFunctions> functions_for(const PlanCommand& command, const Input& range,
                                                          const PlanOptions& options, const Plan& plan);

/// The peak at some sizes, and how good the functions are.
void write_functions_summary(const FoundFunctions& found, std::ostream& out);

/// The functions of a plan's file, at sizes that --dim gives.
struct SizedFunctions {
  OffsetFunctions functions{};
  std::vector<std::int64_t> values{};
  ModelTexts range{};  ///< The options, with the ranges of the functions in place of the sizes.
};

/// The sizes of the functions that a plan's file has; none if it has none.
[[nodiscard]] std::vector<SizeSymbol> symbols_of_functions(const std::string& file);

/// None if the file has no functions, or --dim does not give all of their sizes as numbers. Throws Error for functions
/// that are wrong.
[[nodiscard]] std::optional<SizedFunctions> sized_functions(const std::string& file, const Plan& plan,
                                                            const ModelTexts& model);

/// Gives a model that was read at some sizes the operators of the range, for `plan_at` of them.
void put_in_range(Input& exact, const std::vector<std::string>& models, const ModelTexts& range);

/// Faults of the functions that a plan's file has; none if it has none.
[[nodiscard]] Faults faults_of_functions(const std::string& file, const Plan& plan);

}  // namespace stowage::cli
