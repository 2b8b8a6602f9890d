// Normalizations over the last dimensions: LayerNormalization, RMSNormalization and their variants in other
// domains. Statistics are summed in float64, and row by row in the same order (kernels/onnx/moments.h).

#include <algorithm>
#include <array>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/moments.h"
#include "kernels/onnx/tables.h"
#include "kernels/onnx/walk.h"

namespace stowage::kernels::onnx_ops {
namespace {

struct Layer {
  std::int64_t rows = 1;
  std::int64_t size = 1;
  NormSums sums{};
  Walk<2> parameters{};     ///< Over the elements of the input: places of scale and bias.
  Walk<2> of_row{};         ///< The same over the elements of a row.
  std::int64_t steps[2]{};  ///< From a row's places to the next one's.
  bool has_bias = false;
};

Layer layer_of(const Signature& signature, const Argument& input, std::size_t axis, std::size_t scale,
               std::size_t bias) {
  const std::size_t rank = input.shape.size();
  Shape scale_strides = broadcast_strides(input_of(signature, scale).shape, input.shape);
  Shape bias_strides(rank, 0);
  const bool has_bias = signature.has_input(bias);
  if (has_bias) bias_strides = broadcast_strides(signature.inputs[bias]->shape, input.shape);
  Layer layer{.rows = count_of(input.shape, 0, axis),
              .size = count_of(input.shape, axis, rank),
              .parameters = merged<2>(input.shape, {scale_strides, bias_strides}),
              .has_bias = has_bias};
  if (rank == 0) return layer;
  layer.sums.lanes = operators::lanes_of_norm(input.shape, axis);
  layer.sums.share = count_of(input.shape, axis, layer.sums.lanes.axis);
  layer.sums.epsilon = static_cast<double>(signature.attributes.real("epsilon", 1e-5F));
  Shape row = input.shape;
  row[layer.sums.lanes.axis] = 1;
  layer.of_row = merged<2>(row, {scale_strides, bias_strides});
  layer.steps[0] = scale_strides[layer.sums.lanes.axis];
  layer.steps[1] = bias_strides[layer.sums.lanes.axis];
  return layer;
}

/// (x - mean) * factor
template <typename Element>
void subtract_and_multiply(const Normalizer& by, const Element* from, Element* to, std::int64_t count) {
  for (std::int64_t j = 0; j < count; ++j)
    to[j] = element_of<Element>((static_cast<double>(value_of(from[j])) - by.mean) * by.factor);
}

/// Applies scale and bias to the elements that a walk visits; it begins `start` behind their first ones.
template <typename Element>
void scale_and_shift(const Layer& layer, const Walk<2>& walk, const std::array<std::int64_t, 2>& start,
                     Element* to, const Element* scale, const Element* bias) {
  for_each_row(walk, start, [&](std::int64_t at, const std::array<std::int64_t, 2>& place) {
    for (std::int64_t j = 0; j < walk.row(); ++j) {
      const auto factor = value_of(scale[place[0] + j * walk.step(0)]);
      const auto shift = layer.has_bias ? value_of(bias[place[1] + j * walk.step(1)]) : Value<Element>{0};
      to[at + j] = element_of<Element>(value_of(to[at + j]) * factor + shift);
    }
  });
}

/// Normalizes `from` to `to`, which may be equal; writes statistics unless their pointers are null.
template <typename Element, typename Statistic>
void normalize(const Layer& layer, const Element* from, Element* to, const Element* scale,
               const Element* bias, Statistic* means, Statistic* scales) {
  if (layer.size == 0) return;
  for (std::int64_t i = 0; i < layer.rows; ++i) {
    const std::int64_t start = i * layer.size;
    const Normalizer by = layer.sums.normalizer_of(from + start);
    if (means != nullptr) means[i] = element_of<Statistic>(by.mean);
    if (scales != nullptr) scales[i] = element_of<Statistic>(by.factor);
    subtract_and_multiply(by, from + start, to + start, layer.size);
  }
  scale_and_shift(layer, layer.parameters, {0, 0}, to, scale, bias);
}

/// The same by rows, with one scale and bias.
template <typename Element>
RowCarry carry_of(const Layer& layer) {
  return {.size = layer.sums.size(),
          .add =
              [layer](std::int64_t row, const std::byte* from, std::byte* carried) {
                layer.sums.add_row(row, reinterpret_cast<const Element*>(from),
                                   reinterpret_cast<Moments*>(carried));
              },
          .make =
              [layer](std::int64_t row, const Pointers& pointers, std::byte* carried) {
                const auto* const sums = reinterpret_cast<const Moments*>(carried);
                const std::int64_t size = layer.sums.share * layer.sums.lanes.inner;
                auto* const to = pointers.output<Element>(0);
                for (std::int64_t i = 0; i < layer.rows; ++i) {
                  subtract_and_multiply(layer.sums.normalizer(sums + i * layer.sums.share),
                                        pointers.input<Element>(0) + i * size, to + i * size, size);
                }
                scale_and_shift(layer, layer.of_row, {row * layer.steps[0], row * layer.steps[1]}, to,
                                pointers.input<Element>(1), pointers.input<Element>(2));
              }};
}

/// The statistics have the dimensions of the input up to the axis, and then ones.
void expect_statistics(const Signature& signature, std::size_t axis) {
  Shape shape = input_of(signature, 0).shape;
  std::fill(shape.begin() + extent(axis), shape.end(), 1);
  for (const std::size_t i : {1U, 2U}) {
    if (!signature.has_output(i)) continue;
    expect_shape(*signature.outputs[i], shape, "a statistic");
    if (i == 2 && signature.has_output(1))
      expect_dtype(*signature.outputs[2], signature.outputs[1]->dtype, "a statistic");
  }
}

Kernel layer_normalization(const Signature& signature, bool subtracts_mean) {
  const Argument& input = input_of(signature, 0);
  expect_copy(input, output_of(signature));
  const std::size_t axis = axis_of(signature.attributes.integer("axis", -1), input.shape.size());
  Layer layer = layer_of(signature, input, axis, 1, subtracts_mean ? 2 : 99);
  layer.sums.subtracts_mean = subtracts_mean;
  expect_dtype(input_of(signature, 1), input.dtype, "the scale");
  if (layer.has_bias) expect_dtype(*signature.inputs[2], input.dtype, "the bias");
  expect_statistics(signature, axis);
  DType statistic = DType::float32;
  for (const std::size_t i : {1U, 2U}) {
    if (signature.has_output(i)) statistic = signature.outputs[i]->dtype;
  }
  // A normalization without mean has its scales as second output.
  return for_type(input.dtype, floats, [&]<typename Element>() {
    return for_type(statistic, floats, [&]<typename Statistic>() -> Kernel {
      Kernel kernel{.run = [=](const Pointers& pointers) {
        auto* const second = pointers.output<Statistic>(1);
        auto* const third = pointers.output<Statistic>(2);
        normalize(layer, pointers.input<Element>(0), pointers.output<Element>(0), pointers.input<Element>(1),
                  pointers.input<Element>(2), subtracts_mean ? second : nullptr,
                  subtracts_mean ? third : second);
      }};
      kernel.row_carry = [layer](std::size_t) { return carry_of<Element>(layer); };
      return kernel;
    });
  });
}

/// The normalized sum of input and skip (and a bias). The fourth output is the sum.
Kernel skip_normalization(const Signature& signature, bool subtracts_mean) {
  const Argument& input = input_of(signature, 0);
  expect_copy(input, output_of(signature));
  if (input.shape.empty()) refuse("the input is a scalar");
  for (const std::size_t i : {1U, 2U}) {
    if (signature.has_output(i)) refuse("statistics are wanted");
  }
  const std::size_t bias = subtracts_mean ? 4 : 3;
  for (std::size_t i = 1; i <= bias; ++i) {
    if (signature.has_input(i)) expect_dtype(*signature.inputs[i], input.dtype, "an input");
  }
  Layer layer = layer_of(signature, input, input.shape.size() - 1, 2, subtracts_mean ? 3 : 99);
  layer.sums.subtracts_mean = subtracts_mean;
  layer.sums.epsilon = static_cast<double>(signature.attributes.real("epsilon", 1e-12F));
  Shape bias_strides(input.shape.size(), 0);
  if (signature.has_input(bias)) bias_strides = broadcast_strides(signature.inputs[bias]->shape, input.shape);
  const Walk<2> walk =
      merged<2>(input.shape, {broadcast_strides(input_of(signature, 1).shape, input.shape), bias_strides});
  if (signature.has_output(3)) expect_copy(input, *signature.outputs[3]);
  return for_type(input.dtype, floats, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const auto* const from = pointers.input<Element>(0);
      const auto* const skip = pointers.input<Element>(1);
      const auto* const shift = pointers.input<Element>(bias);
      auto* const to = pointers.output<Element>(0);
      auto* const sums = pointers.output<Element>(3);
      for_each_row(walk, [&](std::int64_t at, const std::array<std::int64_t, 2>& place) {
        for (std::int64_t j = 0; j < walk.row(); ++j) {
          auto x = value_of(from[at + j]) + value_of(skip[place[0] + j * walk.step(0)]);
          if (shift != nullptr) x += value_of(shift[place[1] + j * walk.step(1)]);
          to[at + j] = element_of<Element>(x);
          if (sums != nullptr) sums[at + j] = to[at + j];
        }
      });
      normalize<Element, float>(layer, to, to, pointers.input<Element>(2), pointers.input<Element>(3),
                                nullptr, nullptr);
    }};
  });
}

