#pragma once

#include "kernels/kernel.h"

namespace stowage::kernels {

/// The shape of images: batches of channels of rows. Channels that come last are part of the rows.
struct Image {
  std::int64_t batches = 1;
  std::int64_t channels = 1;
  std::int64_t rows = 1;
  std::int64_t row = 1;      ///< Elements of a row of one channel.
  std::int64_t element = 1;  ///< Bytes of an element.
};

/// The rows of a whole tensor.
[[nodiscard]] Rows<const std::byte> rows_of(const Image& image, const std::byte* tensor);
[[nodiscard]] Rows<std::byte> rows_of(const Image& image, std::byte* tensor);

/// A kernel that processes its first input and output row by row, or all rows in a run of the whole operator.
[[nodiscard]] Kernel kernel_by_rows(const Image& input, const Image& output,
                                    std::function<void(const RowPointers&)> run_rows, Bytes scratch);

}  // namespace stowage::kernels
