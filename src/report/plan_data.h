#pragma once

#include "export/json.h"
#include "stowage/report.h"

namespace stowage::report {

/// All that the page shows of a plan. report-ui/src/data.ts reads it.
[[nodiscard]] exporting::Json data_of(const ReportedPlan& reported, const std::string& command);

}  // namespace stowage::report
