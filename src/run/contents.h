#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "stowage/units.h"

namespace stowage::run {

/// What lies at every address: which byte of which value, and the position of the step that wrote it. A value
/// is a number that its owner gives it.
class Contents {
 public:
  struct Held {
    std::size_t value = 0;
    Bytes offset = 0;  ///< Of the byte, in its value.
    Position written = 0;
  };
  /// A byte, and what is there instead of what somebody wants.
  struct Other {
    const std::byte* at = nullptr;
    std::optional<Held> held{};
  };

  /// Bytes [offset, offset + size) of a value are at this address now, and nothing else is.
  void put(const std::byte* at, Bytes size, const Held& first);
  void remove(const std::byte* at, Bytes size);
  /// The first of these bytes that is not that of the value; none if all are.
  [[nodiscard]] std::optional<Other> first_other(const std::byte* at, Bytes size, std::size_t value,
                                                 Bytes offset) const;

 private:
  struct Segment {
    const std::byte* end = nullptr;
    Held first{};
  };
  std::map<const std::byte*, Segment> segments_{};  ///< By their first bytes; they do not overlap.
};

}  // namespace stowage::run
