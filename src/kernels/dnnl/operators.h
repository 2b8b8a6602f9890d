#pragma once

#include "kernels/kernel.h"

namespace stowage::kernels::fast {

// Kernels of oneDNN for ONNX operators, by their primitives.

[[nodiscard]] Kernel convolution(const Signature& signature);
[[nodiscard]] Kernel transposed_convolution(const Signature& signature);

[[nodiscard]] Kernel pool(const Signature& signature);
[[nodiscard]] Kernel global_pool(const Signature& signature);

[[nodiscard]] Kernel gemm(const Signature& signature);
[[nodiscard]] Kernel matrix_product(const Signature& signature);

[[nodiscard]] Kernel elementwise(const Signature& signature);
[[nodiscard]] Kernel clip(const Signature& signature);
[[nodiscard]] Kernel combination(const Signature& signature);

[[nodiscard]] Kernel batch_normalization(const Signature& signature);
[[nodiscard]] Kernel layer_normalization(const Signature& signature);
[[nodiscard]] Kernel local_response_normalization(const Signature& signature);
[[nodiscard]] Kernel softmax(const Signature& signature);

[[nodiscard]] Kernel reduction(const Signature& signature);

}  // namespace stowage::kernels::fast
