#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "model/blocks.h"
#include "run/parts.h"
#include "run/program.h"
#include "stowage/network.h"
#include "stowage/plan.h"

namespace stowage::run {

/// The network of the blocks of a plan's model, ready to run: every block is an operator or a tensor of its own.
class BlockNetwork {
 public:
  /// `program` is that of the unsplit network, with plain kernels. Throws RunFault if the plan splits it in a way
  /// that it cannot be split.
  BlockNetwork(const Network& network, const Program& program, const Plan& plan, std::size_t model = 0);

  [[nodiscard]] const Network& network() const { return network_; }
  [[nodiscard]] const Program& program() const { return program_; }
  /// The plan for this network, and for the others as they were.
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const model::SplitNetwork& split_network() const { return split_; }

  /// The tensor of the unsplit network.
  [[nodiscard]] TensorId whole_of(TensorId tensor) const { return split_.tensors[tensor].of; }
  /// The bytes of a block, of those of the whole tensor.
  [[nodiscard]] std::vector<std::byte> part_of(TensorId tensor, std::span<const std::byte> whole) const;
  /// Bytes of a block as bytes of the whole tensor.
  [[nodiscard]] PlacedPart in_whole(TensorId tensor, const PlacedPart& part) const;

  /// Whether operators read a tensor that is stored as others: in blocks, or as part of a whole tensor.
  [[nodiscard]] bool is_gathered(TensorId tensor) const;
  /// The bytes of such a part. `read` gives those of stored tensors.
  [[nodiscard]] PlacedPart gather(const TensorPart& part,
                                  const std::function<PlacedPart(const TensorPart&)>& read) const;

 private:
  void add_details(const Network& network);
  void add_constants(const Network& network, const Program& program);
  [[nodiscard]] std::vector<TensorPart> stored_parts(const TensorPart& part) const;

  model::SplitNetwork split_;
  Plan plan_;
  Network network_{};
  Program program_{};
};

}  // namespace stowage::run
