#pragma once

#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace stowage::kernels::onnx_ops {

/// A function of a recurrent network, by its ONNX name.
struct Activation {
  double (*function)(double x, double alpha, double beta) = nullptr;
  double alpha = 0;
  double beta = 0;

  [[nodiscard]] double operator()(double x) const { return function(x, alpha, beta); }
};

/// The functions in the attributes, or `otherwise` in each direction. Refuses any other number of functions.
[[nodiscard]] std::vector<Activation> activations_of(const Signature& signature,
                                                     const std::vector<std::string>& otherwise,
                                                     std::size_t directions);

}  // namespace stowage::kernels::onnx_ops
