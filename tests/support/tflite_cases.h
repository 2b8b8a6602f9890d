#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernels.h"

/// Calls of single kernels of TFLite in tests. Example:
///
///     EXPECT_EQ(Case("RELU", {real({2}, {-1, 1})}, {real({2})}).get<float>(), (Floats{0, 1}));
namespace stowage::kernels::cases {

using Bytes8 = std::vector<std::int8_t>;
using Floats = std::vector<float>;
using Ints = std::vector<std::int32_t>;

/// An operand: of an output only the type, shape and quantization matter.
struct Value {
  DType dtype = DType::unknown;
  Shape shape{};
  std::vector<std::byte> data{};
  std::optional<Quantization> quantization{};
  bool is_constant = false;
};

template <typename Element>
std::vector<std::byte> bytes_from(const std::vector<Element>& elements) {
  std::vector<std::byte> bytes(elements.size() * sizeof(Element));
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

template <typename Element>
std::vector<Element> elements_of(const std::vector<std::byte>& bytes) {
  std::vector<Element> elements(bytes.size() / sizeof(Element));
  if (!bytes.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

inline Value real(Shape shape, const Floats& data = {}) {
  return {DType::float32, std::move(shape), bytes_from(data)};
}

inline Value int8(Shape shape, float scale, std::int64_t zero_point, const Bytes8& data = {}) {
  return {DType::int8, std::move(shape), bytes_from(data), Quantization{{scale}, {zero_point}}};
}

inline Value ints(const Ints& data) {
  return {DType::int32, {static_cast<std::int64_t>(data.size())}, bytes_from(data), std::nullopt, true};
}

inline Value bias(const Ints& data) {
  return {DType::int32, {static_cast<std::int64_t>(data.size())}, bytes_from(data)};
}

inline Value truths(Shape shape, const std::vector<std::uint8_t>& data = {}) {
  return {DType::boolean, std::move(shape), bytes_from(data)};
}

using Options = std::map<std::string, Attributes::Value>;

/// A kernel with memory that is just as large as its operands, so that the sanitizer sees the rest.
class Case {
 public:
  Case(std::string type, std::vector<Value> inputs, std::vector<Value> outputs, const Options& options = {})
      : type_(std::move(type)), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
    for (const auto& [name, value] : options) attributes_.set(name, value);
    Signature signature{.type = type_, .attributes = attributes_};
    for (const Value& input : inputs_) signature.inputs.emplace_back(argument_of(input));
    for (const Value& output : outputs_) signature.outputs.emplace_back(argument_of(output));
    kernel_ = prepare(signature, KernelSet::plain);
  }

  /// The bytes of all outputs. `in_place`: the input whose memory the first output takes.
  std::vector<std::vector<std::byte>> run(std::optional<std::size_t> in_place = std::nullopt) const {
    std::vector<std::vector<std::byte>> memory;
    for (const Value& input : inputs_) memory.push_back(input.data);
    std::vector<std::vector<std::byte>> results;
    for (const Value& output : outputs_)
      results.emplace_back(static_cast<std::size_t>(bytes_of(output.dtype, output.shape)), std::byte{0xA5});
    std::vector<const std::byte*> inputs;
    for (const auto& bytes : memory) inputs.push_back(bytes.data());
    std::vector<std::byte*> outputs;
    for (auto& bytes : results) outputs.push_back(bytes.data());
    if (in_place) outputs[0] = memory[*in_place].data();
    const auto scratch = std::make_unique<std::max_align_t[]>(
        static_cast<std::size_t>(kernel_.scratch) / sizeof(std::max_align_t) + 1);
    kernel_.run({inputs, outputs, reinterpret_cast<std::byte*>(scratch.get())});
    if (in_place) results[0] = memory[*in_place];
    return results;
  }

  template <typename Element>
  std::vector<Element> get(std::size_t output = 0) const {
    return elements_of<Element>(run()[output]);
  }

 private:
  static Argument argument_of(const Value& value) {
    Argument argument{.dtype = value.dtype, .shape = value.shape};
    if (value.quantization) argument.quantization = &*value.quantization;
    argument.is_constant = value.is_constant;
    if (value.is_constant) argument.constant = value.data;
    return argument;
  }

  std::string type_;
  std::vector<Value> inputs_;
  std::vector<Value> outputs_;
  Attributes attributes_{};
  Kernel kernel_{};
};

/// Why a kernel is refused.
inline std::string refusal(const std::string& type, const std::vector<Value>& inputs,
                           const std::vector<Value>& outputs, const Options& options = {}) {
  try {
    const Case made(type, inputs, outputs, options);
  } catch (const Unsupported& unsupported) {
    return unsupported.reason;
  }
  return "";
}

inline Options window(std::int64_t padding, std::int64_t stride) {
  return {{"padding", padding}, {"stride_w", stride}, {"stride_h", stride}};
}

constexpr std::int64_t same = 0;
constexpr std::int64_t valid = 1;
constexpr std::int64_t relu = 1;
constexpr std::int64_t relu6 = 3;

/// Numbers of a type with one scale and zero point.
template <typename Element>
Value scaled(DType dtype, Shape shape, float scale, std::int64_t zero_point,
             const std::vector<Element>& data = {}) {
  return {dtype, std::move(shape), bytes_from(data), Quantization{{scale}, {zero_point}}};
}

}  // namespace stowage::kernels::cases
