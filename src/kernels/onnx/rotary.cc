// Rotary positions: pairs of elements of each row are turned by the angles of its place.
// Source: ONNX's Operators.md, RotaryEmbedding of set 23.

#include <algorithm>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/heads.h"
#include "kernels/onnx/tables.h"

namespace stowage::kernels::onnx_ops {
namespace {

/// Pairs of elements of a row are turned by an angle: halves of what is turned, or neighbours.
struct Rotation {
  Heads rows{};
  std::int64_t pairs = 0;
  std::int64_t first_step = 1;   ///< From a first element of a pair to the next pair's.
  std::int64_t second_from = 0;  ///< From a first element to the second one.
  std::int64_t angles = 0;       ///< Rows of the tables; 0: one for each place.
};

template <typename Element>
void rotate(const Rotation& by, const Pointers& pointers) {
  const auto* const places = pointers.input<std::int64_t>(3);
  for (std::int64_t i = 0; i < by.rows.batches * by.rows.heads * by.rows.rows; ++i) {
    const std::int64_t batch = i / (by.rows.heads * by.rows.rows);
    const std::int64_t row = i % by.rows.rows;
    const std::int64_t start = by.rows.at(batch, i / by.rows.rows % by.rows.heads, row);
    const auto* const from = pointers.input<Element>(0) + start;
    auto* const to = pointers.output<Element>(0) + start;
    std::int64_t angle = batch * by.rows.rows + row;
    if (places != nullptr) angle = index_in(places[angle], by.angles, "RotaryEmbedding");
    const auto* const cosines = pointers.input<Element>(1) + angle * by.pairs;
    const auto* const sines = pointers.input<Element>(2) + angle * by.pairs;
    for (std::int64_t k = 0; k < by.pairs; ++k) {
      const auto x = value_of(from[k * by.first_step]);
      const auto y = value_of(from[k * by.first_step + by.second_from]);
      const auto cosine = value_of(cosines[k]);
      const auto sine = value_of(sines[k]);
      to[k * by.first_step] = element_of<Element>(cosine * x - sine * y);
      to[k * by.first_step + by.second_from] = element_of<Element>(sine * x + cosine * y);
    }
    std::copy(from + 2 * by.pairs, from + by.rows.size, to + 2 * by.pairs);
  }
}

Kernel rotary_embedding(const Signature& signature) {
  const auto& attributes = signature.attributes;
  const Argument& input = input_of(signature, 0);
  expect_copy(input, output_of(signature));
  Rotation by{.rows = heads_of(input, attributes.integer("num_heads", 0), "the input")};
  const std::int64_t given = attributes.integer("rotary_embedding_dim", 0);
  const std::int64_t turned = given == 0 ? by.rows.size : given;
  if (turned < 0 || turned % 2 != 0 || turned > by.rows.size)
    refuse("{} of {} elements are turned, expected an even number", turned, by.rows.size);
  by.pairs = turned / 2;
  const bool are_neighbours = attributes.integer("interleaved", 0) != 0;
  by.first_step = are_neighbours ? 2 : 1;
  by.second_from = are_neighbours ? 1 : by.pairs;
  Shape table{by.rows.batches, by.rows.rows, by.pairs};
  if (signature.has_input(3)) {
    expect_dtype(*signature.inputs[3], DType::int64, "positions");
    expect_shape(*signature.inputs[3], {by.rows.batches, by.rows.rows}, "positions");
    expect_rank(input_of(signature, 1), 2, "a table");
    by.angles = input_of(signature, 1).shape[0];
    table = {by.angles, by.pairs};
  }
  for (const std::size_t i : {1U, 2U}) {
    expect_dtype(input_of(signature, i), input.dtype, "a table");
    expect_shape(input_of(signature, i), table, "a table");
  }
  return for_type(input.dtype, floats, [&]<typename Element>() -> Kernel {
    return {.run = [by](const Pointers& pointers) { rotate<Element>(by, pointers); }};
  });
}

}  // namespace

TablePart rotary_kernels() { return {{"RotaryEmbedding", rotary_embedding}}; }

}  // namespace stowage::kernels::onnx_ops
