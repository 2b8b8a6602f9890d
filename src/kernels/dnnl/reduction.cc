// Reductions over some dimensions.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "kernels/dnnl/operators.h"
#include "kernels/dnnl/window.h"

namespace stowage::kernels::fast {
namespace {

using dnnl::algorithm;

[[nodiscard]] algorithm reducing(std::string_view type) {
  struct Entry {
    std::string_view type;
    algorithm what;
  };
  static constexpr std::array entries{
      Entry{"ReduceMax", algorithm::reduction_max}, Entry{"ReduceMean", algorithm::reduction_mean},
      Entry{"ReduceMin", algorithm::reduction_min}, Entry{"ReduceSum", algorithm::reduction_sum}};
  for (const Entry& entry : entries) {
    if (entry.type == type) return entry.what;
  }
  throw Unsupported{fmt::format("oneDNN has no {}", type)};
}

/// Per dimension, true if it is reduced: from an attribute, in later versions from a constant.
[[nodiscard]] std::vector<bool> reduced_dimensions(const Signature& signature, std::size_t rank) {
  const std::vector<std::int64_t> axes =
      signature.has_input(1) ? constant_integers(signature, 1) : signature.attributes.integers("axes", {});
  if (axes.empty() && signature.attributes.integer("noop_with_empty_axes", 0) != 0)
    throw Unsupported{"nothing is reduced"};
  std::vector<bool> is_reduced(rank, axes.empty());
  const auto most = static_cast<std::int64_t>(rank);
  for (const std::int64_t axis : axes) {
    if (axis < -most || axis >= most)
      throw Unsupported{fmt::format("axis is {} of {} dimensions", axis, rank)};
    is_reduced[static_cast<std::size_t>(axis < 0 ? axis + most : axis)] = true;
  }
  return is_reduced;
}

}  // namespace

Kernel reduction(const Signature& signature) {
  using Primitive = dnnl::reduction;
  Signature floats = signature;
  if (floats.inputs.size() > 1) floats.inputs.resize(1);
  if (signature.inputs.size() > 2) throw Unsupported{"more than two inputs"};
  expect_floats(floats, {1, 1});
  const Shape& shape = input_shape(signature, 0);
  const std::vector<bool> is_reduced = reduced_dimensions(signature, shape.size());
  const bool is_rank_kept = signature.attributes.integer("keepdims", 1) != 0;
  Shape expected;
  memory::dims source;
  memory::dims target;
  std::optional<bool> last;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!is_reduced[d] || is_rank_kept) expected.push_back(is_reduced[d] ? 1 : shape[d]);
    // Adjacent dimensions that are both reduced, or both kept, are one dimension to oneDNN.
    if (is_reduced[d] != last) {
      source.push_back(1);
      target.push_back(1);
    }
    last = is_reduced[d];
    source.back() *= shape[d];
    if (!is_reduced[d]) target.back() *= shape[d];
  }
  expect_output(signature, expected);
  if (source == target) throw Unsupported{"nothing is reduced"};
  Assembly assembly(signature);
  const Primitive::primitive_desc descriptor(
      Primitive::desc(reducing(signature.type), dense(source), dense(target), 0, 0), Assembly::attributes(),
      assembly.engine());
  assembly.add<Primitive>(descriptor, {{DNNL_ARG_SRC, assembly.input(0, dense(source))},
                                       {DNNL_ARG_DST, assembly.output(0, dense(target))}});
  return assembly.finish();
}

}  // namespace stowage::kernels::fast
