#pragma once

#include <cstdint>
#include <string>

namespace stowage::campaign {

/// A feature map [1, channels, height, width].
struct Map {
  std::string name{};
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;

  [[nodiscard]] bool is_like(const Map& other) const {
    return channels == other.channels && height == other.height && width == other.width;
  }
};

/// Windows along one dimension.
struct Windows {
  std::int64_t taps = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t front = 0;
  std::int64_t behind = 0;

  [[nodiscard]] std::int64_t count(std::int64_t extent) const {
    const std::int64_t reach = extent + front + behind - dilation * (taps - 1) - 1;
    return reach < 0 ? 0 : reach / stride + 1;
  }
};

}  // namespace stowage::campaign
