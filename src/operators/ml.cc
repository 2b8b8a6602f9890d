// Rules of operators on text and of classical machine learning (domain ai.onnx.ml): tables of rows, one for
// each sample.

#include <algorithm>
#include <optional>

#include "operators/families.h"
#include "operators/readings.h"
#include "operators/shapes.h"
#include "operators/tflite_shapes.h"

namespace stowage::operators::shapes {
namespace {

/// The count of samples: a vector is one of them.
Dim samples_of(const NodeContext& node) {
  const Dims* const dims = node.dims(0);
  if (dims == nullptr || dims->empty()) return std::nullopt;
  return dims->size() == 1 ? Dim(1) : dims->front();
}

template <typename List>
Dim length_of(const NodeContext& node, std::string_view attribute) {
  const auto* const list = node.attributes().get<List>(attribute);
  return list == nullptr ? Dim() : Dim(std::ssize(*list));
}

using Texts = std::span<const std::string_view>;
using Numbers = std::span<const std::int64_t>;

/// A label for each sample: text, or a number.
void set_labels(NodeContext& node, std::string_view texts, std::string_view numbers) {
  const bool is_text = length_of<Texts>(node, texts).value_or(0) > 0;
  Dim classes = is_text ? length_of<Texts>(node, texts) : length_of<Numbers>(node, numbers);
  node.set_output(0, is_text ? static_cast<int>(element::string) : static_cast<int>(element::int64),
                  Dims{samples_of(node)});
  node.set_output(1, element::float32, Dims{samples_of(node), classes});
}

}  // namespace

void text_like_inputs(NodeContext& node) {
  node.set_output(0, element::string, broadcast_dims(node.dims(0), node.dims(1)));
}

/// As many parts as the text with most parts has.
void split_text(NodeContext& node) {
  std::optional<Dims> dims = node.type(0).dims;
  node.set_output(1, element::int64, dims);
  if (dims) dims->emplace_back();
  node.set_output(0, element::string, dims);
}

/// Words may be left out of a vector, or of the only row.
void normalize_text(NodeContext& node) {
  std::optional<Dims> dims = node.type(0).dims;
  if (dims && !dims->empty()) dims->back().reset();
  node.set_output(0, element::string, dims);
}

void count_words(NodeContext& node) {
  std::optional<Dims> dims = node.type(0).dims;
  if (dims) {
    if (dims->empty() || dims->size() > 2) misfit("the input is of rank ", dims->size(), ", expected 1 or 2");
    const auto places = node.integer_list("ngram_indexes");
    if (!places || places->empty()) misfit("ngram_indexes is missing");
    dims->back() = sum_of(*std::ranges::max_element(*places), 1);
  }
  node.set_output(0, element::float32, dims);
}

void extract_features(NodeContext& node) {
  const Dims* const input = node.dims(0);
  const Dims* const places = node.dims(1);
  std::optional<Dims> result;
  if (input != nullptr && places != nullptr && !input->empty() && !places->empty()) {
    result = *input;
    if (result->size() == 1) result->insert(result->begin(), 1);
    result->back() = product_of(*places, 0, places->size());
  }
  node.set_output(0, node.elem_type(0), result);
}

void reals_like_first(NodeContext& node) { node.set_output(0, element::float32, node.type(0).dims); }

/// Text becomes numbers, and numbers text.
void categories(NodeContext& node) {
  const bool is_text = node.elem_type(0) == element::string;
  node.set_output(0, is_text ? static_cast<int>(element::int64) : static_cast<int>(element::string),
                  node.type(0).dims);
}

/// The type of what labels are replaced by.
void labels(NodeContext& node) {
  int type = 0;
  if (node.has_attribute("values_strings") || node.has_attribute("classes_strings")) type = element::string;
  if (node.has_attribute("classes_strings") && node.elem_type(0) == element::string) type = element::int64;
  if (node.has_attribute("values_int64s")) type = element::int64;
  if (node.has_attribute("values_floats")) type = element::float32;
  if (const auto* const tensor = node.attributes().get<Type>("values_tensor")) type = tensor->elem_type;
  if (type != 0) node.set_output(0, type, node.type(0).dims);
}

void linear_classifier(NodeContext& node) { set_labels(node, "classlabels_strings", "classlabels_ints"); }

/// Without all pairs of classes their count is not that of the scores.
void vector_classifier(NodeContext& node) {
  set_labels(node, "classlabels_strings", "classlabels_ints");
  node.set_output(1, element::float32, Dims{samples_of(node), std::nullopt});
}

void tree_classifier(NodeContext& node) { set_labels(node, "classlabels_strings", "classlabels_int64s"); }

void linear_regressor(NodeContext& node) {
  node.set_output(0, element::float32, Dims{samples_of(node), node.integer("targets", 1)});
}

void vector_regressor(NodeContext& node) { node.set_output(0, element::float32, Dims{samples_of(node), 1}); }

void tree_regressor(NodeContext& node) {
  node.set_output(0, element::float32, Dims{samples_of(node), node.integer("n_targets", 1)});
}

/// The result has the type of the samples.
void trees(NodeContext& node) {
  node.set_output(0, node.elem_type(0), Dims{samples_of(node), node.integer("n_targets", 1)});
}

void categories_to_bits(NodeContext& node) {
  std::optional<Dims> dims = node.type(0).dims;
  Dim count = length_of<Numbers>(node, "cats_int64s");
  if (!count) count = length_of<Texts>(node, "cats_strings");
  if (dims) dims->push_back(count);
  node.set_output(0, element::float32, dims);
}

/// Vectors one after the other, of the lengths that an attribute says.
void joined_features(NodeContext& node) {
  Dim total = 0;
  if (const auto lengths = node.integer_list("inputdimensions")) {
    for (const std::int64_t length : *lengths) total = sum_of(total, Dim(length));
  } else {
    total.reset();
  }
  node.set_output(0, element::float32, Dims{samples_of(node), total});
}

void map_for_each(NodeContext& node) {
  node.set_type(0, type_around(Type::Kind::sequence, {.kind = Type::Kind::map}));
}

}  // namespace stowage::operators::shapes

