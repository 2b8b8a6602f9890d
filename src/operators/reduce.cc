// Operators that reduce dimensions, or choose elements along one.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string_view>

#include "operators/families.h"
#include "operators/readings.h"
#include "operators/shapes.h"
#include "operators/tflite_shapes.h"

namespace stowage::operators::shapes {
namespace {

/// Without these axes, or with 1 in their place.
Dims reduced(const Dims& dims, const std::vector<std::size_t>& axes, bool keeps) {
  Dims result;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const bool is_reduced = std::ranges::find(axes, d) != axes.end();
    if (!is_reduced) result.push_back(dims[d]);
    if (is_reduced && keeps) result.emplace_back(1);
  }
  return result;
}

template <typename Elements>
std::int64_t others_than_zero(const Elements& elements) {
  return std::ranges::count_if(elements, [](const auto& element) { return element != 0; });
}

/// How many elements of a known tensor differ from each other.
Dim different_in(const Value* value) {
  if (value == nullptr || std::ranges::any_of(value->reals, [](double real) { return std::isnan(real); }))
    return {};
  const auto count = [](auto elements) {
    std::ranges::sort(elements);
    return std::ranges::unique(elements).begin() - elements.begin();
  };
  return value->is_real() ? count(value->reals) : count(value->integers);
}

/// The result of a reduction over the axes of an attribute or an input; over all, if there are none.
std::optional<Dims> reduction(const NodeContext& node) {
  const Dims* const dims = node.dims(0);
  if (dims == nullptr) return std::nullopt;
  const bool keeps = node.integer("keepdims", 1) != 0;
  auto axes = node.integer_list("axes");
  if (!axes && node.has(1)) {
    axes = node.integers(1);
    if (!axes) return keeps ? std::optional(Dims(dims->size())) : std::nullopt;
  }
  if (!axes || axes->empty()) {
    if (node.integer("noop_with_empty_axes", 0) != 0) return *dims;
    return keeps ? Dims(dims->size(), 1) : Dims();
  }
  return reduced(*dims, axes_in(*axes, dims->size()), keeps);
}

}  // namespace

void reduce(NodeContext& node) { node.set_output(0, node.elem_type(0), reduction(node)); }

/// Axes are an attribute, and the second input is a scale.
void quantized_reduce(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  std::optional<Dims> result;
  if (dims != nullptr) {
    const Shape axes = node.integer_list("axes").value_or(Shape());
    const bool keeps = node.integer("keepdims", 1) != 0;
    result = axes.empty() ? (keeps ? Dims(dims->size(), 1) : Dims())
                          : reduced(*dims, axes_in(axes, dims->size()), keeps);
  }
  node.set_output(0, node.elem_type(0), result);
}

void arg_reduce(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  std::optional<Dims> result;
  if (dims != nullptr)
    result =
        reduced(*dims, {axis_in(node.integer("axis", 0), dims->size())}, node.integer("keepdims", 1) != 0);
  node.set_output(0, element::int64, result);
}

/// Before operator set 10 the count is an attribute.
void top_k(NodeContext& node) {
  std::optional<Dims> dims = node.type(0).dims;
  if (dims) {
    const std::size_t axis = axis_in(node.integer("axis", -1), dims->size());
    Dim count = node.has(1) ? node.scalar(1) : std::nullopt;
    if (node.has_attribute("k")) count = node.integer("k", 0);
    if (count && (*count < 0 || ((*dims)[axis] && *count > *(*dims)[axis])))
      misfit("cannot take ", *count, " elements of an axis");
    (*dims)[axis] = count;
  }
  node.set_output(0, node.elem_type(0), dims);
  node.set_output(1, element::int64, dims);
}

/// Without reduction the loss of each element of the target.
void loss(NodeContext& node) {
  std::optional<Dims> dims;
  if (node.text("reduction", "mean") != "none") {
    dims = Dims();
  } else {
    dims = node.type(1).dims;
  }
  node.set_output(0, node.elem_type(0), dims);
  node.set_type(1, node.type(0));  // of a cross entropy: logarithms of probabilities
}

/// Vectors whose length depends on data.
void unique(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  const bool has_axis = node.has_attribute("axis");
  std::optional<Dims> values;
  Dim count;
  Dim different;
  if (!has_axis) {
    if (dims != nullptr) count = product_of(*dims, 0, dims->size());
    different = different_in(node.value(0));
    values = Dims{different};
  } else if (dims != nullptr) {
    const std::size_t axis = axis_in(node.integer("axis", 0), dims->size());
    values = *dims;
    count = (*dims)[axis];
    (*values)[axis].reset();
  }
  node.set_output(0, node.elem_type(0), values);
  node.set_output(1, element::int64, Dims{different});
  node.set_output(2, element::int64, Dims{count});
  node.set_output(3, element::int64, Dims{different});
}

