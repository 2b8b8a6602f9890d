// Rules of operators that reduce axes, as TFLite has them.

#include "operators/shapes.h"
#include "operators/tflite_shapes.h"

namespace stowage::operators::tflite_shapes {
namespace {

std::optional<Dims> known(const Dims* dims) { return dims == nullptr ? std::nullopt : std::optional(*dims); }

}  // namespace

/// An axis may be named twice, and any of a number.
void reduce(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  if (dims != nullptr && dims->empty()) {
    node.set_dims(0, Dims{});
  } else {
    shapes::reduce(node);
  }
}

void arg_reduce(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  const Dim axis = node.scalar(1);
  if (dims == nullptr) return;
  if (!axis) {
    if (!dims->empty()) node.set_dims(0, Dims(dims->size() - 1));
    return;
  }
  Dims result = *dims;
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(axis_in(*axis, dims->size())));
  node.set_dims(0, result);
}

/// How many are different depends on the data.
void unique(NodeContext& node) {
  node.set_dims(0, Dims{Dim()});
  node.set_dims(1, known(node.dims(0)));
}

/// A row for each true element depends on the data.
void where(NodeContext& node) {
  const Dims* const dims = node.dims(0);
  node.set_dims(0, Dims{Dim(), dims == nullptr ? Dim() : Dim(std::ssize(*dims))});
}

/// The outputs are as long as the most that may be selected; the last one counts what was selected. The newer
/// version has scores, too.
void non_max_suppression(NodeContext& node) {
  const Dim most = node.scalar(2);
  const std::size_t lists = node.outputs().empty() ? 0 : node.outputs().size() - 1;
  for (std::size_t i = 0; i < lists; ++i) node.set_dims(i, Dims{most});
  node.set_dims(lists, Dims{});
}

}  // namespace stowage::operators::tflite_shapes
