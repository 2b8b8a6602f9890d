// run: networks inside their plan, arrays in and out.

#include "stowage/run.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <map>
#include <optional>
#include <string>

#include "bindings.h"
#include "cli/given_plan.h"
#include "cli/models.h"
#include "cli/options.h"
#include "models.h"
#include "planned.h"
#include "stowage/error.h"
#include "stowage/run_at_sizes.h"
#include "watched.h"

namespace nb = nanobind;

namespace stowage::python {
namespace {

/// From a dict of tuples (dtype, shape, bytes).
std::map<std::string, Array> arrays_from(const nb::dict& inputs) {
  std::map<std::string, Array> arrays;
  for (const auto& [name, value] : inputs) {
    const auto entry = nb::cast<nb::tuple>(value);
    Array array;
    array.dtype = dtype_named(nb::str(entry[0]).c_str()).value_or(DType::unknown);
    for (const nb::handle extent : nb::cast<nb::tuple>(entry[1]))
      array.shape.push_back(nb::cast<std::int64_t>(extent));
    const auto bytes = nb::cast<nb::bytes>(entry[2]);
    array.data.resize(bytes.size());
    if (bytes.size() > 0) std::memcpy(array.data.data(), bytes.c_str(), bytes.size());
    arrays.emplace(nb::str(name).c_str(), std::move(array));
  }
  return arrays;
}

nb::tuple tuple_from(const NamedArray& output) {
  const std::string_view dtype = name_of(output.array.dtype);
  nb::list shape;
  for (const std::int64_t extent : output.array.shape) shape.append(extent);
  return nb::make_tuple(output.model, nb::str(output.name.c_str(), output.name.size()),
                        nb::str(dtype.data(), dtype.size()), nb::tuple(shape),
                        nb::bytes(output.array.data.data(), output.array.data.size()));
}

/// A tuple: the outputs, the fault or None, and whether the run was interrupted.
nb::tuple run(const Planned& planned, const nb::list& models, const nb::dict& options, const nb::dict& inputs,
              const std::string& kernels, const std::string& check, const std::string& random_weights,
              const nb::object& listener) {
  const std::vector<Source> sources = sources_from(models);
  const Texts texts = texts_from(options);
  const std::uint64_t seed = cli::parse_plan_options(texts.plan).solve.seed;
  RunOptions running = cli::parse_run_options(
      {.kernels = kernels, .check = check, .random_weights = random_weights, .inputs = {}}, seed);
  running.inputs = arrays_from(inputs);
  RunResult result;
  run_watched({.call = listener}, [&](const Watch& watch) {
    running.stop = watch.stop;
    running.progress = watch.progress;
    const cli::GivenPlan given = planned.given();
    const cli::WantedSizes sizes = wanted_sizes(given, sources, texts.model);
    const auto read = [&](const cli::ModelTexts& it) { return read_networks(sources, it); };
    std::vector<Network> networks = read(sizes.texts);
    const cli::PlanAtSizes there = cli::plan_at_sizes(given, sizes, networks, cli::ReadNetworks(read));
    const Plan& plan = there.plan;
    const Faults faults = there.faults.empty() ? check_plan(plan, cli::inputs_of(networks)) : there.faults;
    if (!faults.empty()) {
      result.fault = RunFault{"the plan is wrong: " + faults[0].what};
      return;
    }
    expect_states(plan, sources, texts.model);
    result = run_plan(networks, plan, running, there.exact);
  });
  nb::list outputs;
  for (const NamedArray& output : result.outputs) outputs.append(tuple_from(output));
  nb::object fault = nb::none();
  if (result.fault) fault = nb::str(result.fault->what.c_str(), result.fault->what.size());
  return nb::make_tuple(outputs, fault, result.interrupted);
}

}  // namespace

void bind_run(nb::module_& module) {
  module.def("run", &run, nb::arg("plan"), nb::arg("models"), nb::arg("options"), nb::arg("inputs"),
             nb::arg("kernels"), nb::arg("check"), nb::arg("random_weights"), nb::arg("progress").none());
}

}  // namespace stowage::python