namespace stowage::operators {

std::span<const Facts> ml_family() {
  static constexpr Facts rows[] = {
      {.onnx = "ai.onnx.ml.CastMap"},
      {.onnx = "ai.onnx.ml.DictVectorizer"},
      {.onnx = "StringConcat", .shape = shapes::text_like_inputs, .inputs = 2},
      {.onnx = "StringNormalizer", .shape = shapes::normalize_text, .inputs = 1},
      {.onnx = "StringSplit", .shape = shapes::split_text, .inputs = 1},
      {.onnx = "TfIdfVectorizer", .shape = shapes::count_words, .inputs = 1},
      {.onnx = "ai.onnx.ml.ArrayFeatureExtractor", .shape = shapes::extract_features, .inputs = 2},
      {.onnx = "ai.onnx.ml.CategoryMapper", .shape = shapes::categories, .inputs = 1},
      {.onnx = "ai.onnx.ml.FeatureVectorizer", .shape = shapes::joined_features, .inputs = 1},
      {.onnx = "ai.onnx.ml.LabelEncoder", .shape = shapes::labels, .inputs = 1},
      {.onnx = "ai.onnx.ml.LinearClassifier", .shape = shapes::linear_classifier, .inputs = 1},
      {.onnx = "ai.onnx.ml.LinearRegressor", .shape = shapes::linear_regressor, .inputs = 1},
      {.onnx = "ai.onnx.ml.Normalizer", .shape = shapes::reals_like_first, .inputs = 1},
      {.onnx = "ai.onnx.ml.OneHotEncoder", .shape = shapes::categories_to_bits, .inputs = 1},
      {.onnx = "ai.onnx.ml.SVMClassifier", .shape = shapes::vector_classifier, .inputs = 1},
      {.onnx = "ai.onnx.ml.SVMRegressor", .shape = shapes::vector_regressor, .inputs = 1},
      {.onnx = "ai.onnx.ml.Scaler", .shape = shapes::reals_like_first, .inputs = 1},
      {.onnx = "ai.onnx.ml.TreeEnsemble", .shape = shapes::trees, .inputs = 1},
      {.onnx = "ai.onnx.ml.TreeEnsembleClassifier", .shape = shapes::tree_classifier, .inputs = 1},
      {.onnx = "ai.onnx.ml.TreeEnsembleRegressor", .shape = shapes::tree_regressor, .inputs = 1},
      {.onnx = "ai.onnx.ml.ZipMap", .shape = shapes::map_for_each, .inputs = 1},
  };
  return rows;
}

}  // namespace stowage::operators
