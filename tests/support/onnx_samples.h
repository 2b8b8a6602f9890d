#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>
#include <string_view>

/// A small call of each operator of ONNX whose results can be planned, in the form that each of its operator
/// sets has. Example: what set 9 calls a Slice.
///
///     const std::optional<onnx::ModelProto> model = sample_of("Slice", 9);
namespace stowage::testing {

/// A model with one operator, whose results are not declared; none if there is no sample.
[[nodiscard]] std::optional<onnx::ModelProto> sample_of(std::string_view type, int operator_set);

}  // namespace stowage::testing
