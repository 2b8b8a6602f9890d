// Resize and Upsample. On each axis, a table gives the input elements of each output element, with
// their weights (operators/resize_taps.h). An output element is the sum over all axes. Cost: the product of the
// numbers of weights, 4 for linear and 16 for cubic in a plane.

#include "kernels/onnx/resize.h"

#include <algorithm>
#include <memory>

#include "kernels/onnx/elements.h"
#include "kernels/onnx/tables.h"
#include "kernels/rows.h"

namespace stowage::kernels::onnx_ops {

operators::Resizing resizing_of(const Signature& signature) {
  const bool is_first = operators::ResizeCall::is_first(signature.type, signature.version);
  operators::ResizeCall call{.type = signature.type,
                             .version = signature.version,
                             .attributes = signature.attributes,
                             .input = input_of(signature, 0).shape,
                             .output = output_of(signature).shape,
                             .scales = reals_at(signature, is_first ? 1 : 2)};
  if (!is_first) {
    call.sizes = integers_at(signature, 3);
    call.region = reals_at(signature, 1);
  }
  operators::Resizing resizing = operators::resizing_of(call);
  if (!resizing.refusal.empty()) refuse("{}", resizing.refusal);
  for (const operators::ResizeAxis& axis : resizing.axes) expect_table_size(axis.output);
  return resizing;
}

namespace {

using operators::ResizeAxis;
using operators::ResizeCall;
using operators::ResizeMode;
using operators::Resizing;
using operators::Tap;
using operators::Taps;
using Tables = std::vector<std::vector<Taps>>;

/// The tables of a resize, of at least three axes, and rows along the third.
struct Resize {
  Tables tables{};
  Shape strides{};  ///< Within a row; the rows give those of batch and channel.

  [[nodiscard]] std::int64_t offset(const Rows<const std::byte>& input, std::size_t axis,
                                    std::int64_t at) const {
    return at * (axis == 0 ? input.batch : axis == 1 ? input.channel : strides[axis]);
  }
};

constexpr std::size_t row_axis = 2;

/// The weighted sum from an axis on; the axes before it lead to `offset` in the row.
template <typename Element>
double value_at(const Resize& it, const Rows<const std::byte>& input, const Shape& place, std::size_t axis,
                std::int64_t row, std::int64_t offset) {
  if (axis == it.tables.size()) return static_cast<double>(value_of(input.at<Element>(row, 0)[offset]));
  double total = 0;
  for (const Tap& tap : it.tables[axis][index(place[axis])]) {
    total += tap.weight * (axis == row_axis ? value_at<Element>(it, input, place, axis + 1, tap.at, offset)
                                            : value_at<Element>(it, input, place, axis + 1, row,
                                                                offset + it.offset(input, axis, tap.at)));
  }
  return total;
}

/// The same for a single element.
template <typename Element>
Element nearest_at(const Resize& it, const Rows<const std::byte>& input, const Shape& place) {
  const auto at = [&](std::size_t axis) { return it.tables[axis][index(place[axis])].front().at; };
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < place.size(); ++d) offset += d == row_axis ? 0 : it.offset(input, d, at(d));
  return input.at<Element>(at(row_axis), 0)[offset];
}

bool is_outside(const Tables& tables, const Shape& place) {
  for (std::size_t d = 0; d < place.size(); ++d) {
    if (tables[d][index(place[d])].empty()) return true;
  }
  return false;
}

/// Calls value(place on every axis) for each element of these output rows, and writes the returned value.
template <typename Element, typename ValueAt>
void write_rows(const Resize& it, const RowPointers& at, const ValueAt& value) {
  Shape place(it.tables.size(), 0);
  const auto extent_of = [&](std::size_t d) { return extent(it.tables[d].size()); };
  for (place[0] = 0; place[0] < extent_of(0); ++place[0]) {
    for (place[1] = 0; place[1] < extent_of(1); ++place[1]) {
      for (place[row_axis] = at.begin; place[row_axis] < at.end; ++place[row_axis]) {
        auto* to = at.output.at<Element>(place[row_axis], place[0], place[1]);
        std::fill(place.begin() + row_axis + 1, place.end(), 0);
        for (bool is_done = false; !is_done;) {
          *to++ = value(place);
          std::size_t d = place.size();
          while (d > row_axis + 1 && ++place[d - 1] == extent_of(d - 1)) place[--d] = 0;
          is_done = d == row_axis + 1;
        }
      }
    }
  }
}

Image image_of(const Shape& shape, std::size_t element) {
  return {.batches = shape[0],
          .channels = shape[1],
          .rows = shape[row_axis],
          .row = count_of(shape, row_axis + 1, shape.size()),
          .element = extent(element)};
}

/// The shape with leading axes of one element, so that it has three.
Shape padded(const Shape& shape) {
  Shape longer(std::max(shape.size(), row_axis + 1), 1);
  std::copy(shape.begin(), shape.end(), longer.end() - static_cast<std::ptrdiff_t>(shape.size()));
  return longer;
}

Kernel resize(const Signature& signature) {
  const Argument& input = input_of(signature, 0);
  const Argument& output = output_of(signature);
  expect_dtype(output, input.dtype, "the output");
  const Resizing resizing = resizing_of(signature);
  if (count_of(output.shape) == 0) return {.run = [](const Pointers&) {}};
  const Shape from = padded(input.shape);
  const Shape to = padded(output.shape);
  const auto it = std::make_shared<Resize>();
  it->strides = strides_of(from);
  for (std::size_t d = resizing.axes.size(); d < from.size(); ++d)
    it->tables.push_back(taps_of(Resizing{}, ResizeAxis{}));
  for (const ResizeAxis& axis : resizing.axes) it->tables.push_back(taps_of(resizing, axis));
  const float otherwise = signature.attributes.real("extrapolation_value", 0);
  const auto kernel_of = [&]<typename Element>(const auto& value) {
    return kernel_by_rows(
        image_of(from, sizeof(Element)), image_of(to, sizeof(Element)),
        [it, value](const RowPointers& at) {
          write_rows<Element>(*it, at, [&](const Shape& place) { return value(*it, at.input, place); });
        },
        0);
  };
  if (resizing.mode == ResizeMode::nearest && !resizing.is_cropped()) {
    return for_size(input.dtype, [&]<typename Element>() -> Kernel {
      return kernel_of.template operator()<Element>(nearest_at<Element>);
    });
  }
  return for_type(input.dtype, numbers, [&]<typename Element>() -> Kernel {
    return kernel_of.template operator()<Element>(
        [otherwise](const Resize& own, const Rows<const std::byte>& rows, const Shape& place) {
          return is_outside(own.tables, place)
                     ? element_of<Element>(otherwise)
                     : element_of<Element>(value_at<Element>(own, rows, place, 0, 0, 0));
        });
  });
}

Kernel resize_with_values(const Signature& signature) {
  return ResizeCall::is_first(signature.type, signature.version) ? with_values(signature, {1}, resize)
                                                                 : with_values(signature, {1, 2, 3}, resize);
}

}  // namespace

TablePart resize_kernels() { return {{"Resize", resize_with_values}, {"Upsample", resize_with_values}}; }

}  // namespace stowage::kernels::onnx_ops
