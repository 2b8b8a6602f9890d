#pragma once

#include "generate/sources.h"

/// Convolutions and pools of float32 that kernels for images do not take. All throw kernels::Unsupported.
namespace stowage::generate {

/// Whether its input has three dimensions beside batch and channels.
[[nodiscard]] bool has_volumes(const kernels::Signature& signature);

/// Of any number of dimensions, with weights that may be computed.
void emit_volume_conv(Writer& writer);
void emit_volume_pool(Writer& writer, bool is_average);
/// GlobalAveragePool
void emit_volume_average(Writer& writer);

}  // namespace stowage::generate
