// Pools: one number for each place of a window, or for a whole plane.

#include <cmath>
#include <limits>

#include "run/onnx/elements.h"
#include "run/onnx/tables.h"
#include "run/onnx/window.h"

namespace stowage::run::onnx_ops {
namespace {

struct Pool {
  Window window{};
  std::int64_t planes = 1;
};

Pool pool_of(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  expect_dtype(output, input.dtype, "the output");
  if (!signature.attributes.has("kernel_shape")) refuse("kernel_shape is missing");
  const auto kernel = signature.attributes.integers("kernel_shape", {});
  const Pool pool{.window = window_of(signature, input.shape, output.shape, kernel),
                  .planes = count_of(input.shape, 0, 2)};
  if (output.shape[0] != input.shape[0] || output.shape[1] != input.shape[1])
    refuse("the output {} has not the planes of {}", show(output.shape), show(input.shape));
  return pool;
}

/// Calls visit(place in the plane) for what the window at a place of the output covers of the input.
template <typename Visit>
void visit_window(const Window& window, std::int64_t at, const Visit& visit) {
  const auto& [depth, height, width] = window.axes;
  const std::int64_t d = at / (height.output * width.output);
  const std::int64_t h = at / width.output % height.output;
  const std::int64_t w = at % width.output;
  const Interval planes = depth.kernel_between(d, 0, depth.input);
  const Interval rows = height.kernel_between(h, 0, height.input);
  const Interval places = width.kernel_between(w, 0, width.input);
  for (std::int64_t kd = planes.begin; kd < planes.end; ++kd) {
    for (std::int64_t kh = rows.begin; kh < rows.end; ++kh) {
      const std::int64_t row = (depth.place(d, kd) * height.input + height.place(h, kh)) * width.input;
      for (std::int64_t kw = places.begin; kw < places.end; ++kw) visit(row + width.place(w, kw));
    }
  }
}

/// The elements of a window that are in the input or its padding.
std::int64_t padded_elements(const Window& window, std::int64_t at) {
  const auto& [depth, height, width] = window.axes;
  const auto size = [](const WindowAxis& axis, std::int64_t i) {
    const Interval inside = axis.kernel_between(i, -axis.begin, axis.input + axis.end);
    return inside.end - inside.begin;
  };
  return size(depth, at / (height.output * width.output)) * size(height, at / width.output % height.output) *
         size(width, at % width.output);
}

/// Calls compute(plane of the input, place in the output, window), and writes what it returns.
template <typename List, typename Compute>
Kernel for_places(const Signature& signature, List types, const Compute& compute) {
  const Pool pool = pool_of(signature);
  return for_type(input_of(signature, 0).dtype, types, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const auto* from = pointers.input<Element>(0);
      auto* to = pointers.output<Element>(0);
      for (std::int64_t i = 0; i < pool.planes; ++i, from += pool.window.inputs()) {
        for (std::int64_t at = 0; at < pool.window.outputs(); ++at)
          *to++ = element_of<Element>(compute(from, at, pool.window));
      }
    }};
  });
}

Kernel average_pool(const Signature& signature) {
  const bool counts_padding = signature.attributes.integer("count_include_pad", 0) != 0;
  return for_places(signature, floats, [=](const auto* from, std::int64_t at, const Window& window) {
    double total = 0;
    std::int64_t count = 0;
    visit_window(window, at, [&](std::int64_t place) {
      total += static_cast<double>(value_of(from[place]));
      ++count;
    });
    if (counts_padding) count = padded_elements(window, at);
    return count == 0 ? 0.0 : total / static_cast<double>(count);
  });
}

/// The p-th root of the sum of p-th powers.
struct Norm {
  double p;

