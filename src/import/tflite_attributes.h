#pragma once

#include <flatbuffers/flexbuffers.h>

#include <optional>

#include "operators/attributes.h"
#include "tflite_generated.h"

namespace stowage::import {

/// The options of an operator as shape rules see them: under ONNX's names where ONNX's rule is theirs,
/// otherwise under those of the schema. All options that rules know are there, also those that the file
/// leaves to their default; none if the file has no options.
[[nodiscard]] operators::AttributeViews views_of(const tflite::Operator& op);

/// The options of a custom operator that has them by name; none if it has others, or damaged ones.
[[nodiscard]] std::optional<flexbuffers::Map> custom_options_of(const tflite::Operator& op);

}  // namespace stowage::import
