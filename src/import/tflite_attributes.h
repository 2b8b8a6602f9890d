#pragma once

#include "operators/attributes.h"
#include "tflite_generated.h"

namespace stowage::import {

/// The options of an operator as shape rules see them: under ONNX's names where ONNX's rule is theirs,
/// otherwise under those of the schema. All options that rules know are there, also those that the file
/// leaves to their default; none if the file has no options.
[[nodiscard]] operators::AttributeViews views_of(const tflite::Operator& op);

}  // namespace stowage::import
