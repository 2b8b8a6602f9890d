#pragma once

#include <cstdint>
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

/// Options of TFLite_Detection_PostProcess for 2 classes, of each of which it takes 2 boxes at most.
struct DetectionOptions {
  bool is_by_class = false;
  std::int64_t most = 3;
  std::int64_t classes_per_box = 1;
  std::int64_t boxes_per_class = 2;
};
[[nodiscard]] std::string bytes_of_options(const DetectionOptions& options);

}  // namespace stowage::testing
