#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/frontier.h"
#include "stowage/open_rows.h"
#include "stowage/open_sizes.h"
#include "stowage/options.h"

namespace stowage::cli {

/// Prints what the model needs at some sizes of what it leaves open, and commands that go on with them. Takes about a
/// second. For one model.
void show_open_sizes(const PlanCommand& command, const OpenSizesError& open, PlanOptions options);

/// Whether --fit names two dimensions: then there is no plan but a table.
[[nodiscard]] bool fits_two_dimensions(const PlanCommand& command);

/// Reads the only model of the command. Keeps references to both. Throws UsageError for several models.
[[nodiscard]] ReadTexts reader_of(const PlanCommand& command, const PlanOptions& options);

/// What --fit asks for. Where it names one dimension without a range, the range is of sizes that the model accepts.
/// Throws UsageError as `parse_fit`.
[[nodiscard]] FitQuestion fit_question(const std::string& text, const ModelTexts& texts,
                                       const ReadTexts& read);

/// The plan by rows for every size that --fit may take, if there is one that fits; it is printed to standard error, and the
/// range becomes one of the command's sizes. None: the size must be searched.
[[nodiscard]] std::optional<FoundOpenRows> fit_rows(PlanCommand& command, const PlanOptions& options);

/// Finds the largest size that --fit asks for, prints what was found to standard error, and makes the range up to it one
/// of the command's sizes, or by rows the size itself; if no size fits, the smallest. Returns what is left of the time limit
/// for the plan, at least a third. Throws UsageError for options that do not go with --fit.
[[nodiscard]] std::chrono::duration<double> fit_dimension(PlanCommand& command, const PlanOptions& options);

}  // namespace stowage::cli
