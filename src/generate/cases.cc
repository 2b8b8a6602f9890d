// What the test program of a package expects: our own runner computes it.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

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

/// Sums of real numbers that are kept from row to row are rounded with each row.
bool rounds_sums(const Network& network, const Plan& plan) {
  const Graph& graph = network.graph();
  return std::ranges::any_of(plan.clocks.at(0).steps, [&](const Step& step) {
    const auto* const run = std::get_if<Run>(&step);
    if (run == nullptr || !run->sums || run->path.size() != 2) return false;
    const auto& inputs = graph.subgraphs[0].operators[run->path[1]].inputs;
    return graph.tensors[inputs.at(0).value()].dtype == DType::float32;
  });
}

/// Outputs for the inputs of a case. Where these cannot be run, integers are zeros: they may be indices.
std::vector<NamedArray> outputs_of(const Runner& runner, const Network& network, const Plan& plan,
                                   RunOptions options, TestCase& inputs) {
  const auto run = [&] {
    RunResult result = runner.run(plan, options);
    if (result.fault) throw Error("", "cannot be run: " + result.fault->what);
    return std::move(result.outputs);
  };
  try {
    return run();
  } catch (const Error&) {
    const std::size_t given = options.inputs.size();
    const std::vector<TensorId>& tensors = network.graph().subgraphs[0].inputs;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& tensor = network.graph().tensors[tensors[i]];
      if (tensor.dtype != DType::int32 && tensor.dtype != DType::int64) continue;
      const Array zeros{tensor.dtype, *tensor.shape, std::vector<std::byte>(inputs[i].size())};
      if (options.inputs.emplace(tensor.name, zeros).second) inputs[i] = zeros.data;
    }
    if (options.inputs.size() == given) throw;
    return run();
  }
}

}  // namespace

std::vector<std::map<std::string, Array>> inputs_of_each(std::span<const Network> networks, const Plan& plan,
                                                         const GenerateOptions& options) {
  std::vector<const Network*> all;
  for (const Network& network : networks) all.push_back(&network);
  std::vector<std::map<std::string, Array>> inputs(networks.size());
  for (const auto& [input, array] : run::given_inputs(all, plan, {.inputs = options.inputs}))
    inputs[input.first].emplace(networks[input.first].graph().tensors[input.second].name, *array);
  return inputs;
}

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
    const RunOptions how{.kernels = KernelSet::plain, .seed = options.seed + c, .inputs = options.inputs};
    TestCase& own = cases.emplace_back();
    for (const TensorId input : network.graph().subgraphs[0].inputs) {
      const auto given = options.inputs.find(network.graph().tensors[input].name);
      own.push_back(
          run::value_of(network, input, given == options.inputs.end() ? nullptr : &given->second, how.seed));
    }
    if (!runner) continue;
    for (const NamedArray& output : outputs_of(*runner, network, known, how, own))
      own.push_back(output.array.data);
  }
  return cases;
}

}  // namespace stowage::generate
