#include "cli/commands.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <iterator>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/models.h"
#include "cli/open_sizes.h"
#include "cli/output_files.h"
#include "cli/progress.h"
#include "cli/tflm.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/import.h"
#include "stowage/network.h"
#include "stowage/planner.h"

namespace stowage::cli {
namespace {

/// The headers, with details of the models' files.
void add_headers(const PlanCommand& command, const std::vector<Input>& inputs, const Plan& plan,
                 const TflmOutput& tflm, std::vector<base::OutputFile>& outputs) {
  const std::vector<std::string> files = files_of(command.files(), Holds::header);
  if (files.empty()) return;
  HeaderOptions options{.names = !command.no_names};
  if (!command.prefix.empty()) options.prefix = command.prefix;
  std::vector<Graph> graphs;
  const std::vector<NamedFile> models = parse_models(command.inputs);
  for (std::size_t m = 0; m < inputs.size(); ++m) {
    const auto* const graph = std::get_if<Graph>(&inputs[m].content);
    if (graph == nullptr) continue;
    graphs.push_back(*graph);
    options.details.push_back(tflm.files.empty() ? model_details(base::InputFile(models[m].file).bytes())
                                                 : model_details(tflm.files[m].content));
  }
  if (!tflm.files.empty()) options.tensor_arena = tflm.arena.size;
  for (const std::string& file : files)
    outputs.push_back(
        {file, [plan, graphs, options](std::ostream& out) { write_header(plan, graphs, options, out); }});
}

std::vector<ModelInfo> infos_of(const std::vector<Input>& inputs) {
  std::vector<ModelInfo> infos;
  for (const Input& input : inputs) infos.push_back(input.info);
  return infos;
}

/// Whether standard output is a pipe that nobody reads any more, as in `stowage plan .. | head -5`.
bool has_reader_ended() {
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

/// What else the user has asked for than a low peak.
void print_objectives(const PlanResult& result, const PlanOptions& options) {
  if (const auto& it = result.nearness) {
    base::print(
        std::cout,
        "\nkept offsets: {} of {} buffers of the earlier plan, {} of {} bytes; at most {} bytes can\n",
        it->buffers_kept, it->buffers, it->bytes_kept, it->bytes, it->most_bytes_kept);
  }
  if (const auto& it = result.bank_use) {
    base::print(std::cout, "\nbanks: {} of {} pairs of operands share a bank; at least {} must\n",
                it->clashes, it->pairs, it->least_clashes);
  } else if (options.banks) {
    base::print(std::cout, "\nbanks: no offsets were found within the {} banks of {} bytes\n",
                options.banks->count, options.banks->size);
  }
}

/// What may lower the peak of a plan that needs too much: up to three ways, first those that were tried, then those with
/// a command, then those that save most.
void print_remedies(const std::vector<Remedy>& all) {
  constexpr std::size_t most = 3;
  using Verdict = Remedy::Verdict;
  std::vector<Remedy> ways;
  for (const Remedy& it : all) {
    const bool is_found = it.verdict == Verdict::found && it.bytes.value_or(0) > 0;
    const bool says_how = it.verdict == Verdict::possible && (!it.command.empty() || it.bytes);
    if (is_found || says_how) ways.push_back(it);
  }
  std::ranges::stable_sort(ways, std::ranges::greater{}, [](const Remedy& it) {
    return std::tuple(it.verdict == Verdict::found, !it.command.empty(), it.bytes.value_or(0));
  });
  ways.resize(std::min(ways.size(), most));
  for (const Remedy& it : ways) {
    const bool is_found = it.verdict == Verdict::found;
    const std::string bytes =
        it.bytes ? fmt::format(", {}{} bytes less", is_found ? "" : "at most ", *it.bytes) : std::string();
    const std::string command = it.command.empty() ? std::string() : ": " + it.command;
    base::print(std::cerr, "stowage: may help: {}{}{}\n", it.what, bytes, command);
  }
}

/// Checks that the options of files have their files.
void expect_files(const PlanCommand& command) {
  const std::vector<WantedFile> files = command.files();
  const auto has = [&](Holds holds) { return !files_of(files, holds).empty(); };
  if (!command.prefix.empty() && !has(Holds::header) && !has(Holds::buffer_plan))
    throw UsageError("--prefix needs a header or a BufferPlan: -o FILE.h or -o FILE.c");
  if (command.no_names && !has(Holds::header)) throw UsageError("--no-names needs a header: -o FILE.h");
  if (command.strip && !has(Holds::tflite)) throw UsageError("--strip needs -o FILE.tflite");
  if (has(Holds::buffer_plan) && (!has(Holds::tflite) || command.inputs.size() > 1))
    throw UsageError("a BufferPlan needs -o FILE.tflite and one model");
}

}  // namespace

std::vector<WantedFile> PlanCommand::files() const {
  if (!is_for_tflm)
    return wanted_files(output, {Holds::json, Holds::csv, Holds::svg, Holds::header, Holds::page});
  return wanted_files(output, {Holds::tflite, Holds::buffer_plan, Holds::json, Holds::csv, Holds::svg,
                               Holds::header, Holds::page});
}

std::vector<base::OutputFile> outputs_of(const std::vector<WantedFile>& files, const Plan& plan,
                                         PlanForm form) {
  std::vector<base::OutputFile> outputs;
  for (const WantedFile& it : files) {
    if (it.holds == Holds::json)
      outputs.push_back({it.file, [&plan, form](std::ostream& out) { write_json(plan, out, form); }});
    if (it.holds == Holds::csv)
      outputs.push_back({it.file, [&](std::ostream& out) { write_csv(plan, out); }});
    if (it.holds == Holds::svg)
      outputs.push_back({it.file, [&](std::ostream& out) { write_svg(plan, out); }});
  }
  return outputs;
}

Wanted wanted_for(const PlanOptions& options) {
  if (options.stream) return Wanted::rows;
  const bool plans_weights =
      std::any_of(options.memories.begin(), options.memories.end(),
                  [](const Memory& memory) { return memory.role == MemoryRole::weights; });
  return plans_weights ? Wanted::constants : Wanted::graph;
}

Wanted wanted_to_check(const Plan& plan) {
  if (is_streamed(plan)) return Wanted::rows;
  const bool has_weights = std::any_of(plan.memories.begin(), plan.memories.end(), [](const auto& memory) {
    return memory.memory.role == MemoryRole::weights;
  });
  return has_weights ? Wanted::constants : Wanted::graph;
}

void flush_output() {
  std::cout.flush();
  if (!std::cout && !has_reader_ended()) throw Error("", "cannot be written").in_file("standard output");
}

void note_memories(const std::vector<Memory>& memories) {
  for (std::size_t m = 0; m < memories.size(); ++m) {
    const auto takes_all = [&](const Memory& it) {
      return !it.capacity && it.role == memories[m].role && it.cost <= memories[m].cost;
    };
    const auto end = memories.begin() + static_cast<std::ptrdiff_t>(m);
    const auto first = std::find_if(memories.begin(), end, takes_all);
    if (first == end) continue;
    base::print(std::cerr,
                "stowage: note: memory {} stays empty: {} comes before it, has no limit and costs no more; "
                "--memory NAME=SIZE gives a limit\n",
                base::quoted(memories[m].name), base::quoted(first->name));
  }
}

void note_nearness(const PlanResult& result) {
  if (result.nearness && result.nearness->buffers == 0)
    base::print(std::cerr,
                "stowage: note: --near changes nothing: no buffer has the name and the memory of one in the "
                "earlier plan\n");
}

void print_faults(const Faults& faults) {
  constexpr std::size_t most_shown = 20;
  for (std::size_t i = 0; i < std::min(faults.size(), most_shown); ++i)
    base::print(std::cout, "fault: {}\n", faults[i].what);
  if (faults.size() > most_shown) base::print(std::cout, "and {} more faults\n", faults.size() - most_shown);
}

ExitStatus report_own_fault(const PlanResult& result) {
  const std::filesystem::path file = "stowage-rejected-plan.json";
  const std::array<base::OutputFile, 1> outputs{
      {{file, [&](std::ostream& out) { write_json(result.plan, out); }}}};
  base::write_files(outputs);
  base::print(std::cerr,
              "stowage: the checker rejects this plan; that is a bug in stowage. The plan is saved in {}\n",
              file.string());
  for (const Fault& fault : result.faults) base::print(std::cerr, "stowage: {}\n", fault.what);
  return ExitStatus::own_plan_rejected;
}

ExitStatus report_fit(const PlanResult& result) {
  if (result.outcome == Outcome::fits) return ExitStatus::done;
  for (const PlannedMemory& memory : result.plan.memories) {
    const Bytes capacity = memory.memory.capacity.value_or(largest_value);
    if (memory.peak <= capacity) continue;
    base::print(std::cerr, "stowage: the plan needs {} bytes, {} more than the {} of memory {}\n",
                memory.peak, memory.peak - capacity, capacity, base::quoted(memory.memory.name));
  }
  if (result.enough) {
    base::print(std::cerr, "stowage: {} bytes of memory {} would be enough\n", *result.enough->capacity,
                base::quoted(result.enough->name));
  }
  return ExitStatus::not_met;
}

/// Reports by how much the whole arena of TensorFlow Lite Micro exceeds the capacity, if it does.
ExitStatus report_arena(const TflmOutput& output) {
  if (!output.capacity || output.arena.size <= *output.capacity) return ExitStatus::done;
  base::print(
      std::cerr,
      "stowage: the arena needs {} bytes, {} more than the capacity of {}: {} for the plan and {} that "
      "TensorFlow Lite Micro keeps\n",
      output.arena.size, output.arena.size - *output.capacity, *output.capacity, output.arena.head,
      output.arena.tail);
  return ExitStatus::not_met;
}

void expect_loops(const PlanCommand& command, const PlanOptions& options) {
  if (!command.print_loops) return;
  if (!options.stream || options.stream->layout != StreamLayout::ring)
    throw UsageError("--print-loops needs --stream --layout ring");
  if (command.json) throw UsageError("--print-loops excludes --json");
}

/// The models of a plan. Of sizes that are missing, what some would need is shown.
std::vector<Input> inputs_of(const PlanCommand& command, const PlanOptions& options) {
  try {
    return read_models(command.inputs, command.model, wanted_for(options));
  } catch (const OpenSizesError& open) {
    const bool wants_answer = command.inputs.size() == 1 && command.output.named().empty() && !command.json;
    if (wants_answer) show_open_sizes(command, open, options);
    throw;
  }
}

ExitStatus run_plan(const PlanCommand& given) {
  PlanCommand command = given;
  expect_different_files(files_of_models(command.inputs), command.output.named());
  const std::vector<WantedFile> files = command.files();
  expect_files(command);
  PlanOptions options = parse_plan_options(command.plan);
  note_memories(options.memories);
  expect_loops(command, options);
  expect_budget(command);
  std::optional<TflmPlanning> tflm;
  if (command.is_for_tflm || !files_of(files, Holds::tflite).empty()) {
    tflm.emplace(command, options);
  } else if (!command.runtime.empty() || !command.kernels.empty()) {
    throw UsageError("--runtime and --kernels are options of `stowage tflm`");
  }
  if (!command.fit.empty()) fit_dimension(command, options);
  std::vector<Input> inputs = tflm ? tflm->inputs() : inputs_of(command, options);
  print_notes(inputs);
  expect_what_if(command, inputs);
  if (command.unpin) std::ranges::transform(inputs, inputs.begin(), without_pins);
  const InterruptWatch watch;  // from here on an interrupt keeps the best plan so far
  options.solve.stop = watch.stop();
  options.solve.progress = progress_line();
  // A page shows the list that was given; all else is in the plan.
  const bool is_kept = inputs.size() > 1 || !files_of(files, Holds::page).empty();
  const PlanResult result = is_kept ? make_plan(inputs, options) : make_plan(std::move(inputs[0]), options);
  clear_progress_line();
  note_nearness(result);
  if (!result.faults.empty()) return report_own_fault(result);
  std::vector<base::OutputFile> outputs = outputs_of(files, result.plan, command.form());
  const TflmOutput planned = tflm ? tflm->output(inputs, options, result) : TflmOutput{};
  for (const PlannedFile& file : planned.files) {
    if (!file.faults.empty()) return report_own_fault({.plan = result.plan, .faults = file.faults});
    for (const std::filesystem::path& path : file.files)
      outputs.push_back({path, [&](std::ostream& out) { out << file.content; }});
  }
  add_headers(command, inputs, result.plan, planned, outputs);
  for (const std::string& file : files_of(files, Holds::buffer_plan)) {
    outputs.push_back({file, [&](std::ostream& out) {
                         write_buffer_plan(planned.buffer_plan,
                                           command.prefix.empty() ? "stowage" : command.prefix, out);
                       }});
  }
  WhatIf others;
  if (command.what_if) others = what_if(command, options, result.plan);
  if (others.faulty) return report_own_fault(*others.faulty);
  std::ranges::move(report_of(command, inputs, result.plan, others), std::back_inserter(outputs));
  make_directories_for(planned.files);
  base::write_files(outputs);
  ExitStatus budget = ExitStatus::done;
  if (!command.budget.empty()) {
    budget = print_budget(command, result.plan, tflm ? planned.arena.size : result.plan.summary.peak);
  } else if (command.print_loops) {
    write_loops(result.plan, std::cout);
  } else if (command.json) {
    write_json(result.plan, std::cout, command.form());
  } else {
    write_summary(result.plan, std::cout);
    print_objectives(result, options);
    write_tflm_output(planned, command, inputs, std::cout);
  }
  flush_output();
  if (result.plan.interrupted && watch.stop().stop_requested())
    base::print(std::cerr, "stowage: interrupted; this is the best plan so far\n");
  const ExitStatus fit = tflm ? report_arena(planned) : report_fit(result);
  const ExitStatus status = fit == ExitStatus::done ? budget : fit;
  if (status == ExitStatus::not_met) {
    std::vector<Remedy> remedies = std::move(others.tried);
    std::ranges::move(remedies_of(result.plan, command.typed), std::back_inserter(remedies));
    print_remedies(remedies);
  }
  return status;
}

ExitStatus run_compare(const CompareCommand& command) {
  PlanOptions options = parse_options_of_all(command.plan);
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
  const std::vector<Input> inputs = read_models(command.inputs, command.model, wanted_for(options.plan));
  print_notes(inputs);
  const InterruptWatch watch;
  options.plan.solve.stop = watch.stop();
  options.plan.solve.progress = progress_line();
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

ExitStatus run_verify(const VerifyCommand& command) {
  if (command.models.empty() && command.model.is_any_given()) {
    throw UsageError("--dim, --shape, --bound, --state and --scratch need --model");
  }
  const Plan plan = read_plan(command.plan_file);
  Faults faults;
  if (command.models.empty()) {
    faults = check_plan(plan);
  } else {
    faults = check_plan(plan, read_models(command.models, command.model, wanted_to_check(plan)));
  }
  print_faults(faults);
  if (faults.empty()) {
    base::print(std::cout, "valid: {} buffers, {} tensors, peak {} bytes{}\n", plan.buffers.size(),
                plan.tensors.size(), plan.summary.peak,
                command.models.empty() ? " (checked without the model)" : "");
  }
  flush_output();
  return faults.empty() ? ExitStatus::done : ExitStatus::not_met;
}

ExitStatus run_strategies() {
  const std::vector<StrategyInfo> all = strategies();
  const auto print = [&](bool is_in_auto) {
    for (const StrategyInfo& strategy : all) {
      if (strategy.is_in_auto == is_in_auto)
        base::print(std::cout, "{:<20}{} ({})\n", strategy.name, strategy.summary, strategy.source);
    }
  };
  print(true);
  base::print(std::cout, "\nby name alone, not by auto:\n");
  print(false);
  flush_output();
  return ExitStatus::done;
}

}  // namespace stowage::cli
