#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "stowage/units.h"

namespace stowage::pack {

/// Why tuning ends.
enum class Goal : std::uint8_t {
  fits,      ///< Nothing lies above the threshold.
  repeated,  ///< The order came up before, in whichever round.
  rounds,    ///< The orders after the first are as many as the rounds allowed.
};

/// The stopping rule: told every order that was placed, and how high it came to lie. Remembers all
/// orders in full, four bytes per rectangle, so that no two are ever mistaken for each other.
class Goals {
 public:
  /// Without `rounds` only the other two goals end the tuning.
  Goals(Bytes threshold, std::optional<std::int64_t> rounds) : threshold_(threshold), rounds_(rounds) {}

  /// The goal that this order reaches, the first in the order above; none: go on.
  [[nodiscard]] std::optional<Goal> reached(std::span<const std::size_t> order, Bytes top);

 private:
  Bytes threshold_;
  std::optional<std::int64_t> rounds_;
  std::set<std::vector<std::uint32_t>> seen_;
};

}  // namespace stowage::pack
