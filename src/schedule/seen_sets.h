#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stowage::schedule {

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
