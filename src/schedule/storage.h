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
  std::optional<std::size_t> writer{};  ///< None: it is there from the first step on.
  std::vector<std::size_t> readers{};
  bool kept = false;  ///< It is wanted after the last step.
};

/// The operator may write a result of its own over these values while it reads them: those of them that no
/// other operator still needs cost nothing during its step.
struct Overwrite {
  std::size_t op = 0;
  std::vector<std::size_t> values{};
};

/// What operators need memory for, whatever their order; see storage.cc.
struct Storage {
  std::vector<Bytes> own{};                           ///< Per operator: bytes it needs during its step only.
  std::vector<std::vector<std::size_t>> waits_for{};  ///< Per operator: those that run before it.
  std::vector<Value> values{};
  std::vector<Overwrite> overwrites{};
  Bytes always = 0;  ///< Bytes that every step needs.
  Bytes first = 0;   ///< Bytes that the first step needs besides.

  [[nodiscard]] std::size_t operators() const { return own.size(); }
};

/// The same with every operand named once and every value alive between two steps at least once; what is
/// alive at one step only, or always, is counted as such. Operators wait for the writers of what they read.
[[nodiscard]] Storage normalized(Storage storage);

using Order = std::vector<std::size_t>;

/// Bytes that each step needs. The order must respect `waits_for`, the storage must be normalized.
[[nodiscard]] std::vector<Bytes> loads_of(const Storage& storage, std::span<const std::size_t> order);

/// The largest of them; without operators, what is there at first.
[[nodiscard]] Bytes peak_of(const Storage& storage, std::span<const std::size_t> order);

/// Lets operators wait that gain nothing by running early. The least peak stays what it is. The
/// storage must be normalized.
[[nodiscard]] Storage delayed(Storage storage);

}  // namespace stowage::schedule
