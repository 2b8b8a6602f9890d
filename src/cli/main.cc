#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "stowage/error.h"

namespace {

using stowage::cli::ExitStatus;

/// An option with a value that must not be empty: an unset variable of a script is a mistake.
template <typename Target>
CLI::Option& add(CLI::App& app, const std::string& name, Target& target, const std::string& help) {
  const auto is_given = [](const std::string& value) {
    return value.empty() ? std::string("its value is empty") : std::string();
  };
  CLI::Option& option = *app.add_option(name, target, help);
  return *option.check(is_given, "")->allow_extra_args(false);
}

void add_model_options(CLI::App& app, stowage::cli::ModelTexts& texts) {
  add(app, "--dim", texts.dims, "NAME=N: value of a symbolic dimension");
  add(app, "--shape", texts.shapes, "TENSOR=1,3,224,224: shape of a tensor that the file leaves open");
  add(app, "--bound", texts.bounds, "TENSOR=SIZE: the most bytes of a tensor whose size depends on data");
  add(app, "--state", texts.states, "OUTPUT=INPUT: an output that is an input of the next run");
  add(app, "--scratch", texts.scratch,
      "CSV of operator,bytes[,subgraph]: memory that kernels want while they run");
}

/// Several models, each FILE or NAME=FILE.
void add_models(CLI::App& app, std::vector<std::string>& models) {
  const auto is_given = [](const std::string& value) {
    return value.empty() ? std::string("its value is empty") : std::string();
  };
  app.add_option("models", models,
                 "Models (ONNX, TFLite, graph JSON), each FILE or NAME=FILE; or one buffer list or "
                 "memory-operation sequence")
      ->required()
      ->check(is_given, "");
}

/// The options that decide what a plan is.
template <typename Command>
void add_planning_options(CLI::App& app, Command& command) {
  add(app, "--order", command.plan.order,
      "Order of operators: keep (the file's) or search (one of the least peak). Default: search");
  add(app, "--alias", command.plan.alias,
      "Tensors that share bytes because one repeats or replaces the other: none, auto (as far as it does not "
      "raise the peak), all. Default: auto");
  add(app, "--memory", command.plan.memories,
      "NAME[=SIZE][@COST][:weights]: a memory to plan in, fastest first, or one for weights");
  app.add_flag("--moves", command.plan.moves,
               "Of several memories, let tensors be copied from one to another in the course of a run");
  add(app, "--capacity", command.plan.capacity, "SIZE of the memory, for instance 256KiB");
  add(app, "--align", command.plan.align,
      "Alignment in bytes. Default: 64 for ONNX, 16 for TFLite, 1 for lists");
  add(app, "--io", command.plan.io,
      "Memory of inputs and outputs: arena, external (the caller's) or, with --stream, rows (they arrive "
      "and leave row by row). Default: arena");
  app.add_flag("--stream", command.plan.stream, "Run operators row by row, so that only windows are stored");
  add(app, "--recompute", command.plan.recompute,
      "Multiplies that --stream may run to save memory, as a multiple of the network's. Default: 1.0");
  add(app, "--granule", command.plan.granule, "Rows that a step of --stream computes. Default: 1");
  add(app, "--time-limit", command.plan.time_limit,
      "Seconds after which no strategy is begun and no search goes on. Default: 3");
  add(app, "--threads", command.plan.threads, "Searches side by side. Default: as many as the machine has");
  add(app, "--seed", command.plan.seed, "Where searches draw random numbers from. Default: 0");
  add(app, "--reuse-threshold", command.plan.reuse_threshold,
      "free-list: SIZE up to which a buffer never takes a used block. Default: 0");
  add(app, "--sort", command.plan.sort,
      "rectangle: keys to sort by, for instance size*duration,-overlap. Default: a portfolio");
  add(app, "--rounds", command.plan.rounds, "rectangle: rounds of tuning. Default: its own choice");
  add(app, "--run", command.plan.run,
      "Of several models, which run after each other (;) and which at the same time (|), for instance "
      "'a; b | c'. Default: one after the other");
  add(app, "--feed", command.plan.feeds, "A.out=B.in: an output of a model that is an input of a later one");
  add(app, "--release", command.plan.released,
      "A.out: of several models, an output that is taken when its model has run. Default: all outputs are "
      "there until everything has run");
  add_model_options(app, command.model);
}

void add_strategy(CLI::App& app, stowage::cli::PlanTexts& texts) {
  add(app, "--strategy", texts.strategy, "How offsets are found; see `stowage strategies`. Default: auto");
}

void add_plan(CLI::App& app, stowage::cli::PlanCommand& command) {
  add_models(app, command.inputs);
  add_planning_options(app, command);
  add_strategy(app, command.plan);
  app.add_flag("--json", command.json, "Print the plan as JSON instead of a table");
  add(app, "-o,--output", command.plan_file, "Write the plan as JSON");
  add(app, "--csv", command.csv_file, "Write the buffers and their offsets as CSV");
  add(app, "--svg", command.svg_file, "Draw the arena: time by address");
  add(app, "--tflite", command.tflite_file,
      "Write the TFLite model with offsets that TensorFlow Lite Micro obeys; of several models, a directory");
  add(app, "--header", command.header_file, "Write the plan as a C header");
  add(app, "--prefix", command.prefix, "What names in the header begin with. Default: stowage");
}

void add_sweep(CLI::App& app, stowage::cli::SweepCommand& command) {
  add_models(app, command.inputs);
  add_planning_options(app, command);
  app.add_flag("--json", command.json, "Print JSON instead of a table");
  add(app, "--svg", command.svg_file, "Draw the traffic against the size");
}

void add_run(CLI::App& app, stowage::cli::RunCommand& command) {
  add_models(app, command.inputs);
  add_planning_options(app, command);
  add_strategy(app, command.plan);
  add(app, "--plan", command.given_plan, "Run inside this plan (JSON) instead of making one");
  add(app, "--input", command.run.inputs,
      "NAME=FILE or MODEL.NAME=FILE: value of an input, .npy or .pb (an ONNX TensorProto). Default: "
      "pseudo-random by --seed");
  add(app, "--save", command.saved, "NAME=FILE or MODEL.NAME=FILE: write an output as .npy");
  add(app, "--kernels", command.run.kernels, "fast (oneDNN where it can) or plain (loops). Default: fast");
  app.add_flag(
      "--check{outputs}", command.run.check,
      "Run again with every tensor in memory of its own and compare the outputs; --check=all compares "
      "every tensor");
  add(app, "--random-weights", command.run.random_weights,
      "SEED: replace weights whose elements are all the same by random ones");
  app.add_flag("--report-memory", command.report_memory,
               "Print live bytes, highest byte touched and time of every step");
  app.add_flag("--json", command.json, "Print JSON instead of a table");
  add(app, "-o,--output", command.plan_file, "Write the plan as JSON");
}

/// The arguments, the last one first. The parser takes a value in brackets for a list: a file that is called
/// so gets the folder in front.
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

ExitStatus run_program(int argc, char** argv) {
  CLI::App app("stowage: a static memory planner for neural networks", "stowage");
  app.require_subcommand(1);
  app.set_version_flag("--version", STOWAGE_VERSION);
  stowage::cli::PlanCommand plan;
  stowage::cli::CompareCommand compare;
  stowage::cli::VerifyCommand verify;
  CLI::App& plan_app = *app.add_subcommand("plan", "Give every tensor of a model an offset in memory");
  add_plan(plan_app, plan);
  CLI::App& compare_app = *app.add_subcommand("compare", "Plan with every strategy and compare");
  add_models(compare_app, compare.inputs);
  add_planning_options(compare_app, compare);
  compare_app.add_flag("--json", compare.json, "Print JSON instead of a table");
  stowage::cli::SweepCommand sweep;
  CLI::App& sweep_app =
      *app.add_subcommand("sweep", "Traffic of slow memory by the size of a fast one (--memory NAME=A..B)");
  add_sweep(sweep_app, sweep);
  CLI::App& verify_app = *app.add_subcommand("verify", "Check a plan file made by anyone");
  add(verify_app, "plan", verify.plan_file, "Plan JSON").required();
  add(verify_app, "--model", verify.models,
      "The model the plan is for; of several, each in the plan's order");
  add_model_options(verify_app, verify.model);
  stowage::cli::InspectCommand inspect;
  CLI::App& inspect_app = *app.add_subcommand("inspect", "Show and check the plan in a TFLite file");
  add(inspect_app, "model", inspect.file, "TFLite model").required();
  inspect_app.add_flag("--json", inspect.json, "Print JSON instead of a table");
  stowage::cli::RunCommand run;
  CLI::App& run_app = *app.add_subcommand("run", "Run networks inside their plan");
  add_run(run_app, run);
  app.add_subcommand("strategies", "List the strategies");
  try {
    app.parse(arguments_of(argc, argv));
  } catch (const CLI::ParseError& error) {
    return app.exit(error, std::cout, std::cerr) == 0 ? ExitStatus::done : ExitStatus::wrong_usage;
  }
  if (plan_app.parsed()) return stowage::cli::run_plan(plan);
  if (compare_app.parsed()) return stowage::cli::run_compare(compare);
  if (sweep_app.parsed()) return stowage::cli::run_sweep(sweep);
  if (verify_app.parsed()) return stowage::cli::run_verify(verify);
  if (inspect_app.parsed()) return stowage::cli::run_inspect(inspect);
  if (run_app.parsed()) return stowage::cli::run_run(run);
  return stowage::cli::run_strategies();
}

ExitStatus run_reporting_errors(int argc, char** argv) {
  try {
    return run_program(argc, argv);
  } catch (const stowage::UsageError& error) {
    fmt::print(std::cerr, "stowage: {}\n", error.what());
    return ExitStatus::wrong_usage;
  } catch (const stowage::Error& error) {
    fmt::print(std::cerr, "stowage: {}\n", error.what());
    return ExitStatus::input_rejected;
  } catch (const std::bad_alloc&) {
    fmt::print(std::cerr, "stowage: the input needs more memory than there is\n");
    return ExitStatus::input_rejected;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an error of writing, reported as such
  return static_cast<int>(run_reporting_errors(argc, argv));
}
