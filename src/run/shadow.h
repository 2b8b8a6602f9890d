#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "run/device.h"

namespace stowage::run {

struct ByteRange {
  const std::byte* begin = nullptr;
  Bytes size = 0;
};

/// While it lives, in a build with AddressSanitizer, touching any other byte of a plan's memories ends the
/// program with the name of the operator and of the tensor that lies there. In other builds it does nothing.
class OnlyThese {
 public:
  OnlyThese(const Device& device, std::span<const ByteRange> allowed, const std::string& who);
  ~OnlyThese();
  OnlyThese(const OnlyThese&) = delete;
  OnlyThese& operator=(const OnlyThese&) = delete;
  OnlyThese(OnlyThese&&) = delete;
  OnlyThese& operator=(OnlyThese&&) = delete;

 private:
  [[maybe_unused]] const Device& device_;
};

}  // namespace stowage::run
