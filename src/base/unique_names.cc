#include "base/unique_names.h"

#include "base/text.h"

namespace stowage::base {

std::string UniqueNames::unique(std::string name) {
  const auto [entry, is_first] = uses_.try_emplace(name, 1);
  if (is_first) return name;
  std::int64_t& number = entry->second;  // stays valid when others are added
  for (;;) {
    std::string numbered = concat(name, "#", ++number);
    if (uses_.try_emplace(numbered, 1).second) return numbered;
  }
}

}  // namespace stowage::base
