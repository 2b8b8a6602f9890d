#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "cli/models.h"
#include "cli/options.h"
#include "cli/wanted_files.h"
#include "stowage/export.h"
#include "stowage/plan.h"
#include "stowage/planner.h"
#include "stowage/report.h"

namespace stowage::cli {

/// Exit status of the program.
enum class ExitStatus {
  done = 0,
  not_met = 1,
  wrong_usage = 2,
  input_rejected = 3,
  own_plan_rejected = 4,
  output_unwritable = 5
};

struct PlanCommand {
  std::vector<std::string> inputs;  ///< Each FILE or NAME=FILE.
  ModelTexts model;
  PlanTexts plan;
  bool json = false;
  bool print_loops = false;
  bool expanded = false;  ///< Plan JSON.

  [[nodiscard]] PlanForm form() const { return expanded ? PlanForm::expanded : PlanForm::compact; }

  FileTexts output;
  bool what_if = false;
  std::string overlay;    ///< Begin of the names of three files, or empty.
  std::string budget;     ///< A size.
  std::string typed;      ///< The command line, for the report.
  std::string prefix;     ///< Of names in the header and in the BufferPlan; empty: "stowage".
  std::string fit;        ///< A dimension whose largest size is wanted.
  std::string offsets;    ///< constant or symbolic; empty: constant.
  bool unpin = false;     ///< Without the offsets that lists give.
  bool no_names = false;  ///< In the header.
  bool is_for_tflm = false;
  bool strip = false;   ///< The TFLite file.
  std::string kernels;  ///< Of TensorFlow Lite Micro, as the next.
  std::string runtime;

