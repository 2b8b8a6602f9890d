#include "export/unfold.h"

#include <algorithm>

namespace stowage::exporting {
namespace {

class Axis {
 public:
  explicit Axis(const Plan& plan) : plan_(plan), starts_(plan.clocks.size()) { lay_out(0, 0); }

  [[nodiscard]] Position of(std::size_t clock, Position at) const {
    const std::vector<Position>& starts = starts_[clock];
    const auto last = static_cast<Position>(starts.size()) - 1;
    return at <= last ? starts[static_cast<std::size_t>(at)] : starts.back() + at - last;
  }

 private:
  /// Notes where each position of the clock begins, the one behind the last too, which it returns.
  Position lay_out(std::size_t clock, Position begin) {
    for (const Step& step : plan_.clocks[clock].steps) {
      starts_[clock].push_back(begin);
      Position end = begin + 1;
      if (const auto* const fork = std::get_if<Fork>(&step)) {
        for (const std::size_t branch : fork->clocks) end = std::max(end, lay_out(branch, begin));
      }
      begin = end;
    }
    starts_[clock].push_back(begin);
    return begin;
  }

  const Plan& plan_;
  std::vector<std::vector<Position>> starts_;
};

}  // namespace

std::vector<Buffer> on_one_axis(const Plan& plan) {
  std::vector<Buffer> buffers = plan.buffers;
  if (plan.clocks.size() == 1) return buffers;
  const Axis axis(plan);
  for (Buffer& buffer : buffers) {
    for (Piece& piece : buffer.pieces)
      piece.life = {axis.of(buffer.clock, piece.life.lower), axis.of(buffer.clock, piece.life.upper)};
  }
  return buffers;
}

}  // namespace stowage::exporting
