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

/// In the sections [begin, end) an item needs the bytes [low, high) above its offset; high may be above its
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
  std::size_t buffer = 0;  ///< Whose it is: an index of the problem.
  Bytes size = 0;
  Bytes alignment = 1;
  std::optional<Bytes> pin{};
  std::vector<Segment> parts{};  ///< By their first section.
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

/// What searches work on: see model.cc. All bytes count in `unit`s.
struct SectionModel {
  Bytes unit = 1;
  Bytes grid = 1;  ///< Items begin at multiples of it. Their parts begin and end there, too, rounded up.
  std::uint32_t sections = 0;
  std::vector<Item> items{};

  /// Every item is one part, free to lie at any multiple of the grid.
  [[nodiscard]] bool is_simple() const;
  /// Live bytes of each section.
  [[nodiscard]] std::vector<Bytes> loads() const;
  /// The most live bytes of a section, the largest item, the end of the highest pin.
  [[nodiscard]] Bytes bound() const;
  /// Per section the parts there are.
  [[nodiscard]] std::vector<std::vector<Entry>> entries() const;
  /// Per item whom it meets, and how; not all of it when told to stop.
  [[nodiscard]] std::vector<std::vector<ForbiddenOffsets>> clashes(const Stop& stop) const;
};

/// The buffers that are ever alive.
[[nodiscard]] SectionModel model_of(std::span<const Buffer> buffers);

/// A model that can be solved alone, with `base` units below it that others have taken.
struct Subproblem {
  Bytes base = 0;
  SectionModel model{};
};

/// What is left of a model when items that are everywhere lie at the bottom, and what has no item in
/// common is told apart; `settled` gets the offsets of the former, in bytes and by buffer. Told to stop, some
/// may be missing.
[[nodiscard]] std::vector<Subproblem> regions_of(SectionModel model, std::vector<Bytes>& settled,
                                                 const Stop& stop);

/// What all searches of a model need and none changes.
struct Tables {
  /// Told to stop they are incomplete and of no use.
  Tables(const SectionModel& the_model, const Stop& stop);

  const SectionModel& model;
  bool is_simple;
  bool has_alignments;  ///< Some items begin at multiples of more than the grid.
  std::vector<std::vector<Entry>> entries;
  std::vector<std::vector<ForbiddenOffsets>> clashes;
  std::vector<std::vector<std::uint32_t>> items_in;  ///< Per section, those of `entries`.
  std::vector<std::int64_t> equal_before;            ///< The last item before it that is the same, or -1.
  std::vector<std::uint32_t> widths;                 ///< Sections that an item is in.
};

}  // namespace stowage::pack
