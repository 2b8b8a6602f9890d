#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "stowage/units.h"
#include "tflm/site.h"

namespace stowage::tflm {

inline constexpr Bytes int16_bytes = 2;
inline constexpr Bytes int32_bytes = 4;  // also of int and float
inline constexpr Bytes int64_bytes = 8;
inline constexpr Bytes softmax_table_bytes = 2 * 513;  // of exponents, for int16

/// a * b. Throws Error if that is too much.
[[nodiscard]] Bytes times(Bytes a, Bytes b);

/// A piece of memory and its alignment.
struct Piece {
  Bytes bytes = 0;
  Bytes alignment = 16;
};

/// What the kernel of an operator keeps in the tail of the arena, in the order in which it asks.
struct KernelData {
  std::optional<Piece> options{};  ///< The operator's parsed options.
  std::vector<Bytes> init{};       ///< When the kernel is made.
  std::vector<Bytes> prepare{};    ///< When it is prepared.
  /// Operands that it looks at while it is prepared, each as often as it does. For each look the runtime
  /// makes a description in the head, which it frees after the operator.
  std::vector<const tflite::Tensor*> looks_at{};
};

/// The scratch that the stock kernel asks for, in its order; see scratch.cc. None: the kernel is not known.
[[nodiscard]] std::optional<std::vector<Bytes>> scratch_of(const Site& site);

/// What the stock kernel keeps; see kernel_data.cc. None: the kernel is not known.
[[nodiscard]] std::optional<KernelData> kernel_data_of(const Site& site);

/// The same for CMSIS-NN kernels; see cmsis_nn.cc. None: the runtime takes the reference kernel.
[[nodiscard]] std::optional<std::vector<Bytes>> cmsis_nn_scratch_of(const Site& site);
[[nodiscard]] std::optional<KernelData> cmsis_nn_data_of(const Site& site);

/// True for operators that the runtime's own resolver has.
[[nodiscard]] bool is_stock_operator(const Site& site);

}  // namespace stowage::tflm
