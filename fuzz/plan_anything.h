#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/import.h"
#include "stowage/planner.h"

namespace stowage::fuzz {

/// Reads the bytes as that file, and plans what can be read. The reader may reject them with an
/// Error; a plan that the checker rejects, or one that is not read back as it was, is a find.
inline void plan_anything(std::string_view bytes, const std::string& name) {
  Input input;
  PlanResult result;
  try {
    input = parse_input(bytes, name);
    result = make_plan(input, {.solve = {.time_limit = std::chrono::duration<double>(0)}});
  } catch (const Error&) {
    return;
  } catch (const UsageError&) {
    return;
  }
  if (!result.faults.empty()) std::abort();
  std::ostringstream json;
  write_json(result.plan, json);
  const Plan again = parse_plan(json.view());
  if (again.buffers.size() != result.plan.buffers.size() || again.summary.peak != result.plan.summary.peak)
    std::abort();
}

}  // namespace stowage::fuzz
