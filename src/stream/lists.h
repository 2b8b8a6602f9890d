#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stowage::stream {

/// Many short lists, one after the other in memory.
template <typename Item>
class Lists {
 public:
  /// Adds a list.
  template <typename List>
  void add(const List& list) {
    items_.insert(items_.end(), list.begin(), list.end());
    ends_.push_back(items_.size());
  }

  [[nodiscard]] std::span<const Item> operator[](std::size_t list) const {
    return std::span(items_).subspan(ends_[list], ends_[list + 1] - ends_[list]);
  }

 private:
  std::vector<Item> items_{};
  std::vector<std::size_t> ends_{0};  ///< Of the lists before each one.
};

}  // namespace stowage::stream
