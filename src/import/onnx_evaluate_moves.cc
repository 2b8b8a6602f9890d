// Concat, Expand, Gather, Slice and Transpose of small known tensors, of any rank: each element of the result is
// one of an input. Exporters of paddings turn pairs around that way (Reshape, Slice with a negative step, Transpose).
//
// Cost: elements * dimensions.

#include <algorithm>
#include <functional>
#include <numeric>

#include "import/onnx_evaluation.h"

namespace stowage::import::evaluation {
namespace {

void append(const Value& from, std::size_t begin, std::size_t count, Value& to) {
  const auto at = static_cast<std::ptrdiff_t>(begin);
  const auto end = static_cast<std::ptrdiff_t>(begin + count);
  if (from.is_real()) {
    to.reals.insert(to.reals.end(), from.reals.begin() + at, from.reals.begin() + end);
  } else {
    to.integers.insert(to.integers.end(), from.integers.begin() + at, from.integers.begin() + end);
  }
}

/// Element by element, from the first input at these indices.
template <typename IndexOf>
bool pick_from_first(Evaluation& it, const IndexOf& index_of) {
  if (!it.has(0) || it.in(0).is_real() != it.result.is_real()) return false;
  for (std::size_t i = 0; i < it.count; ++i) {
    const std::optional<std::size_t> index = index_of(i);
    if (!index || *index >= it.in(0).size()) return false;
    append(it.in(0), *index, 1, it.result);
  }
  return true;
}

/// The number of elements in these dimensions.
std::size_t elements_in(const Shape& shape, std::size_t begin, std::size_t end) {
  std::size_t count = 1;
  for (std::size_t d = begin; d < end; ++d) count *= static_cast<std::size_t>(shape[d]);
  return count;
}

std::optional<std::size_t> axis_in(std::int64_t axis, std::size_t rank) {
  const std::int64_t index = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
  if (index < 0 || index >= static_cast<std::int64_t>(rank)) return std::nullopt;
  return static_cast<std::size_t>(index);
}

/// For each element of the result the place in the input that has this first element, and these steps along the
/// dimensions of the result.
bool pick_along(Evaluation& it, std::int64_t first, const Shape& steps) {
  return pick_from_first(it, [&](std::size_t i) -> std::optional<std::size_t> {
    std::int64_t place = first;
    for (std::size_t d = steps.size(); d-- > 0;) {
      const auto extent = static_cast<std::size_t>(it.result.shape[d]);
      place += static_cast<std::int64_t>(i % extent) * steps[d];
      i /= extent;
    }
    return place < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(place));
  });
}

Shape strides_in(const Shape& shape) {
  Shape strides(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d)
    strides[d] = static_cast<std::int64_t>(elements_in(shape, d + 1, shape.size()));
  return strides;
}

/// The numbers of an operand that is an attribute in older versions; none if they are unknown. `otherwise`: those of
/// an operand that is left out.
std::optional<Shape> numbers_of(const Evaluation& it, std::size_t input, std::string_view name,
                                const Shape& otherwise) {
  if (it.has(input) && !it.in(input).is_real()) return it.in(input).integers;
  if (!it.is_left_out(input)) return std::nullopt;
  const Shape* const attribute = it.numbers(name);
  return attribute != nullptr ? *attribute : otherwise;
}

}  // namespace

bool compute_concat(Evaluation& it) {
  const Shape& shape = it.result.shape;
  const auto axis = axis_in(it.attribute("axis", 0), shape.size());
  if (!axis) return false;
  const std::size_t inner = elements_in(shape, *axis + 1, shape.size());
  const std::size_t outer = elements_in(shape, 0, *axis);
  for (std::size_t i = 0; i < it.inputs.size(); ++i) {
    if (!it.has(i) || it.in(i).shape.size() != shape.size() || it.in(i).is_real() != it.result.is_real())
      return false;
    if (elements_in(it.in(i).shape, 0, *axis) != outer ||
        elements_in(it.in(i).shape, *axis + 1, shape.size()) != inner)
      return false;
  }
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t i = 0; i < it.inputs.size(); ++i) {
      const std::size_t size = it.in(i).size() / outer;
      append(it.in(i), o * size, size, it.result);
    }
  }
  return it.result.size() == it.count;
}

