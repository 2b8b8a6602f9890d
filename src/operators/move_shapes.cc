// Rules of operators that rearrange, join or cut tensors.

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "operators/shapes.h"

namespace stowage::operators::shapes {
namespace {

/// A list that is an attribute in some operator sets and an input in others; none if it is not known.
std::optional<Shape> list_of(const NodeContext& node, std::string_view attribute, std::size_t input) {
  if (auto list = node.integer_list(attribute)) return list;
  return node.integers(input);
}

/// The dimension that -1 stands for: what the others leave of the input. A 0 takes that of the input, which
/// then is in neither product.
Dim rest_of(const Dims& input, const Shape& target, bool copies) {
  Dim whole = 1;
  Dim others = 1;
  const auto is_copied = [&](std::size_t d) { return copies && d < target.size() && target[d] == 0; };
  for (std::size_t d = 0; d < input.size(); ++d) {
    if (!is_copied(d)) whole = product_of(whole, input[d]);
  }
  for (std::size_t d = 0; d < target.size(); ++d) {
    if (!is_copied(d) && target[d] != -1) others = product_of(others, Dim(target[d]));
  }
  if (!whole || !others || *others == 0) return std::nullopt;
  if (*whole % *others != 0) misfit("cannot reshape ", *whole, " elements into parts of ", *others);
  return *whole / *others;
}

}  // namespace

void reshape(NodeContext& node) {
  const Dims* const input = node.dims(0);
  const auto target = list_of(node, "shape", 1);
  std::optional<Dims> result;
  if (target) {
    const bool copies = node.integer("allowzero", 0) == 0;
    result.emplace();
    for (std::size_t d = 0; d < target->size(); ++d) {
      const std::int64_t size = (*target)[d];
      if (size < -1) misfit("the shape has dimension ", size);
      if (size == 0 && copies) {
        if (input != nullptr && d >= input->size()) misfit("there is no dimension ", d, " to keep");
        result->push_back(input == nullptr ? std::nullopt : (*input)[d]);
      } else if (size == -1) {
        result->push_back(input == nullptr ? std::nullopt : rest_of(*input, *target, copies));
      } else {
        result->emplace_back(size);
      }
    }
    if (std::ranges::count(*target, -1) > 1) misfit("the shape has -1 more than once");
    const Dim from = input == nullptr ? Dim() : product_of(*input, 0, input->size());
    const Dim to = product_of(*result, 0, result->size());
    if (from && to && *from != *to) misfit("cannot reshape ", *from, " elements into ", *to);
  }
  node.set_output(0, node.elem_type(0), result);
}

void flatten(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  std::optional<Dims> result;
  if (dims != nullptr) {
    const auto rank = static_cast<std::int64_t>(dims->size());
    std::int64_t axis = node.integer("axis", 1);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis > rank) misfit("axis does not exist in a tensor of rank ", rank);
    const auto middle = static_cast<std::size_t>(axis);
    result = Dims{product_of(*dims, 0, middle), product_of(*dims, middle, dims->size())};
  }
  node.set_output(0, node.elem_type(0), result);
}

void squeeze(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  const auto given = list_of(node, "axes", 1);
  std::optional<Dims> result;
  if (dims != nullptr && given) {
    const std::vector<std::size_t> axes = axes_in(*given, dims->size());
    result.emplace();
    for (std::size_t d = 0; d < dims->size(); ++d) {
      if (std::ranges::find(axes, d) == axes.end()) {
        result->push_back((*dims)[d]);
      } else if ((*dims)[d].value_or(1) != 1) {
        misfit("cannot take away dimension ", *(*dims)[d]);
      }
    }
  } else if (const auto shape = node.shape(0); shape && !node.has(1)) {
    result.emplace();
    std::ranges::copy_if(*shape, std::back_inserter(*result), [](std::int64_t it) { return it != 1; });
  }
  node.set_output(0, node.elem_type(0), result);
}

