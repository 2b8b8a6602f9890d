// ArgMax, Clip, Compress, NonZero, ReverseSequence, TopK, Trilu, Unique and their like, of small known tensors: what the
// order of elements, or their place, decides. A tensor with an element that is no number is left unknown.
//
// Cost: elements * log(elements).

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "import/onnx_evaluate.h"
#include "import/onnx_evaluation.h"

namespace stowage::import::evaluation {
namespace {

using Places = std::vector<std::size_t>;

bool has_order(const Value& value) {
  return std::ranges::none_of(value.reals, [](double real) { return std::isnan(real); });
}

bool is_less(const Value& value, std::size_t a, std::size_t b) {
  return value.is_real() ? value.reals[a] < value.reals[b] : value.integers[a] < value.integers[b];
}

bool is_zero(const Value& value, std::size_t i) {
  return value.is_real() ? value.reals[i] == 0 : value.integers[i] == 0;
}

/// The elements at these places are the result.
bool take_elements(Evaluation& it, const Places& places) {
  if (places.size() != it.count || it.in(0).is_real() != it.result.is_real()) return false;
  for (const std::size_t place : places) append(it.in(0), place, 1, it.result);
  return true;
}

bool take_numbers(Evaluation& it, const Places& numbers) {
  if (numbers.size() != it.count || it.result.is_real()) return false;
  for (const std::size_t number : numbers) it.result.integers.push_back(static_cast<std::int64_t>(number));
  return true;
}

/// A tensor as vectors along an axis.
struct Vectors {
  std::size_t outer = 0;
  std::size_t length = 0;
  std::size_t inner = 0;

  [[nodiscard]] std::size_t place(std::size_t o, std::size_t at, std::size_t i) const {
    return (o * length + at) * inner + i;
  }
};

std::optional<Vectors> vectors_of(const Value& value, std::int64_t axis) {
  const auto at = axis_in(axis, value.shape.size());
  if (!at || !has_order(value)) return std::nullopt;
  return Vectors{.outer = elements_in(value.shape, 0, *at),
                 .length = static_cast<std::size_t>(value.shape[*at]),
                 .inner = elements_in(value.shape, *at + 1, value.shape.size())};
}

/// The elements of a bound of Clip; `otherwise` if it is left out, null if it is unknown.
const Value* bound_of(const Evaluation& it, std::size_t input, const Value& otherwise) {
  if (it.is_left_out(input)) return &otherwise;
  const bool fits = it.has(input) && it.in(input).size() == 1 && it.in(input).is_real() == it.in(0).is_real();
  return fits && has_order(it.in(input)) ? &it.in(input) : nullptr;
}

}  // namespace

/// The bounds are operands since operator set 11, before that attributes.
bool compute_clip(Evaluation& it) {
  if (!it.has(0) || !it.node.attribute.empty() || it.in(0).size() != it.count || !has_order(it.in(0)) ||
      it.in(0).is_real() != it.result.is_real())
    return false;
  const Value none{};
  const Value* const least = bound_of(it, 1, none);
  const Value* const most = bound_of(it, 2, none);
  if (least == nullptr || most == nullptr) return false;
  const auto clip = [](const auto& from, const auto& low, const auto& high, auto& to) {
    for (auto element : from) {
      if (!low.empty()) element = std::max(element, low[0]);
      if (!high.empty()) element = std::min(element, high[0]);
      to.push_back(element);
    }
  };
  clip(it.in(0).reals, least->reals, most->reals, it.result.reals);
  clip(it.in(0).integers, least->integers, most->integers, it.result.integers);
  return true;
}

/// ArgMax if `sign` is 1, ArgMin if it is -1.
bool compute_place_of_extreme(Evaluation& it, int sign) {
  if (!it.has(0)) return false;
  const Value& data = it.in(0);
  const auto vectors = vectors_of(data, it.attribute("axis", 0));
  if (!vectors || vectors->length == 0) return false;
  const bool takes_last = it.attribute("select_last_index", 0) != 0;
  Places places;
  for (std::size_t o = 0; o < vectors->outer; ++o) {
    for (std::size_t i = 0; i < vectors->inner; ++i) {
      std::size_t best = 0;
      for (std::size_t at = 1; at < vectors->length; ++at) {
        const std::size_t a = vectors->place(o, best, i);
        const std::size_t b = vectors->place(o, at, i);
        const bool is_better = sign > 0 ? is_less(data, a, b) : is_less(data, b, a);
        const bool is_worse = sign > 0 ? is_less(data, b, a) : is_less(data, a, b);
        if (is_better || (takes_last && !is_worse)) best = at;
      }
      places.push_back(best);
    }
  }
  return take_numbers(it, places);
}

/// Elements in order, of equal ones the first; then their places. Without order they may come in any.
bool compute_top(Evaluation& it) {
  if (!it.has(0) || it.attribute("sorted", 1) == 0) return false;
  const Value& data = it.in(0);
  const auto vectors = vectors_of(data, it.attribute("axis", -1));
  if (!vectors || vectors->outer * vectors->inner == 0 || it.count % (vectors->outer * vectors->inner) != 0)
    return false;
  const std::size_t taken = it.count / (vectors->outer * vectors->inner);
  if (taken > vectors->length) return false;
  const bool is_largest = it.attribute("largest", 1) != 0;
  Places elements(it.count);
  Places numbers(it.count);
  for (std::size_t o = 0; o < vectors->outer; ++o) {
    for (std::size_t i = 0; i < vectors->inner; ++i) {
      Places order(vectors->length);
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        const std::size_t first = vectors->place(o, a, i);
        const std::size_t second = vectors->place(o, b, i);
        return is_largest ? is_less(data, second, first) : is_less(data, first, second);
      });
      for (std::size_t n = 0; n < taken; ++n) {
        const std::size_t to = (o * taken + n) * vectors->inner + i;
        numbers[to] = order[n];
        elements[to] = vectors->place(o, order[n], i);
      }
    }
  }
  return it.output == 0 ? take_elements(it, elements) : take_numbers(it, numbers);
}

