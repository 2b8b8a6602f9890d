#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "run/blocks.h"
#include "run/program.h"
#include "stowage/plan.h"

namespace stowage::run {

/// A model to run.
struct ModelToRun {
  const Program* program = nullptr;
  const Network* network = nullptr;  ///< Needed for rows.
  /// Null: the network is not split. Then program and network are those of the blocks.
  const BlockNetwork* blocks = nullptr;
  const Program* unsplit = nullptr;  ///< With blocks: what checks compare with.
  std::string file{};                ///< Prefix of errors; may be empty.
  /// The value of an input or a state.
  std::function<std::vector<std::byte>(TensorId)> value{};
};

[[nodiscard]] std::vector<const Graph*> graphs_of(std::span<const ModelToRun> models);

/// Whether the model runs by rows, or in blocks; `index` is its own in the plan.
[[nodiscard]] inline bool runs_rows(const ModelToRun& model, const Plan& plan, std::size_t index) {
  return is_streamed(plan, index) || model.blocks != nullptr;
}

}  // namespace stowage::run
