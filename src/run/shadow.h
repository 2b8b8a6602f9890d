#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "run/home.h"

namespace stowage::run {

struct ByteRange {
  const std::byte* begin = nullptr;
  Bytes size = 0;
};

/// While it lives, in a build with AddressSanitizer, touching any other byte of a plan's memories ends the
/// program with the name of the operator and of the tensor that lies there. In other builds it does nothing.
class OnlyThese {
 public:
  OnlyThese(const PlannedHome& home, std::span<const ByteRange> allowed, const std::string& who);
  ~OnlyThese();
  OnlyThese(const OnlyThese&) = delete;
  OnlyThese& operator=(const OnlyThese&) = delete;
  OnlyThese(OnlyThese&&) = delete;
  OnlyThese& operator=(OnlyThese&&) = delete;

 private:
  [[maybe_unused]] const PlannedHome& home_;
};

}  // namespace stowage::run
