#pragma once

#include <cstdint>
#include <vector>

#include "pack/model.h"
#include "stowage/units.h"

namespace stowage::pack {

enum class Answer : std::uint8_t { yes, no, unknown };

/// Offsets in units, by item, if the answer is yes.
struct Found {
  Answer answer = Answer::unknown;
  std::vector<Bytes> offsets{};
  std::int64_t work = 0;  ///< In the units of deadlines.
};

/// The order of choices. Coarsest: those that leave no hole first, then the greatest alignment, then the
/// longest.
enum class ValueOrder : std::uint8_t { longest_first, largest_first, coarsest_first };

/// The rule for the section to branch at: see section_search.cc.
enum class SectionOrder : std::uint8_t { fewest_choices, last_failure };

struct Dive {
  ValueOrder values = ValueOrder::longest_first;
  SectionOrder sections = SectionOrder::fewest_choices;
  std::uint64_t seed = 0;
  std::int64_t nodes = 0;  ///< The search gives up after this many.
};

/// At most, about, in the units of deadlines: a node may scan all sections and items.
[[nodiscard]] std::int64_t work_of_node(const Tables& tables);

/// Decides whether everything fits below `height`: one dive of the branch and bound in section_search.cc.
[[nodiscard]] Found search_sections(const Tables& tables, Bytes height, const Dive& dive, const Stop& stop);

}  // namespace stowage::pack
