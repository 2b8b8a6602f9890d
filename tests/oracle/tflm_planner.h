#pragma once

#include <span>

#include "tflm/runtime.h"

/// What TensorFlow Lite Micro's planner does, step by step as it does it, with arrays and without a thought
/// for speed: the oracle for tflm/runtime.cc.
namespace stowage::testing {

[[nodiscard]] Bytes naive_tflm_head(std::span<const tflm::Request> requests);

}  // namespace stowage::testing
