#pragma once

#include <unordered_map>
#include <vector>

#include "model/motions.h"
#include "stowage/graph.h"

namespace stowage::alias {

/// How the begin of a copy and its end move: in the tensor that it reads, and in the one that it writes.
struct MovingCopy {
  model::MotionId from = 0;
  model::MotionId from_end = 0;
  model::MotionId to = 0;
};

/// How places in the tensors of a network move with open extents (model/motions.h). Where no copy moves, nothing does,
/// and all numbers of motions are 0.
class MovingPlaces {
 public:
  explicit MovingPlaces(const Graph& graph);

  [[nodiscard]] bool is_any() const { return !ends_.empty(); }
  [[nodiscard]] model::Motions& motions() { return motions_; }
  [[nodiscard]] model::MotionId end_of(TensorId tensor) const { return ends_.empty() ? 0 : ends_[tensor]; }
  [[nodiscard]] MovingCopy of(const Graph& graph, const Operator& op, const ByteCopy& copy) const;

 private:
  model::Motions motions_{};
  std::vector<model::MotionId>
      ends_{};  ///< Of each tensor; empty: nothing moves. 0 may be a bound of what falls.
  std::unordered_map<const ByteCopy*, MovingCopy> copies_{};  ///< Of operators of which a copy moves.
};

}  // namespace stowage::alias
