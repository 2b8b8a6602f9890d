#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <string>

#include "stowage/network.h"

namespace stowage::import {

/// The elements of a tensor of an ONNX file. External data is looked for beside the file, in `folder` or
/// below it. Throws Error at `place` for data that does not fit the shape, that is text, or that cannot be
/// read.
[[nodiscard]] Array array_of(const onnx::TensorProto& tensor, const std::filesystem::path& folder = {},
                             const std::string& place = "tensor");

}  // namespace stowage::import
