#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "check/sharing.h"
#include "model/motions.h"
#include "stowage/graph.h"

namespace stowage::check {

/// Bytes [begin, begin + size) of a tensor equal the bytes of `source` from `from` on, whenever both have
/// their values of one run.
struct Fragment {
  Bytes begin = 0;
  Bytes size = 0;
  TensorId source = 0;
  Bytes from = 0;
  model::MotionId begin_motion =
      0;  ///< How `begin` moves with open extents; `size` and `from` are at the largest.
  model::MotionId end_motion = 0;    ///< 0 may be a bound of what falls.
  model::MotionId shift_motion = 0;  ///< How `begin - from` moves.
};

/// The source of every byte of all networks' tensors. Tensors are numbered through all networks. A fed input
/// has the source of its output; weights of equal data in one place are one source.
class Sources {
 public:
  Sources(std::span<const Network> networks, std::span<const Joined> joined);

  /// Number of tensors.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Number of the tensor, as a source of its own.
  [[nodiscard]] std::size_t of_all(const TensorRef& tensor) const;
  /// Numbers of motions, with symbols of all networks.
  [[nodiscard]] const model::Motions& motions() const { return motions_; }
  [[nodiscard]] model::MotionId sum_of(model::MotionId a, model::MotionId b) { return motions_.sum(a, b); }
  /// The number of a motion over symbols of a network.
  [[nodiscard]] model::MotionId motion_in(std::size_t network, model::Motion motion);

  /// The fragments of the tensor in order; empty if it is its own source.
  [[nodiscard]] std::span<const Fragment> of(const TensorRef& tensor) const;

 private:
  [[nodiscard]] std::size_t number_of(const TensorRef& tensor) const {
    return first_[tensor.network] + tensor.tensor;
  }
  [[nodiscard]] std::size_t symbol_in(std::size_t network, std::size_t symbol);
  void unite_weights(std::span<const Network> networks);
  void add_network(const Network& network, std::size_t n);
  void pass_on(const Fragment& part, std::vector<Fragment>& made) const;

  std::size_t size_ = 0;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> symbols_;  ///< By network and symbol.
  model::Motions motions_;
  std::vector<std::size_t> first_;    ///< Number of each network's first tensor.
  std::vector<std::size_t> same_as_;  ///< For each tensor, the equal tensor that represents it.
  std::unordered_map<std::size_t, TensorRef> fed_with_;  ///< By the number of the fed input.
  std::vector<std::vector<Fragment>> fragments_;
};

}  // namespace stowage::check
