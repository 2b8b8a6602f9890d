#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"

namespace stowage::kernels::onnx_ops {

/// A function of a recurrent network, by its ONNX name.
struct Activation {
  double (*function)(double x, double alpha, double beta) = nullptr;
  double alpha = 0;
  double beta = 0;
  std::string_view name{};  ///< In small letters.

  [[nodiscard]] double operator()(double x) const { return function(x, alpha, beta); }
};

/// Whether the attributes name the functions that a network of so many gates has if it names none, or name none: an RNN
/// has 1 gate, a GRU 3, an LSTM 4.
[[nodiscard]] bool has_usual_activations(const Signature& signature, std::int64_t gates);
/// The functions in the attributes, or the usual ones in each direction. Refuses any other number of functions.
[[nodiscard]] std::vector<Activation> activations_of(const Signature& signature, std::int64_t gates,
                                                     std::size_t directions);

}  // namespace stowage::kernels::onnx_ops
