#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stowage::pack {

/// Whether two items are ever alive together, as a bit for each pair. For items that need all their bytes for
/// all their life: these collide exactly if they are alive together and their bytes overlap.
class MeetingTable {
 public:
  static constexpr std::size_t most_items = 8192;  ///< 8 MiB.

  explicit MeetingTable(std::size_t items) : words_((items + 63) / 64), bits_(items * words_, 0) {}

  void add(std::size_t a, std::size_t b) { bits_[a * words_ + b / 64] |= std::uint64_t{1} << b % 64; }
  /// Of one item; see `is_in`.
  [[nodiscard]] const std::uint64_t* row(std::size_t item) const { return bits_.data() + item * words_; }
  [[nodiscard]] static std::size_t is_in(const std::uint64_t* row, std::size_t other) {
    return row[other / 64] >> other % 64 & 1U;
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace stowage::pack
