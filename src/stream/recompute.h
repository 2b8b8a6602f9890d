#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stream/model.h"
#include "stream/regions.h"

namespace stowage::stream {

/// Operators that follow each other, each the only reader of the one in front, and the reader of the last:
/// its rows overlap, so that rows of theirs are kept from one of its instances to the next.
struct Recomputable {
  std::vector<std::size_t> operators{};  ///< In their order.
  std::size_t reader = 0;
  std::int64_t multiplies = 0;  ///< More than now, if the rows are computed again whenever they are read.
};

/// All that may be computed again, each by itself.
[[nodiscard]] std::vector<Recomputable> recomputables(const RowModel& model);

/// The model in which their rows are computed for each instance of the reader, and gone after it.
[[nodiscard]] RowModel recompute(const RowModel& model, const Recomputable& what);

/// Computes again what helps most, as long as the multiplies of all operators do not exceed `factor` times
/// those of the model.
[[nodiscard]] RowModel recompute_within(const RowModel& model, double factor, const TrialEffort& effort);

/// Multiplies of a model in which rows are computed again, and of one in which none is.
[[nodiscard]] std::int64_t multiplies_of(const RowModel& model);

}  // namespace stowage::stream