void unsqueeze(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  const auto given = list_of(node, "axes", 1);
  std::optional<Dims> result;
  if (dims != nullptr && given) {
    const std::vector<std::size_t> axes = axes_in(*given, dims->size() + given->size());
    const std::set<std::size_t> added(axes.begin(), axes.end());
    if (added.size() != axes.size()) misfit("an axis is added twice");
    result.emplace();
    auto next = dims->begin();
    for (std::size_t d = 0; d < dims->size() + added.size(); ++d)
      result->push_back(added.contains(d) ? Dim(1) : *next++);
  }
  node.set_output(0, node.elem_type(0), result);
}

void transpose(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  std::optional<Dims> result;
  if (dims != nullptr) {
    Shape order(dims->size());
    std::iota(order.rbegin(), order.rend(), 0);
    order = node.integer_list("perm").value_or(order);
    const std::vector<std::size_t> axes = axes_in(order, dims->size());
    if (std::set<std::size_t>(axes.begin(), axes.end()).size() != dims->size())
      misfit("perm is no order of ", dims->size(), " dimensions");
    result.emplace();
    for (const std::size_t axis : axes) result->push_back((*dims)[axis]);
  }
  node.set_output(0, node.elem_type(0), result);
}

void expand(NodeContext& node) {
  const auto target = node.integers(1);
  std::optional<Dims> result;
  if (target) {
    const Dims wanted(target->begin(), target->end());
    result = broadcast_dims(node.dims(0), &wanted);
  }
  node.set_output(0, node.elem_type(0), result);
}

/// Operator sets before 6 have a count and an axis for it.
void tile(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  const auto repeats = node.integers(1);
  std::optional<Dims> result;
  if (dims != nullptr && node.inputs() == 2) {
    if (repeats && repeats->size() != dims->size())
      misfit("there are ", repeats->size(), " repeats for ", dims->size(), " dimensions");
    result.emplace();
    for (std::size_t d = 0; d < dims->size(); ++d)
      result->push_back(repeats ? product_of((*dims)[d], Dim((*repeats)[d])) : std::nullopt);
  }
  node.set_output(0, node.elem_type(0), result);
}

namespace {

/// Joins every `stride`-th input from `first` on.
void join(NodeContext& node, std::size_t first, std::size_t stride) {
  constexpr int first_without_default = 4;
  if (!node.has_attribute("axis") && node.version() >= first_without_default)
    misfit("attribute axis is missing");
  std::optional<Dims> result;
  for (std::size_t i = first; i < node.inputs(); i += stride) {
    const Dims* const dims = node.dims(i);
    if (dims == nullptr) {
      result.reset();
      break;
    }
    if (i == first) {
      result = *dims;
      (void)axis_in(node.integer("axis", 1), dims->size());
      continue;
    }
    if (dims->size() != result->size())
      misfit("cannot join tensors of ranks ", result->size(), " and ", dims->size());
    const std::size_t axis = axis_in(node.integer("axis", 1), dims->size());
    for (std::size_t d = 0; d < dims->size(); ++d)
      (*result)[d] = d == axis ? sum_of((*result)[d], (*dims)[d]) : same_dim((*result)[d], (*dims)[d]);
  }
  node.set_output(0, node.elem_type(first), result);
}

}  // namespace

void concatenate(NodeContext& node) { join(node, 0, 1); }

/// Each part comes with its scale and zero point, after those of the result.
void quantized_concatenate(NodeContext& node) { join(node, 2, 3); }

namespace {

/// The parts that make up a dimension; as equal as possible if nothing says more.
std::optional<Shape> parts_of(const NodeContext& node, const Dim& whole) {
  const auto outputs = static_cast<std::int64_t>(node.outputs().size());
  auto parts = list_of(node, "split", 1);
  if (!parts && whole && !node.has(1)) {
    if (node.integer("num_outputs", outputs) != outputs)
      misfit("num_outputs is not the number of outputs, ", outputs);
    const std::int64_t size = *whole / outputs + (*whole % outputs == 0 ? 0 : 1);
    parts.emplace();
    for (std::int64_t rest = *whole; std::ssize(*parts) < outputs; rest -= parts->back())
      parts->push_back(std::min(rest, size));
  }
  if (!parts) return std::nullopt;
  const std::int64_t total = std::accumulate(parts->begin(), parts->end(), std::int64_t{0},
                                             [](std::int64_t a, std::int64_t b) { return sum_of(a, b); });
  if (std::ssize(*parts) != outputs || (whole && total != *whole))
    misfit("the parts do not make up dimension ", whole.value_or(total), " in ", outputs, " outputs");
  return parts;
}

}  // namespace

