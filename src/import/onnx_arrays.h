#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "import/nearby_files.h"
#include "stowage/network.h"

namespace stowage::import {

/// The elements of a tensor of an ONNX file. External data is looked for beside the file, in `folder` or
/// below it. Throws Error at `place` for data that does not fit the shape, that is text, or that cannot be
/// read.
[[nodiscard]] Array array_of(const onnx::TensorProto& tensor, const std::filesystem::path& folder = {},
                             const std::string& place = "tensor");

/// Whether a tensor's elements are in another file.
[[nodiscard]] bool is_external(const onnx::TensorProto& tensor);

/// Those elements, where they lie. Throws as `array_of` does.
[[nodiscard]] std::span<const std::byte> external_data(const onnx::TensorProto& tensor, NearbyFiles& files,
                                                       const std::string& place);

}  // namespace stowage::import
