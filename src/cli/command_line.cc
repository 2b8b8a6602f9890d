
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/nearest.h"
#include "base/print.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/option_table.h"
#include "cli/progress.h"
#include "cli/shells.h"
#include "cli/terminal.h"
#include "cli/typed.h"
#include "cli/wanted_files.h"
#include "stowage/error.h"
#include "stowage/parts.h"
#include "stowage/version.h"

namespace {

using stowage::cli::ExitStatus;
using stowage::cli::FileTexts;
using stowage::cli::Holds;
using stowage::cli::ModelTexts;
using stowage::cli::OptionRow;
using stowage::cli::PlanTexts;

std::string expect_value(const std::string& value) {
  return value.empty() ? std::string("its value is empty") : std::string();
}

/// An option whose value must not be empty: an unset variable of a script is a mistake.
template <typename Target>
CLI::Option& add(CLI::App& app, const std::string& name, Target& target, const std::string& help) {
  CLI::Option& option = *app.add_option(name, target, help);
  return *option.check(expect_value, "")->allow_extra_args(false);
}

/// An option of the table. Its text goes into one of the two.
CLI::Option& add_row(CLI::App& app, const OptionRow& row, PlanTexts& plan, ModelTexts& model) {
  const std::string name = fmt::format("--{}", row.name);
  const std::string help(row.help);
  const auto add_field = [&](const auto field) -> CLI::Option& {
    using Member = std::remove_const_t<decltype(field)>;
    if constexpr (std::is_same_v<Member, bool PlanTexts::*>) {
      return *app.add_flag(name, plan.*field, help);
    } else if constexpr (std::is_same_v<Member, bool ModelTexts::*>) {
      return *app.add_flag(name, model.*field, help);
    } else if constexpr (std::is_invocable_v<Member, ModelTexts&>) {
      return add(app, name, model.*field, help);
    } else {
      return add(app, name, plan.*field, help);
    }
  };
  CLI::Option& option = row.name == "stream" ? *app.add_flag(name + "{all}", plan.stream, help)
                                             : std::visit(add_field, row.field);
  return *option.group(std::string(row.group));
}

void add_model_options(CLI::App& app, ModelTexts& texts) {
  PlanTexts none;
  for (const OptionRow& row : stowage::cli::model_options()) add_row(app, row, none, texts).group("Options");
}

/// Several models, each FILE or NAME=FILE.
void add_models(CLI::App& app, std::vector<std::string>& models) {
  app.add_option("models", models,
                 "Models (ONNX, TFLite, graph JSON), each FILE or NAME=FILE; or one buffer list; or one "
                 "memory-operation sequence")
      ->required()
      ->check(expect_value, "");
}

/// Who plans with one strategy, and who with all of them: these take its tuning alone.
enum class Strategies { one, all };

/// The options that determine a plan.
template <typename Command>
void add_planning_options(CLI::App& app, Command& command, Strategies strategies, bool is_for_tflm = false) {
  stowage::cli::use_short_help(app);
  for (const OptionRow& row : stowage::cli::planning_options()) {
    if (is_for_tflm && !row.is_for_tflm) continue;
    CLI::Option& option = add_row(app, row, command.plan, command.model);
    if (row.name == "strategy" && strategies == Strategies::all)
      option.description("NAME:KEY=VALUE,...: tuning of a strategy, for instance rectangle:rounds=2");
  }
}

/// -o, which tells by the extension what is written.
void add_files(CLI::App& app, FileTexts& files, const std::string& help) {
  add(app, "-o,--output", files.outputs, help);
}

/// An option that an earlier version had for -o. Its help is what to write instead.
void add_accepted_file(CLI::App& app, FileTexts& files, std::string_view flag, Holds holds,
                       const std::string& command = {}) {
  const auto take = [&files, flag, holds](const std::string& file) {
    files.accepted.push_back({holds, file, flag});
  };
  app.add_option_function<std::string>(std::string(flag), take,
                                       fmt::format("{}-o {}", command, stowage::cli::example_of(holds)))
      ->check(expect_value, "")
      ->allow_extra_args(false)
      ->group(std::string(stowage::cli::still_accepted));
}

void add_runtime(CLI::App& app, std::string& runtime, std::string& kernels) {
  add(app, "--runtime", runtime,
      "TensorFlow Lite Micro with pointers of 32 or 64 bits, or python: its package tflite-micro. Default: "
      "32");
  add(app, "--kernels", kernels,
      "Kernels of TensorFlow Lite Micro: reference or cmsis-nn, which may have :scalar, :dsp (the default) "
      "or :mve. Default: reference");
}

void add_accepted_plan_options(CLI::App& app, stowage::cli::PlanCommand& command) {
  const std::string group(stowage::cli::still_accepted);
  add_accepted_file(app, command.output, "--csv", Holds::csv);
  add_accepted_file(app, command.output, "--svg", Holds::svg);
  add_accepted_file(app, command.output, "--header", Holds::header);
  add_accepted_file(app, command.output, "--report", Holds::page);
  add_accepted_file(app, command.output, "--tflite", Holds::tflite, "stowage tflm ");
  add_accepted_file(app, command.output, "--buffer-plan", Holds::buffer_plan, "stowage tflm ");
  app.add_flag("--strip", command.strip, "stowage tflm --strip")->group(group);
  add(app, "--runtime", command.runtime, "stowage tflm --runtime").group(group);
  add(app, "--kernels", command.kernels, "stowage tflm --kernels").group(group);
}

/// What `plan` and `tflm` have besides the files that they write.
void add_plan_options(CLI::App& app, stowage::cli::PlanCommand& command) {
  const std::string group = "Output";
  app.add_flag("--json", command.json, "Print the plan as JSON instead of a table");
  add(app, "--budget", command.budget,
      "SIZE that the plan may need: prints one line instead of a table, and status 1 if it needs more")
      .group(group);
  app.add_flag("--what-if", command.what_if,
               "Plan again with other options, and show in the page of -o FILE.html what each would reach")
      ->group(group);
  add(app, "--prefix", command.prefix, "Prefix of all names in a header or BufferPlan. Default: stowage")
      .group(group);
  app.add_flag("--no-names", command.no_names,
               "Leave names of tensors, operators and models out of the header")
      ->group(group);
}

void add_plan(CLI::App& app, stowage::cli::PlanCommand& command) {
  add_models(app, command.inputs);
  add_files(
      app, command.output,
      "FILE to write, as often as wanted; the extension says what: .json the plan, .csv its buffers and "
      "offsets, .svg a picture (time to the right, addresses upwards), .h a C header, .html a page that "
      "shows "
      "the plan and what would lower its peak");
  add_planning_options(app, command, Strategies::one);
  add_plan_options(app, command);
  const std::string group = "Output";
  app.add_flag("--expanded", command.expanded,
               "Write plan JSON with an entry for each step, buffer and view, though they repeat")
      ->group(group);
  add(app, "--overlay", command.overlay,
      "NAME: write NAME-live.json, NAME-offset.json and NAME-peak.json, which Model Explorer shows over the "
      "graph")
      .group(group);
  app.add_flag("--print-loops", command.print_loops,
               "Print the loop nest of a streamed plan; needs --layout ring")
      ->group(group);
  add(app, "--fit", command.fit,
      "NAME of a dimension: the largest size for which one plan for every size up to it fits --capacity, or "
      "with --stream, a size that fits alone; --dim NAME=A..B limits the search. FIRST,NAME: a table of the "
      "largest NAME for each FIRST, those of --dim "
      "FIRST=1,2,4 or powers of two");
  add(app, "--offsets", command.offsets,
      "constant: of a range of sizes, all have the same offsets; symbolic: offsets are functions of the "
      "sizes, in "
      "plan JSON and as C in a header (-o FILE.h). Default: constant")
      .group("What a model leaves open");
  app.add_flag("--unpin", command.unpin,
               "Place the buffers of a list anew, without the offsets that it gives")
      ->group("Memories");
  add_accepted_plan_options(app, command);
}

void add_tflm(CLI::App& app, stowage::cli::PlanCommand& command) {
  command.is_for_tflm = true;
  add_models(app, command.inputs);
  add_files(
      app, command.output,
      "FILE to write, as often as wanted: .tflite the model with its plan (for several models, a directory), "
      ".c a BufferPlan for one model in place of the plan in its file, and what `stowage plan` writes");
  add_runtime(app, command.runtime, command.kernels);
  app.add_flag("--strip", command.strip,
               "Leave out of the TFLite file what TensorFlow Lite Micro never reads, such as names");
  add_planning_options(app, command, Strategies::one, true);
  add_plan_options(app, command);
}

void add_diff(CLI::App& app, stowage::cli::DiffCommand& command) {
  add(app, "before", command.before, "Plan file (JSON), or a model or list to plan").required();
  add(app, "after", command.after, "A second plan file, model or list, to compare with the first").required();
  add(app, "-o,--output", command.output, "FILE for a page with both plans and what changed (HTML)");
  app.add_flag("--markdown", command.markdown, "Print Markdown, for a comment in a review");
  app.add_flag("--json", command.json, "Print JSON with all buffers that changed");
  add(app, "--max-growth", command.max_growth,
      "PERCENTAGE that the peak may grow by, for instance 1%: status 1 if it grows more");
  add_planning_options(app, command, Strategies::one);
}

void add_pack(CLI::App& app, stowage::cli::PackCommand& command) {
  add(app, "problem", command.problem,
      "Problem of a compiler in JSON (stowage's schema or dsa-solver's, version 1)")
      .required();
  add(app, "-o,--output", command.output, "FILE for the solution, in the format of the problem");
  add(app, "--verify", command.verify, "FILE with a solution: check it, and the proof of its bound, instead");
  add(app, "--curve", command.curve,
      "A%..B% of all capacities, in steps of 5 %: the cost at each of them, for instance 100%..150%");
  app.add_flag("--json", command.json, "Print the curve as JSON");
  ModelTexts none;
  for (const OptionRow& row : stowage::cli::planning_options()) {
    if (row.name == "time-limit" || row.name == "effort" || row.name == "seed")
      add_row(app, row, command.plan, none).group("Options");
  }
}

void add_fit(CLI::App& app, stowage::cli::FitCommand& command) {
  add(app, "model", command.model_file, "Model (ONNX, TFLite, graph JSON)").required();
  add(app, "--board", command.board, "NAME that `stowage devices` lists, or FILE.json of a device")
      .required();
  add(app, "--reserve", command.reserve,
      "SIZE of the fast memory that the rest of the program needs, beside what the board itself has as "
      "reserved; the network gets what both leave. Default: 0");
  app.add_flag("--json", command.json, "Print JSON instead of a table");
  for (const OptionRow& row : stowage::cli::planning_options()) {
    if (row.name == "time-limit" || row.name == "effort")
      add_row(app, row, command.plan, command.model).group("Options");
  }
  add_model_options(app, command.model);
}

void add_sweep(CLI::App& app, stowage::cli::SweepCommand& command) {
  add_models(app, command.inputs);
  add_files(app, command.output, "FILE to write: .svg a picture (traffic against memory size), or .json");
  add_planning_options(app, command, Strategies::all);
  app.add_option("--jobs", command.jobs, "NUMBER of sizes that are planned at once. Default: 1");
  app.add_flag("--json", command.json, "Print JSON instead of a table");
  add_accepted_file(app, command.output, "--svg", Holds::svg);
}

void add_run(CLI::App& app, stowage::cli::RunCommand& command) {
  add_models(app, command.inputs);
  add_planning_options(app, command, Strategies::one);
  add(app, "--plan", command.given_plan, "FILE with the plan to run in (JSON). Default: make a plan");
  add(app, "--input", command.run.inputs,
      "NAME=FILE or MODEL.NAME=FILE: value of an input, .npy or .pb (an ONNX TensorProto). Default: "
      "random numbers from --seed");
  add(app, "--save", command.saved, "NAME=FILE or MODEL.NAME=FILE: write an output as .npy");
  add(app, "--kernels", command.run.kernels,
      "fast (oneDNN where it has the operator) or plain (simple loops). Default: fast");
  app.add_flag(
      "--check{outputs}", command.run.check,
      "Run again with every tensor in its own memory and compare the outputs; --check=all compares every "
      "tensor");
  add(app, "--random-weights", command.run.random_weights,
      "SEED: replace weights whose elements are all equal by random ones");
  app.add_flag("--report-memory", command.report_memory,
               "Print the live bytes, the highest byte touched and the time of every step");
  app.add_flag("--json", command.json, "Print JSON instead of a table");
  add_files(app, command.output, "FILE for the plan: .json, .csv its buffers and offsets, .svg a picture");
}

void add_report(CLI::App& app, stowage::cli::ReportCommand& command) {
  app.add_option("plans", command.plans, "Plan file (JSON), or two to compare")->required()->expected(1, 2);
  add(app, "-o,--output", command.output, "FILE for the page (HTML)").required();
  add(app, "--model", command.models,
      "FILE of the model that the plan is for, for the names of operators; with several models, in the order "
      "of the plan; with two plans, the models of both, or those that both have");
  add_model_options(app, command.model);
}

void add_generate(CLI::App& app, stowage::cli::GenerateCommand& command) {
  add_models(app, command.inputs);
  add_planning_options(app, command, Strategies::one);
  add(app, "--plan", command.given_plan, "FILE with the plan to run (JSON). Default: make a plan");
  add(app, "-o,--output", command.directory, "DIRECTORY for the files").required();
  add(app, "--name", command.name,
      "Prefix of files, functions and macros: a C identifier. Default: the name of the model");
  add(app, "--cases", command.cases, "NUMBER of inputs that the test program runs. Default: 1");
  add(app, "--input", command.given_values,
      "NAME=FILE or MODEL.NAME=FILE: value of an input in all of these, .npy or .pb (an ONNX TensorProto). "
      "Default: random numbers from --seed");
  add(app, "--kernels", command.kernels,
      "Kernels that the C calls: portable, its own; or cmsis-nn, your CMSIS-NN where it has one, which may "
      "have :scalar, :dsp (the default) or :mve. Default: portable");
  add(app, "--extern", command.externs,
      "OPERATOR type whose function you write: the header declares it (repeatable)");
  app.add_flag("--no-test", command.no_test, "Do not compile and run the test before the files are written");
  app.add_flag(
      "--force", command.force,
      "Replace files of the directory that this command has not written, or that were changed since");
}

/// The arguments, the last one first. The parser takes a value in brackets for a list, so a file with such a
/// name gets its folder as a prefix.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::string& argument : arguments) {
    std::error_code ignored;
    if (argument.starts_with('[') && argument.ends_with(']') && std::filesystem::exists(argument, ignored))
      argument.insert(0, "./");
  }
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

