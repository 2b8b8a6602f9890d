
#include "stowage/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "run/home.h"
#include "run/interpreter.h"
#include "run/program.h"
#include "run/random.h"
#include "stowage/error.h"

namespace stowage {
namespace {

/// What the caller provides before the first step: inputs, and state that is there from the start.
std::vector<TensorId> provided_by_caller(const Graph& graph) {
  std::vector<TensorId> tensors;
  std::set<TensorId> seen;
  const auto add = [&](TensorId t) {
    if (graph.tensors[t].kind != TensorKind::weight && seen.insert(t).second) tensors.push_back(t);
  };
  for (const TensorId input : graph.subgraphs[0].inputs) add(input);
  for (TensorId t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].kind == TensorKind::state) add(t);
  }
  return tensors;
}

void expect_known_inputs(const Graph& graph, const RunOptions& options) {
  std::set<std::string> names;
  for (const TensorId tensor : provided_by_caller(graph)) names.insert(graph.tensors[tensor].name);
  for (const auto& [name, array] : options.inputs) {
    if (!names.contains(name))
      throw UsageError(fmt::format("--input {}: the network has no such input, expected one of {}",
                                   base::quoted(name), fmt::join(names, ", ")));
  }
}

/// What each byte of a variable starts with: zero, as the real number it stands for.
std::byte initial_state(const Network& network, TensorId tensor) {
  const auto& quantization = network.quantizations[tensor];
  const bool is_quantized = network.graph().tensors[tensor].dtype == DType::int8 && quantization &&
                            !quantization->zero_points.empty();
  return is_quantized ? static_cast<std::byte>(quantization->zero_points[0]) : std::byte{0};
}

std::vector<std::byte> value_of(const Network& network, TensorId tensor, const RunOptions& options) {
  const Tensor& it = network.graph().tensors[tensor];
  const auto given = options.inputs.find(it.name);
  if (given != options.inputs.end()) {
    const Array& array = given->second;
    if (array.dtype != it.dtype || (it.shape && array.shape != *it.shape) ||
        static_cast<Bytes>(array.data.size()) != it.bytes) {
      throw UsageError(fmt::format("--input {}: is {}[{}], expected {}[{}]", base::quoted(it.name),
                                   name_of(array.dtype), fmt::join(array.shape, ","), name_of(it.dtype),
                                   fmt::join(it.shape.value_or(Shape{}), ",")));
    }
    return array.data;
  }
  const std::span<const std::byte> stored = network.input.constants.of(tensor);
  if (it.kind == TensorKind::state && !stored.empty()) return {stored.begin(), stored.end()};
  std::vector<std::byte> bytes(static_cast<std::size_t>(it.bytes), initial_state(network, tensor));
  if (it.kind != TensorKind::state) run::fill_random_input(bytes, it.dtype, it.name, options.seed);
  return bytes;
}

void run_steps(const Network& network, const Plan& plan, const run::Program& program,
               const RunOptions& options, RunResult& result) {
  const Graph& graph = network.graph();
  const std::vector<run::Call> calls = run::calls_of(graph, plan);
  run::PlannedHome planned(graph, plan);
  run::OwnHome own(graph);
  run::Interpreter interpreter(program, {&planned, options.check == RunCheck::none ? nullptr : &own}, options,
                               result);
  interpreter.move_to(0);
  for (const TensorId tensor : provided_by_caller(graph))
    interpreter.give(tensor, value_of(network, tensor, options));
  interpreter.run(calls);
  std::vector<NamedArray> outputs;
  for (const TensorId output : graph.subgraphs[0].outputs) {
    const auto bytes = interpreter.read(output, "the caller");
    const Tensor& tensor = graph.tensors[output];
    outputs.push_back(
        {tensor.name, {tensor.dtype, tensor.shape.value_or(Shape{}), {bytes.begin(), bytes.end()}}});
  }
  result.outputs = std::move(outputs);
}

/// Calls a function; its errors name the model's file.
template <typename Function>
auto in_file_of(const Network& network, const Function& function) {
  try {
    return function();
  } catch (const Error& error) {
    const std::string& source = network.input.info.source;
    throw source.empty() ? error : error.in_file(source);
  }
}

}  // namespace

struct Runner::Prepared {
  const Network& network;
  run::Program program;
};

Runner::Runner(const Network& network, const RunOptions& options)
    : prepared_(in_file_of(network, [&] {
        return std::make_unique<const Prepared>(Prepared{network, run::make_program(network, options)});
      })) {}

Runner::~Runner() = default;
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;

RunResult Runner::run(const Plan& plan, const RunOptions& options) const {
  const auto& [network, program] = *prepared_;
  expect_known_inputs(network.graph(), options);
  RunResult result{.kernels_hold = program.held, .kernels_scratch = program.scratch};
  try {
    in_file_of(network, [&, &on = network, &made = program] { run_steps(on, plan, made, options, result); });
  } catch (const RunFault& fault) {
    result.fault = fault;
  } catch (const run::Interrupted&) {
    result.interrupted = true;
  }
  return result;
}

RunResult run_plan(const Network& network, const Plan& plan, const RunOptions& options) {
  expect_known_inputs(network.graph(), options);
  return Runner(network, options).run(plan, options);
}

}  // namespace stowage
