#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <vector>

#include "cli/commands.h"
#include "cli/given_plan.h"
#include "cli/models.h"
#include "stowage/import.h"
#include "stowage/open_rows.h"
#include "stowage/options.h"
#include "stowage/plan.h"

namespace stowage::cli {

/// The plan for all sizes of a range that the options ask for, by rows of the axis that has the size; none if they do not.
/// Without a plan, it says why.
[[nodiscard]] std::optional<FoundOpenRows> rows_of_range(
    const std::vector<std::string>& inputs, const ModelTexts& model, const PlanOptions& options,
    const std::function<Input(const ModelTexts& exact)>& read);

/// Says in the plan, which does without rows of open sizes, why that is.
void note_no_open_rows(const FoundOpenRows& found, Plan& plan);

/// What the plan is for, and at which sizes it was checked.
void write_open_rows(const FoundOpenRows& found, std::ostream& out);

/// The texts with that size of the open axis, as a number.
[[nodiscard]] ModelTexts with_size(const ModelTexts& texts, const OpenRows& rows, std::int64_t size);

/// The size of the open axis that the texts give, and all others. Throws UsageError for one that is no number.
struct SizeOfRows {
  std::optional<std::int64_t> size{};
  ModelTexts others{};
};
[[nodiscard]] SizeOfRows size_of_rows(const ModelTexts& texts, const OpenRows& rows);

}  // namespace stowage::cli
