#include "kernels/onnx/operands.h"

#include <algorithm>
#include <memory>
#include <string>

#include "base/checked.h"
#include "kernels/onnx/elements.h"
#include "stowage/error.h"

namespace stowage::kernels::onnx_ops {

const Argument& input_of(const Signature& signature, std::size_t i) {
  if (!signature.has_input(i)) refuse("input {} is missing", i);
  return *signature.inputs[i];
}

const Argument& output_of(const Signature& signature, std::size_t i) {
  if (!signature.has_output(i)) refuse("output {} is missing", i);
  return *signature.outputs[i];
}

namespace {

void check_operand(const Argument& argument) {
  std::optional<std::int64_t> count = 1;
  for (const std::int64_t dimension : argument.shape) {
    if (dimension < 0) refuse("shape {} is negative", show(argument.shape));
    count = base::checked_multiply(*count, std::max<std::int64_t>(dimension, 1));
    if (!count || *count > largest_value) refuse("shape {} overflows", show(argument.shape));
  }
  const bool has_size = bits_of(argument.dtype).has_value();
  if (has_size && !argument.constant.empty() &&
      extent(argument.constant.size()) != bytes_of(argument.dtype, argument.shape)) {
    refuse("a constant has {} bytes, which are not those of {}", argument.constant.size(),
           show(argument.shape));
  }
}

/// Empty constants need no data.
bool has_values(const Argument& argument) {
  return !argument.constant.empty() || (argument.is_constant && kernels::count_of(argument.shape) == 0);
}

template <typename Result>
std::vector<Result> values_in(const Argument& argument) {
  std::vector<Result> values;
  const auto read = [&]<typename Element>() {
    const auto* const data = reinterpret_cast<const Element*>(argument.constant.data());
    const std::size_t count = argument.constant.size() / sizeof(Element);
    for (std::size_t i = 0; i < count; ++i) values.push_back(element_of<Result>(value_of(data[i])));
    return Kernel{};
  };
  static_cast<void>(for_type(argument.dtype, every_type, read));
  return values;
}

}  // namespace

void check_operands(const Signature& signature) {
  for (const auto* const operands : {&signature.inputs, &signature.outputs}) {
    for (const std::optional<Argument>& operand : *operands) {
      if (operand) check_operand(*operand);
    }
  }
}

std::vector<std::size_t> axes_of(const std::vector<std::int64_t>& axes, std::size_t rank) {
  std::vector<std::size_t> result;
  for (const std::int64_t axis : axes) result.push_back(axis_of(axis, rank));
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end()) refuse("an axis is named twice");
  return result;
}

Split split_at(const Shape& shape, std::size_t axis) {
  return {.outer = count_of(shape, 0, axis),
          .size = shape.at(axis),
          .inner = count_of(shape, axis + 1, shape.size())};
}

void expect_rank(const Argument& argument, std::size_t rank, std::string_view what) {
  if (argument.shape.size() != rank) refuse("{} is {}, expected rank {}", what, show(argument.shape), rank);
}

void expect_shape(const Argument& argument, const Shape& shape, std::string_view what) {
  if (argument.shape != shape) refuse("{} is {}, expected {}", what, show(argument.shape), show(shape));
}

void expect_dtype(const Argument& argument, DType dtype, std::string_view what) {
  if (argument.dtype != dtype)
    refuse("{} is of type {}, expected {}", what, name_of(argument.dtype), name_of(dtype));
}

void expect_table_size(std::int64_t size) {
  constexpr std::int64_t most = std::int64_t{1} << 28;
  if (size > most) refuse("an axis of {} elements, of at most {}", size, most);
}

void expect_copy(const Argument& from, const Argument& to) {
  expect_dtype(to, from.dtype, "the output");
  if (kernels::count_of(from.shape) != kernels::count_of(to.shape))
    refuse("input {} and output {} have not as many elements", show(from.shape), show(to.shape));
}

