#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pack/placing.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// In the sections [begin, end) an item needs the bytes [low, high) above its offset; high may exceed its
/// size.
struct Segment {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  Bytes low = 0;
  Bytes high = 0;

  bool operator==(const Segment&) const = default;
};

/// A buffer as the searches see it.
struct Item {
  std::size_t buffer = 0;  ///< Its index in the problem.
  Bytes size = 0;
  Bytes alignment = 1;
  std::optional<Bytes> pin{};
  std::vector<Segment> parts{};  ///< Sorted by first section.
};

/// The offset of an item less that of `other` must not lie in the open interval (low, high).
struct ForbiddenOffsets {
  std::uint32_t other = 0;
  Bytes low = 0;
  Bytes high = 0;
};

/// A part of an item in one section.
struct Entry {
  std::uint32_t item = 0;
  Bytes low = 0;
  Bytes high = 0;
};

/// The input of the searches: see model.cc. All bytes count in `unit`s.
struct SectionModel {
  Bytes unit = 1;
  Bytes grid = 1;  ///< Items begin at multiples of it. Their parts begin and end there, too, rounded up.
  std::uint32_t sections = 0;
  std::vector<Item> items{};

  /// Whether every item is one part that may lie at any multiple of the grid.
  [[nodiscard]] bool is_simple() const;
  /// Live bytes of each section.
  [[nodiscard]] std::vector<Bytes> loads() const;
  /// The maximum of: live bytes of a section, the largest item, the end of the highest pin.
  [[nodiscard]] Bytes bound() const;
  /// Per section its parts.
  [[nodiscard]] std::vector<std::vector<Entry>> entries() const;
  /// Per item the items it meets, and how; incomplete if cancelled.
  [[nodiscard]] std::vector<std::vector<ForbiddenOffsets>> clashes(const Stop& stop) const;
};

/// The buffers that are ever alive.
[[nodiscard]] SectionModel model_of(std::span<const Buffer> buffers);

/// A model that can be solved alone, on top of `base` units that other items take.
struct Subproblem {
  Bytes base = 0;
  SectionModel model{};
};

/// Moves items that are in every section to the bottom and splits the rest where no item connects it.
/// `settled` gets the offsets of the moved items, in bytes and by buffer. If cancelled, regions may be
/// missing.
[[nodiscard]] std::vector<Subproblem> regions_of(SectionModel model, std::vector<Bytes>& settled,
                                                 const Stop& stop);

/// Shared tables that all searches of a model read.
struct Tables {
  /// If cancelled they are incomplete and useless.
  Tables(const SectionModel& the_model, const Stop& stop);

  const SectionModel& model;
  bool is_simple;
  bool has_alignments;  ///< Some items begin at multiples of more than the grid.
  std::vector<std::vector<Entry>> entries;
  std::vector<std::vector<ForbiddenOffsets>> clashes;
  std::vector<std::vector<std::uint32_t>> items_in;  ///< Per section, those of `entries`.
  std::vector<std::int64_t> equal_before;            ///< The last equal item before it, or -1.
  std::vector<std::uint32_t> widths;                 ///< The number of sections that an item is in.
  std::int64_t work = 0;                             ///< Of making them, in the units of deadlines.
};

}  // namespace stowage::pack