  /// The files to write. Throws UsageError for those that the command does not write.
  [[nodiscard]] std::vector<WantedFile> files() const;
};

/// What plans with other options reach.
struct WhatIf {
  std::vector<Remedy> tried;
  std::vector<Curve> curves;
  std::optional<PlanResult> faulty;  ///< The checker rejects it: a bug.
};

struct CompareCommand {
  std::vector<std::string> inputs;
  ModelTexts model;
  PlanTexts plan;
  bool json = false;
};

struct PackCommand {
  std::string problem;  ///< A file.
  PlanTexts plan;       ///< Of them, what limits the search.
  std::string output;   ///< A file; empty: none.
  std::string verify;   ///< A solution to check instead; empty: none.
  std::string curve;    ///< Capacities, as a range of percentages; empty: as they are.
  bool json = false;    ///< Of the curve.
};

struct DiffCommand {
  std::string before;  ///< A plan file, or a model, as the next.
  std::string after;
  ModelTexts model;
  PlanTexts plan;
  bool markdown = false;
  bool json = false;
  std::string max_growth;  ///< A percentage; empty: any.
  std::string output;      ///< For the page; empty: none.
};

struct FitCommand {
  std::string model_file;
  std::string board;    ///< A name or a file.
  std::string reserve;  ///< A size.
  ModelTexts model;
  PlanTexts plan;  ///< Of them, what limits the search.
  bool json = false;
};

struct SweepCommand {
  std::vector<std::string> inputs;
  ModelTexts model;
  PlanTexts plan;
  std::size_t jobs = 1;
  bool json = false;
  FileTexts output;
};

struct VerifyCommand {
  std::string plan_file;
  std::vector<std::string> models;  ///< In the plan's order.
  ModelTexts model;
  bool json = false;
};

struct InspectCommand {
  std::string file;  ///< Or a directory of TFLite files.
  bool json = false;
  std::string kernels;
  std::string runtime;
};

struct RunCommand {
  std::vector<std::string> inputs;  ///< FILE or NAME=FILE.
  ModelTexts model;
  PlanTexts plan;
  RunTexts run;
  std::string given_plan;  ///< A plan file to run; empty: plan now.
  bool report_memory = false;
  bool json = false;
  FileTexts output;
  std::vector<std::string> saved;  ///< NAME=FILE.
};

struct ReportCommand {
  std::vector<std::string> plans;  ///< One file or two.
  std::string output;
  std::vector<std::string> models;  ///< In the plan's order.
  ModelTexts model;
};

struct GenerateCommand {
  std::vector<std::string> inputs;  ///< FILE or NAME=FILE.
  ModelTexts model;
  PlanTexts plan;
  std::string given_plan;  ///< A plan file; empty: plan now.
  std::string directory;
  std::string name;                       ///< Of functions and files; empty: that of the model.
  std::string cases;                      ///< Of the test program.
  std::vector<std::string> given_values;  ///< NAME=FILE, for these cases.
  std::string kernels = "portable";
  std::vector<std::string> externs;  ///< Types of operators.
  std::string typed;                 ///< The command line, without folders.
  bool no_test = false;              ///< The test is not run.
  bool force = false;                ///< Files that are not its own are replaced, too.
};

/// Reports a bug: the checker rejected our own plan. Writes only the case, so that the bug can be fixed.
[[nodiscard]] ExitStatus report_own_fault(const PlanResult& result);
/// Reports by how much the plan exceeds its memories, if it does.
[[nodiscard]] ExitStatus report_fit(const PlanResult& result);
/// Says which memories nothing can be in.
void note_memories(const std::vector<Memory>& memories);
/// Says so if the earlier plan of --near has no buffer of this one.
void note_nearness(const PlanResult& result);
/// The files of a plan that need nothing else.
[[nodiscard]] std::vector<base::OutputFile> outputs_of(const std::vector<WantedFile>& files, const Plan& plan,
                                                       PlanForm form = PlanForm::compact);
/// Throws Error if standard output did not take what was printed, unless its reader has ended.
void flush_output();
void print_faults(const Faults& faults);
/// Says on standard error if a plan with faults is of other models than these, or of a range of sizes where these have
/// one.
void note_other_models(const Plan& plan, const std::vector<Input>& inputs);
/// What the command asks of C headers, with details of its models' files, unless joined models are parts of one.
[[nodiscard]] HeaderOptions header_options(const PlanCommand& command);
/// The parts of model files that planning takes.
[[nodiscard]] Wanted wanted_for(const PlanOptions& options);
/// The parts of model files that it takes to check the plan.
[[nodiscard]] Wanted wanted_to_check(const Plan& plan);
/// Throws UsageError for a budget that is not a size, and for options that it excludes.
void expect_budget(const PlanCommand& command);
/// Prints one line: the bytes that the plan needs, the budget, and what is left or missing.
[[nodiscard]] ExitStatus print_budget(const PlanCommand& command, const Plan& plan, std::ostream& out,
                                      Bytes needed);
/// Throws UsageError if there is nothing to plan again, or no report to show it.
void expect_what_if(const PlanCommand& command, const std::vector<Input>& inputs);
/// Plans again, once for each other option that may lower the peak; each plan may take the time limit. What does
/// not fit the model is left out. If cancelled, the rest is left out. `needed` are the bytes that count: the peak, or all
/// that TensorFlow Lite Micro keeps.
[[nodiscard]] WhatIf what_if(const PlanCommand& command, const PlanOptions& options, const Plan& plan,
                             Bytes needed);
/// Of these, what other options alone reach in a short time.
[[nodiscard]] WhatIf quick_what_if(const PlanCommand& command, const PlanOptions& options, const Plan& plan,
                                   Bytes needed);
/// What may help a plan that needs too many bytes: what was tried, what is cheap to try, and what the plan says about
/// itself. `has_graph`: options other than those of lists may help.
[[nodiscard]] std::vector<Remedy> remedies_for(const PlanCommand& command, bool has_graph,
                                               const PlanOptions& options, const Plan& plan, Bytes needed,
                                               WhatIf tried);
/// The pages that are asked for.
[[nodiscard]] std::vector<base::OutputFile> report_of(const PlanCommand& command,
                                                      const std::vector<Input>& inputs, const Plan& plan,
                                                      const WhatIf& others);

[[nodiscard]] ExitStatus run_plan(const PlanCommand& command);
[[nodiscard]] ExitStatus run_compare(const CompareCommand& command);
[[nodiscard]] ExitStatus run_diff(const DiffCommand& command);
[[nodiscard]] ExitStatus run_pack(const PackCommand& command);
[[nodiscard]] ExitStatus run_sweep(const SweepCommand& command);
[[nodiscard]] ExitStatus run_verify(const VerifyCommand& command);
[[nodiscard]] ExitStatus run_inspect(const InspectCommand& command);
[[nodiscard]] ExitStatus run_run(const RunCommand& command);
/// What --version says of the runner: "runner, oneDNN 2.6.0"; empty in a build without it.
[[nodiscard]] std::string parts_of_runner();
[[nodiscard]] ExitStatus run_report(const ReportCommand& command);
[[nodiscard]] ExitStatus run_fit(const FitCommand& command);
/// All devices, or the one of this name.
[[nodiscard]] ExitStatus run_devices(const std::string& name, bool as_json);
[[nodiscard]] ExitStatus run_generate(const GenerateCommand& command);
[[nodiscard]] ExitStatus run_strategies(bool as_json);

/// The command as a whole: what `main` gets, and its exit status.
[[nodiscard]] int run_command_line(int argc, char** argv);

}  // namespace stowage::cli
