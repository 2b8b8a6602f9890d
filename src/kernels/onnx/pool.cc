// Pools: one number for each place of a window, or for a whole plane, which is a window that covers it.
//
// A way of pooling defines the initial total, how an element is added to it, and the number made of it.
// So rows of an input can also be added one by one: then totals have the output's precision, otherwise
// float64.

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/quantized.h"
#include "kernels/onnx/tables.h"
#include "kernels/onnx/window.h"
#include "kernels/rows.h"

namespace stowage::kernels::onnx_ops {
namespace {

struct Pool {
  Window window{};
  std::int64_t batches = 1;
  std::int64_t channels = 1;
  bool counts_padding = false;
  bool is_global = false;  ///< A plane counts as one row.
  Shape input{};           ///< Shape of the whole input.

  [[nodiscard]] std::int64_t planes() const { return batches * channels; }
};

Pool pool_of(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  expect_dtype(output, input.dtype, "the output");
  if (!signature.attributes.has("kernel_shape")) refuse("kernel_shape is missing");
  const auto kernel = signature.attributes.integers("kernel_shape", {});
  const Pool pool{.window = window_of(signature, input.shape, output.shape, kernel),
                  .batches = input.shape[0],
                  .channels = input.shape[1],
                  .counts_padding = signature.attributes.integer("count_include_pad", 0) != 0,
                  .input = input.shape};
  if (output.shape[0] != input.shape[0] || output.shape[1] != input.shape[1])
    refuse("the output {} has not the planes of {}", show(output.shape), show(input.shape));
  return pool;
}

/// The window covers a plane.
Pool global_pool_of(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  if (input.shape.size() < 2) refuse("the input {} has no planes", show(input.shape));
  Shape expected(input.shape.size(), 1);
  std::copy_n(input.shape.begin(), 2, expected.begin());
  expect_shape(output_of(signature), expected, "the output");
  expect_dtype(output_of(signature), input.dtype, "the output");
  Pool pool{.batches = input.shape[0], .channels = input.shape[1], .is_global = true, .input = input.shape};
  WindowAxis& width = pool.window.axes[2];
  width.input = width.kernel = count_of(input.shape, 2, input.shape.size());
  return pool;
}

/// The place of a window in the output.
struct Place {
  std::int64_t d = 0;
  std::int64_t h = 0;
  std::int64_t w = 0;
};

/// Calls visit(element, place in the plane) for the elements of a plane that the window at an output place
/// covers. The plane begins `offset` elements after the start of every row.
template <typename Element, typename Visit>
void visit_window(const Window& window, const Rows<const std::byte>& input, std::int64_t offset, Place at,
                  const Visit& visit) {
  const auto& [depth, height, width] = window.axes;
  const Interval planes = depth.kernel_between(at.d, 0, depth.input);
  const Interval rows = height.kernel_between(at.h, 0, height.input);
  const Interval places = width.kernel_between(at.w, 0, width.input);
  for (std::int64_t kd = planes.begin; kd < planes.end; ++kd) {
    for (std::int64_t kh = rows.begin; kh < rows.end; ++kh) {
      const std::int64_t row = depth.place(at.d, kd) * height.input + height.place(at.h, kh);
      const auto* const from = input.at<Element>(row, 0) + offset;
      for (std::int64_t kw = places.begin; kw < places.end; ++kw) {
        const std::int64_t place = width.place(at.w, kw);
        visit(from[place], row * width.input + place);
      }
    }
  }
}

/// The number of elements that a window counts: those in the input, or also in its padding.
std::int64_t elements_of(const Pool& pool, Place at) {
  const auto& [depth, height, width] = pool.window.axes;
  const auto size = [&](const WindowAxis& axis, std::int64_t i) {
    const std::int64_t low = pool.counts_padding ? -axis.begin : 0;
    const std::int64_t high = axis.input + (pool.counts_padding ? axis.end : 0);
    const Interval inside = axis.kernel_between(i, low, high);
    return inside.end - inside.begin;
  };
  return size(depth, at.d) * size(height, at.h) * size(width, at.w);
}

/// Calls write(row, batch, channel, place) for places of the output in these rows, plane by plane.
template <typename Write>
void for_places(const Pool& pool, std::int64_t begin, std::int64_t end, const Write& write) {
  const auto& [depth, height, width] = pool.window.axes;
  for (std::int64_t i = 0; i < pool.planes(); ++i) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t w = 0; w < width.output; ++w)
        write(i / pool.channels, i % pool.channels, row, Place{row / height.output, row % height.output, w});
    }
  }
}

Image image_of(const Pool& pool, std::int64_t WindowAxis::*extent, std::size_t element) {
  const auto& [depth, height, width] = pool.window.axes;
  return {.batches = pool.batches,
          .channels = pool.channels,
          .rows = depth.*extent * height.*extent,
          .row = width.*extent,
          .element = onnx_ops::extent(element)};
}

