#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/storage.h"

namespace stowage::schedule {

/// Parts of a graph that can be exchanged for each other; see symmetry.cc. The storage must be normalized.
class Symmetry {
 public:
  explicit Symmetry(const Storage& storage);

  [[nodiscard]] bool is_trivial() const { return groups_.empty(); }

  /// Replaces a set by one representative of all sets that exchanges can make of it.
  void make_canonical(std::vector<std::uint64_t>& bits);

 private:
  /// Branches that can be exchanged, each the list of its operators; equal places in the lists correspond.
  using Group = std::vector<std::vector<std::size_t>>;

  std::vector<Group> groups_;
  std::vector<std::uint64_t> keys_;  ///< Per branch: which of its operators are in the set.
};

/// A number for a set of operators.
[[nodiscard]] std::uint64_t hash_of(std::span<const std::uint64_t> bits);

}  // namespace stowage::schedule
