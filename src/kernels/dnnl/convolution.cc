// Convolutions. Activations are dense (NCHW) at the interface, and primitives prefer channels in blocks. So
// there are two ways, and the rule below selects one. Milliseconds per convolution of ResNet-50, one thread
// of an AMD EPYC with AVX-512, including conversions of activations:
//
//     input, kernel, stride         dense   blocks of 16   layout of oneDNN's choice
//     3 x 224^2, 64 of 7^2, 2        3.28           2.13   2.49   (input dense, output in blocks)
//     64 x 56^2, 64 of 1^2           0.23           0.27   0.32
//     64 x 56^2, 64 of 3^2           2.85           2.06   2.17
//     256 x 56^2, 128 of 1^2         1.84           2.04   2.67
//     128 x 28^2, 512 of 1^2         1.02           1.03   1.34
//     128 x 28^2, 128 of 3^2         2.69           1.95   1.99
//     256 x 14^2, 1024 of 1^2        0.98           0.92   1.47
//     256 x 14^2, 256 of 3^2         2.72           2.10   2.18
//     512 x 7^2, 2048 of 1^2         1.38           0.95   0.96
//     2048 x 7^2, 512 of 1^2         1.42           1.05   1.14
//
// A kernel of 1 without stride is directly a matrix product, for which dense layouts are good if a row of the
// product (the spatial elements) is long. All others are faster in blocks, including conversions. Winograd's
// algorithm would halve the time of the kernels of 3^2 again, but it needs up to 10 MB of memory and rounds
// differently.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "kernels/dnnl/operators.h"
#include "kernels/dnnl/window.h"

