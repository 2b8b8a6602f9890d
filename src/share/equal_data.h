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

/// Sets of constants that have equal bytes and can be stored once.
using EqualData = std::vector<std::vector<ConstantRef>>;

using DataHash = std::uint64_t (*)(std::span<const std::byte>);

/// The 64 bits of XXH3. Source: the xxHash specification.
[[nodiscard]] std::uint64_t xxh3(std::span<const std::byte> bytes);

/// Classes of equal constants. Every weight and instruction of more than 0 bytes is in exactly one class.
/// Members of a class have the same kind, size and bytes: the same known bytes, or the same recipe on equal
/// inputs. A tensor without known bytes is alone. Classes and their members come in the order of models and
/// tensors. Cost: linear in bytes as long as the hash distinguishes different data; only data of a size that
/// occurs twice is read.
[[nodiscard]] EqualData equal_data(std::span<const Input> inputs, DataHash hash = xxh3);

/// Removes constants that neither a running step nor the caller reads, since they need not be stored. Most of
/// them are read by folded operators only.
void leave_unread_out(EqualData& classes, std::span<const Input> inputs);

/// Bytes of the constants of one kind: of all, and of the first of each class. Throws Error if the sum of all
/// is more than `largest_value`.
[[nodiscard]] Saving saving_of(const EqualData& classes, std::span<const Input> inputs, TensorKind kind);

}  // namespace stowage::share
