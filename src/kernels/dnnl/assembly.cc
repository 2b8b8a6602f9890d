// A kernel of oneDNN is a list of primitives with the places of their arguments: conversions between the
// dense layout of the network and the one that a primitive prefers, and the primitive itself. Everything that
// is known in advance (implementation, scratchpad, weights in their layout) is computed once; a run only sets
// pointers. The runner provides the memory of a run (converted activations, scratchpads) as one piece, which
// is divided here, without sharing. Source: oneDNN developer guide, "Primitive Attributes: Scratchpad" and
// "Memory Format Propagation".

#include "kernels/dnnl/assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include "base/checked.h"
#include "stowage/error.h"

namespace stowage::kernels::fast {

constexpr Bytes alignment = 64;

struct Free {
  void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t{alignment}); }
};

using HeldMemory = std::unique_ptr<std::byte, Free>;

namespace {

/// Keeps sums of a few offsets within 32 bits.
constexpr Bytes most_bytes = Bytes{1} << 29;

[[nodiscard]] HeldMemory allocated(Bytes size) {
  return HeldMemory(static_cast<std::byte*>(
      ::operator new(static_cast<std::size_t>(std::max<Bytes>(size, 1)), std::align_val_t{alignment})));
}

[[nodiscard]] const Argument& argument(const std::vector<std::optional<Argument>>& arguments, std::size_t i) {
  if (i >= arguments.size() || !arguments[i]) throw Unsupported{fmt::format("operand {} is left out", i)};
  return *arguments[i];
}

void expect_float_arguments(const std::vector<std::optional<Argument>>& arguments, Count count,
                            std::string_view what) {
  if (arguments.size() < count.least || arguments.size() > count.most)
    throw Unsupported{
        fmt::format("{} {}s, expected {} to {}", arguments.size(), what, count.least, count.most)};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i] && i >= count.least) continue;
    const Argument& operand = argument(arguments, i);
    if (operand.dtype != DType::float32 || operand.quantization != nullptr)
      throw Unsupported{fmt::format("{} {} is {}, expected float32", what, i, name_of(operand.dtype))};
    if (bytes_of(operand.dtype, operand.shape) == 0)
      throw Unsupported{fmt::format("{} {} is empty", what, i)};
    expect_small(dense(operand.shape));
  }
}

template <typename Element>
[[nodiscard]] std::vector<Element> elements_of(const Signature& signature, std::size_t i, DType dtype) {
  const Argument& operand = argument(signature.inputs, i);
  const auto bytes = static_cast<std::size_t>(bytes_of(operand.dtype, operand.shape));
  if (!operand.is_constant || operand.dtype != dtype || operand.constant.size() != bytes)
    throw Unsupported{fmt::format("input {} is no constant {}", i, name_of(dtype))};
  std::vector<Element> elements(bytes / sizeof(Element));
  if (bytes != 0) std::memcpy(elements.data(), operand.constant.data(), bytes);
  return elements;
}

}  // namespace

