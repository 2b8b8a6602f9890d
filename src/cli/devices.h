#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/units.h"

namespace stowage::cli {

struct DeviceMemory {
  std::string name{};
  Bytes bytes = 0;
  std::int64_t cost = 1;  ///< Of a byte read or written.
  std::string source{};   ///< Where the number is from.
};

/// A board: what it has for a network.
struct Device {
  std::string name{};
  std::string title{};
  int pointer_bits = 32;
  std::vector<DeviceMemory> memories{};  ///< One, or a fast one and a slow one.
  std::optional<Bytes> flash{};
  std::string flash_source{};
  std::string note{};
};

/// The texts of devices/, made when building.
[[nodiscard]] std::vector<std::string_view> device_files();

/// Those of devices/, sorted by name.
[[nodiscard]] std::vector<Device> known_devices();

/// A known device by its name, or one of a file (FILE.json). Throws UsageError for an unknown name, and Error for a file
/// that is none (docs/device.schema.json).
[[nodiscard]] Device device_named(const std::string& name);

}  // namespace stowage::cli
