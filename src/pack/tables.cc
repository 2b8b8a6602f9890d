#include "pack/tables.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace stowage::pack {

Tables::Tables(const Model& the_model, const Stop& stop)
    : model(the_model),
      is_simple(the_model.is_simple()),
      has_alignments(std::any_of(the_model.items.begin(), the_model.items.end(),
                                 [&](const Item& item) { return item.alignment > the_model.grid; })),
      entries(the_model.entries()),
      clashes(the_model.clashes(stop)),
      items_in(the_model.sections),
      equal_before(the_model.items.size(), -1) {
  for (std::size_t s = 0; s < entries.size(); ++s) {
    for (const Entry& entry : entries[s]) items_in[s].push_back(entry.item);
  }
  std::map<std::tuple<std::uint32_t, std::uint32_t, Bytes>, std::vector<std::uint32_t>> seen;
  for (std::uint32_t i = 0; i < model.items.size(); ++i) {
    const Item& item = model.items[i];
    std::uint32_t width = 0;
    for (const Part& part : item.parts) width += part.end - part.begin;
    widths.push_back(width);
    if (item.pin) continue;
    auto& same = seen[{item.parts.front().begin, item.parts.back().end, item.size}];
    for (const std::uint32_t other : same) {
      const Item& its = model.items[other];
      if (its.parts == item.parts && its.alignment == item.alignment) equal_before[i] = other;
    }
    same.push_back(i);
  }
}

}  // namespace stowage::pack