void split(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  std::optional<Dims> part;
  std::optional<Shape> parts;
  std::size_t axis = 0;
  if (dims != nullptr) {
    axis = axis_in(node.integer("axis", 0), dims->size());
    parts = parts_of(node, (*dims)[axis]);
    part = *dims;
  }
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    if (part) (*part)[axis] = parts ? Dim((*parts)[i]) : std::nullopt;
    node.set_output(i, node.elem_type(0), part);
  }
}

void slice(NodeContext& node) {
  std::optional<Dims> dims = node.type(0).dims;
  const auto starts = list_of(node, "starts", 1);
  const auto ends = list_of(node, "ends", 2);
  auto axes = list_of(node, "axes", 3);
  auto steps = node.integers(4);
  if (!steps && !node.has(4) && starts) steps = Shape(starts->size(), 1);
  if (!axes && !node.has(3) && starts) {
    axes.emplace(starts->size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (dims && axes) {
    const std::vector<std::size_t> places = axes_in(*axes, dims->size());
    const bool is_known = starts && ends && steps;
    if (is_known &&
        (starts->size() != places.size() || ends->size() != places.size() || steps->size() != places.size()))
      misfit("starts, ends, axes and steps are of different lengths");
    for (std::size_t i = 0; i < places.size(); ++i) {
      Dim& size = (*dims)[places[i]];
      size = size && is_known ? Dim(taken(*size, (*starts)[i], (*ends)[i], (*steps)[i])) : std::nullopt;
    }
  } else if (dims) {
    dims = Dims(dims->size());
  }
  node.set_output(0, node.elem_type(0), dims);
}

/// Operator set 1 calls the list "paddings".
void pad(NodeContext& node) {
  std::optional<Dims> dims = node.type(0).dims;
  auto pads = list_of(node, "pads", 1);
  if (!pads) pads = node.integer_list("paddings");
  if (dims) {
    Shape every(dims->size());
    std::iota(every.begin(), every.end(), 0);
    const auto axes = node.has(3) ? node.integers(3) : std::optional(every);
    if (pads && axes) {
      const std::vector<std::size_t> places = axes_in(*axes, dims->size());
      if (pads->size() != 2 * places.size())
        misfit("there are ", pads->size(), " pads for ", places.size(), " axes");
      for (std::size_t i = 0; i < places.size(); ++i) {
        Dim& size = (*dims)[places[i]];
        if (size && node.always_runs() && node.text("mode", "constant") == "reflect" &&
            std::max((*pads)[i], (*pads)[places.size() + i]) >= std::max<std::int64_t>(*size, 1))
          misfit("reflects ", std::max((*pads)[i], (*pads)[places.size() + i]), " of ", *size, " elements");
        size = sum_of(size, Dim(sum_of((*pads)[i], (*pads)[places.size() + i])));
      }
    } else {
      dims = Dims(dims->size());
    }
  }
  node.set_output(0, node.elem_type(0), dims);
}

void center_crop_pad(NodeContext& node) {
  std::optional<Dims> dims = node.type(0).dims;
  if (dims) {
    const auto target = node.integers(1);
    Shape every(dims->size());
    std::iota(every.begin(), every.end(), 0);
    const std::vector<std::size_t> axes = axes_in(node.integer_list("axes").value_or(every), dims->size());
    if (target && target->size() != axes.size())
      misfit("there are ", target->size(), " sizes for ", axes.size(), " axes");
    for (std::size_t i = 0; i < axes.size(); ++i)
      (*dims)[axes[i]] = target ? Dim((*target)[i]) : std::nullopt;
  }
  node.set_output(0, node.elem_type(0), dims);
}

}  // namespace stowage::operators::shapes
