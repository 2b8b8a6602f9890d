// Operators that only move elements, in an order that our own kernel says: it is given the numbers of the input's
// elements, from 1, and what comes out is where each element of the output is from; 0 is filling. Such an order is a sum
// of index * stride over some dimensions, which are found in it. If it is not, a table has the runs of elements that
// follow each other: those of SPACE_TO_BATCH_ND are places with all their channels. Operators whose output is always
// the same are constants.
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
#include "kernels/tflite/remap.h"

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

/// Where each element of the output is from: 1 is the first one, 0 is none.
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
  std::iota(all.begin(), all.end(), 1);
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

/// None if the elements are in no order of dimensions.
std::optional<std::vector<MoveDimension>> dimensions_of(Origins origins) {
  if (std::ranges::find(origins, 0) != origins.end()) return std::nullopt;
  std::vector<MoveDimension> dimensions;
  while (origins.size() > 1) {
    const auto next = take_dimension(origins);
    if (!next) return std::nullopt;
    dimensions.insert(dimensions.begin(), *next);
  }
  return dimensions;
}

/// The elements of a run: as many follow each other in the input, or are filling, from each multiple on.
std::size_t run_of(const Origins& origins) {
  std::size_t common = origins.size();
  std::size_t begin = 0;
  for (std::size_t i = 1; i < origins.size(); ++i) {
    const bool follows = origins[i] == (origins[i - 1] == 0 ? 0 : origins[i - 1] + 1);
    if (follows) continue;
    common = std::gcd(common, i - begin);
    begin = i;
  }
  return std::gcd(common, origins.size() - begin);
}

void call_runs(Writer& writer, const Origins& origins, const std::string& from, const std::string& to) {
  const std::size_t run = run_of(origins);
  Origins firsts;
  for (std::size_t i = 0; i < origins.size(); i += run) firsts.push_back(origins[i] - 1);
  const kernels::Argument& output = writer.signature().outputs.at(0).value();
  std::string filling;
  for (const std::byte byte : kernels::zero_of(output))
    filling += fmt::format("{}{}", filling.empty() ? "" : ", ", static_cast<int>(byte));
  const std::string table = writer.sources().array(
      "runs_" + writer.number(), "runs of operator " + writer.number(), DType::int32, firsts);
  const std::string layer =
      writer.layer("stowage_runs_shape", fmt::format("{}, {}, {}, {}, {{{}}}", table, firsts.size(), run,
                                                     kernels::element_size(output.dtype), filling));
  writer.need("stowage_runs");
  writer.need("stowage_movement");
  writer.line(fmt::format("stowage_copy_from_runs(&{}, {}, {});", layer, from, to));
}

}  // namespace

void emit_order_of(Writer& writer, const kernels::Signature& signature) {
  const Origins origins = origins_of(signature);
  if (origins.empty()) return;
  const Operand in = writer.input(0);
  const Operand out = writer.output();
  if (const auto dimensions = dimensions_of(origins))
    return call_move(writer, *dimensions, origins[0] - 1, in.at, out.at);
  call_runs(writer, origins, in.at, out.at);
}

namespace {

void emit_asked(Writer& writer) { emit_order_of(writer, writer.seen()); }

void emit_strided_slice(Writer& writer) {
  const kernels::Signature& signature = writer.signature();
  for (std::size_t i = 1; i < signature.inputs.size(); ++i)
    if (signature.has_input(i) && !signature.inputs[i]->is_constant)
      return emit_computed_strided_slice(writer);
  emit_asked(writer);
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
          {"REVERSE_V2", emit_asked},
          {"SPACE_TO_BATCH_ND", emit_asked},
          {"SPACE_TO_DEPTH", emit_asked},
          {"STRIDED_SLICE", emit_strided_slice},
          {"TILE", emit_asked},
          {"DepthToSpace", emit_asked},
          {"Expand", emit_asked},
          {"SpaceToDepth", emit_asked},
          {"Tile", emit_asked},
          {"SHAPE", emit_constant},
          {"Shape", emit_constant}};
}

}  // namespace stowage::generate