/// Totals of all windows, which cover all rows along an axis.
template <typename Element, typename Way>
RowSums row_sums_of(const Pool& pool, const Way& way, std::size_t axis) {
  using Total = typename Way::template Total<Element>;
  using Stored =
      std::conditional_t<std::is_same_v<Element, double> || !std::is_same_v<Total, double>, Total, float>;
  const WindowAxis width = pool.window.axes[2];
  const std::int64_t length = count_of(pool.input, 2, pool.input.size()) / pool.input[axis];
  const auto add = [=, planes = pool.planes()](const std::byte* row, std::byte* sums) {
    const auto* from = reinterpret_cast<const Element*>(row);
    auto* to = reinterpret_cast<Stored*>(sums);
    for (std::int64_t i = 0; i < planes; ++i, from += length) {
      for (std::int64_t w = 0; w < width.output; ++w, ++to) {
        const Interval places =
            pool.is_global ? Interval{0, length} : width.kernel_between(w, 0, width.input);
        auto total = static_cast<Total>(*to);
        for (std::int64_t k = places.begin; k < places.end; ++k)
          total = way.add(total, static_cast<Total>(value_of(from[pool.is_global ? k : width.place(w, k)])));
        *to = static_cast<Stored>(total);
      }
    }
  };
  const std::int64_t outputs = pool.planes() * width.output;
  const auto first = static_cast<Stored>(way.template first<Total>());
  return {.begin = [=](std::byte* sums) { std::fill_n(reinterpret_cast<Stored*>(sums), outputs, first); },
          .add = add,
          .finish =
              [=](const std::byte* sums, std::byte* output) {
                for (std::int64_t i = 0; i < outputs; ++i) {
                  const auto total = static_cast<Total>(reinterpret_cast<const Stored*>(sums)[i]);
                  reinterpret_cast<Element*>(output)[i] =
                      element_of<Element>(way.finish(total, elements_of(pool, {.w = i % width.output})));
                }
              }};
}

/// True if one row of windows covers all rows.
bool covers_rows(const Window& window) {
  const auto& [depth, height, width] = window.axes;
  return depth.input == 1 && height.output == 1 && height.begin == 0 && height.dilation == 1 &&
         height.kernel >= height.input;
}

template <typename List, typename Way>
Kernel pool_kernel(const Signature& signature, const Pool& pool, List types, const Way& way) {
  return for_type(input_of(signature, 0).dtype, types, [&]<typename Element>() -> Kernel {
    using Total = typename Way::template Total<Element>;
    const auto run = [=](const RowPointers& at) {
      for_places(pool, at.begin, at.end,
                 [&](std::int64_t batch, std::int64_t channel, std::int64_t row, Place place) {
                   auto total = way.template first<Total>();
                   std::int64_t count = 0;
                   const std::int64_t offset = batch * at.input.batch + channel * at.input.channel;
                   visit_window<Element>(pool.window, at.input, offset, place,
                                         [&](const Element& x, std::int64_t) {
                                           total = way.add(total, static_cast<Total>(value_of(x)));
                                           ++count;
                                         });
                   if (pool.counts_padding) count = elements_of(pool, place);
                   at.output.at<Element>(row, batch, channel)[place.w] =
                       element_of<Element>(way.finish(total, count));
                 });
    };
    Kernel kernel = kernel_by_rows(image_of(pool, &WindowAxis::input, sizeof(Element)),
                                   image_of(pool, &WindowAxis::output, sizeof(Element)), run, 0);
    if (pool.is_global) kernel.run_rows = nullptr;
    if (covers_rows(pool.window))
      kernel.row_sums = [=](std::size_t axis) { return row_sums_of<Element>(pool, way, axis); };
    return kernel;
  });
}

struct Average {
  template <typename Element>
  using Total = double;
  template <typename Total>
  [[nodiscard]] Total first() const {
    return 0;
  }
  [[nodiscard]] double add(double total, double x) const { return total + x; }
  [[nodiscard]] double finish(double total, std::int64_t count) const {
    return count == 0 ? 0.0 : total / static_cast<double>(count);
  }
};

/// An exact sum, which one factor brings to the scale of the output. Padding that counts is the real number 0.
template <typename Stored>
struct ScaledAverage {
  ByteScale input{};
  ByteScale output{};

  template <typename Element>
  using Total = std::int32_t;
  template <typename Total>
  [[nodiscard]] Total first() const {
    return 0;
  }
  [[nodiscard]] std::int32_t add(std::int32_t total, std::int32_t x) const {
    return sum(total, x - input.zero);
  }
  [[nodiscard]] Stored finish(std::int32_t total, std::int64_t count) const {
    const float factor = count == 0 ? 0 : input.scale / (output.scale * static_cast<float>(count));
    return in_steps<Stored>(total, factor, output.zero);
  }
};

/// The p-th root of the sum of p-th powers.
struct Norm {
  double p;

  template <typename Element>
  using Total = double;
  template <typename Total>
  [[nodiscard]] Total first() const {
    return 0;
  }
  [[nodiscard]] double add(double total, double x) const {
    return total + (p == 2 ? x * x : std::pow(std::abs(x), p));
  }
  [[nodiscard]] double finish(double total, std::int64_t) const {
    return p == 2 ? std::sqrt(total) : std::pow(total, 1 / p);
  }
};

