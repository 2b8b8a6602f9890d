// Normalizations by mean and variance over a channel: BatchNormalization (with given statistics),
// InstanceNormalization, GroupNormalization, MeanVarianceNormalization; and by the size of neighbours: LRN,
// LpNormalization. Statistics are summed in float64, and row by row in the same order (kernels/onnx/moments.h).

#include <algorithm>
#include <cmath>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/moments.h"
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

/// Instances are groups of one channel each. Each channel has one scale and bias; before operator set 21,
/// GroupNormalization had one of each per group.
struct GroupNorm {
  NormSums sums{};  ///< A lane is a channel.
  std::int64_t groups = 1;
  bool is_per_group = false;

  /// Normalizes `count` elements of a lane.
  template <typename Element>
  void write(std::int64_t lane, const Normalizer& by, const Pointers& pointers, const Element* from,
             Element* to, std::int64_t count) const {
    const std::int64_t group = lane / sums.share % groups;
    const std::int64_t own = is_per_group ? group : group * sums.share + lane % sums.share;
    const double factor = static_cast<double>(value_of(pointers.input<Element>(1)[own])) * by.factor;
    const double shift = static_cast<double>(value_of(pointers.input<Element>(2)[own])) - by.mean * factor;
    for (std::int64_t j = 0; j < count; ++j)
      to[j] = element_of<Element>(static_cast<double>(value_of(from[j])) * factor + shift);
  }

  /// Rows of all lanes, or whole lanes, with their sums.
  template <typename Element, typename NormalizerOf>
  void write_all(const Pointers& pointers, std::int64_t count, const NormalizerOf& normalizer_of) const {
    for (std::int64_t first = 0; first < sums.lanes.lanes; first += sums.share) {
      const Normalizer by = normalizer_of(first);
      for (std::int64_t lane = first; lane < first + sums.share; ++lane)
        write(lane, by, pointers, pointers.input<Element>(0) + lane * count,
              pointers.output<Element>(0) + lane * count, count);
    }
  }
};

GroupNorm group_norm_of(const Signature& signature) {
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
  Shape shape = input.shape;
  shape.resize(std::max<std::size_t>(shape.size(), 3), 1);
  return {.sums = {.lanes = operators::lanes_of_norm(shape, 2),
                   .share = planes.channels == 0 ? 1 : planes.channels / groups,
                   .epsilon = static_cast<double>(signature.attributes.real("epsilon", 1e-5F))},
          .groups = std::max<std::int64_t>(groups, 1),
          .is_per_group = is_per_group};
}

Kernel group_normalization(const Signature& signature) {
  const GroupNorm norm = group_norm_of(signature);
  return for_type(input_of(signature, 0).dtype, floats, [&]<typename Element>() -> Kernel {
    Kernel kernel{.run = [norm](const Pointers& pointers) {
      const std::int64_t length = norm.sums.length();
      norm.write_all<Element>(pointers, length, [&](std::int64_t lane) {
        return norm.sums.normalizer_of(pointers.input<Element>(0) + lane * length);
      });
    }};
    kernel.row_carry = [norm](std::size_t) -> RowCarry {
      return {.size = norm.sums.size(),
              .add =
                  [norm](std::int64_t row, const std::byte* from, std::byte* carried) {
                    norm.sums.add_row(row, reinterpret_cast<const Element*>(from),
                                      reinterpret_cast<Moments*>(carried));
                  },
              .make =
                  [norm](std::int64_t, const Pointers& pointers, std::byte* carried) {
                    const auto* const sums = reinterpret_cast<const Moments*>(carried);
                    norm.write_all<Element>(pointers, norm.sums.lanes.inner, [&](std::int64_t lane) {
                      return norm.sums.normalizer(sums + lane);
                    });
                  }};
    };
    return kernel;
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
  const auto grown = [p](double total, double x) { return total + (p == 1 ? std::abs(x) : x * x); };
  const auto size_of = [p](double total) { return p == 1 ? total : std::sqrt(total); };
  const auto divided = []<typename Element>(Element x, double size) {
    return element_of<Element>(size == 0 ? 0.0 : static_cast<double>(value_of(x)) / size);
  };
  return for_type(input.dtype, floats, [&]<typename Element>() -> Kernel {
    Kernel kernel{.run = [=](const Pointers& pointers) {
      for (std::int64_t i = 0; i < split.outer * split.inner; ++i) {
        const std::int64_t start = i / split.inner * split.size * split.inner + i % split.inner;
        const auto* const from = pointers.input<Element>(0) + start;
        auto* const to = pointers.output<Element>(0) + start;
        double total = 0;
        for (std::int64_t j = 0; j < split.size; ++j)
          total = grown(total, static_cast<double>(value_of(from[j * split.inner])));
        const double size = size_of(total);
        for (std::int64_t j = 0; j < split.size; ++j)
          to[j * split.inner] = divided(from[j * split.inner], size);
      }
    }};
    const std::int64_t vectors = split.outer * split.inner;
    kernel.row_carry = [=](std::size_t) -> RowCarry {
      return {.size = vectors * static_cast<Bytes>(sizeof(double)),
              .add =
                  [=](std::int64_t row, const std::byte* bytes, std::byte* carried) {
                    const auto* const from = reinterpret_cast<const Element*>(bytes);
                    auto* const totals = reinterpret_cast<double*>(carried);
                    for (std::int64_t i = 0; i < vectors; ++i)
                      totals[i] = grown(row == 0 ? 0 : totals[i], static_cast<double>(value_of(from[i])));
                  },
              .make =
                  [=](std::int64_t, const Pointers& pointers, std::byte* carried) {
                    const auto* const totals = reinterpret_cast<const double*>(carried);
                    for (std::int64_t i = 0; i < vectors; ++i)
                      pointers.output<Element>(0)[i] =
                          divided(pointers.input<Element>(0)[i], size_of(totals[i]));
                  }};
    };
    return kernel;
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
