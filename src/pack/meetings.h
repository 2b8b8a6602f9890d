#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pack/container.h"
#include "stowage/problem.h"

namespace stowage::pack {

/// Which of the items that need all their bytes for all their life are ever alive together: these collide exactly
/// if their bytes overlap. A bit for each pair of few items; of many, their lives.
class Meetings {
 public:
  static constexpr std::int64_t most_in_table = 8192;  ///< Items; 8 MiB.

  /// Of these buffers, with a table if there are at most so many. None if some have gaps, pieces or pins, or if
  /// each meets so few that it takes less to list its neighbours than to look at all buffers.
  [[nodiscard]] static std::optional<Meetings> among(std::span<const Buffer> buffers,
                                                     const Neighbours& neighbours,
                                                     std::int64_t in_table = most_in_table);

  /// Of items that meet these; the same holds for the table and for what takes less.
  [[nodiscard]] static std::optional<Meetings> listed(std::span<const std::vector<std::uint32_t>> met);

  /// Writes those of `items` that the item meets to `met`, which has room for all of them; returns how many.
  std::size_t filter(std::uint32_t item, std::span<const std::uint32_t> items, std::uint32_t* met) const;

  /// Of one item in `filter`, about, in the units of deadlines.
  [[nodiscard]] std::int64_t work_of_look() const { return work_of_look_; }

 private:
  void reserve_table(std::size_t count);
  void note(std::size_t item, std::size_t other) {
    bits_[item * words_ + other / 64] |= std::uint64_t{1} << other % 64;
  }

  std::int64_t work_of_look_ = 0;
  std::size_t words_ = 0;  ///< Of a row of the table.
  std::vector<std::uint64_t> bits_{};
  std::vector<Lifetime> lives_{};  ///< Empty if there is a table.
};

}  // namespace stowage::pack
