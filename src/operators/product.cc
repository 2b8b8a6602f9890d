// Matrix products and sums over letters.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "operators/families.h"
#include "operators/multiplies.h"
#include "operators/readings.h"
#include "operators/shapes.h"
#include "operators/tflite_shapes.h"

namespace stowage::operators::shapes {
namespace {

/// Vectors are matrices of one row, or one column, which the result lacks.
std::optional<Dims> product_dims(const Dims* first, const Dims* second) {
  if (first == nullptr || second == nullptr) return std::nullopt;
  Dims a = *first;
  Dims b = *second;
  if (a.empty() || b.empty()) misfit("a number is no matrix");
  const bool is_row = a.size() == 1;
  const bool is_column = b.size() == 1;
  if (is_row) a.insert(a.begin(), 1);
  if (is_column) b.emplace_back(1);
  (void)same_dim(a.back(), b[b.size() - 2]);
  const Dims a_batch(a.begin(), a.end() - 2);
  const Dims b_batch(b.begin(), b.end() - 2);
  std::optional<Dims> result = broadcast_dims(&a_batch, &b_batch);
  if (!is_row) result->push_back(a[a.size() - 2]);
  if (!is_column) result->push_back(b.back());
  return result;
}

/// The product of two inputs, each perhaps with its last two dimensions, or its batch, exchanged.
std::optional<Dims> transposed_product(const NodeContext& node) {
  const auto operand = [&](std::size_t input, std::string_view swaps, std::string_view moves_batch) {
    std::optional<Dims> dims = node.type(input).dims;
    if (!dims || dims->size() < 2) return dims;
    // The batch is all but the last two; moved, it is between them.
    if (node.integer(moves_batch, 0) != 0) std::rotate(dims->begin(), dims->begin() + 1, dims->end() - 1);
    if (node.integer(swaps, 0) != 0) std::swap((*dims)[dims->size() - 1], (*dims)[dims->size() - 2]);
    return dims;
  };
  const auto a = operand(0, "transA", "transBatchA");
  const auto b = operand(1, "transB", "transBatchB");
  return product_dims(a ? &*a : nullptr, b ? &*b : nullptr);
}

std::optional<Dims> matrix_product(const NodeContext& node, std::size_t first, std::size_t second) {
  const Dims* const a = node.dims(first);
  const Dims* const b = node.dims(second);
  if (a == nullptr || b == nullptr) return std::nullopt;
  if (a->size() != 2 || b->size() != 2)
    misfit("the operands are of ranks ", a->size(), " and ", b->size(), ", not 2");
  const std::size_t inner_a = node.integer("transA", 0) == 0 ? 1 : 0;
  const std::size_t inner_b = node.integer("transB", 0) == 0 ? 0 : 1;
  (void)same_dim((*a)[inner_a], (*b)[inner_b]);
  return Dims{(*a)[1 - inner_a], (*b)[1 - inner_b]};
}

}  // namespace

void matrix_multiply(NodeContext& node) {
  node.set_output(0, node.elem_type(0), product_dims(node.dims(0), node.dims(1)));
}

void integer_multiply(NodeContext& node) {
  node.set_output(0, element::int32, product_dims(node.dims(0), node.dims(1)));
}

void quantized_multiply(NodeContext& node) {
  node.set_output(0, node.elem_type(7), product_dims(node.dims(0), node.dims(3)));
}

/// The result has the type of the first scale.
void scaled_multiply(NodeContext& node) {
  node.set_output(0, node.elem_type(2), product_dims(node.dims(0), node.dims(1)));
}

void fused_multiply(NodeContext& node) { node.set_output(0, node.elem_type(0), transposed_product(node)); }

void general_multiply(NodeContext& node) {
  const std::optional<Dims> result = matrix_product(node, 0, 1);
  expect_spread(node, 2, result);
  node.set_output(0, node.elem_type(0), result);
}

/// Without a scale for the result it is real.
void quantized_general_multiply(NodeContext& node) {
  const int type = node.has(8) ? node.elem_type(8) : static_cast<int>(element::float32);
  node.set_output(0, type, matrix_product(node, 0, 3));
}

/// Weights of few bits, whose form says less than the attribute.
void packed_multiply(NodeContext& node) {
  std::optional<Dims> dims = node.type(0).dims;
  if (dims) {
    const std::int64_t columns = node.integer("N", 0);
    if (dims->empty() || columns <= 0) misfit("N is ", columns);
    const std::int64_t rows = node.integer("K", dims->back().value_or(0));
    if (dims->back() && *dims->back() != rows) misfit("K is ", rows, ", the input has ", *dims->back());
    dims->back() = columns;
  }
  node.set_output(0, node.elem_type(0), dims);
}

namespace {

/// The letters of an Einsum term, one per dimension. Dimensions of "..." get the characters before the
/// letters, counted from the last dimension.
std::string labels_of(std::string_view term, std::size_t rank) {
  const std::size_t dots = term.find("...");
  std::string labels(term.substr(0, dots));
  if (dots != std::string_view::npos) {
    constexpr std::size_t length = 3;
    const std::size_t letters = term.size() - length;
    if (letters > rank || rank - letters > 'A') misfit("'...' does not fit rank ", rank);
    for (std::size_t i = rank - letters; i > 0; --i) labels.push_back(static_cast<char>(i - 1));
    labels += term.substr(dots + length);
  }
  const bool is_clean = std::ranges::all_of(labels, [](unsigned char c) {
    return (c < 'A' && c != '.') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  });
  if (!is_clean || labels.size() != rank) misfit("a term does not fit rank ", rank);
  return labels;
}

/// What the letters of an Einsum stand for.
struct Letters {
  std::map<char, Dim> dimensions{};
  std::map<char, int> uses{};

