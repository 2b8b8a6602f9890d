#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "case.h"
#include "facts.h"
#include "stowage/plan.h"

namespace stowage::campaign {

struct Address {
  std::size_t memory = 0;
  Bytes at = 0;

  auto operator<=>(const Address&) const = default;
};

/// The plan's memories. Every byte has a name and, while a piece is alive there, a buffer that holds it. What
/// nobody holds has no name.
class TaggedMemory {
 public:
  TaggedMemory(const Plan& plan, Findings& findings);

  /// Goes to a position of a clock, or leaves the clock: pieces take their bytes and give them back.
  void go(std::size_t clock, std::optional<Position> position);
  [[nodiscard]] std::optional<Position> position(std::size_t clock) const { return now_[clock]; }
  [[nodiscard]] bool is_alive(const View& view) const;
  /// Whether its life ends where the clock is: what is written over in place is still read then.
  [[nodiscard]] bool is_ending(const View& view) const;

  [[nodiscard]] Address address(std::size_t buffer, Bytes offset) const {
    return {plan_.places[buffer].memory, plan_.places[buffer].offset + offset};
  }
  /// Whether that byte of the buffer is reserved for it now.
  [[nodiscard]] bool holds(std::size_t buffer, Bytes offset) const;
  [[nodiscard]] ByteName name_at(Address address) const;
  void put(Address address, ByteName name);

 private:
  struct Cell {
    ByteName name = nobody;
    std::optional<std::size_t> holder{};
  };
  void set_alive(std::size_t buffer, const std::vector<bool>& alive);

  const Plan& plan_;
  Findings& findings_;
  std::vector<std::optional<Position>> now_;
  std::vector<std::vector<std::size_t>> buffers_of_;  ///< By clock.
  std::vector<std::vector<bool>> alive_;              ///< By buffer, by byte.
  std::vector<std::vector<Cell>> cells_;              ///< By memory, by address.
};

/// Where the bytes of a tensor are, in the views of it that are alive.
class Whereabouts {
 public:
  Whereabouts(const TaggedMemory& memory, const Plan& plan, const PlannedTensor& tensor);
  /// Of what ends at this position.
  [[nodiscard]] static Whereabouts of_ending(const TaggedMemory& memory, const Plan& plan,
                                             const PlannedTensor& tensor);

  struct Spot {
    std::size_t view = 0;
    std::size_t buffer = 0;
    Bytes offset = 0;
  };
  [[nodiscard]] bool is_anywhere() const { return !views_.empty(); }
  /// All places of a byte in the fastest memory that has it.
  void find(Bytes byte, std::vector<Spot>& spots) const;
  /// The offset of a byte in that buffer; none if no view of it there has the byte.
  [[nodiscard]] std::optional<Bytes> find_in(std::size_t buffer, Bytes byte) const;

 private:
  explicit Whereabouts(const PlannedTensor& tensor) : tensor_(tensor) {}
  struct Shelf {
    std::size_t view = 0;
    std::size_t memory = 0;
  };
  struct RowOfByte {
    std::int64_t row = 0;
    Bytes at = 0;
  };
  [[nodiscard]] std::optional<Bytes> offset_in(const View& view, Bytes byte) const;
  [[nodiscard]] RowOfByte row_of(std::size_t axis, Bytes byte) const;

  const PlannedTensor& tensor_;
  std::vector<Shelf> views_;
};

}  // namespace stowage::campaign
