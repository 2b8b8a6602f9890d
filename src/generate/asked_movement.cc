// Operators that only move elements, in an order that our own kernel says: it is given the numbers of the input's
// elements, and what comes out is where each element of the output is from. Such an order is a sum of index * stride
// over some dimensions, which are found in it. Operators whose output is always the same are constants.
//
// Cost: a run of the kernel, and linear in its elements.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "generate/moves.h"
#include "generate/text.h"
#include "kernels/kernels.h"

namespace stowage::generate {
namespace {

using kernels::refuse;
using Origins = std::vector<std::int32_t>;

/// Runs our own kernel on an input, or on none, and gives its first output.
template <typename Element>
std::vector<Element> run_kernel(const kernels::Signature& signature, const Origins& input) {
  const kernels::Kernel kernel = kernels::prepare(signature, KernelSet::plain);
  for (std::size_t i = 1; i < signature.inputs.size(); ++i)
    if (signature.has_input(i) && !signature.inputs[i]->is_constant) refuse("its input {} is computed", i);
  std::vector<const std::byte*> inputs;
  for (const auto& argument : signature.inputs)
    inputs.push_back(argument && argument->is_constant ? argument->constant.data() : nullptr);
  if (!input.empty()) inputs[0] = reinterpret_cast<const std::byte*>(input.data());
  std::vector<Element> output(static_cast<std::size_t>(kernels::count_of(signature.outputs.at(0)->shape)));
  const std::array<std::byte*, 1> outputs{reinterpret_cast<std::byte*>(output.data())};
  std::vector<std::byte> scratch(static_cast<std::size_t>(kernel.scratch));
  kernel.run({.inputs = inputs, .outputs = outputs, .scratch = scratch.data()});
  return output;
}

/// Where each element of the output is from.
Origins origins_of(kernels::Signature signature) {
  constexpr std::int64_t most_elements = 1 << 28;  // a GB of numbers
  const std::int64_t count = kernels::count_of(signature.inputs.at(0).value().shape);
  const std::int64_t outputs = kernels::count_of(signature.outputs.at(0).value().shape);
  if (std::max(count, outputs) > most_elements) refuse("it has {} elements", std::max(count, outputs));
  for (auto* const argument : {&*signature.inputs[0], &*signature.outputs.at(0)}) {
    argument->dtype = DType::int32;
    argument->quantization = nullptr;
  }
  signature.inputs[0]->is_constant = false;
  signature.inputs[0]->constant = {};
  Origins all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return run_kernel<std::int32_t>(signature, all);
}

/// The inner dimension of numbers: as many as have the same distance. Leaves the first one of each run. None if they are
/// no runs that are alike.
std::optional<MoveDimension> take_dimension(Origins& numbers) {
  const std::int32_t step = numbers[1] - numbers[0];
  std::size_t run = 2;
  while (run < numbers.size() && numbers[run] - numbers[run - 1] == step) ++run;
  if (numbers.size() % run != 0) return std::nullopt;
  Origins firsts;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i % run == 0)
      firsts.push_back(numbers[i]);
    else if (numbers[i] - numbers[i - 1] != step)
      return std::nullopt;
  }
  numbers = std::move(firsts);
  return MoveDimension{static_cast<std::int64_t>(run), step};
}

void emit_asked(Writer& writer) {
  Origins origins = origins_of(writer.seen());
  if (origins.empty()) return;
  const std::int64_t begin = origins[0];
  std::vector<MoveDimension> dimensions;
  while (origins.size() > 1) {
    const auto next = take_dimension(origins);
    if (!next) refuse("its elements are in no order of dimensions");
    dimensions.insert(dimensions.begin(), *next);
  }
  const Operand in = writer.input(0);
  const Operand out = writer.output();
  call_move(writer, dimensions, begin, in.at, out.at);
}

/// A row of the output is a part of a row of the input: of each place, one line of its block.
void emit_depth_to_space(Writer& writer) {
  if (writer.axis() == nullptr) return emit_asked(writer);
  constexpr std::size_t height = 1;
  const Shape& in = writer.signature().inputs.at(0).value().shape;
  if (writer.axis()->axis != height || in.at(0) != 1)
    refuse("it runs by rows along axis {}", writer.axis()->axis);
  const std::int64_t block = writer.signature().attributes.integer("block_size", 1);
  const std::int64_t line = in.at(3) / block;
  call_move(writer, {{in[2], in[3]}, {line, 1}}, 0,
            fmt::format("{} + y % {} * {}", writer.input_row(0, height, fmt::format("y / {}", block)).at,
                        block, line),
            writer.output_row(height, "y").at);
}

/// The output is the same in all runs.
void emit_constant(Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  const DType dtype = signature.outputs.at(0).value().dtype;
  if (dtype != DType::int32 && dtype != DType::int64)
    refuse("element type {} is not supported", name_of(dtype));
  const std::string name = "constant_" + writer.number();
  const std::string comment = "output of operator " + writer.number();
  const std::string array =
      dtype == DType::int32
          ? writer.sources().array(name, comment, dtype, run_kernel<std::int32_t>(signature, {}))
          : writer.sources().array(name, comment, dtype, run_kernel<std::int64_t>(signature, {}));
  call_copy(writer, array, writer.output());
}

}  // namespace

EmitPart asked_movement_operators() {
  return {{"BATCH_TO_SPACE_ND", emit_asked},
          {"BROADCAST_TO", emit_asked},
          {"DEPTH_TO_SPACE", emit_depth_to_space, RowHandling::own},
          {"SPACE_TO_DEPTH", emit_asked},
          {"STRIDED_SLICE", emit_asked},
          {"TILE", emit_asked},
          {"DepthToSpace", emit_asked},
          {"Expand", emit_asked},
          {"SpaceToDepth", emit_asked},
          {"Tile", emit_asked},
          {"SHAPE", emit_constant},
          {"Shape", emit_constant}};
}

}  // namespace stowage::generate
