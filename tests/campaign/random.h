#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stowage::campaign {

/// Random numbers that are the same on every machine: splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  [[nodiscard]] std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31U);
  }

  /// In [0, count).
  [[nodiscard]] std::size_t index(std::size_t count) { return static_cast<std::size_t>(next() % count); }
  /// In [from, to], both among them.
  [[nodiscard]] std::int64_t between(std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(to - from + 1));
  }
  [[nodiscard]] bool chance(int percent) { return static_cast<int>(next() % 100U) < percent; }

  template <typename Item>
  [[nodiscard]] const Item& pick(const std::vector<Item>& items) {
    return items[index(items.size())];
  }

 private:
  std::uint64_t state_;
};

}  // namespace stowage::campaign
