#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

namespace stowage::base {

/// Names that no two have: the first who asks for a name gets it, later ones get it with "#2", "#3" and so on
/// behind it. Amortised constant time.
class UniqueNames {
 public:
  [[nodiscard]] std::string unique(std::string name);
  /// From now on the name is somebody's.
  void reserve(const std::string& name) { uses_.try_emplace(name, 1); }

 private:
  std::unordered_map<std::string, std::int64_t> uses_;  ///< Of each name, and the number it was given last.
};

}  // namespace stowage::base
