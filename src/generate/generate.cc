// Writes a network as C that runs its plan, step by step:
//
// 1. steps: which operators the plan runs, whole or by rows, and when;
// 2. functions: each operator becomes a C function; all that cannot are listed together;
// 3. schedule: the steps become calls, loops of an affine schedule, or a table;
// 4. cases: our own runner computes the outputs of the test program;
// 5. files.
//
// A pure function of network, plan and options. Cost: linear in the size of the files, and a run for each case.

#include "stowage/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "generate/kernel_files.h"
#include "generate/package.h"
#include "generate/program.h"
#include "generate/schedule.h"
#include "generate/sources.h"
#include "generate/text.h"
#include "model/plan_blocks.h"
#include "run/inputs.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/run.h"

namespace stowage {
namespace generate {
namespace {

void expect_identifier(const std::string& name) {
  const auto is_known = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  const bool is_digit = !name.empty() && name[0] >= '0' && name[0] <= '9';
  if (name.empty() || is_digit || !std::ranges::all_of(name, is_known))
    throw UsageError(fmt::format("name '{}' is not a C identifier in lower case", name));
}

void expect_plain_network(const Network& network, const Plan& plan) {
  if (plan.models.size() != 1) throw Error("plan", "is of several models, expected one");
  if (model::has_blocks(plan))
    throw Error("plan",
                "runs blocks of operators, for which no C is generated; expected one of --blocks none");
  if (plan.tensors.size() != network.graph().tensors.size())
    throw Error("plan", fmt::format("has {} tensors, the network {}", plan.tensors.size(),
                                    network.graph().tensors.size()));
}

/// Rows that one step computes together may be stored as a whole tensor, or row by row.
Function function_for(Sources& sources, StepKind& kind) {
  if (kind.is_one_step && kind.axis) {
    const StepKind as_whole{.op = kind.op};
    try {
      Function function = function_of(sources, as_whole);
      kind = as_whole;
      return function;
    } catch (const kernels::Unsupported&) {
    }
  }
  return function_of(sources, kind);
}

/// All functions, or an error that names all operators that have none.
std::vector<Function> functions_for(Sources& sources, Schedule& schedule) {
  const Graph& graph = sources.network().graph();
  std::vector<Function> functions;
  std::string obstacles;
  std::size_t count = 0;
  for (StepKind& kind : schedule.operators) {
    try {
      functions.push_back(function_for(sources, kind));
    } catch (const kernels::Unsupported& unsupported) {
      obstacles += fmt::format("\n  {}: {}", describe(graph, 0, kind.op), unsupported.reason);
      ++count;
    }
  }
  if (count > 0)
    throw Error("", fmt::format("has {} operators for which no C is generated:{}", count, obstacles));
  return functions;
}

/// With ports, all inputs and outputs must come and go by them.
void expect_all_ports(const Model& model) {
  if (!model.has_ports()) return;
  for (const Outlet& outlet : outlets_of(model)) {
    const bool is_planned = !model.plan->tensors[outlet.tensor].views.empty();
    if (!outlet.port && is_planned)
      throw Error("plan", fmt::format("hands over some tensors by rows, but not {}",
                                      describe(model.graph(), outlet.tensor)));
  }
}

/// A plan to compute known outputs in: any order and places will do.
PlanOptions any_plan() {
  PlanOptions options;
  options.solve.strategy = "free-list";
  options.order = Order::keep;
  options.alias = Alias::none;
  return options;
}

std::vector<TestCase> cases_of(const Model& model, const GenerateOptions& options) {
  const Network& network = *model.network;
  const PlanResult planned = make_plan(network.input, any_plan());
  const Runner runner(network, {.kernels = KernelSet::plain});
  std::vector<TestCase> cases;
  for (std::size_t c = 0; c < options.cases; ++c) {
    const std::uint64_t seed = options.seed + c;
    const RunResult result = runner.run(planned.plan, {.kernels = KernelSet::plain, .seed = seed});
    if (result.fault) throw Error("", "cannot be run: " + result.fault->what);
    TestCase& own = cases.emplace_back();
    for (const TensorId input : network.graph().subgraphs[0].inputs)
      own.push_back(run::value_of(network, input, nullptr, seed));
    for (const NamedArray& output : result.outputs) own.push_back(output.array.data);
  }
  return cases;
}

Bytes size_of(const std::vector<ConstantArray>& arrays) {
  Bytes sum = 0;
  for (const ConstantArray& array : arrays) sum += static_cast<Bytes>(array.data.size());
  return sum;
}

std::string plan_text(const Plan& plan) {
  std::ostringstream out;
  write_json(plan, out);
  return out.str();
}

void add_kernels(Package& package, const std::vector<std::string>& kernels) {
  for (const KernelFile& file : kernel_files()) {
    const std::string name(file.name.substr(0, file.name.rfind('.')));
    const bool is_common = file.name == "stowage_kernels.h" || file.name == "stowage_test.h";
    const bool is_needed = is_common || std::ranges::find(kernels, name) != kernels.end();
    if (is_needed) package.files.push_back({std::string(file.name), std::string(file.content)});
  }
}

Package write_package(const Network& network, const Plan& plan, const GenerateOptions& options) {
  const run::Program program = run::make_program(network, {.kernels = KernelSet::plain});
  Model model{.network = &network, .plan = &plan, .name = options.name};
  model.schedule = schedule_of(network, plan);
  Sources sources(network, program, plan, options.name);
  sources.use(options.kernels);
  model.functions = functions_for(sources, model.schedule);
  for (const Port& port : model.schedule.ports) {
    const Storage storage = sources.storage(port.tensor);
    model.port_places.push_back(
        sources.place(port.axis ? storage.by_rows(*port.axis) : storage.whole(), port.tensor));
  }
  expect_all_ports(model);
  model.has_wishes = !sources.wishes().empty();
  model.calls_cmsis_nn = sources.kernels().contains("stowage_cmsis_nn");
  if (!model.has_ports()) model.loops = loops_of(network, plan, model.schedule);
  if (is_streamed(plan) && !model.loops) model.table = periodic(model.schedule.steps);
  const std::string text = program_of(model, sources);
  Package package{.state = bytes_of_state(model) + bytes_kept(model),
                  .weights = size_of(sources.arrays()),
                  .control = bytes_of_tables(model) + sources.bytes_of_places(),
                  .steps = model.schedule.steps.size()};
  for (const PlannedMemory& memory : plan.memories) package.arena += memory.peak;
  for (const Operator& op : network.graph().subgraphs[0].operators) package.multiplies += op.multiplies;
  const std::string& name = options.name;
  package.files = {{name + ".h", interface_of(model, sources)},
                   {name + ".c", text},
                   {name + "_weights.h", weights_header_of(model, sources)},
                   {name + "_weights.c", weights_of(model, sources)},
                   {name + "_test.c", test_program_of(model, cases_of(model, options))},
                   {"plan.json", plan_text(plan)}};
  const std::vector<std::string> kernels(sources.kernels().begin(), sources.kernels().end());
  add_kernels(package, kernels);
  for (GeneratedFile& file : build_files_of(model, package, kernels))
    package.files.push_back(std::move(file));
  return package;
}

}  // namespace
}  // namespace generate

Package generate_package(const Network& network, const Plan& plan, const GenerateOptions& options) {
  generate::expect_identifier(options.name);
  generate::expect_plain_network(network, plan);
  if (options.cases < 1) throw UsageError("cases is 0, expected at least 1");
  try {
    return generate::write_package(network, plan, options);
  } catch (const kernels::Unsupported& unsupported) {
    throw Error("", "cannot be generated: " + unsupported.reason).in_file(network.input.info.source);
  } catch (const Error& error) {
    throw network.input.info.source.empty() ? error : error.in_file(network.input.info.source);
  }
}

}  // namespace stowage