void compress(NodeContext& node) {
  std::optional<Dims> dims = node.type(0).dims;
  Dim count;
  if (const auto condition = node.integers(1))
    count = std::ranges::count_if(*condition, [](std::int64_t it) { return it != 0; });
  if (!node.has_attribute("axis")) {
    dims = Dims{count};
  } else if (dims) {
    (*dims)[axis_in(node.integer("axis", 0), dims->size())] = count;
  }
  node.set_output(0, node.elem_type(0), dims);
}

void non_zero(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  Dims result(2);
  if (dims != nullptr) result[0] = static_cast<std::int64_t>(dims->size());
  if (const Value* const value = node.value(0))
    result[1] = value->is_real() ? others_than_zero(value->reals) : others_than_zero(value->integers);
  node.set_output(0, element::int64, result);
}

/// Batch, class and box of each that is kept.
void non_max_suppression(NodeContext& node) { node.set_output(0, element::int64, Dims{std::nullopt, 3}); }

void shape_query(NodeContext& node) {
  Dims result(1);
  if (const Dims* const dims = node.dims(0)) {
    const auto rank = static_cast<std::int64_t>(dims->size());
    const auto clamped = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? std::max(at, -rank) + rank : at, 0, rank);
    };
    result[0] =
        std::max<std::int64_t>(clamped(node.integer("end", rank)) - clamped(node.integer("start", 0)), 0);
  }
  node.set_output(0, element::int64, result);
}

void whole_number(NodeContext& node) { node.set_shape(0, element::int64, {}); }

void truth(NodeContext& node) { node.set_shape(0, element::boolean, {}); }

}  // namespace stowage::operators::shapes

namespace stowage::operators {
namespace {

/// All axes behind the channels.
std::optional<std::vector<std::size_t>> plane_axes(const Site& site) {
  std::vector<std::size_t> axes;
  for (std::size_t d = 2; d < site.input_shape(0).size(); ++d) axes.push_back(d);
  return axes;
}

std::optional<std::vector<std::size_t>> positive_axes(const Shape& told, std::size_t rank) {
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : told) {
    const auto positive = from_end(axis, rank);
    if (!positive) return std::nullopt;
    axes.push_back(*positive);
  }
  return axes;
}

std::vector<std::size_t> all_axes(std::size_t rank) {
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return axes;
}

std::optional<std::vector<std::size_t>> listed_axes(const Site& site) {
  const std::size_t rank = site.input_shape(0).size();
  const bool is_told = site.attributes().has("axes") || site.has_input(1);
  const auto told = site.integers("axes", 1);
  if (is_told && !told) return std::nullopt;
  if (told && !told->empty()) return positive_axes(*told, rank);
  const bool is_nothing = site.is_tflite() || site.attributes().integer("noop_with_empty_axes", 0) != 0;
  return is_nothing ? std::vector<std::size_t>() : all_axes(rank);
}

/// Those of the attribute alone; all if it is left out.
std::optional<std::vector<std::size_t>> named_axes(const Site& site) {
  const std::size_t rank = site.input_shape(0).size();
  const Shape told = site.attributes().integers("axes", {});
  return told.empty() ? all_axes(rank) : positive_axes(told, rank);
}

/// Sums of integers that wrap around are the same in the end.
std::vector<std::size_t> sums_of_all(const Site& site) {
  if (site.op().stateful) return {};
  return site.facts().reduces(site).value_or(std::vector<std::size_t>());
}

/// Bytes are summed up only over axes behind all others.
std::vector<std::size_t> sums_of_last_axes(const Site& site) {
  std::vector<std::size_t> axes = sums_of_all(site);
  std::ranges::sort(axes);
  const bool are_last = !axes.empty() && axes.front() + axes.size() == site.input_shape(0).size();
  return are_last ? axes : std::vector<std::size_t>();
}

/// What is made of sums of integers that wrap around is not the same.
std::vector<std::size_t> sums_of_reals(const Site& site) {
  constexpr std::array real{DType::float16, DType::bfloat16, DType::float32, DType::float64};
  const bool is_real = std::ranges::find(real, site.input(0)->dtype) != real.end();
  return is_real ? sums_of_all(site) : std::vector<std::size_t>();
}

constexpr Facts tflite_reduction(std::string_view name) {
  return {.tflite = name,
          .shape = tflite_shapes::reduce,
          .rows = reduction,
          .reduces = listed_axes,
          .sums = sums_of_all};
}

}  // namespace

