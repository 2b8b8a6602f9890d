#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::model {

/// How a place moves with open extents: a sum in the order of its symbols, each product of symbols once. Empty: it stays.
using Motion = std::vector<OpenBytes>;

/// a + factor * b. Throws Error where numbers overflow.
[[nodiscard]] Motion sum_of(const Motion& a, const Motion& b, Bytes factor);

/// How the end of the tensor moves if its begin stays; none if its bytes are no product of extents.
[[nodiscard]] std::optional<Motion> motion_of_end(const Tensor& tensor);

/// How the begin of a copy moves in the tensor that it reads and in the one that it writes.
struct CopyMotion {
  Motion from{};
  Motion to{};
  bool is_known = true;  ///< False: places that move in a way that is not known.
};

/// For each of the operator's copies; see motions.cc. Cost: copies * log(copies).
[[nodiscard]] std::vector<CopyMotion> motions_of_copies(const Graph& graph, const Operator& op);

/// True if places of some copies move, and all are known.
[[nodiscard]] bool has_places_that_move(const Graph& graph, const Operator& op);

/// Why a copy is made: "byte 64 of output 0 lies behind an open extent, of axis 1, and moves with it".
[[nodiscard]] std::string why_moved(const Graph& graph, const Operator& op, const ByteCopy& copy);

/// Where an error says that a copy must not be.
[[nodiscard]] std::string text_of_moved(const ByteCopy& copy);

/// Leaves the operator without copies if one has a place that moves.
void copy_what_moves(const Graph& graph, Operator& op);
/// The same for all operators.
void copy_what_moves(Graph& graph);

/// True if a tensor has another place in its buffer at other sizes.
[[nodiscard]] bool has_views_that_move(const Plan& plan);

/// Extents by their symbols.
using Extents = std::map<std::size_t, std::int64_t>;

/// The extents of these tensors at some sizes: `open` says which are open, `shapes` has them.
void note_extents(const Tensor& open, const Shape& shape, Extents& extents);

/// The largest extents of a graph.
[[nodiscard]] Extents largest_extents(const Graph& graph);

/// The sum at these extents; none if it overflows, or a symbol is unknown.
[[nodiscard]] std::optional<Bytes> value_of(const Motion& motion, const Extents& extents);

/// A number of a motion in `Motions`; 0: it stays.
using MotionId = std::uint32_t;

/// Motions with numbers, and what they are at the largest extents.
class Motions {
 public:
  Motions() = default;
  explicit Motions(Extents largest) : largest_(std::move(largest)) {}

  [[nodiscard]] MotionId id_of(Motion motion);
  [[nodiscard]] MotionId sum(MotionId a, MotionId b);
  [[nodiscard]] MotionId difference(MotionId a, MotionId b);
  [[nodiscard]] const Motion& operator[](MotionId id) const { return all_[id]; }

  /// By how many bytes at most what moves by `b` comes nearer from above to what moves by `a`, as extents become smaller
  /// than the largest.
  [[nodiscard]] Bytes approach(MotionId a, MotionId b) const;

  /// Whether a place is never behind another one. Both are given at the largest extents.
  [[nodiscard]] bool is_never_behind(Bytes a, MotionId motion_of_a, Bytes b, MotionId motion_of_b) const {
    return a <= b && (motion_of_a == motion_of_b || approach(motion_of_a, motion_of_b) <= b - a);
  }

 private:
  Extents largest_{};
  std::vector<Motion> all_{{}};
  std::map<std::vector<std::pair<std::vector<std::size_t>, Bytes>>, MotionId> ids_{{{}, 0}};
};

}  // namespace stowage::model
