// Rules of operators that compute element by element, and of those that reduce axes.

#include <algorithm>

#include "import/tflite_shape_rules.h"

namespace stowage::import::tflite_rules {
namespace {

std::optional<Dims> known(const Dims* dims) { return dims == nullptr ? std::nullopt : std::optional(*dims); }

std::optional<Dims> stretched(const Dims* a, const std::optional<Dims>& b) {
  return broadcast_dims(a, b ? &*b : nullptr);
}

}  // namespace

void like_first(TfliteNode& node) { node.set(0, known(node.dims(0))); }
void like_second(TfliteNode& node) { node.set(0, known(node.dims(1))); }
void broadcast(TfliteNode& node) { node.set(0, broadcast_dims(node.dims(0), node.dims(1))); }
void number(TfliteNode& node) { node.set(0, Dims{}); }

void broadcast_all(TfliteNode& node) {
  std::optional<Dims> result = known(node.dims(0));
  for (std::size_t i = 1; i < node.inputs(); ++i) result = stretched(node.dims(i), result);
  node.set(0, result);
}

void shape_query(TfliteNode& node) {
  const Dims* const dims = node.dims(0);
  node.set(0, Dims{dims == nullptr ? Dim() : Dim(std::ssize(*dims))});
}

/// An axis may be named twice.
void reduce(TfliteNode& node) {
  const auto* const options = node.source().builtin_options_as_ReducerOptions();
  const Dims* const dims = node.dims(0);
  const auto axes = node.integers(1);
  if (dims == nullptr) return;
  const bool keeps = options != nullptr && options->keep_dims();
  if (!axes) {
    if (keeps) node.set(0, Dims(dims->size()));
    return;
  }
  const std::vector<std::size_t> reduced =
      dims->empty() ? std::vector<std::size_t>() : axes_in(*axes, dims->size());
  Dims result;
  for (std::size_t d = 0; d < dims->size(); ++d) {
    const bool is_reduced = std::ranges::find(reduced, d) != reduced.end();
    if (!is_reduced) result.push_back((*dims)[d]);
    if (is_reduced && keeps) result.emplace_back(1);
  }
  node.set(0, result);
}

void arg_reduce(TfliteNode& node) {
  const Dims* const dims = node.dims(0);
  const Dim axis = node.scalar(1);
  if (dims == nullptr) return;
  if (!axis) {
    if (!dims->empty()) node.set(0, Dims(dims->size() - 1));
    return;
  }
  Dims result = *dims;
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(axis_in(*axis, dims->size())));
  node.set(0, result);
}

/// Values, and where they are, of the greatest elements of the last axis.
void top_k(TfliteNode& node) {
  const Dims* const dims = node.dims(0);
  if (dims == nullptr) return;
  if (dims->empty()) misfit("the input has no axis");
  const Dim count = node.scalar(1);
  if (count && (*count < 0 || (dims->back() && *count > *dims->back())))
    misfit("there are no ", *count, " greatest of ", dims->back().value_or(0), " elements");
  Dims result = *dims;
  result.back() = count;
  node.set(0, result);
  node.set(1, result);
}

/// How many are different depends on the data.
void unique(TfliteNode& node) {
  node.set(0, Dims{Dim()});
  node.set(1, known(node.dims(0)));
}

/// A row for each true element depends on the data.
void where(TfliteNode& node) {
  const Dims* const dims = node.dims(0);
  node.set(0, Dims{Dim(), dims == nullptr ? Dim() : Dim(std::ssize(*dims))});
}

/// The outputs are as long as the most that may be selected; the last one counts what was selected. The newer
/// version has scores, too.
void non_max_suppression(TfliteNode& node) {
  const Dim most = node.scalar(2);
  const std::size_t lists = node.outputs().empty() ? 0 : node.outputs().size() - 1;
  for (std::size_t i = 0; i < lists; ++i) node.set(i, Dims{most});
  node.set(lists, Dims{});
}

}  // namespace stowage::import::tflite_rules
