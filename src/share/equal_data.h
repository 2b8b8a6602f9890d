#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stowage/graph.h"
#include "stowage/import.h"
#include "stowage/plan.h"

namespace stowage::share {

/// A weight or an instruction of one of several models.
struct ConstantRef {
  std::size_t model = 0;
  TensorId tensor = 0;

  bool operator==(const ConstantRef&) const = default;
};

/// Sets of constants that have the same bytes, and can be stored once.
using EqualData = std::vector<std::vector<ConstantRef>>;

using DataHash = std::uint64_t (*)(std::span<const std::byte>);

/// The 64 bits of XXH3. Source: the xxHash specification.
[[nodiscard]] std::uint64_t xxh3(std::span<const std::byte> bytes);

/// What is equal. Every weight and instruction of more than 0 bytes is in exactly one class; those in one
/// class have the same kind, size and bytes: the same known bytes, or the same recipe on equal inputs. A
/// tensor of which nothing is known is alone. Classes and their members come in the order of models and
/// tensors. Cost: linear in bytes while the hash tells different data apart; only data that has the size of
/// other data is read.
[[nodiscard]] EqualData equal_data(std::span<const Input> inputs, DataHash hash = xxh3);

/// Takes out what no step reads that runs, nor the caller: it need not be stored. That is above all what only
/// folded operators read.
void leave_unread_out(EqualData& classes, std::span<const Input> inputs);

/// Bytes of the constants of one kind: of all, and of the first of each class. Throws Error where all of them
/// are more than `largest_value`.
[[nodiscard]] Saving saving_of(const EqualData& classes, std::span<const Input> inputs, TensorKind kind);

}  // namespace stowage::share
