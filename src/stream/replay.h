#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stream/program.h"

namespace stowage::stream {

/// The memory that an order of all iterations needs.
struct RowReplay {
  std::vector<Bytes> loads{};  ///< Live bytes at each step.
  Bytes peak = 0;
  std::optional<std::string> fault{};  ///< Why the order is illegal; loads end there.
};

/// Runs an order step by step. A granule is live from the step that writes it, or the first step if it is
/// there from the start, to the last step that reads it, or the end if it stays. Both are included.
[[nodiscard]] RowReplay replay(const RowProgram& program, std::span<const IterationId> order);

/// The largest number of live granules of each tensor. The order must be legal.
[[nodiscard]] std::vector<std::int64_t> windows(const RowModel& model, const RowProgram& program,
                                                std::span<const IterationId> order);

/// Operator after operator, each from its first iteration to its last.
[[nodiscard]] std::vector<IterationId> layer_by_layer(const RowProgram& program);

}  // namespace stowage::stream
