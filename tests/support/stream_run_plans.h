/// Streamed plans as simple as can be, for the runner: operators take turns as rows get ready, every granule
/// of rows has a buffer of its own, or every tensor a ring or a place for all of it. Example:
///
///     const Plan plan = streamed_plan(network, {.granule = 3, .form = Form::ring, .seed = 1});
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stowage/network.h"
#include "stowage/plan.h"

namespace stowage::testing {

/// How tensors lie in memory; `any` draws one of the others for each of them.
enum class Form : std::uint8_t { whole, rows, ring, any };

struct StreamedOptions {
  std::int64_t granule = 1;
  Form form = Form::rows;
  bool io_by_rows = false;
  bool in_place = false;  ///< Where a row may be written over one that is read for the last time.
  bool again = false;  ///< Some rows are computed again, into places of their own; nothing is in place then.
  std::optional<std::uint64_t> seed{};  ///< Of the order of steps; none: operator after operator.
};

/// Per tensor; none: it has no rows.
using Axes = std::vector<std::optional<std::size_t>>;

/// Rows along the axis that windows move along, as far as operators keep them.
[[nodiscard]] Axes axes_of(const Network& network);

[[nodiscard]] Plan streamed_plan(const Network& network, const StreamedOptions& options);
[[nodiscard]] Plan streamed_plan(const Network& network, const Axes& axes, const StreamedOptions& options);

}  // namespace stowage::testing