/// In the first operator set p is a real number.
Norm norm_of(const Signature& signature) {
  const double p = signature.version < 2 ? static_cast<double>(signature.attributes.real("p", 2))
                                         : static_cast<double>(signature.attributes.integer("p", 2));
  if (p <= 0) refuse("p is {}", p);
  return {p};
}

struct MostOfWindow {
  template <typename Element>
  using Total = Value<Element>;
  template <typename Total>
  [[nodiscard]] Total first() const {
    using Limits = std::numeric_limits<Total>;
    return Limits::has_infinity ? static_cast<Total>(-Limits::infinity()) : Limits::lowest();
  }
  template <typename Total>
  [[nodiscard]] Total add(Total most, Total x) const {
    return x <= most ? most : x;
  }
  template <typename Total>
  [[nodiscard]] Total finish(Total most, std::int64_t) const {
    return most;
  }
};

/// Over a whole plane: only numbers.
struct MostOfPlane : MostOfWindow {
  template <typename Total>
  [[nodiscard]] Total add(Total most, Total x) const {
    return std::max(most, x);
  }
};

/// The number of a place if columns come before rows.
std::int64_t column_major(const Window& window, std::int64_t place) {
  const auto& [depth, height, width] = window.axes;
  const std::int64_t d = place / (height.input * width.input);
  const std::int64_t h = place / width.input % height.input;
  return ((place % width.input) * height.input + h) * depth.input + d;
}

/// The index of the maximum in the whole tensor.
template <typename Element>
void find_most(const Pool& pool, bool is_column_major, const Pointers& pointers) {
  const Window& window = pool.window;
  const auto input = rows_of(image_of(pool, &WindowAxis::input, sizeof(Element)), pointers.inputs[0]);
  auto* indices = pointers.output<std::int64_t>(1);
  const std::int64_t rows = window.axes[0].output * window.axes[1].output;
  for_places(pool, 0, rows, [&](std::int64_t batch, std::int64_t channel, std::int64_t, Place at) {
    const std::int64_t offset = batch * input.batch + channel * input.channel;
    Value<Element> best{};
    std::int64_t found = -1;
    visit_window<Element>(window, input, offset, at, [&](const Element& element, std::int64_t place) {
      const auto x = value_of(element);
      if (found >= 0 && x <= best) return;
      best = x;
      found = place;
    });
    if (is_column_major && found >= 0) found = column_major(window, found);
    *indices++ = offset + found;
  });
}

Kernel max_pool(const Signature& signature) {
  const Pool pool = pool_of(signature);
  Kernel kernel = pool_kernel(signature, pool, numbers, MostOfWindow{});
  if (!signature.has_output(1)) return kernel;
  expect_shape(output_of(signature, 1), output_of(signature).shape, "the indices");
  expect_dtype(output_of(signature, 1), DType::int64, "the indices");
  const bool is_column_major = signature.attributes.integer("storage_order", 0) != 0;
  return for_type(input_of(signature, 0).dtype, numbers, [&]<typename Element>() -> Kernel {
    return {.run = [=, values = kernel.run](const Pointers& pointers) {
      find_most<Element>(pool, is_column_major, pointers);
      values(pointers);
    }};
  });
}

template <Pool (*pool_of_signature)(const Signature&)>
Kernel average_pool(const Signature& signature) {
  return pool_kernel(signature, pool_of_signature(signature), floats, Average{});
}

/// x, its scale, its zero point; those of the output. All but x are constants.
Kernel scaled_average_pool(const Signature& signature) {
  if (signature.attributes.integer("channels_last", 0) != 0) refuse("channels come last");
  const Pool pool = pool_of(signature);
  const DType dtype = input_of(signature, 0).dtype;
  for (const std::size_t i : {1U, 3U}) expect_scale_and_zero(signature, i, dtype);
  const auto given = constant_byte_scale(signature, 1);
  const auto made = constant_byte_scale(signature, 3);
  if (!given || !made) refuse("its scales are computed");
  return for_type(dtype, bytes_with_scales, [&]<typename Stored>() {
    return pool_kernel(signature, pool, Types<Stored>(),
                       ScaledAverage<Stored>{.input = *given, .output = *made});
  });
}

template <Pool (*pool_of_signature)(const Signature&)>
Kernel norm_pool(const Signature& signature) {
  return pool_kernel(signature, pool_of_signature(signature), floats, norm_of(signature));
}

Kernel global_max(const Signature& signature) {
  return pool_kernel(signature, global_pool_of(signature), floats, MostOfPlane{});
}

}  // namespace

TablePart pool_kernels() {
  return {{"AveragePool", average_pool<pool_of>},
          {"GlobalAveragePool", average_pool<global_pool_of>},
          {"GlobalLpPool", norm_pool<global_pool_of>},
          {"GlobalMaxPool", global_max},
          {"LpPool", norm_pool<pool_of>},
          {"MaxPool", max_pool},
          {"com.microsoft.QLinearAveragePool", scaled_average_pool}};
}

}  // namespace stowage::kernels::onnx_ops
