// Normalizations by mean and variance over a channel: BatchNormalization (with given statistics),
// InstanceNormalization, GroupNormalization, MeanVarianceNormalization; and by the size of neighbours: LRN,
// LpNormalization. Statistics are summed in float64.

#include <algorithm>
#include <cmath>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"
#include "kernels/onnx/walk.h"

namespace stowage::kernels::onnx_ops {
namespace {

/// Batches, channels and the elements of each plane.
struct Planes {
  std::int64_t batches;
  std::int64_t channels;
  std::int64_t size;
};

Planes planes_of(const Argument& input) {
  if (input.shape.size() < 2) refuse("the input {} has no channels", show(input.shape));
  return {.batches = input.shape[0],
          .channels = input.shape[1],
          .size = count_of(input.shape, 2, input.shape.size())};
}

/// Refuses parameters unless they are `count` real numbers.
void expect_vector(const Signature& signature, std::size_t i, std::int64_t count) {
  const Argument& argument = input_of(signature, i);
  expect_shape(argument, {count}, fmt::format("input {}", i));
}

/// Scale and statistics may be of another type than the input.
Kernel batch_normalization(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  expect_copy(input, output_of(signature));
  const auto& attributes = signature.attributes;
  const bool is_training = attributes.integer("training_mode", 0) != 0 ||
                           (signature.version < 7 && attributes.integer("is_test", 0) == 0);
  bool wants_statistics = false;
  for (std::size_t i = 1; i < signature.outputs.size(); ++i)
    wants_statistics = wants_statistics || signature.has_output(i);
  if (is_training || wants_statistics) refuse("training changes statistics");
  if (attributes.integer("spatial", 1) == 0 && signature.version < 9) refuse("spatial is 0");
  const bool has_channels = input.shape.size() > 1;
  const Planes planes = has_channels ? planes_of(input) : Planes{count_of(input.shape), 1, 1};
  for (const std::size_t i : {1U, 2U, 3U, 4U}) expect_vector(signature, i, planes.channels);
  expect_dtype(input_of(signature, 2), input_of(signature, 1).dtype, "the bias");
  expect_dtype(input_of(signature, 4), input_of(signature, 3).dtype, "the variance");
  const float epsilon = attributes.real("epsilon", 1e-5F);
  return for_type(input.dtype, floats, [&]<typename Element>() {
    return for_type(input_of(signature, 1).dtype, floats, [&]<typename Scale>() {
      return for_type(input_of(signature, 3).dtype, floats, [&]<typename Statistic>() -> Kernel {
        return {.run = [=](const Pointers& pointers) {
          using Real = Value<Element>;
          const auto* from = pointers.input<Element>(0);
          auto* to = pointers.output<Element>(0);
          for (std::int64_t i = 0; i < planes.batches * planes.channels; ++i) {
            const std::int64_t channel = i % planes.channels;
            const auto mean = static_cast<double>(value_of(pointers.input<Statistic>(3)[channel]));
            const auto variance = static_cast<double>(value_of(pointers.input<Statistic>(4)[channel]));
            const auto scale = static_cast<double>(value_of(pointers.input<Scale>(1)[channel]));
            const auto bias = static_cast<double>(value_of(pointers.input<Scale>(2)[channel]));
            const double factor = scale / std::sqrt(variance + static_cast<double>(epsilon));
            const auto a = static_cast<Real>(factor);
            const auto b = static_cast<Real>(bias - mean * factor);
            for (std::int64_t j = 0; j < planes.size; ++j)
              to[j] = element_of<Element>(a * value_of(from[j]) + b);
            from += planes.size;
            to += planes.size;
          }
        }};
      });
    });
  });
}

struct ShareMoments {
  double mean;
  double inverse_deviation;
};

template <typename Element>
ShareMoments moments_of(const Element* from, std::int64_t size, double epsilon) {
  double mean = 0;
  for (std::int64_t i = 0; i < size; ++i) mean += static_cast<double>(value_of(from[i]));
  mean /= static_cast<double>(size);
  double variance = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const double away = static_cast<double>(value_of(from[i])) - mean;
    variance += away * away;
  }
  return {.mean = mean, .inverse_deviation = 1 / std::sqrt(variance / static_cast<double>(size) + epsilon)};
}

/// Instances are groups of one channel each. Each channel has one scale and bias; before operator set 21,
/// GroupNormalization had one of each per group.
Kernel group_normalization(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  expect_copy(input, output_of(signature));
  const Planes planes = planes_of(input);
  const bool is_instance = signature.type == "InstanceNormalization";
  const std::int64_t groups = is_instance ? planes.channels : signature.attributes.integer("num_groups", 0);
  if (!is_instance && (groups <= 0 || planes.channels % groups != 0))
    refuse("num_groups {} does not divide {} channels", groups, planes.channels);
  const bool is_per_group = !is_instance && signature.version < 21;
  for (const std::size_t i : {1U, 2U}) {
    expect_vector(signature, i, is_per_group ? groups : planes.channels);
    expect_dtype(input_of(signature, i), input.dtype, "scale or bias");
  }
  const auto epsilon = static_cast<double>(signature.attributes.real("epsilon", 1e-5F));
  const std::int64_t share = planes.channels == 0 ? 1 : planes.channels / groups;
  return for_type(input.dtype, floats, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const auto* from = pointers.input<Element>(0);
      const auto* const scale = pointers.input<Element>(1);
      const auto* const bias = pointers.input<Element>(2);
      auto* to = pointers.output<Element>(0);
      for (std::int64_t i = 0; i < planes.batches * groups; ++i) {
        const ShareMoments moments = moments_of(from, share * planes.size, epsilon);
        for (std::int64_t c = 0; c < share; ++c) {
          const std::int64_t group = i % groups;
          const std::int64_t own = is_per_group ? group : group * share + c;
          const double factor = static_cast<double>(value_of(scale[own])) * moments.inverse_deviation;
          const double shift = static_cast<double>(value_of(bias[own])) - moments.mean * factor;
          for (std::int64_t j = 0; j < planes.size; ++j)
            *to++ = element_of<Element>(static_cast<double>(value_of(*from++)) * factor + shift);
        }
      }
    }};
  });
}

