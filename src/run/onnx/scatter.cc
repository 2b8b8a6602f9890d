// Operators that change a copy of their input where indices say. The copy may be the input itself, which is
// then not read any more. An index that is out of range ends the run.

#include <cstring>

#include "run/onnx/indices.h"
#include "run/onnx/tables.h"
#include "run/onnx/walk.h"

namespace stowage::run::onnx_ops {
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

/// Calls make.operator()<Element>(change), where change(old, update) is what becomes of an element.
template <typename Make>
Kernel for_reduction(const Signature& signature, DType dtype, const Make& make) {
  const std::string reduction = signature.attributes.text("reduction", "none");
  if (reduction == "none") {
    return for_size(dtype, [&]<typename Element>() {
      return make.template operator()<Element>(
          [](const Element& /*old*/, const Element& update) { return update; });
    });
  }
  const auto with = [&](auto function) {
    return for_type(dtype, numbers, [&]<typename Element>() {
      return make.template operator()<Element>([function](const Element& old, const Element& update) {
        return element_of<Element>(function(value_of(old), value_of(update)));
      });
    });
  };
  if (reduction == "add") return with(Add{});
  if (reduction == "mul") return with(Multiply{});
  if (reduction == "max") return with(Most{});
  if (reduction == "min") return with(Least{});
  refuse("there is no reduction {}", reduction);
}

void copy_data(const Pointers& pointers, std::int64_t bytes) {
  const auto* const from = pointers.input<std::byte>(0);
  auto* const to = pointers.output<std::byte>(0);
  if (from != to && bytes > 0) std::memcpy(to, from, index(bytes));
}

/// Every update is at the place of its index, but on one axis, where the index says.
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
  return for_indices(indices, [&]<typename Index>() {
    return for_reduction(signature, data.dtype, [&]<typename Element>(auto change) -> Kernel {
      return {.run = [=](const Pointers& pointers) {
        copy_data(pointers, bytes);
        const auto* const at = pointers.input<Index>(1);
        const auto* const update = pointers.input<Element>(2);
        auto* const to = pointers.output<Element>(0);
        for_each_row(walk, [&](std::int64_t row, const std::array<std::int64_t, 1>& place) {
          for (std::int64_t i = 0; i < walk.row(); ++i) {
            const std::int64_t picked = index_in(at[row + i], size, "ScatterElements");
            Element& element = to[place[0] + i * walk.step(0) + picked * step];
            element = change(element, update[row + i]);
          }
        });
      }};
    });
  });
}

/// Tuples of indices say which slices change.
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
  return for_indices(indices, [&]<typename Index>() {
    return for_reduction(signature, data.dtype, [&]<typename Element>(auto change) -> Kernel {
      return {.run = [=](const Pointers& pointers) {
        copy_data(pointers, bytes);
        const auto* at = pointers.input<Index>(1);
        const auto* update = pointers.input<Element>(2);
        for (std::int64_t i = 0; i < tuples; ++i) {
          auto* to = pointers.output<Element>(0);
          for (std::size_t d = 0; d < index(depth); ++d)
            to += index_in(*at++, shape[d], "ScatterND") * strides[d];
          for (std::int64_t j = 0; j < slice; ++j) to[j] = change(to[j], *update++);
        }
      }};
    });
  });
}

}  // namespace

TablePart scatter_kernels() {
  return {
      {"Scatter", scatter_elements}, {"ScatterElements", scatter_elements}, {"ScatterND", scatter_tuples}};
}

}  // namespace stowage::run::onnx_ops
