#pragma once

#include <cstdint>
#include <vector>

#include "pack/model.h"

namespace stowage::pack {

/// What all searches of a model need and none changes.
struct Tables {
  /// Told to stop they are incomplete and of no use.
  Tables(const Model& the_model, const Stop& stop);

  const Model& model;
  bool is_simple;
  bool has_alignments;  ///< Some items begin at multiples of more than the grid.
  std::vector<std::vector<Entry>> entries;
  std::vector<std::vector<Clash>> clashes;
  std::vector<std::vector<std::uint32_t>> items_in;  ///< Per section, those of `entries`.
  std::vector<std::int64_t> equal_before;            ///< The last item before it that is the same, or -1.
  std::vector<std::uint32_t> widths;                 ///< Sections that an item is in.
};

}  // namespace stowage::pack
