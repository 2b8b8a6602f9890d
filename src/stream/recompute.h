#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stream/model.h"
#include "stream/regions.h"

namespace stowage::stream {

/// A chain of operators, each the only reader of the previous one, and the reader of the last. The reader's
/// windows overlap, so the chain's rows are kept from one of its iterations to the next.
struct Recomputable {
  std::vector<std::size_t> operators{};  ///< In their order.
  std::size_t reader = 0;
  std::int64_t multiplies = 0;  ///< Added if the rows are recomputed for each reading.
};

/// All chains that may be recomputed, each alone.
[[nodiscard]] std::vector<Recomputable> recomputables(const RowModel& model);

/// The model in which each iteration of the reader recomputes the chain's rows, which are gone after it.
[[nodiscard]] RowModel recompute(const RowModel& model, const Recomputable& what);

/// Recomputes what helps most, as long as all multiplies do not exceed `factor` times those of the model.
[[nodiscard]] RowModel recompute_within(const RowModel& model, double factor, const TrialEffort& effort);

/// Multiplies of a model, with or without recomputed rows.
[[nodiscard]] std::int64_t multiplies_of(const RowModel& model);

}  // namespace stowage::stream