  void read(const std::string& labels, const Dims& dims) {
    for (std::size_t d = 0; d < labels.size(); ++d) {
      const Dim& own = dims[d];
      Dim& dimension = dimensions.emplace(labels[d], 1).first->second;
      if (dimension == 1) {
        dimension = own;
      } else if (own != 1) {
        dimension = same_dim(dimension, own);
      }
      ++uses[labels[d]];
    }
  }
};

bool is_letter(char label) { return label >= 'A'; }

/// Without "->" the result has the dimensions of "..." and the letters that occur once, in order.
std::string labels_of_result(std::string_view equation, const Letters& letters) {
  const auto hidden = static_cast<std::size_t>(
      std::ranges::count_if(letters.dimensions, [](const auto& it) { return !is_letter(it.first); }));
  const std::size_t arrow = equation.find("->");
  if (arrow != std::string_view::npos) {
    const std::string_view right = equation.substr(arrow + 2);
    const bool has_dots = right.find("...") != std::string_view::npos;
    return labels_of(right, has_dots ? right.size() - 3 + hidden : right.size());
  }
  std::string labels = labels_of("...", hidden);
  for (const auto& [label, count] : letters.uses) {
    if (is_letter(label) && count == 1) labels.push_back(label);
  }
  return labels;
}

}  // namespace

void einsum(NodeContext& node) {
  node.set_output(0, node.elem_type(0), std::nullopt);
  std::string equation(node.text("equation", ""));
  std::erase(equation, ' ');
  const std::string left = equation.substr(0, equation.find("->"));
  const auto terms = base::split(left, ',');
  if (terms.size() != node.inputs()) misfit("there are ", terms.size(), " terms");
  Letters letters;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Dims* const dims = node.dims(i);
    if (dims == nullptr) return;
    letters.read(labels_of(terms[i], dims->size()), *dims);
  }
  Dims result;
  for (const char label : labels_of_result(equation, letters)) {
    const auto dimension = letters.dimensions.find(label);
    if (dimension == letters.dimensions.end()) misfit("the result has a letter that no term has");
    result.push_back(dimension->second);
  }
  node.set_output(0, node.elem_type(0), result);
}

}  // namespace stowage::operators::shapes

