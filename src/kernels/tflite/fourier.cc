// RFFT2D: the Fourier transform of real images, of which half of the columns are kept.
//
// Rows are transformed, then columns, each in place by halves: sizes are powers of two. In float64, as TensorFlow Lite
// does. Cost: n log n for n elements. Source: J. W. Cooley, J. W. Tukey, 1965.

#include "kernels/tflite/fourier.h"

#include <bit>
#include <numbers>
#include <utility>
#include <vector>

#include "kernels/tflite/families.h"
#include "kernels/tflite/operands.h"

namespace stowage::kernels {

using Complex = std::complex<double>;

std::vector<Complex> roots_of(std::size_t n) {
  std::vector<Complex> roots;
  for (std::size_t k = 0; k < n / 2; ++k)
    roots.push_back(std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)));
  return roots;
}

namespace {

/// Without the care that C++ takes of infinite factors, as C has none.
Complex product(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Transforms a line; `roots` are for its length.
void transform(std::vector<Complex>& line, const std::vector<Complex>& roots) {
  const std::size_t n = line.size();
  for (std::size_t i = 1, j = 0; i < n; ++i) {  // order of reversed bits
    std::size_t bit = n / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(line[i], line[j]);
  }
  for (std::size_t size = 2; size <= n; size *= 2)
    for (std::size_t begin = 0; begin < n; begin += size)
      for (std::size_t k = 0; k < size / 2; ++k) {
        const Complex even = line[begin + k];
        const Complex odd = product(line[begin + k + size / 2], roots[k * (n / size)]);
        line[begin + k] = even + odd;
        line[begin + k + size / 2] = even - odd;
      }
}

void transform_image(const Spectrum& it, const float* input, std::complex<float>* output) {
  const auto height = static_cast<std::size_t>(it.height), width = static_cast<std::size_t>(it.width);
  const std::size_t kept = width / 2 + 1;
  const std::vector<Complex> along = roots_of(width), across = roots_of(height);
  std::vector<Complex> all(height * kept), line(width);
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      const bool is_in = static_cast<std::int64_t>(y) < it.rows && static_cast<std::int64_t>(x) < it.columns;
      line[x] = is_in ? static_cast<double>(input[y * static_cast<std::size_t>(it.columns) + x]) : 0.0;
    }
    transform(line, along);
    std::copy_n(line.begin(), kept, all.begin() + static_cast<std::ptrdiff_t>(y * kept));
  }
  line.resize(height);
  for (std::size_t x = 0; x < kept; ++x) {
    for (std::size_t y = 0; y < height; ++y) line[y] = all[y * kept + x];
    transform(line, across);
    for (std::size_t y = 0; y < height; ++y) output[y * kept + x] = std::complex<float>(line[y]);
  }
}

}  // namespace

Spectrum spectrum_of(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(2, 1);
  if (operands.input(0).dtype != DType::float32) refuse("its input is {}", name_of(operands.input(0).dtype));
  if (operands.output().dtype != DType::complex64) refuse_type(operands);
  const Shape& shape = operands.input(0).shape;
  const auto sizes = operands.constants(1, "lengths");
  if (shape.size() < 2 || sizes.size() != 2) refuse("it transforms {} dimensions, expected 2", sizes.size());
  constexpr std::int64_t most = std::int64_t{1} << 24;
  for (const std::int64_t size : sizes)
    if (size < 1 || size > most || !std::has_single_bit(static_cast<std::uint64_t>(size)))
      refuse("it transforms {} elements, expected a power of two", size);
  Shape expected = shape;
  expected[shape.size() - 2] = sizes[0];
  expected.back() = sizes[1] / 2 + 1;
  operands.expect_shape(operands.output(), expected, "output");
  return {.images = count_of(shape, 0, shape.size() - 2),
          .rows = shape[shape.size() - 2],
          .columns = shape.back(),
          .height = sizes[0],
          .width = sizes[1]};
}

namespace {

Kernel prepare_fourier(const Signature& signature) {
  const Spectrum it = spectrum_of(signature);
  return {.run = [it](const Pointers& at) {
    const std::int64_t outputs = it.height * (it.width / 2 + 1);
    for (std::int64_t i = 0; i < it.images; ++i)
      transform_image(it, at.input<float>(0) + i * it.rows * it.columns,
                      at.output<std::complex<float>>(0) + i * outputs);
  }};
}

}  // namespace

TablePart fourier_kernels() { return {{"RFFT2D", prepare_fourier}}; }

}  // namespace stowage::kernels
