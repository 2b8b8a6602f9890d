#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

namespace stowage::base {

/// Unique names: the first request for a name gets it, later ones get it with "#2", "#3" and so on appended.
/// Amortised constant time.
class UniqueNames {
 public:
  [[nodiscard]] std::string unique(std::string name);
  /// Marks the name as taken.
  void reserve(const std::string& name) { uses_.try_emplace(name, 1); }

 private:
  std::unordered_map<std::string, std::int64_t> uses_;  ///< Per name the number it was given last.
};

}  // namespace stowage::base
