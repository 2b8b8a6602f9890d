// What the test program of a package expects: our own runner computes it.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "base/text.h"
#include "generate/program.h"
#include "run/inputs.h"
#include "stowage/error.h"
#include "stowage/planner.h"
#include "stowage/run.h"

namespace stowage::generate {
namespace {

/// A plan to compute known outputs in: any order and places will do.
PlanOptions any_plan() {
  PlanOptions options;
  options.solve.strategy = "free-list";
  options.order = Order::keep;
  options.alias = Alias::none;
  return options;
}

/// Sums of real numbers that are kept from row to row are rounded with each row, and parts of rows in their order.
bool rounds_sums(const Network& network, const Plan& plan) {
  const Graph& graph = network.graph();
  return std::ranges::any_of(plan.clocks.at(0).steps, [&](const Step& step) {
    const auto* const run = std::get_if<Run>(&step);
    if (run == nullptr || run->path.size() != 2) return false;
    if (run->part) return true;
    if (!run->sums) return false;
    const auto& inputs = graph.subgraphs[0].operators[run->path[1]].inputs;
    return graph.tensors[inputs.at(0).value()].dtype == DType::float32;
  });
}

/// The given values, by number of the input.
std::map<std::size_t, const Array*> given_of(const Network& network, const Plan& plan,
                                             const RunOptions& options) {
  const Network* const one = &network;
  const std::vector<TensorId>& inputs = network.graph().subgraphs[0].inputs;
  std::map<std::size_t, const Array*> given;
  for (const auto& [where, array] : run::given_inputs({&one, 1}, plan, options)) {
    const auto it = std::ranges::find(inputs, where.second);
    if (it == inputs.end())
      throw UsageError(fmt::format("--input: {} is no input, but state",
                                   base::quoted(network.graph().tensors[where.second].name)));
    given.emplace(static_cast<std::size_t>(it - inputs.begin()), array);
  }
  return given;
}

/// Outputs for the inputs of a seed. Where these cannot be run, integers that are not given are zeros: they may be
/// indices.
std::vector<NamedArray> outputs_of(const Runner& runner, const Network& network, const Plan& plan,
                                   RunOptions options, TestCase& inputs) {
  const auto run = [&] {
    RunResult result = runner.run(plan, options);
    if (result.fault) throw Error("", "cannot be run: " + result.fault->what);
    return std::move(result.outputs);
  };
  try {
    return run();
  } catch (const Error&) {  // again below
  }
  const auto given = given_of(network, plan, options);
  const std::vector<TensorId>& tensors = network.graph().subgraphs[0].inputs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = network.graph().tensors[tensors[i]];
    if ((tensor.dtype != DType::int32 && tensor.dtype != DType::int64) || given.contains(i)) continue;
    std::ranges::fill(inputs[i], std::byte{0});
    options.inputs[tensor.name] = Array{tensor.dtype, *tensor.shape, inputs[i]};
  }
  try {
    return run();
  } catch (const Error& error) {
    throw Error(error.place(), error.problem() + "; --input gives the test other inputs, --cases 0 none");
  }
}

}  // namespace

std::vector<TestCase> cases_of(const Network& network, const Plan& plan, const GenerateOptions& options) {
  const Plan known = rounds_sums(network, plan) ? plan : make_plan(network.input, any_plan()).plan;
  std::optional<Runner> runner;
  try {
    if (options.cases > 0) runner.emplace(network, RunOptions{.kernels = KernelSet::plain});
  } catch (const Error&) {
    if (options.externs.empty()) throw;  // else nobody knows what these compute
  }
  std::vector<TestCase> cases;
  for (std::size_t c = 0; c < std::max<std::size_t>(options.cases, 1); ++c) {
    const std::uint64_t seed = options.seed + c;
    TestCase& own = cases.emplace_back();
    const RunOptions run_options{.kernels = KernelSet::plain, .seed = seed, .inputs = options.inputs};
    const auto given = given_of(network, known, run_options);
    for (const TensorId input : network.graph().subgraphs[0].inputs) {
      const auto it = given.find(own.size());
      own.push_back(run::value_of(network, input, it == given.end() ? nullptr : it->second, seed));
    }
    if (!runner) continue;
    for (const NamedArray& output : outputs_of(*runner, network, known, run_options, own))
      own.push_back(output.array.data);
  }
  return cases;
}

}  // namespace stowage::generate
