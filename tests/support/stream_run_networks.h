/// Small networks of images for the runner of streamed plans, drawn at random. Example:
///
///     const Network network = random_image_network(7, ImageNetwork::tflite_int8);
#pragma once

#include <cstdint>

#include "stowage/network.h"
#include "stream_run_plans.h"

namespace stowage::testing {

enum class ImageNetwork : std::uint8_t { tflite_int8, tflite_float, onnx };

/// Convolutions, pools, sums of branches, padding and resizing of one image, and mostly a classifier behind.
[[nodiscard]] Network random_image_network(std::uint64_t seed, ImageNetwork kind);

/// All ways to stream a network come with some seed.
[[nodiscard]] StreamedOptions random_options(std::uint64_t seed);

}  // namespace stowage::testing
