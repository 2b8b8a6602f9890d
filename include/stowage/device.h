/// Example: the memories of a board, for a plan.
///
///     const stowage::Device board = stowage::device_named("esp32s3");
///     const stowage::PlanOptions options{.memories = stowage::memories_of(board)};
///     return options.memories.size() == 2 && options.memories[1].name == "PSRAM" ? 0 : 1;
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/options.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage {

struct DeviceMemory {
  std::string name{};
  Bytes bytes = 0;
  Bytes reserved = 0;     ///< Of these, what firmware, stacks and radio take.
  Bytes granule = 1;      ///< As in Memory.
  std::int64_t cost = 1;  ///< Of a byte read or written.
  std::string source{};   ///< Where the numbers are from.
};

/// A board or accelerator: what it has for a network.
struct Device {
  std::string name{};
  std::string title{};
  int pointer_bits = 32;
  std::vector<DeviceMemory> memories{};  ///< One, or a fast one and a slow one.
  std::optional<Bytes> flash{};
  std::string flash_source{};
  std::string note{};
};

/// The files of devices/ (docs/device.schema.json), as text.
[[nodiscard]] std::vector<std::string_view> device_files();

/// Those of devices/, sorted by name.
[[nodiscard]] std::vector<Device> known_devices();

/// A known device by its name, in which upper and lower case, '-' and '_' do not count; or one of a file (FILE.json). Throws
/// UsageError for an unknown name, and Error for a file that is none.
[[nodiscard]] Device device_named(const std::string& name);

/// What a plan may use: the memories without what is reserved. At least 0 bytes each.
[[nodiscard]] std::vector<Memory> memories_of(const Device& device);

}  // namespace stowage
