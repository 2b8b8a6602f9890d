// Operators that change a copy of their input at places given by indices. The copy may be the input itself,
// which is not read afterwards. An index out of range ends the run.

#include <cstring>

#include "kernels/onnx/indices.h"
#include "kernels/onnx/tables.h"
#include "kernels/onnx/walk.h"

namespace stowage::kernels::onnx_ops {
namespace {

struct Add {
  template <typename Number>
  Number operator()(Number old, Number update) const {
    return sum(old, update);
  }
};
struct Multiply {
  template <typename Number>
  Number operator()(Number old, Number update) const {
    return product(old, update);
  }
};
struct Most {
  template <typename Number>
  Number operator()(Number old, Number update) const {
    return update > old ? update : old;
  }
};
struct Least {
  template <typename Number>
  Number operator()(Number old, Number update) const {
    return update < old ? update : old;
  }
};

/// The update of an element, whatever its type.
struct Change {
  void (*apply)(std::byte* element, const std::byte* update) = nullptr;
  std::int64_t size = 0;  ///< Bytes of an element.
};

template <typename Element>
void replace(std::byte* element, const std::byte* update) {
  *reinterpret_cast<Element*>(element) = *reinterpret_cast<const Element*>(update);
}

template <typename Element, typename Function>
void combine(std::byte* element, const std::byte* update) {
  auto& old = *reinterpret_cast<Element*>(element);
  old = element_of<Element>(Function{}(value_of(old), value_of(*reinterpret_cast<const Element*>(update))));
}

template <typename Function>
Change combining(DType dtype) {
  Change change;
  (void)for_type(dtype, numbers, [&]<typename Element>() {
    change = {combine<Element, Function>, sizeof(Element)};
    return Kernel{};
  });
  return change;
}

Change change_of(const Signature& signature, DType dtype) {
  const std::string reduction = signature.attributes.text("reduction", "none");
  if (reduction == "add") return combining<Add>(dtype);
  if (reduction == "mul") return combining<Multiply>(dtype);
  if (reduction == "max") return combining<Most>(dtype);
  if (reduction == "min") return combining<Least>(dtype);
  if (reduction != "none") refuse("there is no reduction {}", reduction);
  Change change;
  (void)for_size(dtype, [&]<typename Element>() {
    change = {replace<Element>, sizeof(Element)};
    return Kernel{};
  });
  return change;
}

void copy_data(const Pointers& pointers, std::int64_t bytes) {
  const auto* const from = pointers.input<std::byte>(0);
  auto* const to = pointers.output<std::byte>(0);
  if (from != to && bytes > 0) std::memcpy(to, from, index(bytes));
}

/// Every update is at the place of its index, except on one axis, where the index gives the place.
Kernel scatter_elements(const Signature& signature) {
  const Argument& data = input_of(signature, 0);
  const Argument& indices = input_of(signature, 1);
  const Argument& updates = input_of(signature, 2);
  const std::size_t axis = axis_of(signature.attributes.integer("axis", 0), data.shape.size());
  expect_copy(data, output_of(signature));
  expect_rank(indices, data.shape.size(), "indices");
  expect_shape(updates, indices.shape, "updates");
  expect_dtype(updates, data.dtype, "updates");
  Shape strides = strides_of(data.shape);
  const std::int64_t step = strides[axis];
  const std::int64_t size = data.shape[axis];
  strides[axis] = 0;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    if (d != axis && indices.shape[d] > data.shape[d])
      refuse("indices {} do not fit {}", show(indices.shape), show(data.shape));
  }
  const Walk<1> walk = merged<1>(indices.shape, {strides});
  const std::int64_t bytes = bytes_of(data.dtype, data.shape);
  const Change change = change_of(signature, data.dtype);
  return for_indices(indices, [&]<typename Index>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      copy_data(pointers, bytes);
      const auto* const at = pointers.input<Index>(1);
      for_each_row(walk, [&](std::int64_t row, const std::array<std::int64_t, 1>& place) {
        for (std::int64_t i = 0; i < walk.row(); ++i) {
          const std::int64_t picked = index_in(at[row + i], size, "ScatterElements");
          const std::int64_t element = place[0] + i * walk.step(0) + picked * step;
          change.apply(pointers.outputs[0] + element * change.size,
                       pointers.inputs[2] + (row + i) * change.size);
        }
      });
    }};
  });
}

/// Tuples of indices select the slices that change.
Kernel scatter_tuples(const Signature& signature) {
  const Argument& data = input_of(signature, 0);
  const Argument& indices = input_of(signature, 1);
  const Argument& updates = input_of(signature, 2);
  expect_copy(data, output_of(signature));
  expect_dtype(updates, data.dtype, "updates");
  if (indices.shape.empty()) refuse("indices are a scalar");
  const Shape shape = data.shape;
  const std::int64_t depth = indices.shape.back();
  if (depth > extent(shape.size())) refuse("tuples of {} indices for {}", depth, show(shape));
  expect_shape(updates, sliced_shape(indices.shape, shape, index(depth)), "updates");
  const Shape strides = strides_of(shape);
  const std::int64_t tuples = count_of(indices.shape, 0, indices.shape.size() - 1);
  const std::int64_t slice = count_of(shape, index(depth), shape.size());
  const std::int64_t bytes = bytes_of(data.dtype, shape);
  const Change change = change_of(signature, data.dtype);
  return for_indices(indices, [&]<typename Index>() -> Kernel {
    return {.run = [=](const Pointers& pointers) {
      copy_data(pointers, bytes);
      const auto* at = pointers.input<Index>(1);
      const std::byte* update = pointers.inputs[2];
      for (std::int64_t i = 0; i < tuples; ++i) {
        std::byte* to = pointers.outputs[0];
        for (std::size_t d = 0; d < index(depth); ++d)
          to += index_in(*at++, shape[d], "ScatterND") * strides[d] * change.size;
        for (std::int64_t j = 0; j < slice; ++j, to += change.size, update += change.size)
          change.apply(to, update);
      }
    }};
  });
}

}  // namespace

TablePart scatter_kernels() {
  return {
      {"Scatter", scatter_elements}, {"ScatterElements", scatter_elements}, {"ScatterND", scatter_tuples}};
}

}  // namespace stowage::kernels::onnx_ops
