#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "share/equal_data.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/import.h"
#include "stowage/planner.h"

namespace stowage::fuzz {

/// A plan that the checker rejects, or one that is not read back as it was, is a find.
inline void expect_sound(const PlanResult& result) {
  if (!result.faults.empty()) std::abort();
  std::ostringstream json;
  write_json(result.plan, json);
  const Plan again = parse_plan(json.view());
  if (again.buffers.size() != result.plan.buffers.size() || again.summary.peak != result.plan.summary.peak)
    std::abort();
}

/// Reads the bytes as that file, and plans and draws what can be read. The reader may reject them with
/// an Error.
inline void plan_anything(std::string_view bytes, const std::string& name) {
  try {
    const Input input = parse_input(bytes, name);
    for (const Alias alias : {Alias::automatic, Alias::all}) {
      PlanOptions options{.alias = alias};
      options.solve.time_limit = std::chrono::duration<double>(0);
      options.solve.rounds = 0;
      const PlanResult result = make_plan(input, options);
      expect_sound(result);
      std::ostringstream svg;
      write_svg(result.plan, svg);
    }
  } catch (const Error&) {
    return;
  } catch (const UsageError&) {
    return;
  }
}

/// Reads the bytes as that file with its constants, and looks at each byte of them.
inline void share_anything(std::string_view bytes, const std::string& name) {
  try {
    const Input input = parse_input(bytes, name, {.constants = true});
    const std::array<Input, 2> twice{input, input};
    const auto classes = share::equal_data(twice);
    const Saving weights = share::saving_of(classes, twice, TensorKind::weight);
    if (weights.shared > weights.separate) std::abort();
  } catch (const Error&) {
    return;
  }
}

}  // namespace stowage::fuzz
