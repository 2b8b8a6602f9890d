#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "pack/memories/needs.h"
#include "stowage/units.h"

namespace stowage::memories {

/// What stays have taken of the fast memory, with offsets or without; see fast_memory.cc.
class FastMemory {
 public:
  FastMemory(const Needs& needs, Bytes capacity, bool has_offsets);

  /// Whether so many more bytes are there at these positions, whatever the offsets.
  [[nodiscard]] bool has_room(Position lower, Position upper, Bytes size) const;
  [[nodiscard]] bool has_room(const Need& need, std::size_t touch) const;

  /// The offset in the tightest place, if there is one within the capacity.
  [[nodiscard]] std::optional<Bytes> fit(const Need& need, const FastStay& stay);

  void put(std::size_t n, const FastStay& stay);
  void take(std::size_t n, const FastStay& stay);

  /// Needs that have bytes there.
  template <typename Visit>
  void for_each_at(Position at, Visit visit) const {
    for (const Taken& it : alive_[static_cast<std::size_t>(at) / bucket]) {
      if (it.need && it.life.lower <= at && at < it.life.upper) visit(*it.need);
    }
  }

  /// In units of deadlines, since the last call.
  [[nodiscard]] std::int64_t take_work() { return std::exchange(work_, 0); }

  /// What a stay takes, at offset 0.
  template <typename Visit>
  static void for_each_piece(const Need& need, const FastStay& stay, Visit visit) {
    if (need.pieces.empty()) {
      visit(Piece{0, need.size, {need.touches[stay.first].first, need.touches[stay.last].last + 1}});
    } else {
      for (const Piece& piece : need.pieces) visit(piece);
    }
  }

 private:
  static constexpr std::size_t bucket = 32;  ///< Positions that have one list of what is alive.

  struct Taken {
    Bytes begin = 0;
    Bytes end = 0;
    Lifetime life{};
    std::optional<std::size_t> need{};  ///< None: reserved.

    bool operator==(const Taken&) const = default;
  };

  void forbid_units(Bytes first, Bytes last);
  [[nodiscard]] std::optional<Bytes> tightest(Bytes last) const;
  void add_load(const Lifetime& life, Bytes size);
  static void erase(const Taken& taken, std::vector<Taken>& all);

  template <typename Visit>
  void for_each_taken(std::size_t n, const FastStay& stay, Visit visit) const {
    for_each_piece(needs_.all[n], stay, [&](const Piece& piece) {
      visit(Taken{stay.offset + piece.offset, stay.offset + piece.offset + piece.size, piece.life, n});
    });
  }

  template <typename Visit>
  static void for_each_bucket(const Lifetime& life, Visit visit) {
    const auto end = static_cast<std::size_t>(life.upper - 1) / bucket + 1;
    for (auto b = static_cast<std::size_t>(life.lower) / bucket; b < end; ++b) visit(b);
  }

  const Needs& needs_;
  Bytes capacity_;
  bool has_offsets_;
  std::vector<Bytes> load_;                 ///< At each position.
  std::vector<Bytes> most_load_;            ///< Of each bucket.
  std::vector<std::vector<Taken>> alive_;   ///< In each bucket.
  std::vector<std::vector<Taken>> begins_;  ///< Those that begin at each position.
  std::vector<std::uint64_t> is_free_;      ///< Units of offsets, while one is looked for.
  std::int64_t work_ = 0;
};

}  // namespace stowage::memories
