// stowage run: plans networks, or reads their plan, and runs them inside it.

#include "stowage/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/nearest.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/buckets.h"
#include "cli/commands.h"
#include "cli/given_plan.h"
#include "cli/interrupt.h"
#include "cli/models.h"
#include "cli/output_files.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/network.h"
#include "stowage/parts.h"
#include "stowage/planner.h"
#include "stowage/run_at_sizes.h"

namespace stowage::cli {
namespace {

/// The plan to run, or the exit status if there is none.
struct Planned {
  Plan plan{};
  ExitStatus status = ExitStatus::done;
  std::vector<Network> exact{};  ///< As PlanAtSizes::exact.
};

/// A plan that is given, and the sizes to read its models at.
struct PlanToRun {
  GivenPlan given{};
  WantedSizes sizes{};
};

PlanToRun plan_to_run(const RunCommand& command, const ModelTexts& model, const Bucket* bucket) {
  PlanToRun wanted{.given =
                       bucket != nullptr ? GivenPlan{bucket->plan} : read_given_plan(command.given_plan)};
  wanted.sizes = wanted_sizes(wanted.given, command.inputs, model);
  return wanted;
}

/// `networks`, which were read at the sizes of a given plan, become those that it is for.
Planned plan_for(const RunCommand& command, const std::optional<PlanToRun>& wanted,
                 std::vector<Network>& networks, const InterruptWatch& watch) {
  if (wanted) {
    const auto read = [&](const ModelTexts& texts) { return read_networks(command.inputs, texts); };
    PlanAtSizes there = plan_at_sizes(wanted->given, wanted->sizes, networks, ReadNetworks(read));
    Planned planned{.plan = std::move(there.plan), .exact = std::move(there.exact)};
    const Faults faults =
        there.faults.empty() ? check_plan(planned.plan, inputs_of(networks)) : std::move(there.faults);
    if (faults.empty()) expect_states(planned.plan, parse_models(command.inputs), command.model);
    if (!faults.empty() && !wanted->sizes.range) note_other_models(planned.plan, inputs_of(networks));
    print_faults(faults);
    if (!faults.empty()) planned.status = ExitStatus::not_met;
    return planned;
  }
  PlanOptions options = parse_plan_options(command.plan);
  options.states = shared_states(parse_models(command.inputs), command.model);
  note_memories(options.memories);
  options.solve.stop = watch.stop();
  options.solve.progress = progress_line(options.solve);
  PlanResult result = make_plan(inputs_of(networks), options);
  clear_progress_line();
  note_nearness(result);
  if (!result.faults.empty()) return {.status = report_own_fault(result)};
  const ExitStatus status = report_fit(result);
  return {std::move(result.plan), status};
}

/// An output that --save requests.
struct SavedOutput {
  std::size_t model = 0;
  std::string name;
  std::string file;
};

/// Outputs overwrite neither what is read, nor each other.
void expect_outputs_apart(const RunCommand& command) {
  std::vector<std::string> inputs = files_of_models(command.inputs);
  if (!command.given_plan.empty()) inputs.push_back(command.given_plan);
  for (const std::string& text : command.run.inputs)
    inputs.push_back(parse_assignment("--input", text).second);
  std::vector<NamedOutput> outputs = command.output.named();
  for (const std::string& text : command.saved)
    outputs.emplace_back("--save", parse_assignment("--save", text).second);
  expect_different_files(inputs, outputs);
}

/// All outputs that NAME or MODEL.NAME can mean, at most one per model.
std::vector<SavedOutput> outputs_called(const std::string& name, const std::vector<Network>& networks) {
  std::vector<SavedOutput> found;
  for (std::size_t m = 0; m < networks.size(); ++m) {
    const Graph& graph = networks[m].graph();
    for (const TensorId output : graph.subgraphs.at(0).outputs) {
      const std::string& own = graph.tensors[output].name;
      if (own != name && networks[m].input.info.name + "." + own != name) continue;
      found.push_back({.model = m, .name = own, .file = ""});
      break;
    }
  }
  return found;
}

/// The outputs that --save requests. Throws UsageError unless each name means exactly one output.
std::vector<SavedOutput> saved_outputs(const RunCommand& command, const std::vector<Network>& networks) {
  std::vector<SavedOutput> saved;
  for (const std::string& text : command.saved) {
    const auto [name, file] = parse_assignment("--save", text);
    const std::vector<SavedOutput> found = outputs_called(name, networks);
    if (found.empty()) {
      std::vector<std::string> names;
      for (const Network& network : networks) {
        for (const TensorId t : network.graph().subgraphs[0].outputs)
          names.push_back(network.graph().tensors[t].name);
      }
      throw UsageError(fmt::format("--save: {} no output {}{}",
                                   networks.size() == 1 ? "the network has" : "the networks have",
                                   base::quoted(name), base::did_you_mean(name, names)));
    }
    if (found.size() > 1)
      throw UsageError(
          fmt::format("--save: several models have an output {}, expected MODEL.OUTPUT", base::quoted(name)));
    saved.push_back({found[0].model, found[0].name, file});
  }
  return saved;
}

void save_outputs(const std::vector<SavedOutput>& saved, const RunResult& result) {
  std::vector<base::OutputFile> files;
  for (const SavedOutput& wanted : saved) {
    const auto output = std::find_if(result.outputs.begin(), result.outputs.end(), [&](const NamedArray& it) {
      return it.model == wanted.model && it.name == wanted.name;
    });
    if (output == result.outputs.end()) continue;
    files.push_back({wanted.file, [output](std::ostream& out) { write_npy(output->array, out); }});
  }
  base::write_files(files);
}

/// What the check has shown.
void write_check(const RunResult& result, const RunOptions& options, std::ostream& out) {
  base::print(out, "check        {} as in a run without a plan, {}\n",
              options.check == RunCheck::tensors ? "all tensors are" : "outputs are",
              !result.largest_difference       ? "bit for bit"
              : *result.largest_difference > 0 ? fmt::format("but for {:.3g} at most: rows are added up in "
                                                             "another order",
                                                             *result.largest_difference)
                                               : "but for the bits of NaN or the sign of 0");
  if (const std::optional<double> value = only_value_of(result.outputs))
    base::print(out, "note         every output is {:.6g}, so the check shows little; {}\n", *value,
                options.inputs.empty() ? "`--seed N` gives other inputs" : "try other inputs");
}

}  // namespace

std::string parts_of_runner() {
  const std::string fast = name_of_fast_kernels();
  return fast.empty() ? "runner" : "runner, " + fast;
}

ExitStatus run_run(const RunCommand& command) {
  PlanTexts planning = command.plan;
  planning.seed.clear();  // also the seed of random inputs
  if (!command.given_plan.empty() && planning != PlanTexts{})
    throw UsageError("--plan cannot be combined with planning options: the plan is already made");
  RunOptions options = parse_run_options(command.run, parse_plan_options(command.plan).solve.seed);
  expect_outputs_apart(command);
  const std::vector<WantedFile> files = wanted_files(command.output, {Holds::json, Holds::csv, Holds::svg});
  const std::optional<Buckets> buckets =
      command.given_plan.empty() ? std::nullopt : read_buckets(command.given_plan);
  ModelTexts model = command.model;
  for (const std::string& text : command.run.inputs)
    model.inputs.push_back(parse_assignment("--input", text).first);
  if (buckets) options.inputs = parse_inputs(command.run.inputs);  // their shapes may choose the bucket
  const Bucket* const bucket = buckets ? &chosen_bucket(*buckets, command.inputs, options, model) : nullptr;
  std::optional<PlanToRun> given;
  if (!command.given_plan.empty()) {
    given = plan_to_run(command, model, bucket);
    model = given->sizes.texts;
  }
  std::vector<Network> networks = read_networks(command.inputs, model);
  print_notes(inputs_of(networks));
  expect_inputs(networks, model.inputs);
  if (!buckets) options.inputs = parse_inputs(command.run.inputs);
  const std::vector<SavedOutput> saved = saved_outputs(command, networks);
  const InterruptWatch watch;
  const Planned planned = plan_for(command, given, networks, watch);
  if (planned.status != ExitStatus::done) return planned.status;
  options.stop = watch.stop();
  options.progress = progress_line();
  const RunResult result = stowage::run_plan(networks, planned.plan, options, planned.exact);
  clear_progress_line();
  save_outputs(saved, result);
  base::write_files(outputs_of(files, planned.plan));
  if (command.json) {
    write_run_json(result, planned.plan, std::cout);
  } else {
    const bool is_taken = std::ranges::any_of(files, [](const WantedFile& it) { return it.file == "-"; });
    std::ostream& out = summary_stream(is_taken);
    write_run(result, planned.plan, out);
    if (!result.fault && !result.interrupted && options.check != RunCheck::none)
      write_check(result, options, out);
    if (command.report_memory) write_steps(result, planned.plan, out);
  }
  flush_output();
  if (result.interrupted) base::print(std::cerr, "stowage: interrupted; some steps did not run\n");
  return result.fault || result.interrupted ? ExitStatus::not_met : ExitStatus::done;
}

}  // namespace stowage::cli
