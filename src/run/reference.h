#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "run/home.h"
#include "run/program.h"
#include "run/row_memory.h"
#include "stowage/run.h"

namespace stowage::run {

/// What a network's tensors are when it runs unstreamed, each in memory of its own.
class Reference {
 public:
  /// Runs the network. Throws Error for data that an operator cannot work with, Interrupted.
  Reference(const Program& program, const RunOptions& options,
            const std::function<std::vector<std::byte>(TensorId)>& value);

  /// The first element of the tensor, among these bytes of it, that is not what it should be. Integers must
  /// be equal, real numbers close: a sum may add up its terms in another order.
  [[nodiscard]] std::optional<std::int64_t> first_difference(TensorId tensor, const PlacedPart& part);

 private:
  [[nodiscard]] double tolerance_of(TensorId tensor);

  const Program& program_;
  OwnHome home_;
  std::vector<std::optional<double>> tolerances_;  ///< Per tensor.
};

}  // namespace stowage::run
