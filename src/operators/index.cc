// Operators that read at indices, and those that make tensors.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "operators/copy_rules.h"
#include "operators/families.h"
#include "operators/readings.h"
#include "operators/shapes.h"
#include "operators/tflite_shapes.h"

namespace stowage::operators::shapes {
namespace {

/// The longest shape that an operator makes of a vector whose elements are not known.
constexpr std::int64_t most_dimensions = 64;

/// Throws Misfit if a known index is none of an axis, counted from either end. `index` is one of each `apart`.
void expect_indices(const NodeContext& node, const Dim& size, std::size_t index = 0, std::size_t apart = 1) {
  const auto indices = node.integers(1);
  if (!indices || !size || !node.always_runs()) return;
  for (std::size_t i = index; i < indices->size(); i += apart) {
    if ((*indices)[i] < -*size || (*indices)[i] >= *size)
      misfit("index is ", (*indices)[i], ", expected one of ", *size, " elements");
  }
}

/// Throws Misfit if updates certainly have other dimensions.
void expect_updates(const Dims& updates, const Dims& wanted) {
  if (wanted.size() != updates.size())
    misfit("the updates are of rank ", updates.size(), ", expected ", wanted.size());
  for (std::size_t d = 0; d < wanted.size(); ++d) {
    const Dim& given = updates[d];
    if (given && wanted[d] && *given != *wanted[d])
      misfit("dimension ", d, " of the updates has ", *given, ", expected ", *wanted[d]);
  }
}

}  // namespace

/// Updates have the dimensions of the indices but the last, then those of the data that no index names.
void scatter_blocks(NodeContext& node) {
  like_first(node);
  const Dims* const data = node.dims(0);
  const Dims* const indices = node.dims(1);
  const Dims* const updates = node.dims(2);
  if (data == nullptr || indices == nullptr || updates == nullptr || !node.always_runs()) return;
  if (indices->empty() || !indices->back()) return;
  const auto named = static_cast<std::size_t>(*indices->back());
  if (named > data->size())
    misfit("an index has ", named, " numbers, but the data ", data->size(), " dimensions");
  Dims wanted(indices->begin(), indices->end() - 1);
  wanted.insert(wanted.end(), data->begin() + static_cast<std::ptrdiff_t>(named), data->end());
  expect_updates(*updates, wanted);
  for (std::size_t d = 0; d < named; ++d) expect_indices(node, (*data)[d], d, named);
}

/// Updates have the shape of the indices, which are along one axis of the data.
void scatter_elements(NodeContext& node) {
  like_first(node);
  const Dims* const data = node.dims(0);
  const Dims* const indices = node.dims(1);
  const Dims* const updates = node.dims(2);
  if (data == nullptr || indices == nullptr || !node.always_runs()) return;
  if (indices->size() != data->size())
    misfit("the indices are of rank ", indices->size(), ", expected ", data->size());
  expect_indices(node, (*data)[axis_in(node.integer("axis", 0), data->size())]);
  if (updates != nullptr) expect_updates(*updates, *indices);
}

/// TFLite's may have dimensions of a batch in front, which data and indices share.
void gather(NodeContext& node) {
  const Dims* const data = node.dims(0);
  const Dims* const indices = node.dims(1);
  std::optional<Dims> result;
  if (data != nullptr && indices != nullptr) {
    const auto axis = static_cast<std::ptrdiff_t>(axis_in(node.integer("axis", 0), data->size()));
    expect_indices(node, (*data)[static_cast<std::size_t>(axis)]);
    std::int64_t batches = node.integer("batch_dims", 0);
    if (batches < 0) batches += std::ssize(*indices);
    if (batches < 0 || batches > std::ssize(*indices) || batches > axis)
      misfit("there are ", batches, " batch dimensions before axis ", axis);
    result.emplace(data->begin(), data->begin() + axis);
    result->insert(result->end(), indices->begin() + static_cast<std::ptrdiff_t>(batches), indices->end());
    result->insert(result->end(), data->begin() + axis + 1, data->end());
  }
  node.set_output(0, node.elem_type(0), result);
}

/// Quantized blocks of data; the scales have the type of the result.
void gather_blocks(NodeContext& node) {
  const Dims* const data = node.dims(0);
  const Dims* const indices = node.dims(1);
  std::optional<Dims> result;
  if (data != nullptr && indices != nullptr) {
    Dims unpacked = *data;
    // A byte has two elements of four bits.
    if (node.elem_type(0) == element::uint8 && node.integer("bits", 4) == 4 && !unpacked.empty())
      unpacked.back() = product_of(unpacked.back(), Dim(2));
    const auto axis = static_cast<std::ptrdiff_t>(axis_in(node.integer("gather_axis", 0), data->size()));
    result.emplace(unpacked.begin(), unpacked.begin() + axis);
    result->insert(result->end(), indices->begin(), indices->end());
    result->insert(result->end(), unpacked.begin() + axis + 1, unpacked.end());
  }
  node.set_output(0, node.elem_type(2), result);
}

void gather_elements(NodeContext& node) {
  if (const Dims* const data = node.dims(0))
    expect_indices(node, (*data)[axis_in(node.integer("axis", 0), data->size())]);
  node.set_output(0, node.elem_type(0), node.type(1).dims);
}

/// The last dimension of the indices is the number of data dimensions that one index selects.
void gather_slices(NodeContext& node) {
  const Dims* const data = node.dims(0);
  const Dims* const indices = node.dims(1);
  std::optional<Dims> result;
  if (data != nullptr && indices != nullptr) {
    const std::int64_t batch = node.integer("batch_dims", 0);
    const auto rank = std::ssize(*data);
    if (indices->empty() || batch < 0 || batch >= std::min(rank, std::ssize(*indices)))
      misfit("the indices do not fit data of rank ", rank);
    if (const Dim& length = indices->back()) {
      if (*length < 0 || *length > rank - batch) misfit("the indices do not fit data of rank ", rank);
      for (std::size_t d = 0; d < static_cast<std::size_t>(*length); ++d)
        expect_indices(node, (*data)[static_cast<std::size_t>(batch) + d], d,
                       static_cast<std::size_t>(*length));
      result.emplace(indices->begin(), indices->end() - 1);
      result->insert(result->end(), data->begin() + static_cast<std::ptrdiff_t>(batch + *length),
                     data->end());
    }
  }
  node.set_output(0, node.elem_type(0), result);
}

void one_hot(NodeContext& node) {
  std::optional<Dims> dims = node.type(0).dims;
  Dim depth = node.scalar(1);
  if (const auto real = node.reals(1); real && real->size() == 1) {
    if (!(real->front() >= 0 && real->front() < static_cast<double>(largest_value)))
      misfit("depth is ", real->front());
    depth = static_cast<std::int64_t>(real->front());
  }
  if (dims) {
    const std::size_t axis = axis_in(node.integer("axis", -1), dims->size() + 1);
    dims->insert(dims->begin() + static_cast<std::ptrdiff_t>(axis), depth);
  }
  node.set_output(0, node.elem_type(2), dims);
}

/// The element that has the type and shape of an attribute.
void constant(NodeContext& node) {
  for (const auto& [name, value] : node.attributes().all()) {
    if (const auto* const tensor = std::get_if<Type>(&value)) {
      node.set_type(0, *tensor);
    } else if (std::holds_alternative<std::int64_t>(value)) {
      node.set_shape(0, element::int64, {});
    } else if (std::holds_alternative<float>(value)) {
      node.set_shape(0, element::float32, {});
    } else if (std::holds_alternative<std::string_view>(value)) {
      node.set_shape(0, element::string, {});
    } else if (const auto* const integers = std::get_if<std::span<const std::int64_t>>(&value)) {
      node.set_shape(0, element::int64, {std::ssize(*integers)});
    } else if (const auto* const reals = std::get_if<std::span<const float>>(&value)) {
      node.set_shape(0, element::float32, {std::ssize(*reals)});
    } else if (const auto* const texts = std::get_if<std::span<const std::string_view>>(&value)) {
      node.set_shape(0, element::string, {std::ssize(*texts)});
    }
  }
}

void constant_of_shape(NodeContext& node) {
  int elem_type = element::float32;
  if (const auto* const tensor = node.attributes().get<Type>("value")) elem_type = tensor->elem_type;
  std::optional<Dims> result;
  const Dims* const dims = node.dims(0);
  if (const auto shape = node.integers(0)) {
    for (const std::int64_t size : *shape) {
      if (size < 0) misfit("the shape has dimension ", size);
    }
    result.emplace(shape->begin(), shape->end());
  } else if (dims != nullptr && dims->size() == 1 && dims->front() && *dims->front() >= 0 &&
             *dims->front() <= most_dimensions) {
    result.emplace(static_cast<std::size_t>(*dims->front()));
  }
  node.set_output(0, elem_type, result);
}

void eye_like(NodeContext& node) {
  const auto type = static_cast<int>(node.integer("dtype", node.elem_type(0)));
  node.set_output(0, type, node.type(0).dims);
}

void random(NodeContext& node) {
  const auto shape = node.integer_list("shape");
  const auto type = static_cast<int>(node.integer("dtype", element::float32));
  if (shape) {
    node.set_shape(0, type, *shape);
  } else {
    node.set_output(0, type, std::nullopt);
  }
}

void multinomial(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  Dims result(2);
  if (dims != nullptr) {
    if (dims->size() != 2) misfit("the input is of rank ", dims->size(), ", not 2");
    result[0] = dims->front();
  }
  result[1] = node.integer("sample_size", 1);
  node.set_output(0, static_cast<int>(node.integer("dtype", element::int32)), result);
}

/// max(ceil((limit - start) / delta), 0) numbers.
void range(NodeContext& node) {
  Dim count;
  const Dim start = node.scalar(0);
  const Dim limit = node.scalar(1);
  const Dim delta = node.scalar(2);
  const auto real = [&](std::size_t input) -> std::optional<double> {
    const auto reals = node.reals(input);
    return reals && reals->size() == 1 ? std::optional(reals->front()) : std::nullopt;
  };
  if (start && limit && delta) {
    if (*delta == 0) misfit("the step is 0");
    if (*delta > largest_value || *delta < -largest_value || *start < -largest_value)
      misfit("the step or the start is too large");
    const std::int64_t distance = sum_of(*limit, -*start);
    const bool is_forward = (distance > 0) == (*delta > 0);
    count = !is_forward || distance == 0 ? 0 : distance / *delta + (distance % *delta == 0 ? 0 : 1);
  } else if (real(0) && real(1) && real(2)) {
    const double exact = std::ceil((*real(1) - *real(0)) / *real(2));
    if (!(exact < static_cast<double>(largest_value))) misfit("the range has no end");
    count = exact > 0 ? static_cast<std::int64_t>(exact) : 0;
  }
  node.set_output(0, node.elem_type(0), Dims{count});
}

/// Throws Misfit if a dimension does not consist of whole blocks.
void expect_blocks(const NodeContext& node, const Dim& size, std::int64_t block) {
  if (node.always_runs() && size && *size % block != 0) misfit(*size, " is no multiple of ", block);
}

/// `change(dims, block)` is given the dimensions of a batch of images.
template <typename Change>
void between_depth_and_space(NodeContext& node, Change change) {
  std::optional<Dims> result;
  if (const Dims* const dims = node.dims(0)) {
    const std::int64_t block = node.integer("blocksize", 0);
    if (dims->size() != 4) misfit("the input is of rank ", dims->size(), ", not 4");
    if (block <= 0) misfit("blocksize is ", block, ", expected at least 1");
    result = *dims;
    change(*result, block);
  }
  node.set_output(0, node.elem_type(0), result);
}

void depth_to_space(NodeContext& node) {
  between_depth_and_space(node, [&](Dims& dims, std::int64_t block) {
    expect_blocks(node, dims[1], product_of(block, block));
    if (dims[1]) dims[1] = *dims[1] / product_of(block, block);
    dims[2] = product_of(dims[2], Dim(block));
    dims[3] = product_of(dims[3], Dim(block));
  });
}

void space_to_depth(NodeContext& node) {
  between_depth_and_space(node, [&](Dims& dims, std::int64_t block) {
    for (const std::size_t d : {2U, 3U}) expect_blocks(node, dims[d], block);
    dims[1] = product_of(dims[1], Dim(product_of(block, block)));
    if (dims[2]) dims[2] = *dims[2] / block;
    if (dims[3]) dims[3] = *dims[3] / block;
  });
}

/// A matrix for each pair in the last two dimensions.
void determinant(NodeContext& node) {
  std::optional<Dims> dims = node.type(0).dims;
  if (dims) {
    if (dims->size() < 2) misfit("the input is of rank ", dims->size(), ", not a matrix");
    dims->resize(dims->size() - 2);
  }
  node.set_output(0, node.elem_type(0), dims);
}

}  // namespace stowage::operators::shapes

