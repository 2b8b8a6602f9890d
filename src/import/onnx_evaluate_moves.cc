// Concat, Expand, Gather, Pad, ScatterElements, Slice, Split, Tile, Transpose and their like, of small known tensors
// of any rank: each element of the result is one of an input. Exporters of paddings turn pairs around that way
// (Reshape, Slice with a negative step, Transpose).
//
// Cost: elements * dimensions.

#include <algorithm>
#include <functional>
#include <numeric>

#include "import/onnx_evaluate.h"
#include "import/onnx_evaluation.h"

namespace stowage::import::evaluation {

void append(const Value& from, std::size_t begin, std::size_t count, Value& to) {
  const auto at = static_cast<std::ptrdiff_t>(begin);
  const auto end = static_cast<std::ptrdiff_t>(begin + count);
  if (from.is_real()) {
    to.reals.insert(to.reals.end(), from.reals.begin() + at, from.reals.begin() + end);
  } else {
    to.integers.insert(to.integers.end(), from.integers.begin() + at, from.integers.begin() + end);
  }
}

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

namespace {

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

/// Where ScatterElements writes and GatherElements reads for an element of the indices.
std::optional<std::size_t> place_on_axis(const Evaluation& it, std::size_t element, std::size_t axis,
                                         const Shape& shape, const Shape& strides) {
  const Shape& indices = it.in(1).shape;
  std::size_t i = element;
  std::int64_t place = 0;
  for (std::size_t d = shape.size(); d-- > 0;) {
    const auto extent = static_cast<std::size_t>(indices[d]);
    std::int64_t at = static_cast<std::int64_t>(i % extent);
    i /= extent;
    if (d == axis) at = it.in(1).integers[element];
    if (d == axis && at < 0) at += shape[d];
    if (at < 0 || at >= shape[d]) return std::nullopt;
    place += at * strides[d];
  }
  return static_cast<std::size_t>(place);
}

/// The slice of the first input that an index of so many numbers selects.
std::optional<std::size_t> place_of_slice(const Evaluation& it, std::size_t index, std::size_t length,
                                          const Shape& shape) {
  std::size_t place = 0;
  for (std::size_t d = 0; d < length; ++d) {
    std::int64_t at = it.in(1).integers[index * length + d];
    if (at < 0) at += shape[d];
    if (at < 0 || at >= shape[d]) return std::nullopt;
    place = place * static_cast<std::size_t>(shape[d]) + static_cast<std::size_t>(at);
  }
  return place;
}

/// A scatter that writes elements, and does not combine them, begins with a copy of its first input.
bool begins_as_first(Evaluation& it) {
  if (!it.has(0) || !it.has(1) || it.in(1).is_real() || it.in(0).is_real() != it.result.is_real() ||
      it.in(0).size() != it.count || it.text("reduction", "none") != "none")
    return false;
  append(it.in(0), 0, it.count, it.result);
  return true;
}

void put(Evaluation& it, std::size_t place, const Value& from, std::size_t i) {
  if (it.result.is_real()) {
    it.result.reals[place] = from.reals[i];
  } else {
    it.result.integers[place] = from.integers[i];
  }
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

bool compute_gather_elements(Evaluation& it) {
  if (!it.has(0) || !it.has(1) || it.in(1).is_real()) return false;
  const Shape& shape = it.in(0).shape;
  const auto axis = axis_in(it.attribute("axis", 0), shape.size());
  if (!axis || it.in(1).shape.size() != shape.size() || it.in(1).size() != it.count) return false;
  const Shape strides = strides_in(shape);
  return pick_from_first(it, [&](std::size_t i) { return place_on_axis(it, i, *axis, shape, strides); });
}

/// Without batch dimensions.
bool compute_gather_slices(Evaluation& it) {
  if (!it.has(0) || !it.has(1) || it.in(1).is_real() || it.attribute("batch_dims", 0) != 0) return false;
  const Shape& shape = it.in(0).shape;
  if (it.in(1).shape.empty()) return false;
  const auto length = static_cast<std::size_t>(it.in(1).shape.back());
  if (length > shape.size() || length == 0) return false;
  const std::size_t inner = elements_in(shape, length, shape.size());
  if (it.in(1).size() / length * inner != it.count) return false;
  return pick_from_first(it, [&](std::size_t i) -> std::optional<std::size_t> {
    const auto place = place_of_slice(it, i / inner, length, shape);
    return place ? std::optional(*place * inner + i % inner) : std::nullopt;
  });
}

bool compute_scatter_elements(Evaluation& it) {
  if (!begins_as_first(it) || !it.has(2) || it.in(2).is_real() != it.result.is_real()) return false;
  const Shape& shape = it.in(0).shape;
  const auto axis = axis_in(it.attribute("axis", 0), shape.size());
  if (!axis || it.in(1).shape.size() != shape.size() || it.in(2).shape != it.in(1).shape) return false;
  const Shape strides = strides_in(shape);
  for (std::size_t i = 0; i < it.in(1).size(); ++i) {
    const auto place = place_on_axis(it, i, *axis, shape, strides);
    if (!place) return false;
    put(it, *place, it.in(2), i);
  }
  return true;
}

bool compute_scatter_slices(Evaluation& it) {
  if (!begins_as_first(it) || !it.has(2) || it.in(2).is_real() != it.result.is_real()) return false;
  const Shape& shape = it.in(0).shape;
  if (it.in(1).shape.empty()) return false;
  const auto length = static_cast<std::size_t>(it.in(1).shape.back());
  if (length > shape.size() || length == 0) return false;
  const std::size_t inner = elements_in(shape, length, shape.size());
  if (it.in(1).size() / length * inner != it.in(2).size()) return false;
  for (std::size_t i = 0; i < it.in(2).size(); ++i) {
    const auto place = place_of_slice(it, i / inner, length, shape);
    if (!place) return false;
    put(it, *place * inner + i % inner, it.in(2), i);
  }
  return true;
}

/// With a constant around the input. Since operator set 11 it is an operand, as the pads are.
bool compute_pad(Evaluation& it) {
  if (!it.has(0) || it.is_left_out(1) || it.in(0).is_real() != it.result.is_real() ||
      it.text("mode", "constant") != "constant")
    return false;
  const Shape& shape = it.in(0).shape;
  const auto pads = numbers_of(it, 1, "", {});
  const auto is_far = [](std::int64_t pad) { return pad < -most_elements || pad > most_elements; };
  if (!pads || std::ranges::any_of(*pads, is_far) || !it.is_left_out(3) || pads->size() != 2 * shape.size() ||
      it.result.shape.size() != shape.size() || (!it.is_left_out(2) && !it.has(2)))
    return false;
  Value fill{.elem_type = it.result.elem_type, .shape = {}, .integers = {0}, .reals = {}};
  if (it.result.is_real()) fill = {fill.elem_type, {}, {}, {0.0}};
  if (it.has(2)) fill = it.in(2);
  if (fill.size() != 1 || fill.is_real() != it.result.is_real()) return false;
  const Shape strides = strides_in(shape);
  for (std::size_t i = 0; i < it.count; ++i) {
    std::int64_t place = 0;
    bool is_inside = true;
    std::size_t rest = i;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const auto extent = static_cast<std::size_t>(it.result.shape[d]);
      const std::int64_t at = static_cast<std::int64_t>(rest % extent) - (*pads)[d];
      rest /= extent;
      is_inside = is_inside && at >= 0 && at < shape[d];
      place += at * strides[d];
    }
    if (is_inside) {
      append(it.in(0), static_cast<std::size_t>(place), 1, it.result);
    } else {
      append(fill, 0, 1, it.result);
    }
  }
  return true;
}

bool compute_tile(Evaluation& it) {
  if (!it.has(0) || it.in(0).shape.size() != it.result.shape.size() || it.in(0).size() == 0) return false;
  const Shape& shape = it.in(0).shape;
  const Shape strides = strides_in(shape);
  return pick_from_first(it, [&](std::size_t i) {
    std::size_t place = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const auto extent = static_cast<std::size_t>(it.result.shape[d]);
      place += i % extent % static_cast<std::size_t>(shape[d]) * static_cast<std::size_t>(strides[d]);
      i /= extent;
    }
    return std::optional(place);
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

namespace stowage::import {

std::optional<Value> part_of(const Value& whole, std::size_t axis, std::int64_t begin, const Shape& shape) {
  if (axis >= shape.size() || shape.size() != whole.shape.size() || begin + shape[axis] > whole.shape[axis])
    return std::nullopt;
  const std::size_t inner = evaluation::elements_in(shape, axis + 1, shape.size());
  const std::size_t outer = evaluation::elements_in(shape, 0, axis);
  if (outer * inner * static_cast<std::size_t>(whole.shape[axis]) != whole.size()) return std::nullopt;
  Value part{.elem_type = whole.elem_type, .shape = shape, .integers = {}, .reals = {}};
  for (std::size_t o = 0; o < outer; ++o) {
    const std::size_t row = o * static_cast<std::size_t>(whole.shape[axis]) + static_cast<std::size_t>(begin);
    evaluation::append(whole, row * inner, static_cast<std::size_t>(shape[axis]) * inner, part);
  }
  return part;
}

}  // namespace stowage::import
