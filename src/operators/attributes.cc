#include "operators/attributes.h"

#include <algorithm>

namespace stowage::operators {

void AttributeViews::add_list(std::string_view name, Shape list) {
  add(name, std::span<const std::int64_t>(lists_.emplace_back(std::move(list))));
}

const AttributeViews::Value* AttributeViews::find(std::string_view name) const {
  const auto it = std::ranges::find(all_, name, [](const auto& attribute) { return attribute.first; });
  return it == all_.end() ? nullptr : &it->second;
}

}  // namespace stowage::operators
