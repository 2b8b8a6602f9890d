#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "check/tensor_rows.h"
#include "stowage/problem.h"

namespace stowage::check {

/// Rows of a tensor that are written, and read for the last time, in the same steps. Rows that the caller
/// gives before the first step live from -1.
struct RowLife {
  Rows rows{};
  Lifetime life{};
};

/// The rows of a tensor that are there, since when and until when.
class PresentRows {
 public:
  /// What is there of these rows is over.
  void end(const Rows& rows);

  /// They begin a life; that of what is there of these rows is over.
  void write(const Rows& rows, const Lifetime& life);

  /// They live at least until then. Says the first of them that is not there, if any.
  std::optional<std::int64_t> read(const Rows& rows, Position until);

  /// All lives, in the order of time, and as few as say it.
  [[nodiscard]] std::vector<RowLife> take();

 private:
  struct Entry {
    std::int64_t end = 0;
    Lifetime life{};
  };

  void cut(std::int64_t row);

  std::map<std::int64_t, Entry> entries_;  ///< By their first row.
  std::vector<RowLife> past_;
};

}  // namespace stowage::check
