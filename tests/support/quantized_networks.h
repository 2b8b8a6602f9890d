#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>

/// Random ONNX networks of integers in the form that quantizers write: operators between DequantizeLinear and
/// QuantizeLinear. An image of float32 goes in; a tensor of float32 or of bytes comes out. They have convolutions,
/// pools, sums, products, joins and a classifier of int8 or uint8.
namespace stowage::testing {

struct QuantizedOptions {
  std::int64_t least_layers = 1;
  std::int64_t most_layers = 5;
};

[[nodiscard]] onnx::ModelProto random_quantized_model(std::uint64_t seed,
                                                      const QuantizedOptions& options = {});

}  // namespace stowage::testing
