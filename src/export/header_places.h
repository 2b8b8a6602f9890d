#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "stowage/plan.h"

namespace stowage::exporting {

/// Where tensors are when steps need them.
class Places {
 public:
  explicit Places(const Plan& plan);

  /// The place that an operator at this position reads or writes: of the views that are alive there the one
  /// in the fastest memory, or else one that ends there, which is written over in place. None for tensors
  /// that are nowhere.
  [[nodiscard]] std::optional<Place> at(std::size_t tensor, std::size_t clock, Position position) const;

  /// The address of a view.
  [[nodiscard]] Place of(const View& view) const;

  /// The view of a tensor in that buffer that is alive at a position of the buffer's clock.
  [[nodiscard]] std::optional<Place> in(std::size_t tensor, std::size_t buffer, Position position) const;

 private:
  [[nodiscard]] std::optional<Position> seen_from(std::size_t outer, std::size_t clock,
                                                  Position position) const;

  struct Fork {
    std::size_t clock = 0;
    Position position = 0;
  };

  const Plan& plan_;
  std::vector<std::optional<Fork>> forked_by_;  // per clock; none for the root
};

}  // namespace stowage::exporting
