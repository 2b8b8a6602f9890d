// Cast and CastLike between booleans, integers and reals of every width. A real beyond the limits of an
// integer type, which ONNX leaves open, becomes the nearest limit; integers wrap around.

#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"

namespace stowage::kernels::onnx_ops {
namespace {

/// The output's type, which was inferred from the attribute or the second input.
Kernel cast(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  const std::int64_t count = count_of(output.shape);
  if (count != count_of(input.shape)) refuse("input and output have not as many elements");
  return for_type(input.dtype, every_type, [&]<typename From>() {
    return for_type(output.dtype, every_type, [&]<typename To>() -> Kernel {
      return {.run = [count](const Pointers& pointers) {
        const auto* const from = pointers.input<From>(0);
        auto* const to = pointers.output<To>(0);
        for (std::int64_t i = 0; i < count; ++i) to[i] = element_of<To>(value_of(from[i]));
      }};
    });
  });
}

}  // namespace

TablePart cast_kernels() { return {{"Cast", cast}, {"CastLike", cast}}; }

}  // namespace stowage::kernels::onnx_ops
