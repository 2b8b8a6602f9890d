// READ_VARIABLE and ASSIGN_VARIABLE of variables that have become state (import/tflite_variables.h): copies.
//
// The state is an input that the operator updates. The interface has no writable inputs, so constness is cast away.

#include <cstring>

#include "kernels/tflite/families.h"
#include "kernels/tflite/operands.h"

namespace stowage::kernels {
namespace {

/// The bytes of a variable and of the value that is read or assigned.
std::size_t bytes_of_variable(const Operands& operands, const Argument& value) {
  const Argument& state = operands.input(0);
  if (state.dtype == DType::resource)
    refuse(
        "its variable does not become state: CALL_ONCE has to assign it a constant, and no other body may "
        "use it");
  if (state.dtype != value.dtype)
    refuse("its variable is {}, its value {}", name_of(state.dtype), name_of(value.dtype));
  operands.expect_shape(value, state.shape, "value");
  return static_cast<std::size_t>(count_of(value.shape)) * element_size(value.dtype);
}

Kernel prepare_read(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(1, 1);
  const std::size_t bytes = bytes_of_variable(operands, operands.output());
  return {.run = [bytes](const Pointers& at) { std::memcpy(at.outputs[0], at.inputs[0], bytes); }};
}

Kernel prepare_assign(const Signature& signature) {
  const Operands operands(signature);
  operands.expect_counts(2, 0);
  const std::size_t bytes = bytes_of_variable(operands, operands.input(1));
  return {.run = [bytes](const Pointers& at) {
    std::memcpy(const_cast<std::byte*>(at.inputs[0]), at.inputs[1], bytes);
  }};
}

}  // namespace

TablePart variable_kernels() {
  return {{"ASSIGN_VARIABLE", prepare_assign}, {"READ_VARIABLE", prepare_read}};
}

}  // namespace stowage::kernels
