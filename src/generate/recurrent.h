#pragma once

#include <string_view>

#include "kernels/kernel.h"

namespace stowage::generate {

[[nodiscard]] bool is_recurrent(std::string_view type);

/// Bytes of scratch memory that the kernel of a recurrent network needs, most often 0. Throws kernels::Unsupported for
/// what nobody computes.
[[nodiscard]] Bytes recurrent_scratch(std::string_view type, const kernels::Signature& signature);

}  // namespace stowage::generate