  [[nodiscard]] double term(double x) const { return p == 2 ? x * x : std::pow(std::abs(x), p); }
  [[nodiscard]] double finish(double total) const {
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

Kernel norm_pool(const Signature& signature) {
  const Norm norm = norm_of(signature);
  return for_places(signature, floats, [=](const auto* from, std::int64_t at, const Window& window) {
    double total = 0;
    visit_window(window, at,
                 [&](std::int64_t place) { total += norm.term(static_cast<double>(value_of(from[place]))); });
    return norm.finish(total);
  });
}

/// The number that a place has when columns come before rows.
std::int64_t column_major(const Window& window, std::int64_t place) {
  const auto& [depth, height, width] = window.axes;
  const std::int64_t d = place / (height.input * width.input);
  const std::int64_t h = place / width.input % height.input;
  return ((place % width.input) * height.input + h) * depth.input + d;
}

/// The largest, and where it is in the whole tensor.
Kernel max_pool(const Signature& signature) {
  const Pool pool = pool_of(signature);
  if (signature.has_output(1)) {
    expect_shape(output_of(signature, 1), output_of(signature).shape, "the indices");
    expect_dtype(output_of(signature, 1), DType::int64, "the indices");
  }
  const bool is_column_major = signature.attributes.integer("storage_order", 0) != 0;
  return for_type(input_of(signature, 0).dtype, numbers, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      using Limits = std::numeric_limits<Value<Element>>;
      const auto* from = pointers.input<Element>(0);
      auto* to = pointers.output<Element>(0);
      auto* indices = pointers.output<std::int64_t>(1);
      for (std::int64_t i = 0; i < pool.planes; ++i, from += pool.window.inputs()) {
        for (std::int64_t at = 0; at < pool.window.outputs(); ++at) {
          auto best =
              Limits::has_infinity ? static_cast<Value<Element>>(-Limits::infinity()) : Limits::lowest();
          std::int64_t found = -1;
          visit_window(pool.window, at, [&](std::int64_t place) {
            const auto x = value_of(from[place]);
            if (found >= 0 && x <= best) return;
            best = x;
            found = place;
          });
          *to++ = element_of<Element>(best);
          if (indices == nullptr) continue;
          if (is_column_major && found >= 0) found = column_major(pool.window, found);
          *indices++ = i * pool.window.inputs() + found;
        }
      }
    }};
  });
}

/// Calls compute(plane, size) for every plane.
template <typename Compute>
Kernel for_planes(const Signature& signature, const Compute& compute) {
  const Argument& input = input_of(signature, 0);
  if (input.shape.size() < 2) refuse("the input {} has no planes", show(input.shape));
  Shape expected(input.shape.size(), 1);
  std::copy_n(input.shape.begin(), 2, expected.begin());
  expect_shape(output_of(signature), expected, "the output");
  expect_dtype(output_of(signature), input.dtype, "the output");
  const std::int64_t planes = count_of(input.shape, 0, 2);
  const std::int64_t size = count_of(input.shape, 2, input.shape.size());
  return for_type(input.dtype, floats, [&]<typename Element>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      const auto* const from = pointers.input<Element>(0);
      auto* const to = pointers.output<Element>(0);
      for (std::int64_t i = 0; i < planes; ++i) to[i] = element_of<Element>(compute(from + i * size, size));
    }};
  });
}

Kernel global_average(const Signature& signature) {
  return for_planes(signature, [](const auto* plane, std::int64_t size) {
    double total = 0;
    for (std::int64_t i = 0; i < size; ++i) total += static_cast<double>(value_of(plane[i]));
    return total / static_cast<double>(size);
  });
}

Kernel global_max(const Signature& signature) {
  return for_planes(signature, [](const auto* plane, std::int64_t size) {
    double best = -std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; i < size; ++i) best = std::max(best, static_cast<double>(value_of(plane[i])));
    return best;
  });
}

Kernel global_norm(const Signature& signature) {
  const Norm norm = norm_of(signature);
  return for_planes(signature, [=](const auto* plane, std::int64_t size) {
    double total = 0;
    for (std::int64_t i = 0; i < size; ++i) total += norm.term(static_cast<double>(value_of(plane[i])));
    return norm.finish(total);
  });
}

}  // namespace

TablePart pool_kernels() {
  return {{"AveragePool", average_pool}, {"GlobalAveragePool", global_average},
          {"GlobalLpPool", global_norm}, {"GlobalMaxPool", global_max},
          {"LpPool", norm_pool},         {"MaxPool", max_pool}};
}

}  // namespace stowage::run::onnx_ops
