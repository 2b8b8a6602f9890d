// Every element of an output is a sum of as many products as its filter has weights. In a transposed
// convolution this holds for every element of the input.

#include "model/multiplies.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/checked.h"

namespace stowage::model {
namespace {

using namespace std::string_view_literals;

std::int64_t element_count(const Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) product *= extent;
  return product;
}

/// The number of elements of a shape per index of one dimension.
std::int64_t count_for(const Shape& shape, std::size_t axis) {
  return axis < shape.size() && shape[axis] > 0 ? element_count(shape) / shape[axis] : 0;
}

/// The number of products per element of the output.
std::int64_t products(const Site& site) {
  constexpr std::array convolutions{"Conv"sv, "ConvInteger"sv, "CONV_2D"sv, "FULLY_CONNECTED"sv};
  constexpr std::array matrices{"MatMul"sv, "MatMulInteger"sv, "QLinearMatMul"sv,
                                "Gemm"sv,   "BATCH_MATMUL"sv,  "com.microsoft.QGemm"sv};
  const auto is_one_of = [&](const auto& types) {
    return std::find(types.begin(), types.end(), site.type()) != types.end();
  };
  if (is_one_of(convolutions)) return count_for(site.input_shape(1), 0);
  if (site.type() == "QLinearConv") return count_for(site.input_shape(3), 0);
  if (site.type() == "DEPTHWISE_CONV_2D") return count_for(site.input_shape(1), 3);
  if (!is_one_of(matrices)) return 0;
  const Shape left = site.input_shape(0);
  const bool is_transposed =
      site.attributes().integer(site.type() == "BATCH_MATMUL" ? "adj_x" : "transA", 0) != 0;
  if (left.empty()) return 0;
  return is_transposed && left.size() > 1 ? left[left.size() - 2] : left.back();
}

}  // namespace

std::optional<std::int64_t> multiplies_of(const Site& site) {
  const auto product = [](std::int64_t a, std::int64_t b) { return base::checked_multiply(a, b); };
  if (site.type() == "ConvTranspose")
    return product(element_count(site.input_shape(0)), count_for(site.input_shape(1), 0));
  if (site.type() == "TRANSPOSE_CONV")
    return product(element_count(site.input_shape(2)), count_for(site.input_shape(1), 3));
  return product(element_count(site.output_shape()), products(site));
}

std::int64_t multiplies_of_rows(std::int64_t multiplies, std::int64_t extent, std::int64_t begin,
                                std::int64_t end) {
  const std::int64_t rest = multiplies % extent;
  return multiplies / extent * (end - begin) + std::min(end, rest) - std::min(begin, rest);
}

}  // namespace stowage::model
