#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "pack/model.h"
#include "stowage/units.h"

namespace stowage::pack {

enum class Answer : std::uint8_t { yes, no, unknown };

/// Offsets in units, by item, if the answer is yes.
struct Found {
  Answer answer = Answer::unknown;
  std::vector<Bytes> offsets{};
  std::int64_t work = 0;  ///< Nodes, or steps.
};

/// What all searches of a model need and none changes.
struct Tables {
  explicit Tables(const Model& the_model);

  const Model& model;
  bool is_simple;
  std::vector<std::vector<Entry>> entries;
  std::vector<std::vector<Clash>> clashes;
  std::vector<std::vector<std::uint32_t>> items_in;  ///< Per section, those of `entries`.
  std::vector<std::int64_t> equal_before;            ///< The last item before it that is the same, or -1.
  std::vector<std::uint32_t> widths;                 ///< Sections that an item is in.
};

enum class ValueOrder : std::uint8_t { longest_first, largest_first };

struct Dive {
  ValueOrder order = ValueOrder::longest_first;
  std::uint64_t seed = 0;
  std::int64_t nodes = 0;  ///< After so many it gives up.
};

/// Asked now and then; true: give up.
using Stop = std::function<bool()>;

/// Whether everything fits below `height`: one dive of the branch and bound in section_search.cc.
[[nodiscard]] Found search_sections(const Tables& tables, Bytes height, const Dive& dive, const Stop& stop);

}  // namespace stowage::pack
