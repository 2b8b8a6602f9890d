#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "stream/model.h"

namespace stowage::stream {

/// A chain of operators, each the only reader of the previous one, and the reader of the last. The reader's
/// windows overlap, so the chain's rows are kept from one of its iterations to the next.
struct Recomputable {
  std::vector<std::size_t> operators{};  ///< In their order.
  std::size_t reader = 0;
  std::int64_t together = 1;    ///< Iterations of the reader for which its rows are computed once.
  std::int64_t multiplies = 0;  ///< Added if the rows are recomputed for each round of the reader.
};

/// All chains that may be recomputed, each alone, for one iteration of the reader at a time.
[[nodiscard]] std::vector<Recomputable> recomputables(const RowModel& model);

/// The same chain in this model, where others may be recomputed already; none if it may not be.
[[nodiscard]] std::optional<Recomputable> recomputable(const RowModel& model, const Recomputable& like);

/// The model in which each round of the reader recomputes the chain's rows, which are gone after it.
[[nodiscard]] RowModel recompute(const RowModel& model, const Recomputable& what);

/// The writer and the readers of each tensor.
struct Links {
  explicit Links(const RowModel& model);

  std::vector<std::optional<std::size_t>> writer;
  std::vector<std::vector<std::size_t>> readers;
  std::vector<std::optional<std::size_t>> taker;  ///< The operator that writes over it.
  std::set<std::size_t> is_awaited{};             ///< Some operator runs after all of its rows.
};

/// Whether an operator's rows can be computed at any time and any number of times, at a known price.
[[nodiscard]] bool is_repeatable(const RowModel& model, const Links& links, std::size_t op);

/// What operators may read beside the rows that they are made of.
enum class Beside : std::uint8_t { nothing, wholes };

/// The operator that writes the narrowest rows made of those of the reader, row by row and by nobody else read.
[[nodiscard]] std::size_t narrowest_behind(const RowModel& model, std::size_t reader, Beside beside);

/// Multiplies of a model, with or without recomputed rows, of operators whose multiplies are known.
[[nodiscard]] std::int64_t multiplies_of(const RowModel& model);
/// So many times the multiplies of a model.
[[nodiscard]] std::int64_t multiplies_within(const RowModel& model, double factor);

}  // namespace stowage::stream