/// Keeps one triangle of each matrix.
bool compute_triangle(Evaluation& it) {
  if (!it.has(0) || it.in(0).size() != it.count || it.in(0).is_real() != it.result.is_real()) return false;
  const Shape& shape = it.in(0).shape;
  std::int64_t diagonal = 0;
  if (!it.is_left_out(1)) {
    if (!it.has(1) || it.in(1).integers.size() != 1) return false;
    diagonal = it.in(1).integers[0];
  }
  if (shape.size() < 2 || diagonal < -most_elements || diagonal > most_elements) return false;
  const bool is_upper = it.attribute("upper", 1) != 0;
  const auto columns = static_cast<std::size_t>(shape.back());
  const auto rows = static_cast<std::size_t>(shape[shape.size() - 2]);
  append(it.in(0), 0, it.count, it.result);
  for (std::size_t i = 0; i < it.count; ++i) {
    const auto distance =
        static_cast<std::int64_t>(i % columns) - static_cast<std::int64_t>(i / columns % rows);
    if (is_upper ? distance >= diagonal : distance <= diagonal) continue;
    if (it.result.is_real()) {
      it.result.reals[i] = 0;
    } else {
      it.result.integers[i] = 0;
    }
  }
  return true;
}

/// Of each sequence of a batch the first elements, as many as it has, from the last to the first.
bool compute_reversed_sequences(Evaluation& it) {
  if (!it.has(0) || !it.has(1) || it.in(1).is_real()) return false;
  const Shape& shape = it.in(0).shape;
  const std::int64_t batch = it.attribute("batch_axis", 1);
  const std::int64_t time = it.attribute("time_axis", 0);
  if (shape.size() < 2 || batch < 0 || time < 0 || batch > 1 || time != 1 - batch) return false;
  const std::size_t inner = elements_in(shape, 2, shape.size());
  const auto second = static_cast<std::size_t>(shape[1]);
  const std::int64_t steps = shape[static_cast<std::size_t>(time)];
  if (std::ssize(it.in(1).integers) != shape[static_cast<std::size_t>(batch)]) return false;
  Places places;
  for (std::size_t i = 0; i < it.in(0).size(); ++i) {
    const std::size_t along[] = {i / inner / second, i / inner % second};
    const std::int64_t length = it.in(1).integers[along[batch]];
    if (length < 0 || length > steps) return false;
    const std::size_t now = along[time];
    const std::size_t from = std::cmp_less(now, length) ? static_cast<std::size_t>(length) - 1 - now : now;
    const std::size_t stride = time == 0 ? second * inner : inner;
    places.push_back(i - now * stride + from * stride);
  }
  return take_elements(it, places);
}

/// The coordinates of each, one dimension after the other.
bool compute_places_of_nonzero(Evaluation& it) {
  if (!it.has(0) || it.in(0).shape.empty()) return false;
  const Shape& shape = it.in(0).shape;
  Places numbers;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::size_t inner = elements_in(shape, d + 1, shape.size());
    for (std::size_t i = 0; i < it.in(0).size(); ++i)
      if (!is_zero(it.in(0), i)) numbers.push_back(i / inner % static_cast<std::size_t>(shape[d]));
  }
  return take_numbers(it, numbers);
}

/// Without an axis: of equal elements the first, in their order or as they come; their places; for each element which of
/// them it is; how often each occurs.
bool compute_unique(Evaluation& it) {
  if (!it.has(0) || it.has_attribute("axis") || !has_order(it.in(0))) return false;
  const Value& data = it.in(0);
  Places order(data.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return is_less(data, a, b); });
  std::vector<Places> groups;  // of equal elements
  for (const std::size_t i : order) {
    if (groups.empty() || is_less(data, groups.back()[0], i)) groups.emplace_back();
    groups.back().push_back(i);
  }
  if (it.attribute("sorted", 1) == 0)
    std::ranges::sort(groups, {}, [](const Places& group) { return group[0]; });
  Places first;
  Places counts;
  Places inverse(data.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    first.push_back(groups[g][0]);
    counts.push_back(groups[g].size());
    for (const std::size_t i : groups[g]) inverse[i] = g;
  }
  if (it.output == 0) return take_elements(it, first);
  return take_numbers(it, it.output == 1 ? first : it.output == 2 ? inverse : counts);
}

/// The slices along an axis, or without one the elements, for which the condition is true.
bool compute_compress(Evaluation& it) {
  if (!it.has(0) || !it.has(1) || it.in(1).is_real()) return false;
  Vectors vectors{.outer = 1, .length = it.in(0).size(), .inner = 1};
  if (it.has_attribute("axis")) {
    const auto own = vectors_of(it.in(0), it.attribute("axis", 0));
    if (!own) return false;
    vectors = *own;
  }
  if (it.in(1).integers.size() > vectors.length) return false;
  Places places;
  for (std::size_t o = 0; o < vectors.outer; ++o) {
    for (std::size_t at = 0; at < it.in(1).integers.size(); ++at) {
      if (it.in(1).integers[at] == 0) continue;
      for (std::size_t i = 0; i < vectors.inner; ++i) places.push_back(vectors.place(o, at, i));
    }
  }
  return take_elements(it, places);
}

}  // namespace stowage::import::evaluation