std::span<const Facts> reduce_family() {
  static constexpr Facts rows[] = {
      {.onnx = "ArgMax", .shape = shapes::arg_reduce, .inputs = 1, .rows = place_of_extreme},
      {.onnx = "ArgMin", .shape = shapes::arg_reduce, .inputs = 1, .rows = place_of_extreme},
      {.onnx = "Compress", .shape = shapes::compress, .inputs = 2},
      {.onnx = "CumProd", .shape = shapes::like_first, .inputs = 2},
      {.onnx = "CumSum", .shape = shapes::like_first, .inputs = 2, .rows = ordered},
      {.onnx = "GlobalAveragePool",
       .shape = shapes::global_pool,
       .inputs = 1,
       .rows = reduction,
       .windows = {.axis = 2},
       .reduces = plane_axes,
       .sums = sums_of_all},
      {.onnx = "GlobalLpPool", .shape = shapes::global_pool, .inputs = 1},
      {.onnx = "GlobalMaxPool",
       .shape = shapes::global_pool,
       .inputs = 1,
       .rows = reduction,
       .windows = {.axis = 2},
       .reduces = plane_axes,
       .sums = sums_of_all},
      {.onnx = "NegativeLogLikelihoodLoss", .shape = shapes::loss, .inputs = 2},
      {.onnx = "NonMaxSuppression", .shape = shapes::non_max_suppression, .inputs = 2},
      {.onnx = "NonZero", .shape = shapes::non_zero, .inputs = 1},
      {.onnx = "ReduceL1",
       .shape = shapes::reduce,
       .inputs = 1,
       .rows = reduction,
       .reduces = listed_axes,
       .sums = sums_of_all},
      {.onnx = "ReduceL2",
       .shape = shapes::reduce,
       .inputs = 1,
       .rows = reduction,
       .reduces = listed_axes,
       .sums = sums_of_reals},
      {.onnx = "ReduceLogSum",
       .shape = shapes::reduce,
       .inputs = 1,
       .rows = reduction,
       .reduces = listed_axes,
       .sums = sums_of_reals},
      {.onnx = "ReduceLogSumExp",
       .shape = shapes::reduce,
       .inputs = 1,
       .rows = reduction,
       .reduces = listed_axes,
       .sums = sums_of_reals},
      {.onnx = "ReduceMax",
       .shape = shapes::reduce,
       .inputs = 1,
       .rows = reduction,
       .reduces = listed_axes,
       .sums = sums_of_all},
      {.onnx = "ReduceMean",
       .shape = shapes::reduce,
       .inputs = 1,
       .rows = reduction,
       .reduces = listed_axes,
       .sums = sums_of_reals},
      {.onnx = "ReduceMin",
       .shape = shapes::reduce,
       .inputs = 1,
       .rows = reduction,
       .reduces = listed_axes,
       .sums = sums_of_all},
      {.onnx = "ReduceProd",
       .shape = shapes::reduce,
       .inputs = 1,
       .rows = reduction,
       .reduces = listed_axes,
       .sums = sums_of_all},
      {.onnx = "ReduceSum",
       .shape = shapes::reduce,
       .inputs = 1,
       .rows = reduction,
       .reduces = listed_axes,
       .sums = sums_of_all},
      {.onnx = "ReduceSumSquare",
       .shape = shapes::reduce,
       .inputs = 1,
       .rows = reduction,
       .reduces = listed_axes,
       .sums = sums_of_all},
      {.onnx = "Shape", .tflite = "SHAPE", .shape = shapes::shape_query, .inputs = 1},
      {.onnx = "Size", .shape = shapes::whole_number, .inputs = 1},
      {.onnx = "SoftmaxCrossEntropyLoss", .shape = shapes::loss, .inputs = 2},
      {.onnx = "TopK", .shape = shapes::top_k, .inputs = 1, .rows = greatest},
      {.onnx = "Unique", .shape = shapes::unique, .inputs = 1},
      {.onnx = "com.microsoft.QLinearGlobalAveragePool",
       .shape = shapes::global_pool,
       .inputs = 1,
       .rows = reduction,
       .reduces = plane_axes,
       .sums = sums_of_all},
      {.onnx = "com.microsoft.QLinearReduceMean",
       .shape = shapes::quantized_reduce,
       .inputs = 1,
       .rows = reduction,
       .reduces = named_axes,
       .sums = sums_of_last_axes},
      {.onnx = "com.microsoft.Unique", .shape = shapes::unique, .inputs = 1},
      {.tflite = "ARG_MAX", .shape = tflite_shapes::arg_reduce, .rows = place_of_extreme},
      {.tflite = "ARG_MIN", .shape = tflite_shapes::arg_reduce, .rows = place_of_extreme},
      {.tflite = "CUMSUM", .shape = shapes::like_first, .rows = ordered},
      tflite_reduction("MEAN"),
      {.tflite = "NON_MAX_SUPPRESSION_V4", .shape = tflite_shapes::non_max_suppression},
      {.tflite = "NON_MAX_SUPPRESSION_V5", .shape = tflite_shapes::non_max_suppression},
      {.tflite = "RANK", .shape = shapes::whole_number},
      {.tflite = "REDUCE_ALL", .shape = tflite_shapes::reduce},
      {.tflite = "REDUCE_ANY", .shape = tflite_shapes::reduce},
      tflite_reduction("REDUCE_MAX"),
      tflite_reduction("REDUCE_MIN"),
      {.tflite = "REDUCE_PROD", .shape = tflite_shapes::reduce},
      tflite_reduction("SUM"),
      {.tflite = "TOPK_V2", .shape = shapes::top_k},
      {.tflite = "UNIQUE", .shape = tflite_shapes::unique},
      {.tflite = "WHERE", .shape = tflite_shapes::where},
  };
  return rows;
}

}  // namespace stowage::operators
