// SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND: every place of a block goes to a batch of its own, or comes back
// from it. The outer batch of a block is that of its first dimension.
//
// Cost: output elements. Source: the definitions of the TFLite operators.

#include <utility>

#include "kernels/tflite/families.h"
#include "kernels/tflite/remap.h"

namespace stowage::kernels {
namespace {

/// Extents and margins of each dimension with blocks: those after the batches.
struct Blocks {
  std::vector<std::int64_t> extents{};
  std::vector<std::pair<std::int64_t, std::int64_t>> margins{};

  [[nodiscard]] std::int64_t count() const {
    std::int64_t result = 1;
    for (const std::int64_t extent : extents) result *= extent;
    return result;
  }
};

Blocks blocks_of(const Operands& operands, std::string_view margins_name) {
  operands.expect_counts(3, 1);
  operands.expect_alike(0);
  expect_same_quantization(operands.input(0), operands.output());
  Blocks blocks{.extents = operands.constants(1, "blocks")};
  const auto margins = operands.constants(2, margins_name);
  if (blocks.extents.empty() || blocks.extents.size() + 1 > operands.input(0).shape.size() ||
      margins.size() != 2 * blocks.extents.size())
    refuse("it has {} blocks and {} {} for {} dimensions", blocks.extents.size(), margins.size(),
           margins_name, operands.input(0).shape.size());
  constexpr std::int64_t largest = 1 << 12;  // limits the number of all blocks together
  constexpr std::int64_t most = 1 << 16;
  std::int64_t together = 1;
  for (std::size_t d = 0; d < blocks.extents.size(); ++d) {
    const std::int64_t extent = blocks.extents[d];
    if (extent < 1 || extent > largest || together > most / extent) refuse("a block has extent {}", extent);
    together *= extent;
    const auto margin = std::pair{margins[2 * d], margins[2 * d + 1]};
    constexpr std::int64_t farthest = std::int64_t{1} << 40;
    if (margin.first < 0 || margin.second < 0 || margin.first > farthest || margin.second > farthest)
      refuse("its {} of a dimension are {} and {}", margins_name, margin.first, margin.second);
    blocks.margins.push_back(margin);
  }
  return blocks;
}

/// The content of the batches of the block's `place`, by places of the smaller tensor.
Remap to_batches(const Blocks& blocks, const Shape& in, const Shape& out, std::int64_t place) {
  const std::vector<std::int64_t> strides = strides_of(in);
  Remap remap;
  remap.add(in[0], strides[0]);
  std::vector<std::int64_t> places(blocks.extents.size());
  for (std::size_t d = places.size(); d-- > 0;) {
    places[d] = place % blocks.extents[d];
    place /= blocks.extents[d];
  }
  for (std::size_t d = 1; d < in.size(); ++d) {
    if (d > blocks.extents.size()) {
      remap.add(in[d], strides[d]);
      continue;
    }
    auto& terms = remap.terms.emplace_back();
    for (std::int64_t i = 0; i < out[d]; ++i) {
      const std::int64_t from = i * blocks.extents[d - 1] + places[d - 1] - blocks.margins[d - 1].first;
      terms.push_back(from >= 0 && from < in[d] ? from * strides[d] : nowhere);
    }
  }
  return remap;
}

Kernel prepare_space_to_batch(const Signature& signature) {
  const Operands operands(signature);
  const Blocks blocks = blocks_of(operands, "paddings");
  const Shape& in = operands.input(0).shape;
  Shape expected = in;
  expected[0] *= blocks.count();
  for (std::size_t d = 0; d < blocks.extents.size(); ++d) {
    const std::int64_t padded = in[d + 1] + blocks.margins[d].first + blocks.margins[d].second;
    if (padded % blocks.extents[d] != 0) refuse("blocks of {} do not divide {}", blocks.extents[d], padded);
    expected[d + 1] = padded / blocks.extents[d];
  }
  operands.expect_shape(operands.output(), expected, "output");
  std::vector<Remap> remaps;
  for (std::int64_t place = 0; place < blocks.count(); ++place)
    remaps.push_back(to_batches(blocks, in, expected, place));
  const std::size_t bytes = element_size(operands.output().dtype);
  for_size(bytes, [](auto) {});
  const auto part = static_cast<std::size_t>(count_of(expected)) / remaps.size() * bytes;
  return {.run = [=, zero = zero_of(operands.output()), remaps = std::move(remaps)](const Pointers& at) {
    for (std::size_t i = 0; i < remaps.size(); ++i)
      move_elements(remaps[i], bytes, at.inputs[0], zero.data(), at.outputs[0] + i * part);
  }};
}

Kernel prepare_batch_to_space(const Signature& signature) {
  const Operands operands(signature);
  const Blocks blocks = blocks_of(operands, "crops");
  const Shape& in = operands.input(0).shape;
  if (in[0] % blocks.count() != 0) refuse("{} blocks do not divide {} batches", blocks.count(), in[0]);
  const std::vector<std::int64_t> strides = strides_of(in);
  Shape expected = in;
  expected[0] = in[0] / blocks.count();
  Remap remap;
  remap.add(expected[0], strides[0]);
  std::int64_t batch = in[0];  // batches from one place of the block to the next, times the extent
  for (std::size_t d = 1; d < in.size(); ++d) {
    if (d > blocks.extents.size()) {
      remap.add(in[d], strides[d]);
      continue;
    }
    const std::int64_t block = blocks.extents[d - 1];
    const auto [before, behind] = blocks.margins[d - 1];
    batch /= block;
    expected[d] = in[d] * block - before - behind;
    if (expected[d] < 0) refuse("its crops are larger than {}", in[d] * block);
    auto& terms = remap.terms.emplace_back();
    for (std::int64_t i = before; i < before + expected[d]; ++i)
      terms.push_back(i % block * batch * strides[0] + i / block * strides[d]);
  }
  operands.expect_shape(operands.output(), expected, "output");
  return remap_kernel(std::move(remap), operands);
}

}  // namespace

TablePart batch_kernels() {
  return {{"BATCH_TO_SPACE_ND", prepare_batch_to_space}, {"SPACE_TO_BATCH_ND", prepare_space_to_batch}};
}

}  // namespace stowage::kernels
