#include "kernels/rows.h"

#include <utility>

namespace stowage::kernels {
namespace {

template <typename Byte>
Rows<Byte> rows_in(const Image& image, Byte* tensor) {
  Rows<Byte> rows{.batch = image.channels * image.rows * image.row, .channel = image.rows * image.row};
  rows.first.reserve(static_cast<std::size_t>(image.rows));
  for (std::int64_t row = 0; row < image.rows; ++row)
    rows.first.push_back(tensor + row * image.row * image.element);
  return rows;
}

}  // namespace

Rows<const std::byte> rows_of(const Image& image, const std::byte* tensor) { return rows_in(image, tensor); }
Rows<std::byte> rows_of(const Image& image, std::byte* tensor) { return rows_in(image, tensor); }

Kernel kernel_by_rows(const Image& input, const Image& output,
                      std::function<void(const RowPointers&)> run_rows, Bytes scratch) {
  Kernel kernel{.run_rows = std::move(run_rows), .scratch = scratch};
  kernel.run = [input, output, run = kernel.run_rows](const Pointers& at) {
    const auto from = rows_of(input, at.inputs[0]);
    const auto to = rows_of(output, at.outputs[0]);
    run({.input = from, .output = to, .begin = 0, .end = output.rows, .whole = at});
  };
  return kernel;
}

}  // namespace stowage::kernels