namespace stowage::operators {
namespace {

/// Whether the last two dimensions are exchanged.
bool is_transposed(const Site& site, bool is_left) {
  const char* const flag = site.is_tflite() ? (is_left ? "adj_x" : "adj_y") : (is_left ? "transA" : "transB");
  return site.attributes().integer(flag, 0) != 0;
}

/// Whether the first dimension belongs behind the batch.
bool has_batch_inside(const Site& site, bool is_left) {
  return site.attributes().integer(is_left ? "transBatchA" : "transBatchB", 0) != 0;
}

/// The matrices are the last two dimensions; those before are a batch.
Reading factor(const Site& site, std::size_t input, bool is_left, std::size_t axis) {
  const Shape in = site.input_shape(input);
  const std::size_t rank = site.output_shape().size();
  if (in.size() < 2 || rank < in.size()) return all();
  const bool is_inside = has_batch_inside(site, is_left);
  if (axis + 2 < rank) {
    if (!is_inside) return elementwise(site, input, axis);
    const std::size_t missing = rank - in.size();
    const std::size_t own = axis + 1 - missing;
    return axis < missing || in[own] == 1 ? shared() : same_row(own);
  }
  const bool is_row = axis + 2 == rank;
  if (is_row != is_left) return shared();
  if (is_row == is_transposed(site, is_left)) return same_row(in.size() - 1);
  return same_row(is_inside ? 0 : in.size() - 2);
}

Reading matrix_product(const Site& site, std::size_t input, std::size_t axis) {
  return input > 1 ? all() : factor(site, input, input == 0, axis);
}

/// Scales and zero points of a product: one, or one for each of its rows (left) or columns (right).
Reading scale_of_factor(const Site& site, std::size_t input, bool is_left, std::size_t axis) {
  const Shape in = site.input_shape(input);
  const std::size_t rank = site.output_shape().size();
  if (count(in, 0, in.size()) == 1) return shared();
  if (in.size() != 1 || rank < 2) return all();
  return axis + (is_left ? 2 : 1) == rank ? same_row(0) : shared();
}

/// a, b, zero point of a, zero point of b.
Reading integer_product(const Site& site, std::size_t input, std::size_t axis) {
  const bool is_left = input % 2 == 0;
  return input < 2 ? factor(site, input, is_left, axis) : scale_of_factor(site, input, is_left, axis);
}

/// a, its scale, its zero point; the same of b; the scale and zero point of the output.
Reading quantized_product(const Site& site, std::size_t input, std::size_t axis) {
  const bool is_left = input < 3;
  return input % 3 == 0 && input < 6 ? factor(site, input, is_left, axis)
                                     : scale_of_factor(site, input, is_left, axis);
}

Reading gemm(const Site& site, std::size_t input, std::size_t axis) {
  return input == 2 ? elementwise(site, input, axis) : matrix_product(site, input, axis);
}

/// The input is a matrix whose rows are as long as those of the weights.
Reading fully_connected(const Site& site, std::size_t input, std::size_t axis) {
  const Shape in = site.input_shape(0);
  const Shape out = site.output_shape();
  const bool is_alike =
      in.size() == out.size() && axis + 1 < out.size() && std::equal(in.begin(), in.end() - 1, out.begin());
  if (input != 0) return shared();
  return is_alike ? same_row(axis) : all();
}

std::optional<std::int64_t> multiplies_of_units(const Site& site) {
  return products_of(site.output_shape(), count_for(site.input_shape(1), 0));
}

/// As many products for each element of the output as the left matrix has columns.
std::optional<std::int64_t> multiplies_of_matrices(const Site& site) {
  const Shape left = site.input_shape(0);
  if (left.empty()) return products_of(site.output_shape(), 0);
  if (left.size() == 1 || !is_transposed(site, true)) return products_of(site.output_shape(), left.back());
  return products_of(site.output_shape(), left[has_batch_inside(site, true) ? 0 : left.size() - 2]);
}

constexpr Facts fused_product(std::string_view onnx) {
  return {.onnx = onnx,
          .shape = shapes::fused_multiply,
          .inputs = 2,
          .rows = matrix_product,
          .splits = true,
          .multiplies = multiplies_of_matrices};
}

}  // namespace

std::span<const Facts> product_family() {
  static constexpr Facts rows[] = {
      {.onnx = "Det", .shape = shapes::determinant, .inputs = 1},
      {.onnx = "Einsum", .shape = shapes::einsum, .inputs = 1},
      {.onnx = "Gemm",
       .shape = shapes::general_multiply,
       .inputs = 2,
       .rows = gemm,
       .splits = true,
       .multiplies = multiplies_of_matrices},
      {.onnx = "MatMul",
       .shape = shapes::matrix_multiply,
       .inputs = 2,
       .rows = matrix_product,
       .splits = true,
       .multiplies = multiplies_of_matrices},
      {.onnx = "MatMulInteger",
       .shape = shapes::integer_multiply,
       .inputs = 2,
       .rows = integer_product,
       .multiplies = multiplies_of_matrices},
      {.onnx = "QLinearMatMul",
       .shape = shapes::quantized_multiply,
       .inputs = 8,
       .rows = quantized_product,
       .multiplies = multiplies_of_matrices},
      {.onnx = "com.microsoft.DynamicQuantizeMatMul", .shape = shapes::matrix_multiply, .inputs = 3},
      {.onnx = "com.microsoft.FusedGemm", .shape = shapes::general_multiply, .inputs = 2},
      fused_product("com.microsoft.FusedMatMul"),
      {.onnx = "com.microsoft.FusedMatMulActivation", .shape = shapes::fused_multiply, .inputs = 2},
      {.onnx = "com.microsoft.GemmFastGelu", .shape = shapes::general_multiply, .inputs = 2},
      {.onnx = "com.microsoft.Inverse", .shape = shapes::like_first, .inputs = 1},
      {.onnx = "com.microsoft.MatMulBnb4", .shape = shapes::packed_multiply, .inputs = 2},
      {.onnx = "com.microsoft.MatMulFpQ4", .shape = shapes::packed_multiply, .inputs = 2},
      {.onnx = "com.microsoft.MatMulInteger16", .shape = shapes::integer_multiply, .inputs = 2},
      {.onnx = "com.microsoft.MatMulIntegerToFloat", .shape = shapes::scaled_multiply, .inputs = 4},
      {.onnx = "com.microsoft.MatMulNBits", .shape = shapes::packed_multiply, .inputs = 2},
      {.onnx = "com.microsoft.QGemm",
       .shape = shapes::quantized_general_multiply,
       .inputs = 2,
       .multiplies = multiplies_of_matrices},
      fused_product("com.microsoft.TransposeMatMul"),
      {.tflite = "BATCH_MATMUL",
       .shape = shapes::fused_multiply,
       .rows = matrix_product,
       .splits = true,
       .multiplies = multiplies_of_matrices},
      {.tflite = "FULLY_CONNECTED",
       .shape = tflite_shapes::fully_connected,
       .rows = fully_connected,
       .multiplies = multiplies_of_units},
  };
  return rows;
}

}  // namespace stowage::operators
