#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "pack/model.h"
#include "stowage/units.h"

namespace stowage::pack {

/// A log of changed numbers; undoing restores them when a search leaves a branch.
class UndoLog {
 public:
  void set(Bytes& where, Bytes value) {
    changes_.push_back({&where, where});
    where = value;
  }
  [[nodiscard]] std::size_t mark() const { return changes_.size(); }
  void undo_to(std::size_t mark) {
    for (; changes_.size() > mark; changes_.pop_back()) *changes_.back().where = changes_.back().old;
  }

 private:
  struct Change {
    Bytes* where;
    Bytes old;
  };
  std::vector<Change> changes_;
};

/// A placing below a height, filled from the bottom, that can be undone: see skyline.cc. Bytes count in
/// units. Keeps a reference.
class Skyline {
 public:
  static constexpr Bytes never = std::numeric_limits<Bytes>::max() / 4;

  Skyline(const Tables& tables, Bytes height);

  /// Places pinned items. This and the next two return false if the remaining items cannot fit any more; then
  /// the state must be undone.
  [[nodiscard]] bool begin();
  /// Places an item as low as it goes.
  [[nodiscard]] bool place(std::uint32_t item);
  /// Wastes the bytes of the section below `least`: nothing begins there any more.
  [[nodiscard]] bool waste(std::uint32_t section, Bytes least);

  [[nodiscard]] std::size_t mark() const { return log_.mark(); }
  void undo_to(std::size_t mark);

  /// The number of items that are not placed.
  [[nodiscard]] Bytes left() const { return left_; }
  [[nodiscard]] bool is_placed(std::uint32_t item) const { return rests_[item] == never; }
  /// Valid for placed items only.
  [[nodiscard]] const std::vector<Bytes>& offsets() const { return offsets_; }
  /// The lowest remaining offset of an item; `never` if it is placed.
  [[nodiscard]] Bytes rest(std::uint32_t item) const { return rests_[item]; }
  /// Everything below it is decided.
  [[nodiscard]] Bytes floor(std::uint32_t section) const { return floors_[section]; }
  /// The bytes of a section that may still be lost.
  [[nodiscard]] Bytes slack(std::uint32_t section) const { return slacks_[section]; }
  /// The number of parts that could begin at its floor.
  [[nodiscard]] Bytes choices(std::uint32_t section) const { return choices_[section]; }
  /// Whether any of its parts is not placed.
  [[nodiscard]] bool is_open(std::uint32_t section) const { return open_[section] != 0; }
  /// The section that last lost too many bytes; undoing does not change it.
  [[nodiscard]] std::uint32_t last_failure() const { return last_failure_; }
  /// How many items and sections were looked at so far.
  [[nodiscard]] std::int64_t looks() const { return looks_; }

 private:
  /// Addresses [begin, end) taken above the floor of a section.
  struct Block {
    Bytes begin = 0;
    Bytes end = 0;
  };

  void set(Bytes& where, Bytes value) { log_.set(where, value); }
  void widen_touched(const Segment& part);
  void leave(const Item& item, Bytes rest);
  void put(std::uint32_t item, Bytes offset);
  [[nodiscard]] Bytes free_offset(const Item& item, Bytes from);
  [[nodiscard]] bool raise(std::uint32_t item, Bytes least);
  [[nodiscard]] bool settle();
  [[nodiscard]] bool settle(std::uint32_t section);

  const Tables& tables_;
  const std::vector<Item>& items_;
  const Bytes height_;
  std::vector<Bytes> floors_;
  std::vector<Bytes> slacks_;
  std::vector<Bytes> choices_;
  std::vector<Bytes> open_;  ///< Parts that are not placed.
  std::vector<std::vector<Block>> blocks_;
  std::vector<Bytes> rests_;
  std::vector<Bytes> offsets_;
  Bytes left_ = 0;
  UndoLog log_;
  std::vector<std::uint32_t> blocked_;  ///< The sections of all blocks, in the order of their insertion.
  Bytes blocks_count_ = 0;
  std::vector<char> is_touched_;  ///< Sections to scan again, all within this range:
  std::uint32_t touched_begin_ = 0;
  std::uint32_t touched_end_ = 0;
  std::uint32_t last_failure_ = 0;
  std::int64_t looks_ = 0;
};

}  // namespace stowage::pack