namespace stowage::operators {
namespace {

/// The output has the dimensions of the data, but in place of one those of the indices. Along dimensions of the data,
/// and of a batch, rows are those of the data. Along those of the indices, each row has indices of its own and may read
/// all of the data: an embedding of its table, a frame of its signal.
Reading gather(const Site& site, std::size_t input, std::size_t axis) {
  const auto gathered = axis_attribute(site, 0, site.input_shape(0).size());
  const std::size_t indices = site.input_shape(1).size();
  const auto batches = static_cast<std::size_t>(site.attributes().integer("batch_dims", 0));
  if (!gathered || batches > indices) return all();
  const std::size_t behind = *gathered + indices - batches;
  const bool is_along = axis >= *gathered && axis < behind;
  if (input != 0 && is_along) return same_row(axis - *gathered + batches);
  if (input != 0) return axis < batches ? same_row(axis) : shared();
  return is_along ? shared() : same_row(axis < *gathered ? axis : axis + 1 + *gathered - behind);
}

}  // namespace

std::span<const Facts> index_family() {
  static constexpr Facts rows[] = {
      {.onnx = "Bernoulli", .shape = shapes::eye_like, .inputs = 1},
      {.onnx = "Constant", .shape = shapes::constant},
      {.onnx = "ConstantOfShape", .shape = shapes::constant_of_shape, .inputs = 1},
      {.onnx = "EyeLike", .shape = shapes::eye_like, .inputs = 1},
      {.onnx = "Gather", .shape = shapes::gather, .inputs = 2, .copies = copies::gather, .rows = gather},
      {.onnx = "GatherElements", .shape = shapes::gather_elements, .inputs = 2},
      {.onnx = "GatherND", .tflite = "GATHER_ND", .shape = shapes::gather_slices, .inputs = 2},
      {.onnx = "Multinomial", .shape = shapes::multinomial, .inputs = 1},
      {.onnx = "OneHot", .tflite = "ONE_HOT", .shape = shapes::one_hot, .inputs = 3},
      {.onnx = "RandomNormal", .shape = shapes::random},
      {.onnx = "RandomNormalLike", .shape = shapes::eye_like, .inputs = 1},
      {.onnx = "RandomUniform", .shape = shapes::random},
      {.onnx = "RandomUniformLike", .shape = shapes::eye_like, .inputs = 1},
      {.onnx = "Range", .shape = shapes::range, .inputs = 3},
      {.onnx = "Scatter", .shape = shapes::scatter_elements, .inputs = 3, .in_place = InPlace::first},
      {.onnx = "ScatterElements", .shape = shapes::scatter_elements, .inputs = 3, .in_place = InPlace::first},
      {.onnx = "ScatterND", .shape = shapes::scatter_blocks, .inputs = 3, .in_place = InPlace::first},
      {.onnx = "TensorScatter", .shape = shapes::like_first, .inputs = 2, .in_place = InPlace::first},
      {.onnx = "com.microsoft.Gather", .shape = shapes::gather, .inputs = 2},
      {.onnx = "com.microsoft.GatherBlockQuantized", .shape = shapes::gather_blocks, .inputs = 3},
      {.onnx = "com.microsoft.GatherND", .shape = shapes::gather_slices, .inputs = 2},
      {.onnx = "com.microsoft.Range", .shape = shapes::range, .inputs = 3},
      {.tflite = "BUCKETIZE", .shape = shapes::like_first},
      {.tflite = "DYNAMIC_UPDATE_SLICE", .shape = shapes::like_first, .in_place = InPlace::first},
      {.tflite = "EMBEDDING_LOOKUP", .shape = tflite_shapes::embedding_lookup},
      {.tflite = "FILL", .shape = tflite_shapes::shaped_by_first},
      {.tflite = "GATHER", .shape = shapes::gather, .copies = copies::gather_one, .rows = gather},
      {.tflite = "HASHTABLE_FIND", .shape = shapes::like_second},
      {.tflite = "HASHTABLE_LOOKUP", .shape = tflite_shapes::hashtable_lookup},
      {.tflite = "HASHTABLE_SIZE", .shape = tflite_shapes::hashtable_size},
      {.tflite = "MATRIX_DIAG", .shape = tflite_shapes::matrix_diagonal},
      {.tflite = "MULTINOMIAL", .shape = tflite_shapes::multinomial},
      {.tflite = "RANDOM_STANDARD_NORMAL", .shape = tflite_shapes::shaped_by_first},
      {.tflite = "RANDOM_UNIFORM", .shape = tflite_shapes::shaped_by_first},
      {.tflite = "RANGE", .shape = tflite_shapes::range},
      {.tflite = "SCATTER_ND", .shape = tflite_shapes::shaped_by_third},
      {.tflite = "SEGMENT_SUM", .shape = tflite_shapes::segment_sum},
      {.tflite = "SPARSE_TO_DENSE", .shape = tflite_shapes::shaped_by_second},
      {.tflite = "TFLite_Detection_PostProcess", .shape = tflite_shapes::detections, .is_custom = true},
      {.tflite = "UNSORTED_SEGMENT_MAX", .shape = tflite_shapes::unsorted_segment},
      {.tflite = "UNSORTED_SEGMENT_MIN", .shape = tflite_shapes::unsorted_segment},
      {.tflite = "UNSORTED_SEGMENT_PROD", .shape = tflite_shapes::unsorted_segment},
      {.tflite = "UNSORTED_SEGMENT_SUM", .shape = tflite_shapes::unsorted_segment},
  };
  return rows;
}

}  // namespace stowage::operators
