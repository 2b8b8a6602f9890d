// RFFT2D: a call, with tables of the roots of one, and scratch memory in which lines are transformed.

#include "generate/fourier.h"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <string>
#include <vector>

#include "generate/element_loops.h"
#include "generate/sources.h"
#include "kernels/kernels.h"
#include "kernels/tflite/fourier.h"

namespace stowage::generate {
namespace {

using kernels::refuse;
using kernels::Spectrum;

constexpr Bytes bytes_of_complex = 16;

Bytes bytes_for(const Spectrum& it) {
  const Bytes image = it.height == 1 ? 0 : it.height * (it.width / 2 + 1);
  return bytes_of_complex * (std::max(it.width, it.height) + image);
}

/// The name of an array with the first half of the roots for a line.
std::string roots_for(Writer& writer, std::int64_t size) {
  std::vector<double> numbers;
  for (const std::complex<double>& root : kernels::roots_of(static_cast<std::size_t>(size)))
    numbers.insert(numbers.end(), {root.real(), root.imag()});
  return writer.sources().array(fmt::format("roots_{}", size), fmt::format("roots of one for {}", size),
                                DType::float64, numbers);
}

void emit_fourier(Writer& writer) {
  const Spectrum it = kernels::spectrum_of(writer.signature());
  const std::string scratch = writer.needed_scratch(bytes_for(it), sizeof(double));
  const Operand in = writer.input(0);
  const Operand out = writer.output();
  expect_countable(in);
  expect_countable(out);
  writer.need("stowage_fourier");
  writer.line(fmt::format(
      "stowage_fourier(&{}, {}, {}, {});",
      writer.layer("stowage_fourier_shape",
                   fmt::format("{}, {}, {}, {}, {}, {}, {}", it.images, it.rows, it.columns, it.height,
                               it.width, roots_for(writer, it.width), roots_for(writer, it.height))),
      in.at, out.at, scratch));
}

}  // namespace

Bytes fourier_scratch(const kernels::Signature& signature) {
  return bytes_for(kernels::spectrum_of(signature));
}

EmitPart fourier_operators() { return {{"RFFT2D", emit_fourier}}; }

}  // namespace stowage::generate
