#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "stowage/units.h"

namespace stowage::run {

/// What is at every address: the byte's names, and the step that wrote it. A name is a value, of which the byte
/// is one; whoever has values numbers them.
class Contents {
 public:
  struct Name {
    std::size_t value = 0;
    Bytes offset = 0;  ///< Of the byte, in its value.
    std::size_t step = 0;
  };
  /// A byte, and a name that it has instead of the requested one.
  struct Other {
    const std::byte* at = nullptr;
    std::optional<Name> name{};
  };

  /// Bytes [offset, offset + size) of a value are at this address now, and nothing else.
  void put(const std::byte* at, Bytes size, const Name& first);
  /// The bytes there are these bytes of that value, too: it is in place.
  void add(const std::byte* at, Bytes size, const Name& first);
  void remove(const std::byte* at, Bytes size);
  /// The first of these bytes that does not belong to the value; none if all do.
  [[nodiscard]] std::optional<Other> first_other(const std::byte* at, Bytes size, std::size_t value,
                                                 Bytes offset) const;

 private:
  struct Segment {
    const std::byte* end = nullptr;
    Name first{};
    std::vector<Name> more{};
  };
  using Segments = std::map<const std::byte*, Segment>;

  /// Makes a segment begin at this address if one is there.
  void cut(const std::byte* at);

  Segments segments_{};  ///< By their first bytes; they do not overlap.
};

}  // namespace stowage::run
