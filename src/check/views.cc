#include "check/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "check/names.h"
#include "check/streamed.h"

namespace stowage::check {
namespace {

/// The pieces of a buffer in order of time, to ask which bytes they hold when. A buffer of a body
/// that runs many times has as many pieces; a question looks only at those near it in time.
class PiecesInTime {
 public:
  explicit PiecesInTime(const Buffer& buffer) : pieces_(buffer.pieces) {
    std::sort(pieces_.begin(), pieces_.end(),
              [](const Piece& a, const Piece& b) { return a.life.lower < b.life.lower; });
    Position latest = 0;
    for (const Piece& piece : pieces_) latest_upper_.push_back(latest = std::max(latest, piece.life.upper));
  }

  /// Whether live pieces hold bytes [begin, end) during all of `life`. Pieces of one buffer do not
  /// overlap (check_memory), so they do when together they cover as much of that rectangle as it has.
  [[nodiscard]] bool hold(Bytes begin, Bytes end, const Lifetime& life) const {
    __extension__ using Area = unsigned __int128;
    const auto area = [](Bytes bytes, Position time) {
      return bytes > 0 && time > 0 ? static_cast<Area>(bytes) * static_cast<Area>(time) : Area{0};
    };
    Area covered = 0;
    const auto first = std::upper_bound(latest_upper_.begin(), latest_upper_.end(), life.lower);
    for (auto at = pieces_.begin() + (first - latest_upper_.begin());
         at != pieces_.end() && at->life.lower < life.upper; ++at) {
      covered += area(std::min(end, at->offset + at->size) - std::max(begin, at->offset),
                      std::min(life.upper, at->life.upper) - std::max(life.lower, at->life.lower));
    }
    return covered >= area(end - begin, life.upper - life.lower);
  }

 private:
  std::vector<Piece> pieces_;
  std::vector<Position> latest_upper_;  ///< Of the pieces up to each one.
};

}  // namespace

Faults check_views(const Plan& plan) {
  Faults faults;
  if (is_streamed(plan)) return faults;  // bytes are needed where rows are, which the network says: stream.h
  std::unordered_map<std::size_t, PiecesInTime> pieces_of;
  for (const PlannedTensor& tensor : plan.tensors) {
    for (const View& view : tensor.views) {
      const PiecesInTime& pieces =
          pieces_of.try_emplace(view.buffer, plan.buffers[view.buffer]).first->second;
      if (!pieces.hold(view.offset, view.offset + tensor.tensor.bytes, view.life)) {
        faults.push_back(
            {FaultKind::accounting,
             fmt::format("{} is in {} from {} to {}, but not all of its bytes are reserved there then",
                         name_of_tensor(tensor), name_of_buffer(plan, view.buffer), view.life.lower,
                         view.life.upper)});
      }
    }
  }
  return faults;
}

}  // namespace stowage::check
