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

/// Whether an order exists with no step above a capacity.
struct Decision {
  std::optional<Order> order{};  ///< Such an order, if one exists.
  std::optional<Bytes> bound{};  ///< No order exists for this capacity, nor for any below this bound.
  std::int64_t states = 0;       ///< Sets examined. Without order or bound: too many.
};

/// Examines sets of executed operators, at most `most_states`, until the question is decided; see decide.cc.
/// `symmetry` is the storage's.
[[nodiscard]] Decision decide(const Storage& storage, Symmetry& symmetry, Direction direction, Bytes capacity,
                              std::int64_t most_states, Budget& budget);

/// Sets of operators that a search has visited. Sets are compared bit by bit: equal hashes of different sets
/// must not make a proof wrong.
class SeenSets {
 public:
  explicit SeenSets(std::size_t words) : words_(words), slots_(first_slots, 0) {}

  /// Adds a set; false if it was there before.
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
  std::vector<std::size_t> slots_;  ///< The index of a set plus one; 0: empty. The size is a power of 2.
};

}  // namespace stowage::schedule
