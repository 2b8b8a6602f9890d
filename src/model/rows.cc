#include <algorithm>

#include "stowage/graph.h"

namespace stowage {

const RowAxis* row_axis(const Operator& op, std::size_t axis) {
  const auto found = std::ranges::find(op.row_axes, axis, &RowAxis::axis);
  return found == op.row_axes.end() ? nullptr : &*found;
}

const RowRead* row_read(const RowAxis& along, std::size_t input) {
  const auto found = std::ranges::find(along.reads, input, &RowRead::input);
  return found == along.reads.end() ? nullptr : &*found;
}

const CarriedAxis* carried_axis(const Operator& op, std::size_t axis) {
  const auto found = std::ranges::find(op.carries, axis, &CarriedAxis::axis);
  return found == op.carries.end() ? nullptr : &*found;
}

const CarriedAxis* summed_first(const Operator& op, std::size_t input_axis) {
  const auto found = std::ranges::find_if(
      op.carries, [&](const CarriedAxis& it) { return it.reads_twice && it.input_axis == input_axis; });
  return found == op.carries.end() ? nullptr : &*found;
}

bool can_sum_up(const Operator& op, std::size_t axis) {
  return std::ranges::find(op.sums_over, axis) != op.sums_over.end();
}

}  // namespace stowage