/// Refuses inputs of EmbedLayerNormalization that do not fit.
void expect_embedding(const Signature& signature) {
  const Argument& words = input_of(signature, 0);
  const Argument& output = output_of(signature);
  expect_rank(words, 2, "the words");
  expect_rank(output, 3, "the output");
  expect_shape(output, {words.shape[0], words.shape[1], output.shape[2]}, "the output");
  if (signature.has_input(1) != signature.has_input(4)) refuse("segments and their table are not both there");
  for (const std::size_t i : {0U, 1U, 7U, 8U}) {
    if (!signature.has_input(i)) continue;
    expect_dtype(*signature.inputs[i], DType::int32, "an index");
    Shape expected = words.shape;
    if (i == 8 && signature.inputs[i]->shape.size() == 2) expected[0] = signature.inputs[i]->shape[0];
    if (expected[0] != 1 && expected[0] != words.shape[0]) refuse("places are {}", show(expected));
    expect_shape(*signature.inputs[i], expected, "indices");
  }
  for (const std::size_t i : {2U, 3U, 4U}) {
    if (i == 4 && !signature.has_input(i)) continue;
    const Argument& table = input_of(signature, i);
    expect_dtype(table, output.dtype, "a table");
    expect_rank(table, 2, "a table");
    expect_shape(table, {table.shape[0], output.shape[2]}, "a table");
  }
  for (const std::size_t i : {5U, 6U}) expect_dtype(input_of(signature, i), output.dtype, "scale or bias");
  if (signature.has_output(1)) {
    expect_dtype(*signature.outputs[1], DType::int32, "the count of words");
    expect_shape(*signature.outputs[1], {words.shape[0]}, "the count of words");
  }
  if (signature.has_output(2)) expect_copy(output, *signature.outputs[2]);
}

