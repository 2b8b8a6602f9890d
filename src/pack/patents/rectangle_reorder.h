#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "pack/container.h"
#include "pack/sort_order.h"
#include "stowage/problem.h"
#include "stowage/units.h"

namespace stowage::pack {

/// The importance of a buffer for lowering a layout to a threshold, in rising order.
enum class Risk : std::uint8_t { none, low, medium, high };

/// The risk of each buffer at its offset; the highest that applies. high: its top (offset + size) is above
/// the threshold, or it is alive together with such a buffer; medium: the same with tops equal to the
/// threshold; low: alive together with a high or medium one; none: all others, and those never alive. See
/// rectangle_reorder.cc.
[[nodiscard]] std::vector<Risk> classify(std::span<const Buffer> buffers, std::span<const Bytes> offsets,
                                         Bytes threshold);

/// Rectangles in some order, as indices of buffers.
using Order = std::vector<std::size_t>;

/// Divides rectangles into groups that are alive together. By rising start, each rectangle joins the group
/// before it if their times overlap by at least `percent` of the shorter one (and by at least one position);
/// otherwise it opens the next group. Each group keeps the given order. Cost: n log n.
[[nodiscard]] std::vector<std::vector<Rectangle>> groups_by_overlap(std::span<const Rectangle> rectangles,
                                                                    int percent);

/// The merger: tuned high ones, tuned medium ones, then the low ones and those without risk, in the order of
/// `previous`. `risks` is by buffer.
[[nodiscard]] Order merged(const Order& high, const Order& medium, std::span<const std::size_t> previous,
                           std::span<const Risk> risks);

/// The parameters by which re-orderers differ.
struct Manner {
  std::uint64_t seed = 0;
  bool minds_size = false;  ///< A collision of two large ones weighs more from the start.
  Bytes divisor = 4;        ///< Each step lowers the roof by this part of the excess.
  std::int64_t budget = 0;  ///< Neighbours examined without progress before it gives up a roof.
};

/// The memory-rectangle re-orderer: finds an order that places a group lower. See rectangle_reorder.cc.
class Reorderer {
 public:
  /// Keeps references. `is_stopped` is polled periodically.
  Reorderer(std::span<const Buffer> buffers, const Neighbours& neighbours, Manner manner,
            std::function<bool()> is_stopped);

  /// Returns the group, which the container holds, in the order of offsets of the lowest layout found. Placed
  /// in this order it is no higher than now, and not above the threshold if such a layout is found. All other
  /// rectangles in the container stay where they are.
  [[nodiscard]] Order lowered(std::span<const std::size_t> group, const Container& container,
                              Bytes threshold);

  /// Neighbours, or collisions with them, examined so far.
  [[nodiscard]] std::int64_t work() const { return work_; }

 private:
  struct Event {
    Bytes at = 0;             ///< From this offset on ...
    std::int64_t change = 0;  ///< ... a rectangle pays this much more.
  };
  struct Spot {
    Bytes offset = 0;
    std::int64_t cost = 0;
  };
  struct Lesson {
    std::size_t other = 0;
    std::int64_t weight = 0;
  };

  void start(std::span<const std::size_t> group, const Container& container);
  void push_below(std::span<const std::size_t> group, Bytes roof);
  [[nodiscard]] bool settle(Bytes roof);
  [[nodiscard]] bool has_to_stop();
  [[nodiscard]] std::size_t pick();
  void improve(std::size_t buffer, Bytes roof);
  std::int64_t gather_events(std::size_t buffer);
  [[nodiscard]] Spot cheapest_spot(std::size_t buffer, Bytes roof, std::int64_t here);
  void move(std::size_t buffer, Bytes offset);
  void learn(std::size_t buffer);
  [[nodiscard]] bool collide(std::size_t buffer, Bytes offset, std::size_t other) const;
  void count(std::size_t buffer, int change);
  [[nodiscard]] std::size_t draw(std::size_t below);

  std::span<const Buffer> buffers_;
  const Neighbours* neighbours_;
  Manner manner_;
  std::function<bool()> is_stopped_;
  std::uint64_t random_;
  std::vector<std::int64_t> burdens_;         ///< The first weight of a collision with the buffer.
  std::vector<std::vector<Lesson>> lessons_;  ///< By buffer: the weights it has learned on top.
  std::vector<std::int64_t> learned_;         ///< The lessons of the present buffer, by neighbour.
  std::vector<Bytes> offsets_;
  std::vector<char> is_held_;
  std::vector<char> is_movable_;
  std::vector<std::int32_t> collisions_;  ///< Neighbours that a movable rectangle collides with.
  std::vector<std::size_t> colliding_;    ///< Movable rectangles that collide with any.
  std::vector<std::size_t> place_among_colliding_;
  std::vector<std::int64_t> moved_at_;
  std::vector<Event> events_;
  std::int64_t steps_ = 0;
  std::int64_t work_ = 0;
  std::size_t events_since_look_ = 0;
};

}  // namespace stowage::pack
