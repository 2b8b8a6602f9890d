#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "run/blocks.h"
#include "run/home.h"
#include "run/program.h"
#include "run/row_memory.h"
#include "stowage/run.h"

namespace stowage::run {

/// The tensors of a network that runs unstreamed, each in memory of its own.
class Reference {
 public:
  /// Runs the network. Throws Interrupted, and Error for data that an operator cannot process. With `blocks`,
  /// tensors are those of the network of blocks.
  Reference(const Program& program, const RunOptions& options,
            const std::function<std::vector<std::byte>(TensorId)>& value, const BlockNetwork* blocks);

  /// The first wrong element of the tensor among these bytes of it. Integers must be equal, real numbers
  /// close, because a sum may add its terms in another order.
  [[nodiscard]] std::optional<std::int64_t> first_difference(TensorId tensor, const PlacedPart& part);

 private:
  [[nodiscard]] double tolerance_of(TensorId tensor);

  [[nodiscard]] std::optional<std::int64_t> first_difference_in_whole(TensorId tensor,
                                                                      const PlacedPart& part);

  const Program& program_;
  const BlockNetwork* blocks_;
  OwnHome home_;
  std::vector<std::optional<double>> tolerances_;  ///< Per tensor.
};

}  // namespace stowage::run
