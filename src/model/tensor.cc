#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "stowage/error.h"
#include "stowage/graph.h"

namespace stowage {
namespace {

struct DTypeFacts {
  DType dtype;
  std::string_view name;
  std::optional<int> bits;
};

constexpr int bits_of_a_byte = 8;

constexpr std::array<DTypeFacts, 28> dtypes{{
    {DType::boolean, "bool", 8},
    {DType::int2, "int2", 2},
    {DType::uint2, "uint2", 2},
    {DType::int4, "int4", 4},
    {DType::uint4, "uint4", 4},
    {DType::float4e2m1, "float4e2m1", 4},
    {DType::int8, "int8", 8},
    {DType::uint8, "uint8", 8},
    {DType::float8e4m3fn, "float8e4m3fn", 8},
    {DType::float8e4m3fnuz, "float8e4m3fnuz", 8},
    {DType::float8e5m2, "float8e5m2", 8},
    {DType::float8e5m2fnuz, "float8e5m2fnuz", 8},
    {DType::float8e8m0, "float8e8m0", 8},
    {DType::int16, "int16", 16},
    {DType::uint16, "uint16", 16},
    {DType::float16, "float16", 16},
    {DType::bfloat16, "bfloat16", 16},
    {DType::int32, "int32", 32},
    {DType::uint32, "uint32", 32},
    {DType::float32, "float32", 32},
    {DType::int64, "int64", 64},
    {DType::uint64, "uint64", 64},
    {DType::float64, "float64", 64},
    {DType::complex64, "complex64", 64},
    {DType::complex128, "complex128", 128},
    {DType::resource, "resource", 32},  // a handle
    {DType::string, "string", std::nullopt},
    {DType::unknown, "unknown", std::nullopt},
}};

}  // namespace

std::string_view name_of(DType dtype) { return dtypes.at(static_cast<std::size_t>(dtype)).name; }

std::optional<DType> dtype_named(std::string_view name) {
  for (const DTypeFacts& facts : dtypes) {
    if (facts.name == name) return facts.dtype;
  }
  return std::nullopt;
}

std::optional<int> bits_of(DType dtype) { return dtypes.at(static_cast<std::size_t>(dtype)).bits; }

Bytes bytes_of(DType dtype, const Shape& shape) {
  const std::optional<int> bits = bits_of(dtype);
  if (!bits) throw Error("", fmt::format("element type {} has no fixed size", name_of(dtype)));
  std::optional<std::int64_t> total = *bits;
  bool is_empty = false;
  for (const std::int64_t dimension : shape) {
    if (dimension < 0) {
      throw Error("",
                  fmt::format("dimension {} of shape [{}] is negative", dimension, fmt::join(shape, ",")));
    }
    is_empty = is_empty || dimension == 0;
  }
  if (is_empty) return 0;
  for (const std::int64_t dimension : shape) {
    total = base::checked_multiply(*total, dimension);
    if (!total || *total > largest_value) {
      throw Error("", fmt::format("size of {}[{}] overflows, expected at most {} bits", name_of(dtype),
                                  fmt::join(shape, ","), largest_value));
    }
  }
  return (*total + bits_of_a_byte - 1) / bits_of_a_byte;
}

std::optional<Bytes> bytes_of_row(const Tensor& tensor, std::size_t axis) {
  if (!tensor.shape || axis >= tensor.shape->size() || tensor.bytes == 0) return std::nullopt;
  const Shape& shape = *tensor.shape;
  const auto product_of = [&](std::size_t begin, std::size_t end) {
    std::optional<std::int64_t> product = 1;
    for (std::size_t d = begin; d < end && product; ++d) product = base::checked_multiply(*product, shape[d]);
    return product;
  };
  // Runs of consecutive elements in row-major order, one or more per row.
  const auto runs = product_of(0, axis + 1);
  if (!runs || *runs < 1) return std::nullopt;
  if (*runs == 1) return tensor.bytes;
  const auto elements = product_of(axis + 1, shape.size());
  const auto bits =
      elements ? base::checked_multiply(*elements, bits_of(tensor.dtype).value_or(0)) : elements;
  if (!bits || *bits % bits_of_a_byte != 0 || tensor.bytes % *runs != 0) return std::nullopt;
  return tensor.bytes / shape[axis];
}

bool has_open_axes_in_order(const Tensor& tensor) {
  const std::size_t rank = tensor.shape ? tensor.shape->size() : 0;
  const auto is_before = [](const OpenExtent& a, const OpenExtent& b) { return a.axis < b.axis; };
  return std::ranges::is_sorted(tensor.open, is_before) &&
         std::ranges::adjacent_find(tensor.open, {}, &OpenExtent::axis) == tensor.open.end() &&
         (tensor.open.empty() || tensor.open.back().axis < rank);
}

bool are_open_alike(const Tensor& a, const Tensor& b) {
  return (!is_open(a) && !is_open(b)) || (a.shape == b.shape && a.open == b.open);
}

bool is_at_fixed_place(const Tensor& tensor, Bytes byte) {
  // An extent of at most 1 moves nothing that exists.
  const auto may_shrink = [&](const OpenExtent& it) { return (*tensor.shape)[it.axis] > 1; };
  const auto last = std::find_if(tensor.open.rbegin(), tensor.open.rend(), may_shrink);
  if (last == tensor.open.rend() || byte == 0) return true;
  // All indices up to that axis are 0 within the first of these slices.
  Bytes slice = tensor.bytes;
  for (std::size_t d = 0; d <= last->axis && slice > 0; ++d) slice /= (*tensor.shape)[d];
  return byte < slice;
}

Bytes bytes_of_sums(const Tensor& output) {
  constexpr int least_bits = 32;
  const int bits = bits_of(output.dtype).value_or(least_bits);
  return bits >= least_bits ? output.bytes
                            : base::checked_multiply(output.bytes, least_bits).value_or(largest_value) / bits;
}

}  // namespace stowage
