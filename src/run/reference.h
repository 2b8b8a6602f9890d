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
  /// tensors are those of the network of blocks. Keeps references to the program and the blocks.
  Reference(const Program& program, const RunOptions& options,
            const std::function<std::vector<std::byte>(TensorId)>& value, const BlockNetwork* blocks);

  /// The first wrong element of the tensor among these bytes of it. Integers must be equal. Real numbers may
  /// differ as far as other orders of terms explain, so by the size of what was summed. Throws Interrupted.
  [[nodiscard]] std::optional<std::int64_t> first_difference(TensorId tensor, const PlacedPart& part);

 private:
  /// What numbers of a tensor may differ by.
  struct Tolerance {
    double own = -1;       ///< By the largest of them; negative: not known yet.
    double passed_on = 0;  ///< By what was summed for them and before them.
  };

  /// Runs the network. Calls `change` for each tensor that the caller has given or an operator has written.
  template <typename Change>
  void run_in(OwnHome& home, const Change& change) const;
  /// Notes how far a tensor moves if all real numbers before it change by their tolerances.
  void run_changed();
  /// Calls `visit(at, number)` for each real number of a tensor, at that byte of it.
  template <typename Visit>
  void for_each_number(TensorId tensor, const Visit& visit);
  [[nodiscard]] double own_tolerance_of(TensorId tensor);
  [[nodiscard]] double tolerance_of(TensorId tensor);

  [[nodiscard]] std::optional<std::int64_t> first_difference_in_whole(TensorId tensor,
                                                                      const PlacedPart& part);

  const Program& program_;
  RunOptions options_;
  std::function<std::vector<std::byte>(TensorId)> value_;
  const BlockNetwork* blocks_;
  OwnHome home_;
  std::vector<Tolerance> tolerances_;  ///< Per tensor.
  int changed_runs_ = 0;
};

}  // namespace stowage::run
