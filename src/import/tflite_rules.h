#pragma once

#include "operators/context.h"
#include "tflite_generated.h"

namespace stowage::import {

/// Sets the dimensions of the outputs as far as they follow from what is known of the inputs: not at all for an
/// operator without a rule. Throws Misfit if inputs and options do not fit together.
void infer_by_rule(const tflite::OperatorCode& code, operators::NodeContext& node);

}  // namespace stowage::import