memory::desc dense(const memory::dims& dimensions) {
  if (dimensions.size() > DNNL_MAX_NDIMS)
    throw Unsupported{fmt::format("{} dimensions, expected at most {}", dimensions.size(), DNNL_MAX_NDIMS)};
  const memory::dims shape = dimensions.empty() ? memory::dims{1} : dimensions;
  memory::dims strides(shape.size(), 1);
  for (std::size_t d = shape.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * shape[d + 1];
  return {shape, memory::data_type::f32, strides};
}

memory::desc any_layout(const memory::dims& dimensions) {
  return {dimensions, memory::data_type::f32, memory::format_tag::any};
}

void expect_floats(const Signature& signature, Count inputs, Count outputs) {
  expect_float_arguments(signature.inputs, inputs, "input");
  expect_float_arguments(signature.outputs, outputs, "output");
}

void expect_small(const memory::desc& layout) {
  if (layout.get_size() > static_cast<std::size_t>(most_bytes))
    throw Unsupported{fmt::format("{} bytes, expected at most {}", layout.get_size(), most_bytes)};
}

const Shape& input_shape(const Signature& signature, std::size_t i) {
  return argument(signature.inputs, i).shape;
}

const Shape& output_shape(const Signature& signature, std::size_t i) {
  return argument(signature.outputs, i).shape;
}

std::vector<float> constant_floats(const Signature& signature, std::size_t i) {
  return elements_of<float>(signature, i, DType::float32);
}

std::vector<std::int64_t> constant_integers(const Signature& signature, std::size_t i) {
  return elements_of<std::int64_t>(signature, i, DType::int64);
}

/// Everything that the kernel keeps.
struct Assembly::Parts {
  dnnl::engine engine{};
  dnnl::stream stream{};
  std::vector<Step> steps{};
  std::vector<HeldMemory> held{};

  [[nodiscard]] std::byte* address(const Place& place, const Pointers& pointers) const {
    switch (place.memory) {
      case Place::Memory::input:
        // Primitives take what they only read as void*, too.
        return const_cast<std::byte*>(pointers.inputs[place.index]);
      case Place::Memory::output:
        return pointers.outputs[place.index];
      case Place::Memory::scratch:
        return pointers.scratch + place.index;
      case Place::Memory::held:
        break;
    }
    return held[place.index].get();
  }

  void run(const Step& step, const Pointers& pointers) {
    std::unordered_map<int, memory> arguments;
    for (const auto& [name, place] : step.arguments)
      arguments.emplace(name, memory(place.layout, engine, address(place, pointers)));
    step.primitive.execute(stream, arguments);
    stream.wait();
  }

  void run(const Pointers& pointers) {
    try {
      for (const Step& step : steps) run(step, pointers);
    } catch (const dnnl::error& error) {
      throw Error("", fmt::format("oneDNN fails: {}", error.what()));
    }
  }
};

Assembly::Assembly(const Signature& signature)
    : signature_(signature), engine_(dnnl::engine::kind::cpu, 0), parts_(std::make_shared<Parts>()) {
  parts_->engine = engine_;
  parts_->stream = dnnl::stream(engine_);
}

dnnl::primitive_attr Assembly::attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

Place Assembly::input(std::size_t i, const memory::desc& layout) const {
  const Argument& operand = argument(signature_.inputs, i);
  if (layout.get_size() != static_cast<std::size_t>(bytes_of(operand.dtype, operand.shape)))
    throw Unsupported{fmt::format("input {} has another size than expected", i)};
  return {Place::Memory::input, i, layout};
}

Place Assembly::output(std::size_t i, const memory::desc& layout) const {
  const Argument& operand = argument(signature_.outputs, i);
  if (layout.get_size() != static_cast<std::size_t>(bytes_of(operand.dtype, operand.shape)))
    throw Unsupported{fmt::format("output {} has another size than expected", i)};
  return {Place::Memory::output, i, layout};
}

Place Assembly::scratch(const memory::desc& layout) {
  const Place place{Place::Memory::scratch, static_cast<std::size_t>(scratch_), layout};
  scratch_ += base::align_up(static_cast<Bytes>(layout.get_size()), alignment);
  return place;
}

Place Assembly::held(const memory::desc& layout, std::span<const float> numbers) {
  const Place place = hold(layout);
  std::memcpy(parts_->held.back().get(), numbers.data(), std::min(layout.get_size(), numbers.size_bytes()));
  return place;
}

Place Assembly::hold(const memory::desc& layout) {
  const auto size = static_cast<Bytes>(layout.get_size());
  held_ += size;
  parts_->held.push_back(allocated(size));
  return {Place::Memory::held, parts_->held.size() - 1, layout};
}

Place Assembly::converted(const Place& from, const memory::desc& to) {
  if (from.layout == to) return from;
  expect_small(to);
  const bool is_constant = from.memory == Place::Memory::input &&
                           argument(signature_.inputs, from.index).is_constant &&
                           argument(signature_.inputs, from.index).constant.size() == from.layout.get_size();
  if (!is_constant) {
    const Place place = scratch(to);
    convert(from, place);
    return place;
  }
  const Place place = hold(to);
  const dnnl::reorder::primitive_desc descriptor(engine_, from.layout, engine_, to);
  auto* const data = const_cast<std::byte*>(argument(signature_.inputs, from.index).constant.data());
  memory source(from.layout, engine_, data);
  memory target(to, engine_, parts_->held.back().get());
  dnnl::reorder(descriptor).execute(parts_->stream, source, target);
  parts_->stream.wait();
  return place;
}

void Assembly::convert(const Place& from, const Place& to) {
  if (from.memory == to.memory && from.index == to.index && from.layout == to.layout) return;
  const dnnl::reorder::primitive_desc descriptor(engine_, from.layout, engine_, to.layout, attributes());
  append(dnnl::reorder(descriptor), descriptor.scratchpad_desc(), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void Assembly::append(dnnl::primitive primitive, const memory::desc& scratchpad, Arguments arguments) {
  if (scratchpad.get_size() != 0) arguments.emplace_back(DNNL_ARG_SCRATCHPAD, scratch(scratchpad));
  parts_->steps.push_back({std::move(primitive), std::move(arguments)});
}

Kernel Assembly::finish() {
  Kernel kernel{.run = [parts = parts_](const Pointers& pointers) { parts->run(pointers); }};
  kernel.scratch = scratch_;
  kernel.held = held_;
  return kernel;
}

Kernel guard(Kernel (*prepare)(const Signature&), const Signature& signature) {
  try {
    return prepare(signature);
  } catch (const dnnl::error& error) {
    throw Unsupported{fmt::format("oneDNN: {}", error.what())};
  } catch (const Error& error) {
    throw Unsupported{error.what()};
  }
}

}  // namespace stowage::kernels::fast
