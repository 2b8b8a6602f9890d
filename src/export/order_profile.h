#pragma once

#include <iosfwd>

#include "stowage/plan.h"

namespace stowage::exporting {

/// Both orders as a line of bars each, where they need most, and what was moved.
void write_order_profile(const OrderProfile& profile, std::ostream& out);

/// Where a panel is in a picture.
struct Frame {
  double left = 0;
  double top = 0;
  double width = 0;
};

/// What `draw_order_profile` takes from top to bottom.
inline constexpr double order_profile_height = 550;

/// Both orders one above the other, and lines from where an operator was to where it is.
void draw_order_profile(const OrderProfile& profile, const Frame& frame, std::ostream& out);

/// Of classes that it uses.
void write_order_profile_style(std::ostream& out);

}  // namespace stowage::exporting
