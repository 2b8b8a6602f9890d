#pragma once

#include <iosfwd>

#include "stowage/plan.h"

namespace stowage::exporting {

/// Writes both orders as a line of bars each, with their peaks and the moved operators.
void write_order_profile(const OrderProfile& profile, std::ostream& out);

/// The place of a panel in a picture.
struct Frame {
  double left = 0;
  double top = 0;
  double width = 0;
};

/// The height of what `draw_order_profile` draws.
inline constexpr double order_profile_height = 550;

/// Draws both orders one above the other, with lines from old to new positions of operators.
void draw_order_profile(const OrderProfile& profile, const Frame& frame, std::ostream& out);

/// Writes the style of its classes.
void write_order_profile_style(std::ostream& out);

}  // namespace stowage::exporting
