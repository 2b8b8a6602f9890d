#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "generate/sources.h"

namespace stowage::generate {

/// A dimension of an output, and how far its inputs move along it, in elements.
struct Stretched {
  std::int64_t extent = 1;
  std::vector<std::int64_t> strides{};
};

/// The dimensions of inputs that are repeated to the output, as few as possible. Throws kernels::Unsupported.
[[nodiscard]] std::vector<Stretched> stretched(const Shape& out, const std::vector<Shape>& inputs);

/// Refuses tensors whose elements int32_t cannot count, as loops do.
void expect_countable(const Operand& operand);

/// " + i * 4"; nothing if the stride is 0.
[[nodiscard]] std::string moved(const std::string& index, std::int64_t stride);

/// The lines that compute an element, from C expressions for those of the inputs; `out` is where it belongs.
using ElementLines =
    std::function<std::vector<std::string>(const std::vector<std::string>& inputs, const std::string& out)>;

/// An input of loops over elements.
struct LoopInput {
  Operand operand{};
  std::string number{};  ///< Of a constant with one element: it, as C.
};

/// Input `i` of the operator.
[[nodiscard]] LoopInput loop_input(Writer& writer, std::size_t i);

/// Writes loops over the elements of the output, and of inputs that are repeated to it.
void write_loops(Writer& writer, const std::vector<LoopInput>& inputs, const Operand& out,
                 const ElementLines& lines);

/// What is written of an expression: integers are converted, since C computes short ones as int.
[[nodiscard]] std::string stored(DType dtype, const std::string& text);

/// out = text, of the elements a, b and c of the inputs, which must outlive it. Booleans are 0 or 1.
[[nodiscard]] ElementLines element_lines(const std::vector<LoopInput>& inputs, DType out,
                                         const std::string& text);

/// Calls `kernel` for runs of elements of inputs `a` and `b`, repeated to the shape of the output. `cast` is the type
/// of elements that it takes, if it is not their own.
void emit_binary(Writer& writer, std::string_view kernel, const std::string& layer, std::size_t a = 0,
                 std::size_t b = 1, std::string_view cast = "");

[[nodiscard]] inline bool is_byte(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

/// A function of one number of 8 bits.
void emit_table(Writer& writer);

// ADD, SUB and MUL of int8 and int16, SQUARED_DIFFERENCE of int8.
void emit_quantized_sum(Writer& writer);
void emit_quantized_difference(Writer& writer);
void emit_quantized_product(Writer& writer);
void emit_quantized_squared_difference(Writer& writer);

/// MEAN and SUM of int8.
void emit_mean_s8(Writer& writer);

}  // namespace stowage::generate
