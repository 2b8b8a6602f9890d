#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace stowage::pack {

/// What a dive of `exact` places: single items, or groups of them (groups.h).
enum class DiveKind : std::uint8_t { chains, items, stacks, chains_of_like_sizes };

/// Which kind of dive has which share. At first all that are possible have the same. Each success adds to the share
/// of its kind, more if that was small, and counts less with each later one.
class DiveKinds {
 public:
  DiveKinds(bool has_stacks, bool has_chains);

  /// Kinds that are possible.
  [[nodiscard]] std::size_t count() const;
  /// Of the dive with that number: kinds follow each other evenly.
  [[nodiscard]] DiveKind kind_of(std::uint64_t number) const;
  void add_success(DiveKind kind);

 private:
  [[nodiscard]] std::array<double, 4> shares() const;

  std::array<char, 4> is_possible_;
  std::array<double, 4> successes_{};
  std::uint64_t turn_ = 0;  ///< All successes: after each, another kind may come first.
};

}  // namespace stowage::pack
