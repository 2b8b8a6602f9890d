
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "base/print.h"
#include "cli/commands.h"
#include "stowage/error.h"

namespace {

using stowage::cli::ExitStatus;

/// An option whose value must not be empty: an unset variable of a script is a mistake.
template <typename Target>
CLI::Option& add(CLI::App& app, const std::string& name, Target& target, const std::string& help) {
  const auto is_given = [](const std::string& value) {
    return value.empty() ? std::string("its value is empty") : std::string();
  };
  CLI::Option& option = *app.add_option(name, target, help);
  return *option.check(is_given, "")->allow_extra_args(false);
}

void add_model_options(CLI::App& app, stowage::cli::ModelTexts& texts) {
  add(app, "--dim", texts.dims,
      "NAME=N: size of a symbolic dimension; ..N: every size up to N, N..N: exactly N");
  add(app, "--shape", texts.shapes,
      "TENSOR=1,3,224,224: a shape that the file leaves open; sizes as for --dim. A number is exact for "
      "inputs, at most "
      "for what the network computes");
  add(app, "--bound", texts.bounds, "TENSOR=SIZE: most bytes of a tensor whose size depends on data");
  add(app, "--state", texts.states,
      "OUTPUT=INPUT: the output is this input of the next run; both are one buffer");
  add(app, "--scratch", texts.scratch,
      "CSV file of operator,bytes[,subgraph]: scratch memory that kernels need");
}

/// Several models, each FILE or NAME=FILE.
void add_models(CLI::App& app, std::vector<std::string>& models) {
  const auto is_given = [](const std::string& value) {
    return value.empty() ? std::string("its value is empty") : std::string();
  };
  app.add_option("models", models,
                 "Models (ONNX, TFLite, graph JSON), each FILE or NAME=FILE; or one buffer list; or one "
                 "memory-operation sequence")
      ->required()
      ->check(is_given, "");
}

/// What a plan is to be besides low.
void add_objectives(CLI::App& app, stowage::cli::PlanTexts& texts) {
  add(app, "--banks", texts.banks,
      "NUMBERxSIZE, for instance 4x16KiB: banks of the only memory; operands of one operator lie in "
      "different banks where that is possible");
  add(app, "--near", texts.near,
      "FILE with an earlier plan: buffers keep its offsets where these fit the capacity or, without one, "
      "raise no peak");
}

/// The options that determine a plan.
template <typename Command>
void add_planning_options(CLI::App& app, Command& command) {
  add(app, "--order", command.plan.order,
      "Operator order: keep (the order of the file) or search (lowest peak found). Default: search");
  add(app, "--alias", command.plan.alias,
      "Which tensors may share bytes: none, auto (only where the peak does not rise) or all. Default: auto");
  add(app, "--memory", command.plan.memories,
      "NAME[=SIZE][@COST][,granule=SIZE][:weights]: a memory, fastest first; with granule, sizes and offsets "
      "are multiples of it; with :weights, a memory for weights");
  app.add_flag("--moves", command.plan.moves,
               "With several memories, allow copies of tensors between them during a run");
  add(app, "--capacity", command.plan.capacity,
      "SIZE of the only memory, for instance 256KiB. Default: unlimited");
  add(app, "--align", command.plan.align,
      "Alignment of buffers in bytes. Default: 64 for ONNX and graph JSON, 16 for TFLite, 1 for lists");
  add(app, "--io", command.plan.io,
      "Where inputs and outputs are: arena, external (in the caller's memory) or, with --stream, rows (they "
      "arrive and leave row by row). Default: arena");
  app.add_flag(
      "--stream{all}", command.plan.stream,
      "Run operators row by row and store only the rows that are still needed: all that can, or with "
      "--stream=OP,OP only those, given by name, type, number in the file, or range of numbers (3-9)");
  add(app, "--recompute", command.plan.recompute,
      "FACTOR: --stream may run this many times the multiplies of the network. A..B: shows what six factors "
      "from A to B save. Default: 1.0");
  add(app, "--layout", command.plan.layout,
      "Where --stream stores rows: ring (in the order of an affine schedule, for loops), granules "
      "(row blocks anywhere) or auto (the lower). Default: auto");
  add(app, "--axes", command.plan.axes,
      "Which axes of tensors --stream may take for rows: auto (the lowest peak found) or natural (the height "
      "of images, the rows of matrices). Default: auto");
  add(app, "--blocks", command.plan.blocks,
      "Whether --stream splits operators into blocks along a second axis (heads, channels): auto "
      "(where that gives the lowest peak found) or none. Default: auto");
  add(app, "--granule", command.plan.granule,
      "ROWS that one step of --stream computes. Default: as few as there is time to plan with");
  add(app, "--time-limit", command.plan.time_limit,
      "SECONDS for planning; then the best plan so far is used. Default: 3");
  add(app, "--effort", command.plan.effort,
      "N: a limit in work instead of --time-limit, so that the plan is the same on every machine. 1000 is "
      "about what one processor does in a second. Default: none");
  add(app, "--threads", command.plan.threads,
      "Searches that run at the same time. Default: one for each processor");
  add(app, "--seed", command.plan.seed, "Seed of all random numbers. Default: 0");
  add(app, "--reuse-threshold", command.plan.reuse_threshold,
      "free-list: buffers of at most SIZE bytes never reuse a freed block. Default: 0");
  add(app, "--sort", command.plan.sort,
      "rectangle: sort keys, for instance size*duration,-overlap. Default: eight built-in orders");
  add(app, "--rounds", command.plan.rounds,
      "rectangle: most rounds of tuning. Default: until two rounds bring nothing");
  add(app, "--run", command.plan.run,
      "Which models run one after the other (;) and which at the same time (|), for instance 'a; b | c'. "
      "Default: one after the other");
  add(app, "--feed", command.plan.feeds,
      "A.out=B.in: this output of model A is this input of model B, which runs later");
  add(app, "--release", command.plan.released,
      "A.out: the caller takes this output when model A has run. Default: outputs stay until all models "
      "have run");
  add_objectives(app, command.plan);
  add_model_options(app, command.model);
}

void add_strategy(CLI::App& app, stowage::cli::PlanTexts& texts) {
  add(app, "--strategy", texts.strategy,
      "NAME of the strategy that finds offsets; see `stowage strategies`. Default: auto");
}

void add_runtime(CLI::App& app, std::string& runtime, std::string& kernels) {
  add(app, "--runtime", runtime,
      "TensorFlow Lite Micro with pointers of 32 or 64 bits, or python: its package tflite-micro. Default: "
      "32");
  add(app, "--kernels", kernels,
      "Kernels of TensorFlow Lite Micro: reference or cmsis-nn, which may have :scalar, :dsp (the default) "
      "or "
      ":mve. Default: reference");
}

void add_plan(CLI::App& app, stowage::cli::PlanCommand& command) {
  add_models(app, command.inputs);
  add_planning_options(app, command);
  add_strategy(app, command.plan);
  app.add_flag("--json", command.json, "Print the plan as JSON instead of a table");
  add(app, "-o,--output", command.plan_file, "FILE for the plan as JSON");
  app.add_flag("--print-loops", command.print_loops,
               "Print the loop nest of a streamed plan; needs --layout ring");
  app.add_flag("--unpin", command.unpin,
               "Place the buffers of a list anew, without the offsets that it gives");
  add(app, "--csv", command.csv_file, "FILE for the buffers and their offsets as CSV");
  add(app, "--svg", command.svg_file,
      "FILE for a picture of the arena: time to the right, addresses upwards");
  add(app, "--report", command.report_file,
      "FILE for a page that shows the plan, what its peak is made of and what would lower it (HTML)");
  app.add_flag("--what-if", command.what_if,
               "Plan again with other options, and show in the page of --report what each would reach");
  add(app, "--budget", command.budget,
      "SIZE that the plan may need: prints one line instead of a table, and status 1 if it needs more");
  add(app, "--tflite", command.tflite_file,
      "FILE for the TFLite model with offsets for TensorFlow Lite Micro; with several models, a directory");
  add_runtime(app, command.runtime, command.kernels);
  add(app, "--header", command.header_file, "FILE for the plan as a C header");
  app.add_flag("--strip", command.strip,
               "Leave out of the file for --tflite what TensorFlow Lite Micro never reads, such as names");
  app.add_flag("--no-names", command.no_names,
               "Leave names of tensors, operators and models out of the header");
  add(app, "--buffer-plan", command.buffer_plan_file,
      "FILE for a BufferPlan of TensorFlow Lite Micro in C, for one model; needs --tflite");
  add(app, "--prefix", command.prefix, "Prefix of all names in the header. Default: stowage");
}

void add_sweep(CLI::App& app, stowage::cli::SweepCommand& command) {
  add_models(app, command.inputs);
  add_planning_options(app, command);
  app.add_flag("--json", command.json, "Print JSON instead of a table");
  add(app, "--svg", command.svg_file, "FILE for a picture: traffic against memory size");
}

void add_run(CLI::App& app, stowage::cli::RunCommand& command) {
  add_models(app, command.inputs);
  add_planning_options(app, command);
  add_strategy(app, command.plan);
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
  add(app, "-o,--output", command.plan_file, "FILE for the plan as JSON");
}

void add_report(CLI::App& app, stowage::cli::ReportCommand& command) {
  app.add_option("plans", command.plans, "Plan file (JSON), or two to compare")->required()->expected(1, 2);
  add(app, "-o,--output", command.output, "FILE for the page (HTML)").required();
  add(app, "--model", command.models,
      "FILE of the model that the plan is for, for the names of operators; with several models, in the order "
      "of the plan");
  add_model_options(app, command.model);
}

void add_generate(CLI::App& app, stowage::cli::GenerateCommand& command) {
  add_models(app, command.inputs);
  add_planning_options(app, command);
  add_strategy(app, command.plan);
  add(app, "--plan", command.given_plan, "FILE with the plan to run (JSON). Default: make a plan");
  add(app, "-o,--output", command.directory, "DIRECTORY for the files").required();
  add(app, "--name", command.name,
      "Prefix of files, functions and macros: a C identifier. Default: the name of the model");
  add(app, "--cases", command.cases, "NUMBER of inputs that the test program runs. Default: 1");
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

/// The command line as a shell takes it.
std::string typed(int argc, char** argv) {
  std::string line = "stowage";
  for (const std::string& argument : std::vector<std::string>(argv + 1, argv + argc)) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
    if (!argument.empty() && argument.find_first_not_of(plain) == std::string::npos) {
      line += " " + argument;
      continue;
    }
    line += " '";
    for (const char letter : argument) line += letter == '\'' ? "'\\''" : std::string(1, letter);
    line += "'";
  }
  return line;
}

ExitStatus run_program(int argc, char** argv) {
  CLI::App app("stowage: a static memory planner for neural networks", "stowage");
  app.require_subcommand(1);
  app.set_version_flag("--version", STOWAGE_VERSION);
  stowage::cli::PlanCommand plan;
  stowage::cli::CompareCommand compare;
  stowage::cli::VerifyCommand verify;
  CLI::App& plan_app = *app.add_subcommand("plan", "Plan memory: give every tensor of a model an offset");
  add_plan(plan_app, plan);
  CLI::App& compare_app = *app.add_subcommand("compare", "Plan with every strategy and compare the results");
  add_models(compare_app, compare.inputs);
  add_planning_options(compare_app, compare);
  compare_app.add_flag("--json", compare.json, "Print JSON instead of a table");
  stowage::cli::SweepCommand sweep;
  CLI::App& sweep_app = *app.add_subcommand(
      "sweep", "Show the traffic of slow memory for each size of a fast one (--memory NAME=A..B)");
  add_sweep(sweep_app, sweep);
  CLI::App& verify_app = *app.add_subcommand("verify", "Check a plan file, made by any program");
  add(verify_app, "plan", verify.plan_file, "Plan file (JSON)").required();
  add(verify_app, "--model", verify.models,
      "FILE of the model that the plan is for; with several models, in the order of the plan");
  add_model_options(verify_app, verify.model);
  stowage::cli::InspectCommand inspect;
  CLI::App& inspect_app = *app.add_subcommand("inspect", "Show and check the plans inside TFLite files");
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
  app.add_subcommand("strategies", "List the strategies");
  try {
    app.parse(arguments_of(argc, argv));
  } catch (const CLI::ParseError& error) {
    return app.exit(error, std::cout, std::cerr) == 0 ? ExitStatus::done : ExitStatus::wrong_usage;
  }
  plan.typed = typed(argc, argv);
  if (plan_app.parsed()) return stowage::cli::run_plan(plan);
  if (compare_app.parsed()) return stowage::cli::run_compare(compare);
  if (sweep_app.parsed()) return stowage::cli::run_sweep(sweep);
  if (verify_app.parsed()) return stowage::cli::run_verify(verify);
  if (inspect_app.parsed()) return stowage::cli::run_inspect(inspect);
  if (report_app.parsed()) return stowage::cli::run_report(report);
  if (run_app.parsed()) return stowage::cli::run_run(run);
  if (generate_app.parsed()) return stowage::cli::run_generate(generate);
  return stowage::cli::run_strategies();
}

ExitStatus run_reporting_errors(int argc, char** argv) {
  try {
    return run_program(argc, argv);
  } catch (const stowage::UsageError& error) {
    stowage::base::print_lines(std::cerr, "stowage: ", error.what());
    return ExitStatus::wrong_usage;
  } catch (const stowage::Error& error) {
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
  return static_cast<int>(run_reporting_errors(argc, argv));
}
