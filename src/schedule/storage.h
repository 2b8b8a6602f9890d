#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "stowage/units.h"

namespace stowage::schedule {

/// Bytes that come and go together: a tensor, or the part of one that the same operators read.
struct Value {
  Bytes size = 0;
  std::optional<std::size_t> writer{};  ///< None: it exists from the first step on.
  std::vector<std::size_t> readers{};
  bool kept = false;  ///< It is needed after the last step.
};

/// The operator may write a result of its own over these values while it reads them. Those that no other
/// operator still needs cost nothing during its step.
struct Overwrite {
  std::size_t op = 0;
  std::vector<std::size_t> values{};
};

/// The memory that operators need, whatever their order; see storage.cc.
struct Storage {
  std::vector<Bytes> own{};                           ///< Per operator: bytes it needs during its step only.
  std::vector<std::vector<std::size_t>> waits_for{};  ///< Per operator: those that run before it.
  std::vector<Value> values{};
  std::vector<Overwrite> overwrites{};
  Bytes always = 0;  ///< Bytes that every step needs.
  Bytes first = 0;   ///< Additional bytes that the first step needs.

  [[nodiscard]] std::size_t operators() const { return own.size(); }
};

/// The same storage with every operand named once and every value alive between two steps at least once.
/// Values alive at one step only, or always, become numbers. Operators wait for the writers of their inputs.
[[nodiscard]] Storage normalized(Storage storage);

using Order = std::vector<std::size_t>;

/// The bytes that each step needs. The order must respect `waits_for`, and the storage must be normalized.
[[nodiscard]] std::vector<Bytes> loads_of(const Storage& storage, std::span<const std::size_t> order);

/// The largest of them; without operators, the bytes present at first.
[[nodiscard]] Bytes peak_of(const Storage& storage, std::span<const std::size_t> order);

/// Delays operators that gain nothing by running early. The least peak stays the same. The storage must be
/// normalized.
[[nodiscard]] Storage delayed(Storage storage);

}  // namespace stowage::schedule
