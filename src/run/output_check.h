#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "run/model_to_run.h"
#include "run/reference.h"
#include "stowage/plan.h"
#include "stowage/run.h"

namespace stowage::run {

/// What a model of the plan is compared with.
[[nodiscard]] std::unique_ptr<Reference> reference_of(const ModelToRun& model, const Plan& plan,
                                                      std::size_t index, const RunOptions& options,
                                                      RunResult& result);

/// Runs every model with memory of its own, and throws RunFault unless the outputs, model by model, are the same.
/// Notes in the result how far they differ. Throws Interrupted, and Error for data that an operator cannot process.
void compare_outputs(std::span<const ModelToRun> models, const Plan& plan, const RunOptions& options,
                     std::span<NamedArray> outputs, RunResult& result);

}  // namespace stowage::run
