#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "check/sharing.h"
#include "stowage/graph.h"

namespace stowage::check {

/// Bytes [begin, begin + size) of a tensor are the bytes of `source` from `from` on, whenever both have
/// their values of one run.
struct Fragment {
  Bytes begin = 0;
  Bytes size = 0;
  TensorId source = 0;
  Bytes from = 0;
};

/// What every byte of all networks' tensors is. Tensors are counted through all networks; what a network is
/// fed with is what the other one wrote, and weights that lie in one place and have equal data are one.
class Sources {
 public:
  Sources(std::span<const Network> networks, std::span<const Joined> joined);

  /// How many tensors there are.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The tensor as a source of its own.
  [[nodiscard]] std::size_t of_all(const TensorRef& tensor) const;
  /// The tensor's bytes in order; empty if all of them are its own.
  [[nodiscard]] std::span<const Fragment> of(const TensorRef& tensor) const;

 private:
  [[nodiscard]] std::size_t number_of(const TensorRef& tensor) const {
    return first_[tensor.network] + tensor.tensor;
  }
  void unite_weights(std::span<const Network> networks);
  void add_network(const Network& network, std::size_t n);
  void pass_on(const Fragment& part, std::vector<Fragment>& made) const;

  std::size_t size_ = 0;
  std::vector<std::size_t> first_;    ///< Of each network's tensors.
  std::vector<std::size_t> same_as_;  ///< Of each tensor, the one that stands for it.
  std::vector<std::optional<TensorRef>> fed_with_;
  std::vector<std::vector<Fragment>> fragments_;
};

}  // namespace stowage::check
