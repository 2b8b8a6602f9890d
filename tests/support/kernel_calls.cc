#include "kernel_calls.h"

#include "stowage/error.h"

namespace stowage::testing {
namespace {

std::vector<std::optional<kernels::Argument>> arguments_of(const std::vector<std::optional<Array>>& arrays,
                                                           bool is_constant) {
  std::vector<std::optional<kernels::Argument>> arguments;
  for (const std::optional<Array>& array : arrays) {
    if (!array) {
      arguments.emplace_back();
      continue;
    }
    kernels::Argument argument{.dtype = array->dtype, .shape = array->shape};
    if (is_constant) {
      argument.is_constant = true;
      argument.constant = array->data;
    }
    arguments.emplace_back(argument);
  }
  return arguments;
}

}  // namespace

std::vector<Array> outputs_of(const KernelCall& call) {
  Attributes attributes;
  for (const auto& [name, value] : call.attributes) attributes.set(name, value);
  const kernels::Signature signature{.type = call.type,
                                     .version = call.version,
                                     .attributes = attributes,
                                     .inputs = arguments_of(call.inputs, call.has_constants),
                                     .outputs = arguments_of(call.outputs, false)};
  const kernels::Kernel kernel = kernels::prepare(signature, KernelSet::plain);
  std::vector<std::vector<std::byte>> read;
  std::vector<const std::byte*> inputs;
  for (const auto& input : call.inputs) {
    read.push_back(input ? input->data : std::vector<std::byte>{});
    inputs.push_back(input ? read.back().data() : nullptr);
  }
  std::vector<Array> results;
  for (const auto& output : call.outputs) {
    results.push_back(output ? *output : Array{});
    // What a kernel does not write must not look right.
    if (output)
      results.back().data.assign(static_cast<std::size_t>(bytes_of(output->dtype, output->shape)),
                                 std::byte{0xA5});
  }
  std::vector<std::byte*> outputs;
  for (std::size_t i = 0; i < results.size(); ++i)
    outputs.push_back(call.outputs[i] ? results[i].data.data() : nullptr);
  if (call.in_place) outputs[0] = read.at(*call.in_place).data();
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> scratch(static_cast<std::size_t>(kernel.scratch + 63) / 64);
  kernel.run({.inputs = inputs, .outputs = outputs, .scratch = scratch.empty() ? nullptr : scratch[0].bytes});
  if (call.in_place) results[0].data = read[*call.in_place];
  return results;
}

std::string refusal_of(const KernelCall& call) {
  try {
    static_cast<void>(outputs_of(call));
    return "";
  } catch (const kernels::Unsupported& refusal) {
    return refusal.reason;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace stowage::testing
