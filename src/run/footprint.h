#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "run/device.h"
#include "stowage/graph.h"

namespace stowage::run {

struct ByteRange {
  const std::byte* begin = nullptr;
  Bytes size = 0;
};

/// The bytes of an output at that place that the operator changes: all except copies whose bytes are there already,
/// because both tensors share a place, or because another operator has copied them.
[[nodiscard]] std::vector<ByteRange> changed_bytes(const Operator& op, std::size_t output,
                                                   std::span<const std::byte* const> inputs,
                                                   const ByteRange& place);

/// While it exists in a build with AddressSanitizer, touching any other byte of a plan's memories aborts the
/// program with the names of the operator and of the tensor there. In other builds, and without a device, it does
/// nothing.
class OnlyThese {
 public:
  OnlyThese(const Device* device, std::span<const ByteRange> allowed, const std::string& who);
  ~OnlyThese();
  OnlyThese(const OnlyThese&) = delete;
  OnlyThese& operator=(const OnlyThese&) = delete;
  OnlyThese(OnlyThese&&) = delete;
  OnlyThese& operator=(OnlyThese&&) = delete;

 private:
  [[maybe_unused]] const Device* device_;
};

}  // namespace stowage::run