/// The help of a command, or of the program if none is named.
void print_help(const CLI::App& app, const std::string& command) {
  std::vector<std::string> names;
  for (const CLI::App* const it : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (it->get_name() == command) {
      std::cout << it->help("stowage");
      return;
    }
    names.push_back(it->get_name());
  }
  if (!command.empty())
    throw stowage::UsageError(fmt::format("there is no command {}{}", stowage::base::quoted(command),
                                          stowage::base::did_you_mean(command, names)));
  std::cout << app.get_formatter()->make_help(&app, "stowage", CLI::AppFormatMode::Normal);
}

/// The parts that this program has. Programs of the same libraries have others.
std::string parts() {
  std::string text = stowage::cli::parts_of_runner();
  if (stowage::has_isl()) text += text.empty() ? "isl" : ", isl";
  return text.empty() ? "planner" : text;
}

ExitStatus run_program(int argc, char** argv) {
  CLI::App app("stowage: a static memory planner for neural networks", "stowage");
  app.require_subcommand(1);
  stowage::cli::use_wrapped_help(app);
  app.set_version_flag("--version",
                       fmt::format("{}\ncommit {}\nparts  {}", stowage::version, STOWAGE_COMMIT, parts()));
  app.fallthrough();
  bool is_quiet = false;
  app.add_flag("-q,--quiet", is_quiet, "No summary, notes and progress; before or behind the command");
  stowage::cli::PlanCommand plan;
  stowage::cli::CompareCommand compare;
  stowage::cli::VerifyCommand verify;
  CLI::App& plan_app = *app.add_subcommand("plan", "Plan memory: give every tensor of a model an offset");
  add_plan(plan_app, plan);
  stowage::cli::PlanCommand tflm;
  CLI::App& tflm_app = *app.add_subcommand("tflm", "Plan TFLite models for TensorFlow Lite Micro");
  add_tflm(tflm_app, tflm);
  CLI::App& compare_app = *app.add_subcommand("compare", "Plan with every strategy and compare the results");
  add_models(compare_app, compare.inputs);
  add_planning_options(compare_app, compare, Strategies::all);
  compare_app.add_flag("--json", compare.json, "Print JSON instead of a table");
  stowage::cli::DiffCommand diff;
  add_diff(*app.add_subcommand("diff", "Show what changed from one plan or model to another"), diff);
  stowage::cli::PackCommand pack;
  CLI::App& pack_app = *app.add_subcommand(
      "pack", "Place the buffers of a compiler's problem, with what reuse of bytes costs");
  add_pack(pack_app, pack);
  stowage::cli::SweepCommand sweep;
  CLI::App& sweep_app = *app.add_subcommand(
      "sweep", "Show the traffic of slow memory for each size of a fast one (--memory NAME=A..B)");
  add_sweep(sweep_app, sweep);
  CLI::App& verify_app = *app.add_subcommand("verify", "Check a plan file, made by any program");
  add(verify_app, "plan", verify.plan_file, "Plan file (JSON)").required();
  add(verify_app, "--model", verify.models,
      "FILE of the model that the plan is for; with several models, in the order of the plan");
  add_model_options(verify_app, verify.model);
  verify_app.add_flag("--json", verify.json, "Print JSON instead of lines");
  stowage::cli::InspectCommand inspect;
  CLI::App& inspect_app =
      *app.add_subcommand("inspect", "Show what a model declares, and check the plans inside TFLite files");
  add(inspect_app, "model", inspect.file, "TFLite model, or a directory of them").required();
  add_runtime(inspect_app, inspect.runtime, inspect.kernels);
  inspect_app.add_flag("--json", inspect.json, "Print JSON instead of a table");
  stowage::cli::ReportCommand report;
  CLI::App& report_app =
      *app.add_subcommand("report", "Write a page that shows a plan, or the difference between two");
  add_report(report_app, report);
  stowage::cli::RunCommand run;
  CLI::App& run_app = *app.add_subcommand("run", "Run models inside their planned memory");
  add_run(run_app, run);
  stowage::cli::GenerateCommand generate;
  CLI::App& generate_app = *app.add_subcommand("generate", "Write C that runs a model inside its plan");
  add_generate(generate_app, generate);
  stowage::cli::FitCommand fit;
  CLI::App& fit_app =
      *app.add_subcommand("fit", "Tell whether a model fits a board, and how, with a command each");
  add_fit(fit_app, fit);
  bool devices_as_json = false;
  CLI::App& devices_app =
      *app.add_subcommand("devices", "List the devices that `stowage fit` and `--device` know");
  std::string device_shown;
  add(devices_app, "name", device_shown, "A device to show alone");
  devices_app.add_flag("--json", devices_as_json,
                       "Print JSON: the files of the devices, or with a name that file");
  bool strategies_as_json = false;
  CLI::App& strategies_app = *app.add_subcommand("strategies", "List the strategies");
  strategies_app.add_flag("--json", strategies_as_json, "Print JSON instead of a table");
  std::string shell;
  CLI::App& completion_app =
      *app.add_subcommand("completion", "Print the completion of commands and options for a shell");
  add(completion_app, "shell", shell, "bash, zsh or fish").required();
  std::string topic;
  bool is_manual = false;
  CLI::App& help_app = *app.add_subcommand("help", "Print the help of a command, or the manual page");
  add(help_app, "command", topic, "COMMAND to describe. Default: all, one line each");
  help_app.add_flag("--man", is_manual, "Print the manual page of all commands (roff)");
  const std::vector<std::string> arguments = arguments_of(argc, argv);
  try {
    std::vector<std::string> taken = arguments;
    app.parse(taken);
  } catch (const CLI::ParseError& error) {
    std::string advice = stowage::cli::advice_for(app, {arguments.rbegin(), arguments.rend()});
    if (advice.empty() && error.get_name() == "RequiredError") advice = stowage::cli::missing_in(app);
    if (const auto* const mismatch = dynamic_cast<const CLI::ArgumentMismatch*>(&error))
      advice = stowage::cli::mismatch_in(app, *mismatch);
    if (error.get_exit_code() != 0 && !advice.empty()) {
      const auto given = app.get_subcommands();
      throw stowage::UsageError(fmt::format("{}\n`stowage {}--help` has the list", advice,
                                            given.empty() ? "" : given[0]->get_name() + " "));
    }
    return app.exit(error, std::cout, std::cerr) == 0 ? ExitStatus::done : ExitStatus::wrong_usage;
  }
  stowage::cli::set_quiet(is_quiet);
  plan.typed = tflm.typed = stowage::cli::typed(argc, argv);
  generate.typed = stowage::cli::typed_without_folders(argc, argv);
  for (const CLI::App* const given : app.get_subcommands()) stowage::cli::note_accepted(*given);
  if (plan_app.parsed()) return stowage::cli::run_plan(plan);
  if (tflm_app.parsed()) return stowage::cli::run_plan(tflm);
  if (compare_app.parsed()) return stowage::cli::run_compare(compare);
  if (app.got_subcommand("diff")) return stowage::cli::run_diff(diff);
  if (pack_app.parsed()) return stowage::cli::run_pack(pack);
  if (sweep_app.parsed()) return stowage::cli::run_sweep(sweep);
  if (verify_app.parsed()) return stowage::cli::run_verify(verify);
  if (inspect_app.parsed()) return stowage::cli::run_inspect(inspect);
  if (report_app.parsed()) return stowage::cli::run_report(report);
  if (run_app.parsed()) return stowage::cli::run_run(run);
  if (generate_app.parsed()) return stowage::cli::run_generate(generate);
  if (fit_app.parsed()) return stowage::cli::run_fit(fit);
  if (devices_app.parsed()) return stowage::cli::run_devices(device_shown, devices_as_json);
  if (strategies_app.parsed()) return stowage::cli::run_strategies(strategies_as_json);
  if (completion_app.parsed()) {
    stowage::cli::write_completion(app, shell, std::cout);
  } else if (is_manual) {
    stowage::cli::write_manual(app, std::cout);
  } else {
    print_help(app, topic);
  }
  stowage::cli::flush_output();
  return ExitStatus::done;
}

ExitStatus run_reporting_errors(int argc, char** argv) {
  try {
    return run_program(argc, argv);
  } catch (const stowage::UsageError& error) {
    stowage::cli::clear_progress_line();
    stowage::base::print_lines(std::cerr, "stowage: ", error.what());
    return ExitStatus::wrong_usage;
  } catch (const stowage::OutputError& error) {
    stowage::cli::clear_progress_line();
    stowage::base::print_lines(std::cerr, "stowage: ", error.what());
    return ExitStatus::output_unwritable;
  } catch (const stowage::Error& error) {
    stowage::cli::clear_progress_line();
    stowage::base::print_lines(std::cerr, "stowage: ", error.what());
    return ExitStatus::input_rejected;
  } catch (const std::bad_alloc&) {
    stowage::base::print(std::cerr, "stowage: the input needs more memory than this machine has\n");
    return ExitStatus::input_rejected;
  }
}

}  // namespace

int stowage::cli::run_command_line(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // temporary files are removed even if nobody reads the output any more
  const Messages messages;
  set_quiet(false);
  return static_cast<int>(run_reporting_errors(argc, argv));
}
