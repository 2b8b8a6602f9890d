// Operators that compute each element separately, from one operand or from several broadcast ones. All can
// write over the operand that they read: each vector is read before it is written. Several operands are
// combined pair by pair, with the result so far in the output.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "kernels/dnnl/operators.h"
#include "kernels/dnnl/window.h"

namespace stowage::kernels::fast {
namespace {

using dnnl::algorithm;
using Elementwise = dnnl::eltwise_forward;
using Binary = dnnl::binary;

/// ONNX's name of the function, oneDNN's algorithm, and its first parameter: an attribute with a default, or
/// just the default.
struct Function {
  std::string_view type;
  algorithm what;
  std::string_view parameter;
  float otherwise;
};

constexpr std::array functions{Function{"Abs", algorithm::eltwise_abs, "", 0},
                               Function{"Elu", algorithm::eltwise_elu, "alpha", 1},
                               Function{"Exp", algorithm::eltwise_exp, "", 0},
                               Function{"Gelu", algorithm::eltwise_gelu_erf, "", 0},
                               Function{"HardSwish", algorithm::eltwise_hardswish, "", 0},
                               Function{"LeakyRelu", algorithm::eltwise_relu, "alpha", 0.01F},
                               Function{"Mish", algorithm::eltwise_mish, "", 0},
                               Function{"Relu", algorithm::eltwise_relu, "", 0},
                               Function{"Sigmoid", algorithm::eltwise_logistic, "", 0},
                               Function{"Softplus", algorithm::eltwise_soft_relu, "", 0},
                               Function{"Sqrt", algorithm::eltwise_sqrt, "", 0},
                               Function{"Swish", algorithm::eltwise_swish, "alpha", 1},
                               Function{"Tanh", algorithm::eltwise_tanh, "", 0}};

/// Elements as one list, if their places do not matter.
[[nodiscard]] memory::desc flat(const Shape& shape) { return dense({count_of(shape)}); }

[[nodiscard]] Kernel applied(const Signature& signature, algorithm what, float alpha, float beta) {
  expect_output(signature, input_shape(signature, 0));
  Assembly assembly(signature);
  const memory::desc elements = flat(input_shape(signature, 0));
  const Elementwise::primitive_desc descriptor(
      Elementwise::desc(dnnl::prop_kind::forward_inference, what, elements, alpha, beta),
      Assembly::attributes(), assembly.engine());
  assembly.add<Elementwise>(descriptor, {{DNNL_ARG_SRC, assembly.input(0, elements)},
                                         {DNNL_ARG_DST, assembly.output(0, elements)}});
  return assembly.finish();
}

[[nodiscard]] algorithm combining(std::string_view type) {
  struct Entry {
    std::string_view type;
    algorithm what;
  };
  static constexpr std::array entries{
      Entry{"Add", algorithm::binary_add}, Entry{"Sum", algorithm::binary_add},
      Entry{"Sub", algorithm::binary_sub}, Entry{"Mul", algorithm::binary_mul},
      Entry{"Div", algorithm::binary_div}, Entry{"Max", algorithm::binary_max},
      Entry{"Min", algorithm::binary_min}};
  for (const Entry& entry : entries) {
    if (entry.type == type) return entry.what;
  }
  throw Unsupported{fmt::format("oneDNN has no {}", type)};
}

/// Shapes of two operands; the second is broadcast to the first.
struct Pair {
  memory::dims whole{};
  memory::dims spread{};
};

/// Merges adjacent dimensions along which the second operand is broadcast in the same way. A single dimension
/// that is kept becomes the second, for which oneDNN has kernels.
[[nodiscard]] Pair merged(const Shape& whole, const Shape& spread) {
  if (spread.size() > whole.size()) throw Unsupported{"the result has not the first operand's shape"};
  const std::size_t missing = whole.size() - spread.size();
  Pair pair;
  std::optional<bool> last;
  for (std::size_t d = 0; d < whole.size(); ++d) {
    const std::int64_t size = d < missing ? 1 : spread[d - missing];
    if (size != whole[d] && size != 1)
      throw Unsupported{fmt::format("{} does not spread over {}", size, whole[d])};
    if (whole[d] == 1) continue;
    const bool is_kept = size == whole[d];
    if (is_kept == last) {
      pair.whole.back() *= whole[d];
      pair.spread.back() *= size;
    } else {
      pair.whole.push_back(whole[d]);
      pair.spread.push_back(size);
    }
    last = is_kept;
  }
  if (pair.whole.empty()) return {{1}, {1}};
  const bool is_spread_behind = pair.whole.size() == 2 && pair.spread[1] == 1;
  if (is_spread_behind) {
    pair.whole.insert(pair.whole.begin(), 1);
    pair.spread.insert(pair.spread.begin(), 1);
  }
  return pair;
}

[[nodiscard]] bool is_commutative(algorithm what) {
  return what != algorithm::binary_sub && what != algorithm::binary_div;
}

}  // namespace

Kernel elementwise(const Signature& signature) {
  expect_floats(signature, {1, 1});
  for (const Function& function : functions) {
    if (function.type != signature.type) continue;
    const float alpha = function.parameter.empty()
                            ? function.otherwise
                            : signature.attributes.real(function.parameter, function.otherwise);
    const bool is_by_tanh = signature.attributes.text("approximate", "none") == "tanh";
    return applied(signature, is_by_tanh ? algorithm::eltwise_gelu_tanh : function.what, alpha, 0);
  }
  throw Unsupported{fmt::format("oneDNN has no {}", signature.type)};
}

Kernel clip(const Signature& signature) {
  expect_floats(signature, {1, 3});
  const auto bound = [&](std::size_t i, std::string_view name, float otherwise) {
    if (!signature.has_input(i)) return signature.attributes.real(name, otherwise);
    const std::vector<float> values = constant_floats(signature, i);
    if (values.size() != 1) throw Unsupported{fmt::format("{} has {} elements", name, values.size())};
    return values[0];
  };
  const float low = bound(1, "min", -std::numeric_limits<float>::infinity());
  const float high = bound(2, "max", std::numeric_limits<float>::infinity());
  if (!(low <= high)) throw Unsupported{"the least is not below the most"};
  return applied(signature, algorithm::eltwise_clip, low, high);
}

Kernel combination(const Signature& signature) {
  constexpr std::size_t most_operands = 1000;
  const algorithm what = combining(signature.type);
  const bool is_list = signature.type == "Sum" || signature.type == "Max" || signature.type == "Min";
  expect_floats(signature, {2, is_list ? most_operands : 2});
  const Shape& shape = output_shape(signature);
  std::size_t first = 0;
  std::size_t second = 1;
  if (input_shape(signature, 0) != shape && is_commutative(what)) std::swap(first, second);
  if (input_shape(signature, first) != shape) throw Unsupported{"no first operand has the result's shape"};

  Assembly assembly(signature);
  const auto combine = [&](Place whole, std::size_t other) {
    const Pair pair = merged(shape, input_shape(signature, other));
    whole.layout = dense(pair.whole);
    const memory::desc spread = dense(pair.spread);
    const Binary::primitive_desc descriptor({what, whole.layout, spread, whole.layout},
                                            Assembly::attributes(), assembly.engine());
    assembly.add<Binary>(descriptor, {{DNNL_ARG_SRC_0, whole},
                                      {DNNL_ARG_SRC_1, assembly.input(other, spread)},
                                      {DNNL_ARG_DST, assembly.output(0, whole.layout)}});
  };
  combine(assembly.input(first, dense(shape)), second);
  for (std::size_t i = 2; i < signature.inputs.size(); ++i) combine(assembly.output(0, dense(shape)), i);
  return assembly.finish();
}

}  // namespace stowage::kernels::fast
