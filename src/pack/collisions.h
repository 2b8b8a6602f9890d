#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "pack/occupancy.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// Where buffers of several pieces collide; see collisions.cc.
class Collisions {
 public:
  explicit Collisions(std::span<const Buffer> buffers);

  /// The steps of `find` for this buffer and any other are at most the sum of both.
  [[nodiscard]] std::size_t sections(std::size_t buffer) const { return first_[buffer + 1] - first_[buffer]; }

  /// The offsets of `buffer` at which it collides with `other` at offset 0, as open intervals in rising order of
  /// which none overlap.
  void find(std::size_t buffer, std::size_t other, std::vector<Interval>& found) const;

 private:
  /// Bytes above its offset that a buffer needs from one position to another.
  struct Section {
    Lifetime life{};
    std::size_t first = 0;  ///< In `bytes_`,
    std::size_t end = 0;    ///< up to this.
  };

  void add(const Buffer& buffer);

  std::vector<std::size_t> first_{0};  ///< Section of each buffer, and one beyond the last.
  std::vector<Section> sections_{};
  std::vector<Interval> bytes_{};
};

}  // namespace stowage::pack
