#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stowage::exporting {

/// One of a sequence. Items of one kind are equal, except for their numbers, of which they have equally many.
struct Item {
  std::vector<std::int64_t> kind{};
  std::vector<std::int64_t> numbers{};
};

/// An item, or a sequence that comes `count` times.
struct Repetition {
  std::size_t first = 0;           ///< Index of the item, or of the first one.
  std::size_t count = 1;           ///< 1: an item.
  std::vector<Repetition> body{};  ///< Empty for an item.
  /// By how much the numbers of the body move on each time: of its items, each as often as it is written.
  std::vector<std::int64_t> advance{};
};

/// All items, each in one repetition; see repetition.cc.
[[nodiscard]] std::vector<Repetition> repetitions_of(std::vector<Item> items);

}  // namespace stowage::exporting
