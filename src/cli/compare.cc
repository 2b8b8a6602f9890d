#include <algorithm>
#include <iostream>
#include <vector>

#include "base/file.h"
#include "base/print.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/models.h"
#include "cli/output_files.h"
#include "cli/progress.h"
#include "stowage/export.h"
#include "stowage/planner.h"

namespace stowage::cli {
namespace {

std::vector<ModelInfo> infos_of(const std::vector<Input>& inputs) {
  std::vector<ModelInfo> infos;
  for (const Input& input : inputs) infos.push_back(input.info);
  return infos;
}

}  // namespace

ExitStatus run_compare(const CompareCommand& command) {
  PlanOptions options = parse_options_of_all(command.plan);
  options.states = shared_states(parse_models(command.inputs), command.model);
  note_memories(options.memories);
  const std::vector<Input> inputs = read_models(command.inputs, command.model, wanted_for(options));
  print_notes(inputs);
  const InterruptWatch watch;
  options.solve.stop = watch.stop();
  options.solve.progress = progress_line();
  const std::vector<Comparison> comparisons = compare(inputs, options);
  clear_progress_line();
  if (command.json) {
    write_comparison_json(comparisons, infos_of(inputs), std::cout);
  } else {
    write_comparison(comparisons, infos_of(inputs), std::cout);
  }
  flush_output();
  if (comparisons.size() < strategies().size())
    base::print(std::cerr, "stowage: interrupted; the missing strategies were not tried\n");
  bool fits = false;
  for (const Comparison& comparison : comparisons) {
    for (const Fault& fault : comparison.faults) {
      base::print(std::cerr,
                  "stowage: the checker rejects the plan of {0}; that is a bug in stowage: {1}. "
                  "`plan --strategy {0}` saves the plan\n",
                  comparison.strategy, fault.what);
      return ExitStatus::own_plan_rejected;
    }
    fits = fits || (comparison.obstacle.empty() && comparison.outcome == Outcome::fits);
  }
  return fits ? ExitStatus::done : ExitStatus::not_met;
}

ExitStatus run_sweep(const SweepCommand& command) {
  expect_different_files(files_of_models(command.inputs), command.output.named());
  const std::vector<WantedFile> files = wanted_files(command.output, {Holds::json, Holds::svg});
  SweepOptions options = parse_sweep_options(command.plan);
  options.plan.states = shared_states(parse_models(command.inputs), command.model);
  if (command.jobs == 0) throw UsageError("--jobs is 0, expected at least 1");
  options.jobs = command.jobs;
  const std::vector<Input> inputs = read_models(command.inputs, command.model, wanted_for(options.plan));
  print_notes(inputs);
  const InterruptWatch watch;
  options.plan.solve.stop = watch.stop();
  options.plan.solve.progress = progress_line(options.plan.solve);
  const std::vector<SweepRow> rows = sweep(inputs, options);
  clear_progress_line();
  for (const SweepRow& row : rows) {
    for (const SweepEntry& entry : row.entries) {
      if (entry.faults.empty()) continue;
      base::print(std::cerr,
                  "stowage: the checker rejects the plan of {} with {} bytes; that is a bug in stowage: {}\n",
                  entry.strategy, row.size, entry.faults[0].what);
      return ExitStatus::own_plan_rejected;
    }
  }
  if (rows.empty()) {
    base::print(std::cerr, "stowage: interrupted before the first size was planned\n");
    return ExitStatus::not_met;
  }
  const Memory& memory = options.plan.memories[options.memory];
  std::vector<base::OutputFile> outputs;
  for (const std::string& file : files_of(files, Holds::svg))
    outputs.push_back({file, [&](std::ostream& out) { write_sweep_svg(rows, memory, out); }});
  for (const std::string& file : files_of(files, Holds::json))
    outputs.push_back(
        {file, [&](std::ostream& out) { write_sweep_json(rows, memory, infos_of(inputs), out); }});
  base::write_files(outputs);
  if (command.json) {
    write_sweep_json(rows, memory, infos_of(inputs), std::cout);
  } else {
    write_sweep(rows, memory, infos_of(inputs), std::cout);
  }
  flush_output();
  if (rows.size() < options.sizes.size())
    base::print(std::cerr, "stowage: interrupted; the missing sizes were not tried\n");
  return ExitStatus::done;
}

}  // namespace stowage::cli