namespace stowage::kernels::fast {
namespace {

using Convolution = dnnl::convolution_forward;
using Transposed = dnnl::deconvolution_forward;
using Tag = memory::format_tag;

/// From this many spatial elements on, a matrix product is faster in dense layouts.
constexpr std::int64_t long_row = 400;

/// Layouts to try for activations.
struct Layouts {
  memory::desc source{};
  memory::desc target{};
};

/// A convolution, except the layout of its activations.
struct Problem {
  Window window{};
  memory::dims source{};
  memory::dims target{};
  memory::dims weights{};  ///< With groups first, if there are several.
  std::int64_t group = 1;
  bool has_bias = false;
};

/// Blocks of channels that fill a vector register.
[[nodiscard]] memory::desc blocked(const memory::dims& dimensions) {
  static constexpr std::array tags{Tag::aBc16b, Tag::aBcd16b, Tag::aBcde16b};
  return {dimensions, memory::data_type::f32, tags.at(dimensions.size() - 3)};
}

void expect_channels(std::int64_t channels, std::int64_t expected, std::string_view what) {
  if (channels != expected)
    throw Unsupported{fmt::format("{} channels of {}, expected {}", channels, what, expected)};
}

/// Moves the groups, which ONNX counts in the first dimension of the weights, to the front.
[[nodiscard]] memory::dims with_groups(memory::dims weights, std::int64_t group) {
  if (group == 1) return weights;
  weights[0] /= group;
  weights.insert(weights.begin(), group);
  return weights;
}

/// Checks operands; `source_axis` is the dimension of the weights for the input's channels.
[[nodiscard]] Problem problem_of(const Signature& signature, std::size_t source_axis) {
  expect_floats(signature, {2, 3});
  Problem problem{.source = input_shape(signature, 0), .weights = input_shape(signature, 1)};
  const memory::dims spatial = spatial_of(problem.source);
  if (problem.weights.size() != problem.source.size())
    throw Unsupported{
        fmt::format("{} dimensions of weights, expected {}", problem.weights.size(), problem.source.size())};
  problem.group = signature.attributes.integer("group", 1);
  if (problem.group < 1 || problem.weights[0] % problem.group != 0)
    throw Unsupported{fmt::format("group {} does not divide {} channels", problem.group, problem.weights[0])};
  const std::int64_t factor = source_axis == 0 ? 1 : problem.group;
  if (problem.source[1] % factor != 0)
    throw Unsupported{fmt::format("group {} does not divide {} channels", factor, problem.source[1])};
  expect_channels(problem.weights[source_axis], problem.source[1] / factor, "weights");
  problem.window = window_of(signature, {problem.weights.begin() + 2, problem.weights.end()}, spatial);
  problem.has_bias = signature.has_input(2);
  const std::int64_t channels = source_axis == 0 ? problem.weights[1] * problem.group : problem.weights[0];
  problem.target = {problem.source[0], channels};
  if (problem.has_bias && input_shape(signature, 2) != Shape{channels})
    throw Unsupported{fmt::format("bias is no list of {}", channels)};
  return problem;
}

[[nodiscard]] std::vector<Layouts> candidates(const Problem& problem) {
  const Layouts plain{dense(problem.source), dense(problem.target)};
  const Layouts free{any_layout(problem.source), any_layout(problem.target)};
  const auto is_one = [](std::int64_t value) { return value == 1; };
  const Window& window = problem.window;
  const bool is_product = std::all_of(window.kernel.begin(), window.kernel.end(), is_one) &&
                          std::all_of(window.strides.begin(), window.strides.end(), is_one);
  const std::int64_t row = count_of(problem.target) / (problem.target[0] * problem.target[1]);
  if (is_product && problem.group == 1 && row >= long_row) return {plain, free};
  std::vector<Layouts> layouts;
  constexpr std::int64_t few_channels = 4;
  if (problem.source[1] < few_channels) layouts.push_back({plain.source, blocked(problem.target)});
  layouts.push_back({blocked(problem.source), blocked(problem.target)});
  layouts.push_back(free);
  return layouts;
}

[[nodiscard]] std::optional<Convolution::primitive_desc> descriptor_for(const Assembly& assembly,
                                                                        const Problem& problem,
                                                                        const Layouts& layouts) {
  const memory::desc bias = problem.has_bias ? dense({problem.target[1]}) : memory::desc();
  const Window& window = problem.window;
  try {
    const Convolution::desc what(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
                                 layouts.source, any_layout(problem.weights), bias, layouts.target,
                                 window.strides, window.gaps(), window.pads_begin, window.pads_end);
    Convolution::primitive_desc found(what, Assembly::attributes(), assembly.engine());
    if (Assembly::is_optimised(found.impl_info_str())) return found;
  } catch (const dnnl::error&) {
    // Not in these layouts.
  }
  return std::nullopt;
}

/// Converts operands to the layouts of the descriptor, runs it, and converts its result.
template <typename Primitive>
[[nodiscard]] Kernel assembled(Assembly& assembly, const Problem& problem, const memory::desc& weights,
                               const typename Primitive::primitive_desc& descriptor) {
  const Place source = assembly.converted(assembly.input(0, dense(problem.source)), descriptor.src_desc());
  const Place output = assembly.output(0, dense(problem.target));
  expect_small(descriptor.dst_desc());
  const Place target =
      descriptor.dst_desc() == output.layout ? output : assembly.scratch(descriptor.dst_desc());
  Assembly::Arguments arguments{
      {DNNL_ARG_SRC, source},
      {DNNL_ARG_WEIGHTS, assembly.converted(assembly.input(1, weights), descriptor.weights_desc())},
      {DNNL_ARG_DST, target}};
  if (problem.has_bias) arguments.emplace_back(DNNL_ARG_BIAS, assembly.input(2, dense({problem.target[1]})));
  assembly.add<Primitive>(descriptor, std::move(arguments));
  assembly.convert(target, output);
  return assembly.finish();
}

}  // namespace

Kernel convolution(const Signature& signature) {
  Problem problem = problem_of(signature, 1);
  const memory::dims places = places_of(problem.window, spatial_of(problem.source), false);
  problem.target.insert(problem.target.end(), places.begin(), places.end());
  expect_output(signature, problem.target);
  problem.weights = with_groups(problem.weights, problem.group);
  Assembly assembly(signature);
  for (const Layouts& layouts : candidates(problem)) {
    const auto descriptor = descriptor_for(assembly, problem, layouts);
    if (descriptor) return assembled<Convolution>(assembly, problem, dense(problem.weights), *descriptor);
  }
  throw Unsupported{"oneDNN has only reference loops for this convolution"};
}

Kernel transposed_convolution(const Signature& signature) {
  if (signature.attributes.has("output_shape") || signature.attributes.text("auto_pad", "NOTSET") != "NOTSET")
    throw Unsupported{"padding goes by the output's shape"};
  Problem problem = problem_of(signature, 0);
  Window& window = problem.window;
  const memory::dims spatial = spatial_of(problem.source);
  const memory::dims more = signature.attributes.integers("output_padding", memory::dims(spatial.size(), 0));
  if (more.size() != spatial.size()) throw Unsupported{"output_padding has another rank than the input"};
  for (std::size_t d = 0; d < spatial.size(); ++d) {
    if (more[d] < 0 || more[d] >= std::max(window.strides[d], window.dilations[d]))
      throw Unsupported{fmt::format("output_padding {} is not below stride or dilation", more[d])};
    const std::int64_t whole = (spatial[d] - 1) * window.strides[d] + window.extent(d);
    problem.target.push_back(whole + more[d] - window.pads_begin[d] - window.pads_end[d]);
    // oneDNN derives the end of the output from the padding at the end.
    window.pads_end[d] -= more[d];
  }
  expect_output(signature, problem.target);
  // ONNX has the input's channels first, oneDNN the output's: swap these two, not their strides.
  problem.weights = with_groups(problem.weights, problem.group);
  const std::size_t axis = problem.group == 1 ? 0 : 1;
  memory::desc weights = dense(problem.weights);
  std::vector<int> order(problem.weights.size());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int>(d);
  std::swap(order[axis], order[axis + 1]);
  weights = weights.permute_axes(order);
  std::swap(problem.weights[axis], problem.weights[axis + 1]);

  Assembly assembly(signature);
  const memory::desc bias = problem.has_bias ? dense({problem.target[1]}) : memory::desc();
  const Transposed::desc what(dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct,
                              any_layout(problem.source), any_layout(problem.weights), bias,
                              any_layout(problem.target), window.strides, window.gaps(), window.pads_begin,
                              window.pads_end);
  return assembled<Transposed>(assembly, problem, weights,
                               Transposed::primitive_desc(what, Assembly::attributes(), assembly.engine()));
}

}  // namespace stowage::kernels::fast
