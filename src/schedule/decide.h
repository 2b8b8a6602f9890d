#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schedule/budget.h"
#include "schedule/executed.h"
#include "schedule/symmetry.h"

namespace stowage::schedule {

/// Whether there is an order with no step above a capacity.
struct Decision {
  std::optional<Order> order{};  ///< There is: this one.
  std::optional<Bytes> bound{};  ///< There is none, nor with a capacity below this.
  std::int64_t states = 0;       ///< Sets that were looked at. Without order or bound: too many.
};

/// Looks at sets of executed operators, at most as many as given, until the question is decided; see
/// decide.cc. `symmetry` is the storage's.
[[nodiscard]] Decision decide(const Storage& storage, Symmetry& symmetry, Direction direction, Bytes capacity,
                              std::int64_t most_states, Budget& budget);

/// Sets of operators that a search has been to. Sets are compared bit by bit: a hash that two of them share
/// must not make a proof wrong.
class SeenSets {
 public:
  explicit SeenSets(std::size_t words) : words_(words), slots_(first_slots, 0) {}

  /// Whether it was not there.
  bool insert(std::span<const std::uint64_t> bits, std::uint64_t hash);

  [[nodiscard]] std::size_t size() const { return hashes_.size(); }
  [[nodiscard]] std::size_t bytes() const {
    return (pool_.size() + 2 * hashes_.size()) * sizeof(std::uint64_t);
  }

 private:
  static constexpr std::size_t first_slots = 1024;

  [[nodiscard]] bool is_at(std::size_t index, std::span<const std::uint64_t> bits, std::uint64_t hash) const;
  void grow();

  std::size_t words_;
  std::vector<std::uint64_t> pool_;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::size_t> slots_;  ///< One more than the index of a set; 0: empty. As many as a power of 2.
};

}  // namespace stowage::schedule