bool compute_expand(Evaluation& it) {
  if (!it.has(0) || !broadcasts_to(it.in(0).shape, it.result.shape)) return false;
  return pick_from_first(
      it, [&](std::size_t i) { return std::optional(broadcast_index(i, it.result.shape, it.in(0).shape)); });
}

bool compute_gather(Evaluation& it) {
  if (!it.has(0) || !it.has(1) || it.in(1).is_real()) return false;
  const Shape& shape = it.in(0).shape;
  const auto axis = axis_in(it.attribute("axis", 0), shape.size());
  if (!axis) return false;
  const auto extent = shape[*axis];
  const std::size_t inner = elements_in(shape, *axis + 1, shape.size());
  const std::size_t indices = it.in(1).size();
  if (elements_in(shape, 0, *axis) * indices * inner != it.count) return false;
  return pick_from_first(it, [&](std::size_t i) -> std::optional<std::size_t> {
    std::int64_t index = it.in(1).integers[i / inner % indices];
    if (index < 0) index += extent;
    if (index < 0 || index >= extent) return std::nullopt;
    const std::size_t outer = i / inner / indices;
    return (outer * static_cast<std::size_t>(extent) + static_cast<std::size_t>(index)) * inner + i % inner;
  });
}

bool compute_slice(Evaluation& it) {
  if (!it.has(0) || it.in(0).shape.size() != it.result.shape.size()) return false;
  const Shape& shape = it.in(0).shape;
  const auto starts = numbers_of(it, 1, "starts", {});
  if (!starts) return false;
  Shape all(starts->size());
  std::iota(all.begin(), all.end(), 0);
  const auto axes = numbers_of(it, 3, "axes", all);
  const auto steps = numbers_of(it, 4, "", Shape(starts->size(), 1));
  if (!axes || !steps || axes->size() != starts->size() || steps->size() != starts->size()) return false;
  const Shape strides = strides_in(shape);
  Shape along = strides;
  std::int64_t first = 0;
  std::vector<bool> is_sliced(shape.size(), false);
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto axis = axis_in((*axes)[i], shape.size());
    const std::int64_t step = (*steps)[i];
    if (!axis || is_sliced[*axis] || step == 0 || step < -most_elements || step > most_elements) return false;
    is_sliced[*axis] = true;
    const std::int64_t size = shape[*axis];
    const std::int64_t extent = it.result.shape[*axis];
    std::int64_t begin = (*starts)[i] < 0 ? std::max((*starts)[i], -size) + size : (*starts)[i];
    begin = std::clamp<std::int64_t>(begin, 0, step > 0 ? size : std::max<std::int64_t>(size - 1, 0));
    const std::int64_t last = begin + (extent - 1) * step;
    if (extent > 0 && (begin >= size || last < 0 || last >= size)) return false;
    first += begin * strides[*axis];
    along[*axis] = strides[*axis] * step;
  }
  return pick_along(it, first, along);
}

bool compute_transpose(Evaluation& it) {
  if (!it.has(0) || it.in(0).shape.size() != it.result.shape.size()) return false;
  const std::size_t rank = it.result.shape.size();
  Shape order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  if (const Shape* const given = it.numbers("perm")) order = *given;
  if (order.size() != rank) return false;
  const Shape strides = strides_in(it.in(0).shape);
  Shape along(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    const auto from = axis_in(order[d], rank);
    if (!from || it.in(0).shape[*from] != it.result.shape[d]) return false;
    along[d] = strides[*from];
  }
  return pick_along(it, 0, along);
}

}  // namespace stowage::import::evaluation