/// Divides each channel by a power of the sum of squares of the channels around it.
Kernel local_response(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  expect_copy(input, output_of(signature));
  const Planes planes = planes_of(input);
  const std::int64_t size = signature.attributes.integer("size", 0);
  if (size <= 0) refuse("size is {}", size);
  const std::int64_t before = std::min((size - 1) / 2, planes.channels);
  const std::int64_t behind = std::min(size / 2, planes.channels);
  const auto alpha = static_cast<double>(signature.attributes.real("alpha", 0.0001F));
  const auto beta = static_cast<double>(signature.attributes.real("beta", 0.75F));
  const auto bias = static_cast<double>(signature.attributes.real("bias", 1));
  return for_type(input.dtype, floats, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const auto* const from = pointers.input<Element>(0);
      auto* const to = pointers.output<Element>(0);
      for (std::int64_t i = 0; i < planes.batches * planes.channels * planes.size; ++i) {
        const std::int64_t channel = i / planes.size % planes.channels;
        const std::int64_t low = std::max<std::int64_t>(0, channel - before);
        const std::int64_t high = std::min(planes.channels - 1, channel + behind);
        double squares = 0;
        for (std::int64_t c = low; c <= high; ++c) {
          const auto x = static_cast<double>(value_of(from[i + (c - channel) * planes.size]));
          squares += x * x;
        }
        const double divisor = std::pow(bias + alpha / static_cast<double>(size) * squares, beta);
        to[i] = element_of<Element>(static_cast<double>(value_of(from[i])) / divisor);
      }
    }};
  });
}

/// Divides by the norm along an axis; a norm of 0 divides nothing.
Kernel norm(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  expect_copy(input, output_of(signature));
  const std::int64_t p = signature.attributes.integer("p", 2);
  if (p != 1 && p != 2) refuse("p is {}, expected 1 or 2", p);
  const Split split =
      split_at(input.shape, axis_of(signature.attributes.integer("axis", -1), input.shape.size()));
  return for_type(input.dtype, floats, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      for (std::int64_t i = 0; i < split.outer * split.inner; ++i) {
        const std::int64_t start = i / split.inner * split.size * split.inner + i % split.inner;
        const auto* const from = pointers.input<Element>(0) + start;
        auto* const to = pointers.output<Element>(0) + start;
        double total = 0;
        for (std::int64_t j = 0; j < split.size; ++j) {
          const auto x = static_cast<double>(value_of(from[j * split.inner]));
          total += p == 1 ? std::abs(x) : x * x;
        }
        const double size = p == 1 ? total : std::sqrt(total);
        for (std::int64_t j = 0; j < split.size; ++j) {
          const auto x = static_cast<double>(value_of(from[j * split.inner]));
          to[j * split.inner] = element_of<Element>(size == 0 ? 0.0 : x / size);
        }
      }
    }};
  });
}

/// (x - mean) / deviation over some axes: one walk over kept elements, and two over reduced ones.
Kernel mean_variance(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  expect_copy(input, output_of(signature));
  const auto axes = axes_of(signature.attributes.integers("axes", {0, 2, 3}), input.shape.size());
  const Shape strides = strides_of(input.shape);
  Shape sizes[2];
  Shape steps[2];
  for (std::size_t d = 0; d < strides.size(); ++d) {
    const bool is_reduced = std::find(axes.begin(), axes.end(), d) != axes.end();
    sizes[is_reduced ? 1 : 0].push_back(input.shape[d]);
    steps[is_reduced ? 1 : 0].push_back(strides[d]);
  }
  const Walk<1> kept = merged<1>(sizes[0], {steps[0]});
  const Walk<1> reduced = merged<1>(sizes[1], {steps[1]});
  const auto count = static_cast<double>(count_of(sizes[1]));
  return for_type(input.dtype, floats, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      for_each_row(kept, [&](std::int64_t, const std::array<std::int64_t, 1>& place) {
        for (std::int64_t i = 0; i < kept.row(); ++i) {
          const std::int64_t start = place[0] + i * kept.step(0);
          const auto* const from = pointers.input<Element>(0);
          auto* const to = pointers.output<Element>(0);
          const auto visit = [&](const auto& use) {
            for_each_row(reduced, {start}, [&](std::int64_t, const std::array<std::int64_t, 1>& row) {
              for (std::int64_t j = 0; j < reduced.row(); ++j) use(row[0] + j * reduced.step(0));
            });
          };
          double mean = 0;
          visit([&](std::int64_t at) { mean += static_cast<double>(value_of(from[at])) / count; });
          double variance = 0;
          visit([&](std::int64_t at) {
            const double away = static_cast<double>(value_of(from[at])) - mean;
            variance += away * away / count;
          });
          const double deviation = std::sqrt(variance) + 1e-9;
          visit([&](std::int64_t at) {
            to[at] = element_of<Element>((static_cast<double>(value_of(from[at])) - mean) / deviation);
          });
        }
      });
    }};
  });
}

}  // namespace

TablePart normalize_kernels() {
  return {{"BatchNormalization", batch_normalization},
          {"GroupNormalization", group_normalization},
          {"InstanceNormalization", group_normalization},
          {"LRN", local_response},
          {"LpNormalization", norm},
          {"MeanVarianceNormalization", mean_variance}};
}

}  // namespace stowage::kernels::onnx_ops
