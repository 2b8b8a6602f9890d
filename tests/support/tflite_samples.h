#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stowage/network.h"

/// A small call of each operator of TFLite, of real numbers and of bytes.
namespace stowage::testing {

enum class Elements { real, bytes };

/// A file with one operator. The sizes of its results are unknown, and so are those of its inputs: `options`
/// gives these.
struct TfliteSample {
  std::string content{};
  ImportOptions options{};
};

/// None if there is no call, or none of such elements.
[[nodiscard]] std::optional<TfliteSample> tflite_sample_of(std::string_view type, Elements elements);

}  // namespace stowage::testing