std::optional<std::vector<std::int64_t>> integers_in(const Argument& argument) {
  const bool is_real = argument.dtype == DType::float32 || argument.dtype == DType::float64 ||
                       argument.dtype == DType::float16 || argument.dtype == DType::bfloat16;
  if (!has_values(argument) || is_real) return std::nullopt;
  return values_in<std::int64_t>(argument);
}

std::optional<std::vector<std::int64_t>> integers_at(const Signature& signature, std::size_t i) {
  if (!signature.has_input(i)) return std::nullopt;
  auto values = integers_in(*signature.inputs[i]);
  if (!values) refuse("input {} is not a constant of whole numbers", i);
  return values;
}

std::optional<std::vector<std::int64_t>> integers_at(const Signature& signature, std::string_view attribute,
                                                     std::size_t i) {
  if (signature.attributes.has(attribute)) return signature.attributes.integers(attribute, {});
  return integers_at(signature, i);
}

std::optional<std::vector<double>> reals_at(const Signature& signature, std::size_t i) {
  if (!signature.has_input(i)) return std::nullopt;
  if (!has_values(*signature.inputs[i])) refuse("input {} is not constant", i);
  return values_in<double>(*signature.inputs[i]);
}

namespace {

/// A signature that outlives its creator.
struct KeptSignature {
  std::string type{};
  Attributes attributes{};
  std::int64_t version = 1;
  std::vector<std::optional<Argument>> inputs{};
  std::vector<std::optional<Argument>> outputs{};
  std::vector<std::size_t> unknown{};  ///< Inputs whose values are needed.
};

void run_prepared_now(const KeptSignature& kept, Prepare prepare, const Pointers& pointers) {
  Signature signature{.type = kept.type,
                      .version = kept.version,
                      .attributes = kept.attributes,
                      .inputs = kept.inputs,
                      .outputs = kept.outputs};
  for (const std::size_t i : kept.unknown) {
    Argument& argument = *signature.inputs[i];
    argument.is_constant = true;
    argument.constant = {pointers.inputs[i], index(bytes_of(argument.dtype, argument.shape))};
  }
  Kernel kernel;
  try {
    kernel = prepare(signature);
  } catch (const Unsupported& refusal) {
    throw Error(fmt::format("operator {}", kept.type), refusal.reason);
  }
  // Memory whose size was unknown at preparation.
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> scratch(index(kernel.scratch) / sizeof(Line) + 1);
  Pointers with_scratch = pointers;
  with_scratch.scratch = scratch.front().bytes;
  kernel.run(with_scratch);
}

}  // namespace

Kernel with_values(const Signature& signature, std::initializer_list<std::size_t> inputs, Prepare prepare) {
  const auto kept = std::make_shared<KeptSignature>();
  for (const std::size_t i : inputs) {
    if (signature.has_input(i) && !has_values(*signature.inputs[i])) kept->unknown.push_back(i);
  }
  if (kept->unknown.empty()) return prepare(signature);
  kept->type = signature.type;
  kept->attributes = signature.attributes;
  kept->version = signature.version;
  kept->inputs = signature.inputs;
  kept->outputs = signature.outputs;
  return {.run = [kept, prepare](const Pointers& pointers) { run_prepared_now(*kept, prepare, pointers); }};
}

std::int64_t index_in(std::int64_t index, std::int64_t size, std::string_view operator_type) {
  if (index < -size || index >= size) {
    throw Error(fmt::format("operator {}", operator_type),
                fmt::format("index is {}, expected one of {} elements", index, size));
  }
  return index < 0 ? index + size : index;
}

std::int64_t length_in(std::int64_t length, std::int64_t most, std::string_view operator_type) {
  if (length < 0 || length > most) {
    throw Error(fmt::format("operator {}", operator_type),
                fmt::format("length is {}, expected 0 to {}", length, most));
  }
  return length;
}

}  // namespace stowage::kernels::onnx_ops
