#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stream/program.h"

namespace stowage::stream {

/// What an order of all instances needs.
struct RowReplay {
  std::vector<Bytes> loads{};  ///< Bytes that are live while each step runs.
  Bytes peak = 0;
  std::optional<std::string> fault{};  ///< Why the order is none; then there are loads up to there only.
};

/// Runs an order step by step. A granule is live from the step that writes it to the last that reads it, both
/// included; what is there from the start from the first step on; what stays up to the end.
[[nodiscard]] RowReplay replay(const RowProgram& program, std::span<const IterationId> order);

/// The largest number of granules of each tensor that are live at once. The order must be a legal one.
[[nodiscard]] std::vector<std::int64_t> windows(const RowModel& model, const RowProgram& program,
                                                std::span<const IterationId> order);

/// Operator after operator, each from its first instance to its last.
[[nodiscard]] std::vector<IterationId> layer_by_layer(const RowProgram& program);

}  // namespace stowage::stream