/// The normalized sum of rows of tables: of words, of their places, and maybe of segments. The second output counts
/// words whose mask is 1, the third is the sum.
Kernel embedding(const Signature& signature) {
  expect_embedding(signature);
  const Shape& shape = output_of(signature).shape;
  Layer layer = layer_of(signature, output_of(signature), 2, 5, 6);
  layer.sums.epsilon = static_cast<double>(signature.attributes.real("epsilon", 1e-12F));
  std::array<std::int64_t, 3> rows{};  // of tables
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (signature.has_input(2 + i)) rows[i] = signature.inputs[2 + i]->shape[0];
  const bool has_places_of_all = signature.has_input(8) && signature.inputs[8]->shape[0] == shape[0];
  return for_type(output_of(signature).dtype, floats, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const std::int64_t length = shape[1];
      const std::int64_t size = shape[2];
      const auto* const segments = pointers.input<std::int32_t>(1);
      const auto* const places = pointers.input<std::int32_t>(8);
      const auto row = [&](std::size_t table, std::int64_t index) {
        return pointers.input<Element>(2 + table) +
               index_in(index, rows[table], "EmbedLayerNormalization") * size;
      };
      auto* const to = pointers.output<Element>(0);
      for (std::int64_t i = 0; i < shape[0] * length; ++i) {
        const std::int64_t place = i % length;
        const auto* const word = row(0, pointers.input<std::int32_t>(0)[i]);
        const auto* const where =
            row(1, places == nullptr ? place : std::int64_t{places[has_places_of_all ? i : place]});
        const auto* const segment = segments == nullptr ? nullptr : row(2, segments[i]);
        for (std::int64_t j = 0; j < size; ++j) {
          auto x = value_of(word[j]) + value_of(where[j]);
          if (segment != nullptr) x += value_of(segment[j]);
          to[i * size + j] = element_of<Element>(x);
        }
      }
      if (auto* const sums = pointers.output<Element>(2)) std::copy_n(to, count_of(shape), sums);
      normalize<Element, float>(layer, to, to, pointers.input<Element>(5), pointers.input<Element>(6),
                                nullptr, nullptr);
      const auto* const mask = pointers.input<std::int32_t>(7);
      auto* const counts = pointers.output<std::int32_t>(1);
      for (std::int64_t b = 0; b < shape[0] && counts != nullptr; ++b) {
        counts[b] =
            mask == nullptr
                ? 0
                : static_cast<std::int32_t>(std::count(mask + b * length, mask + (b + 1) * length, 1));
      }
    }};
  });
}

}  // namespace

TablePart layer_kernels() {
  return {
      {"LayerNormalization", [](const Signature& it) { return layer_normalization(it, true); }},
      {"RMSNormalization", [](const Signature& it) { return layer_normalization(it, false); }},
      {"SimplifiedLayerNormalization", [](const Signature& it) { return layer_normalization(it, false); }},
      {"com.microsoft.EmbedLayerNormalization", embedding},
      {"com.microsoft.SkipLayerNormalization",
       [](const Signature& it) { return skip_normalization(it, true); }},
      {"com.microsoft.SkipSimplifiedLayerNormalization",
       [](const Signature& it) { return skip_normalization(it, false); }},
  };
}

}  // namespace stowage::kernels::onnx_ops
