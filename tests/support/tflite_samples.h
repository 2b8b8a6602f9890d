#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stowage/network.h"

/// A small call of each operator of TFLite, of real numbers and of quantized ones.
namespace stowage::testing {

/// A file with one operator. The sizes of its results are unknown, and so are those of its inputs: `options`
/// gives these.
struct TfliteSample {
  std::string content{};
  ImportOptions options{};
};

/// None if there is no call, or none of such elements: float32, int8, uint8 or int16. Quantized weights are small and
/// differ from each other.
[[nodiscard]] std::optional<TfliteSample> tflite_sample_of(std::string_view type, DType elements);

}  // namespace stowage::testing
