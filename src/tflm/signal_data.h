#pragma once

#include "tflm/kernels.h"

namespace stowage::tflm {

/// True for the custom operators of the runtime's signal library.
[[nodiscard]] bool is_signal_operator(const Site& site);

/// What the kernel of a signal operator keeps. Throws Error for options that it does not have.
[[nodiscard]] KernelData signal_data_of(const Site& site);

}  // namespace stowage::tflm
