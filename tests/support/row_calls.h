#pragma once

#include <vector>

#include "stream_run_calls.h"

/// Calls of every type of operator that has rows, with a variety of what it can be told.
namespace stowage::testing {

[[nodiscard]] std::vector<Call> elementwise_calls();
[[nodiscard]] std::vector<Call> onnx_window_calls();
[[nodiscard]] std::vector<Call> onnx_resize_calls();
[[nodiscard]] std::vector<Call> onnx_row_calls();
[[nodiscard]] std::vector<Call> tflite_row_calls();
/// Of both formats: slices, pads, norms, orders, reductions.
[[nodiscard]] std::vector<Call> calls_along_axes();

[[nodiscard]] std::vector<Call> all_row_calls();

}  // namespace stowage::testing
