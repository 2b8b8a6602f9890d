#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/buckets.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/models.h"
#include "cli/offset_functions.h"
#include "cli/open_rows.h"
#include "cli/open_sizes.h"
#include "cli/output_files.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "cli/tflm.h"
#include "cli/typed.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/planner.h"

namespace stowage::cli {
namespace {

/// The headers, with details of the models' files.
void add_headers(const PlanCommand& command, const std::vector<Input>& inputs, const Plan& plan,
                 const TflmOutput& tflm, std::vector<base::OutputFile>& outputs) {
  const std::vector<std::string> files = files_of(command.files(), Holds::header);
  if (files.empty()) return;
  HeaderOptions options = header_options(command);
  std::vector<Graph> graphs;
  for (const Input& it : inputs)
    if (const auto* const graph = std::get_if<Graph>(&it.content)) graphs.push_back(*graph);
  if (!tflm.files.empty()) options.details.clear();
  for (const auto& it : tflm.files) options.details.push_back(model_details(it.content));
  if (!tflm.files.empty()) options.tensor_arena = tflm.arena.size;
  for (const std::string& file : files)
    outputs.push_back(
        {file, [plan, graphs, options](std::ostream& out) { write_header(plan, graphs, options, out); }});
}

/// The headers of offsets as functions.
void add_function_headers(const PlanCommand& command, const Plan& plan, const OffsetFunctions& functions,
                          std::vector<base::OutputFile>& outputs) {
  for (const std::string& file : files_of(command.files(), Holds::header)) {
    outputs.push_back({file, [&](std::ostream& out) {
                         write_c_functions(plan, functions,
                                           command.prefix.empty() ? "stowage" : command.prefix, out);
                       }});
  }
}

/// Plan JSON has the functions, or open rows, too.
template <typename More>
void replace_plans(const std::vector<WantedFile>& files, const Plan& plan, const More& more,
                   std::vector<base::OutputFile>& outputs) {
  for (const std::string& file : files_of(files, Holds::json)) {
    const auto output = std::ranges::find(outputs, file, [](const auto& it) { return it.file.string(); });
    output->write = [&](std::ostream& out) { write_json(plan, more, out); };
  }
}

bool moves_something(const Plan& plan) {
  return std::ranges::any_of(plan.clocks, [](const Clock& clock) {
    return std::ranges::any_of(clock.steps, [](const Step& it) { return std::holds_alternative<Copy>(it); });
  });
}

/// What else the user has asked for than a low peak.
void print_objectives(const PlanResult& result, const PlanOptions& options, std::ostream& out) {
  const auto cut_unless = [&](bool is_best) {
    return result.plan.interrupted && !is_best ? "; the search was cut short" : "";
  };
  if (const auto& it = result.nearness) {
    base::print(
        out, "\nkept offsets: {} of {} buffers of the earlier plan, {} of {} bytes; at most {} bytes can{}\n",
        it->buffers_kept, it->buffers, it->bytes_kept, it->bytes, it->most_bytes_kept,
        cut_unless(it->bytes_kept == it->most_bytes_kept));
  }
  if (const auto& it = result.bank_use) {
    base::print(out, "\nbanks: {} of {} pairs of operands share a bank; at least {} must{}\n", it->clashes,
                it->pairs, it->least_clashes, cut_unless(it->clashes == it->least_clashes));
  } else if (options.banks) {
    base::print(out, "\nbanks: no offsets were found within the {} banks of {} bytes\n", options.banks->count,
                options.banks->size);
  }
  if (options.moves == Moves::allowed && !moves_something(result.plan))
    base::print(out, "\nmoves: 0, none that gain were found{}\n", cut_unless(false));
}

bool any_graph(const std::vector<Input>& inputs) {
  return std::ranges::any_of(inputs,
                             [](const Input& it) { return std::holds_alternative<Graph>(it.content); });
}

/// What may lower the peak of a plan that needs so many bytes too much: up to three ways, first those that were tried,
/// then those with a command, then those that save most.
void print_remedies(const std::vector<Remedy>& all, Bytes missing) {
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
    const std::string bytes = it.bytes
                                  ? fmt::format(", {}{} bytes less{}", is_found ? "" : "at most ", *it.bytes,
                                                is_found && *it.bytes >= missing ? ", so it fits" : "")
                                  : std::string();
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

void expect_loops(const PlanCommand& command, const PlanOptions& options) {
  if (!command.print_loops) return;
  if (!options.stream || options.stream->layout != StreamLayout::ring)
    throw UsageError("--print-loops needs --stream --layout ring");
  if (command.json) throw UsageError("--print-loops excludes --json");
}

/// The size that the plan does not keep to; none: it keeps to all.
std::optional<Bytes> missed_size(const PlanCommand& command, const PlanResult& result,
                                 const TflmOutput& planned, Bytes needed) {
  if (planned.capacity && planned.arena.size > *planned.capacity) return planned.capacity;
  if (result.outcome != Outcome::fits) return result.plan.memories[0].memory.capacity.value_or(largest_value);
  const auto budget = base::parse_size(command.budget);
  return budget && needed > *budget ? budget : std::nullopt;
}

/// What TensorFlow Lite Micro needs for a model that may be for it. It has the shapes of the file: with others, nothing.
void write_runtime(const PlanCommand& command, const PlanOptions& options, const Plan& plan,
                   std::ostream& out, std::string_view before) {
  if (command.inputs.size() != 1 || plan.models[0].format != ModelFormat::tflite) return;
  if (options.stream || plan.memories.size() > 1) return;
  const ModelTexts& given = command.model;
  if (!given.dims.empty() || !given.shapes.empty() || !given.bounds.empty() || !given.values.empty()) return;
  const std::string file = parse_models(command.inputs)[0].file;
  const std::optional<RuntimeArenas> arenas = arenas_of(file, options.solve);
  if (!arenas) return;
  out << before;
  base::print(out,
              "TensorFlow Lite Micro needs a tensor_arena of {} bytes for this model by itself (tensors and "
              "what it keeps, "
              "pointers of 32 bits); `stowage tflm {}` plans for it: {}\n",
              arenas->own, base::shell_word(file),
              arenas->planned < arenas->own
                  ? fmt::format("{} bytes, {} fewer", arenas->planned, arenas->own - arenas->planned)
                  : "nothing gained");
}

/// Tables in C, and functions of offsets, have one offset in its buffer for each tensor. So copies are made where it would
/// move with the sizes.
void keep_places(std::vector<Input>& inputs) {
  for (Input& input : inputs) {
    if (auto* const graph = std::get_if<Graph>(&input.content)) keep_in_place(*graph);
  }
}

bool has_standard_output(const std::vector<base::OutputFile>& outputs) {
  return std::ranges::any_of(outputs, [](const base::OutputFile& it) { return it.file == "-"; });
}

void expect_standard_output(const PlanCommand& command) {
  const bool is_taken = std::ranges::find(command.output.outputs, "-") != command.output.outputs.end();
  if (is_taken && (command.json || command.print_loops))
    throw UsageError("-o - excludes --json and --print-loops: both write to standard output");
}

constexpr std::array<std::pair<std::string_view, Overlay>, 3> overlays{
    {{"live", Overlay::live}, {"offset", Overlay::offset}, {"peak", Overlay::peak}}};

std::string overlay_file(const std::string& name, std::string_view ending) {
  return fmt::format("{}-{}.json", name, ending);
}

/// What the command writes, by its options.
std::vector<NamedOutput> named_outputs(const PlanCommand& command) {
  std::vector<NamedOutput> named = command.output.named();
  for (const auto& [ending, overlay] : overlays)
    if (!command.overlay.empty()) named.emplace_back("--overlay", overlay_file(command.overlay, ending));
  return named;
}

void expect_overlay(const PlanCommand& command, const std::vector<Input>& inputs) {
  if (command.overlay.empty()) return;
  if (inputs.size() != 1 || !std::holds_alternative<Graph>(inputs[0].content))
    throw UsageError("--overlay is for the graph of one model, not for several or a buffer list");
}

void add_overlays(const PlanCommand& command, const Plan& plan, std::vector<base::OutputFile>& outputs) {
  if (command.overlay.empty()) return;
  for (const auto& [ending, overlay] : overlays)
    outputs.push_back({overlay_file(command.overlay, ending),
                       [&plan, it = overlay](std::ostream& out) { write_overlay(plan, it, out); }});
}

}  // namespace

HeaderOptions header_options(const PlanCommand& command) {
  HeaderOptions options{.names = !command.no_names};
  if (!command.prefix.empty()) options.prefix = command.prefix;
  if (!command.model.joins.empty()) return options;
  for (const NamedFile& it : parse_models(command.inputs))
    options.details.push_back(model_details(base::InputFile(it.file).bytes()));
  return options;
}

std::vector<WantedFile> PlanCommand::files() const {
  if (!is_for_tflm)
    return wanted_files(output, {Holds::json, Holds::csv, Holds::svg, Holds::header, Holds::page});
  return wanted_files(output, {Holds::tflite, Holds::buffer_plan, Holds::json, Holds::csv, Holds::svg,
                               Holds::header, Holds::page});
}

std::vector<Remedy> remedies_for(const PlanCommand& command, bool has_graph, const PlanOptions& options,
                                 const Plan& plan, Bytes needed, WhatIf tried) {
  if (!command.what_if && has_graph) tried = quick_what_if(command, options, plan, needed);
  std::vector<Remedy> remedies = std::move(tried.tried);
  const auto is_tried = [count = remedies.size(), &remedies](const Remedy& it) {
    const auto tried_ones = std::span(remedies).first(count);
    return std::ranges::find(tried_ones, it.what, &Remedy::what) != tried_ones.end();
  };
  for (Remedy& it : remedies_of(plan, command.typed)) {
    // TensorFlow Lite Micro takes no other order, rows or memories.
    if (command.is_for_tflm) it.command.clear();
    if (!is_tried(it)) remedies.push_back(std::move(it));
  }
  return remedies;
}

ExitStatus run_plan(const PlanCommand& given) {
  if (given.fit.empty() && gives_several_sizes(given.model)) return plan_buckets(given);
  PlanCommand command = given;
  expect_different_files(files_of_models(command.inputs), named_outputs(command));
  const std::vector<WantedFile> files = command.files();
  expect_files(command);
  PlanOptions options = parse_plan_options(command.plan);
  options.states = shared_states(parse_models(command.inputs), command.model);
  note_memories(options.memories);
  expect_loops(command, options);
  expect_standard_output(command);
  expect_budget(command);
  std::optional<TflmPlanning> tflm;
  if (command.is_for_tflm || !files_of(files, Holds::tflite).empty()) {
    tflm.emplace(command, options);
  } else if (!command.runtime.empty() || !command.kernels.empty()) {
    throw UsageError("--runtime and --kernels are options of `stowage tflm`");
  }
  if (fits_two_dimensions(command)) return show_frontier(command, options, reader_of(command, options));
  const auto time_limit = options.solve.time_limit;
  std::optional<FoundOpenRows> rows;
  if (!command.fit.empty()) {
    rows = fit_rows(command, options);
    if (!rows) options.solve.time_limit = fit_dimension(command, options);
  }
  const InterruptWatch watch;  // from here on an interrupt keeps the best plan so far
  options.solve.stop = watch.stop();
  if (!tflm && command.fit.empty() && command.offsets.empty())
    rows = rows_of_range(command.inputs, command.model, options, [&](const ModelTexts& texts) {
      return std::move(read_models(command.inputs, texts, Wanted::rows)[0]);
    });
  const bool has_rows = rows && rows->planned;
  if (has_rows && !files_of(files, Holds::header).empty())
    throw UsageError(fmt::format("a header is of one size, and the plan is for all of {}: give --dim {}=N",
                                 base::quoted(rows->rows.size.name), base::visible(rows->rows.size.name)));
  if (has_rows) command.model = with_size(command.model, rows->rows, rows->rows.at);
  std::vector<Input> inputs = tflm ? tflm->inputs() : inputs_of(command, options);
  print_notes(inputs);
  if (command.offsets == "symbolic" || !files_of(files, Holds::header).empty()) keep_places(inputs);
  expect_what_if(command, inputs);
  expect_overlay(command, inputs);
  if (command.unpin) std::ranges::transform(inputs, inputs.begin(), without_pins);
  options.solve.progress = progress_line(options.solve);
  // A page shows the list that was given, functions are of the network; all else is in the plan.
  const bool is_kept = inputs.size() > 1 || !command.offsets.empty() || !files_of(files, Holds::page).empty();
  PlanResult result = has_rows  ? *rows->planned
                      : is_kept ? make_plan(inputs, options)
                                : make_plan(std::move(inputs[0]), options);
  clear_progress_line();
  if (rows && !has_rows) note_no_open_rows(*rows, result.plan);
  options.solve.time_limit = time_limit;
  note_nearness(result);
  if (!result.faults.empty()) return report_own_fault(result);
  const std::optional<FoundFunctions> functions = functions_for(command, inputs[0], options, result);
  std::vector<base::OutputFile> outputs = outputs_of(files, result.plan, command.form());
  if (functions) replace_plans(files, result.plan, functions->functions, outputs);
  if (has_rows) replace_plans(files, result.plan, rows->rows, outputs);
  const TflmOutput planned = tflm ? tflm->output(inputs, options, result) : TflmOutput{};
  for (const PlannedFile& file : planned.files) {
    if (!file.faults.empty()) return report_own_fault({.plan = result.plan, .faults = file.faults});
    for (const std::filesystem::path& path : file.files)
      outputs.push_back({path, [&](std::ostream& out) { out << file.content; }});
  }
  if (functions) {
    add_function_headers(command, result.plan, functions->functions, outputs);
  } else {
    add_headers(command, inputs, result.plan, planned, outputs);
  }
  for (const std::string& file : files_of(files, Holds::buffer_plan)) {
    outputs.push_back({file, [&](std::ostream& out) {
                         write_buffer_plan(planned.buffer_plan,
                                           command.prefix.empty() ? "stowage" : command.prefix, out);
                       }});
  }
  const Bytes needed = tflm ? planned.arena.size : result.plan.summary.peak;
  WhatIf others;
  if (command.what_if) {
    options.solve.progress = progress_line();
    others = what_if(command, options, result.plan, needed);
    clear_progress_line();
  }
  if (others.faulty) return report_own_fault(*others.faulty);
  const std::optional<Bytes> most_bytes = missed_size(command, result, planned, needed);
  if (most_bytes)
    std::ranges::move(spill_remedies(result.plan, *most_bytes, options.solve),
                      std::back_inserter(others.tried));
  std::ranges::move(report_of(command, inputs, result.plan, others), std::back_inserter(outputs));
  add_overlays(command, result.plan, outputs);
  make_directories_for(planned.files);
  base::write_files(outputs);
  std::ostream& out = summary_stream(has_standard_output(outputs));
  const bool is_met = !most_bytes;
  std::vector<Remedy> remedies;
  if (!is_met)
    remedies = remedies_for(command, any_graph(inputs), options, result.plan, needed, std::move(others));
  ExitStatus budget = ExitStatus::done;
  if (!command.budget.empty()) {
    std::ostream& line = has_standard_output(outputs) ? std::cerr : std::cout;
    budget = print_budget(command, result.plan, line, needed);
    if (!tflm) write_runtime(command, options, result.plan, line, "");
  } else if (command.print_loops) {
    write_loops(result.plan, std::cout);
  } else if (command.json) {
    if (functions) {
      write_json(result.plan, functions->functions, std::cout);
    } else if (has_rows) {
      write_json(result.plan, rows->rows, std::cout);
    } else {
      write_json(result.plan, is_met ? std::vector<Remedy>() : remedies, std::cout, command.form());
    }
  } else {
    write_summary(result.plan, out);
    print_objectives(result, options, out);
    if (functions) write_functions_summary(*functions, out);
    if (has_rows) write_open_rows(*rows, out);
    write_tflm_output(planned, command, inputs, out);
    if (!tflm) write_runtime(command, options, result.plan, out, "\n");
  }
  flush_output();
  if (result.plan.interrupted && watch.stop().stop_requested())
    base::print(std::cerr, "stowage: interrupted; this is the best plan so far\n");
  const ExitStatus fit = tflm ? report_arena(planned) : report_fit(result);
  const ExitStatus status = fit == ExitStatus::done ? budget : fit;
  if (status == ExitStatus::not_met) print_remedies(remedies, needed - most_bytes.value_or(needed));
  return status;
}

}  // namespace stowage::cli
