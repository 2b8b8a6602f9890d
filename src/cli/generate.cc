// stowage generate: plans a network and writes it as C.

#include "stowage/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/print.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/models.h"
#include "cli/output_files.h"
#include "cli/package_test.h"
#include "cli/progress.h"
#include "stowage/error.h"
#include "stowage/network.h"
#include "stowage/planner.h"

namespace stowage::cli {
namespace {

/// The name of a model as a C identifier in lower case.
std::string c_name_of(const std::string& model) {
  std::string name;
  for (const char c : model) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_digit = c >= '0' && c <= '9';
    if (is_letter || (is_digit && !name.empty())) {
      name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name.empty() ? "model" : name;
}

std::size_t parse_cases(const std::string& text) {
  constexpr std::int64_t most = 1000;
  if (text.empty()) return 1;
  const auto number = base::parse_integer(text);
  if (!number || *number < 0 || *number > most)
    throw UsageError(fmt::format("--cases: {}, expected an integer from 0 to {}", base::quoted(text), most));
  return static_cast<std::size_t>(*number);
}

CKernels parse_kernels(const std::string& text) {
  constexpr std::array<std::pair<std::string_view, CKernels>, 5> names{
      {{"portable", CKernels::portable},
       {"cmsis-nn", CKernels::cmsis_nn_dsp},
       {"cmsis-nn:scalar", CKernels::cmsis_nn_scalar},
       {"cmsis-nn:dsp", CKernels::cmsis_nn_dsp},
       {"cmsis-nn:mve", CKernels::cmsis_nn_mve}}};
  for (const auto& [name, kernels] : names)
    if (text == name) return kernels;
  throw UsageError(
      fmt::format("--kernels is {}, expected portable or cmsis-nn, which may have :scalar, :dsp or :mve",
                  base::quoted(text)));
}

/// There is no plan with the interface that was asked for.
struct OtherInterface {
  std::string why{};
};

/// Throws OtherInterface if inputs and outputs shall come and go by rows, and do not in the plan: the C would have no
/// functions for rows.
PlanResult plan_for(const std::vector<Network>& networks, const PlanOptions& options) {
  const std::vector<Input> inputs = inputs_of(networks);
  PlanResult planned = inputs.size() == 1 ? make_plan(inputs[0], options) : make_plan(inputs, options);
  clear_progress_line();
  if (const LeftOut* const it = left_out(planned.plan, Wish::io_rows))
    throw OtherInterface{it->why + (it->help.empty() ? "" : "; may help: " + it->help)};
  return planned;
}

bool runs_blocks(const Plan& plan) {
  return std::ranges::any_of(plan.clocks.at(0).steps, [](const Step& step) {
    const auto* const run = std::get_if<Run>(&step);
    return run != nullptr && run->block;
  });
}

/// Blocks, and rows along axes that the search has chosen, may lie where no kernel reads them. Then the plan does
/// without blocks, and then without such axes.
Package package_of(const std::vector<Network>& networks, PlanOptions options, const GenerateOptions& wanted,
                   PlanResult& planned) {
  for (;;) {
    try {
      return generate_package(networks, planned.plan, wanted);
    } catch (const Error& error) {
      if (!planned.plan.streaming || !options.stream) throw;
      StreamOptions& stream = *options.stream;
      const bool had_blocks = runs_blocks(planned.plan);
      if (!had_blocks && stream.axes != StreamAxes::searched) throw;
      if (had_blocks) stream.blocks = StreamBlocks::none;
      if (!had_blocks) stream.axes = StreamAxes::natural;
      base::print_lines(std::cerr, "stowage: ", error.what());
      base::print(std::cerr, "stowage: plans again, {}\n",
                  had_blocks ? "without blocks" : "with rows along the natural axes");
    }
    planned = plan_for(networks, options);
  }
}

/// CMSIS-NN computes lines of images, with all of their channels: no columns, and no channels alone. So its plans have
/// neither, unless the user asks for them.
void suit_cmsis_nn(const PlanTexts& texts, StreamOptions& stream) {
  if (texts.axes.empty()) stream.axes = StreamAxes::natural;
  if (texts.blocks.empty()) stream.blocks = StreamBlocks::none;
}

bool fits(const Plan& plan) {
  return std::ranges::all_of(plan.memories, [](const PlannedMemory& it) {
    return !it.memory.capacity || it.peak <= *it.memory.capacity;
  });
}

/// RAM and flash that depend on the layout.
Bytes cost_of(const Package& package) { return package.arena + package.state + package.control; }

void add_to_readme(Package& package, const std::string& text) {
  const auto readme = std::ranges::find(package.files, "README.md", &GeneratedFile::path);
  readme->content += text;
}

/// Row blocks that lie anywhere save RAM, but need lists of where they are; rings need none. If these lists take more
/// flash than they save RAM, the package gets rings. Its README says what the other layout costs.
void weigh_rings(const std::vector<Network>& networks, PlanOptions options, const GenerateOptions& wanted,
                 PlanResult& planned, Package& package) {
  constexpr double share_of_time = 0.25;
  options.stream->layout = StreamLayout::ring;
  options.solve.time_limit *= share_of_time;
  if (options.solve.effort)
    options.solve.effort =
        static_cast<std::int64_t>(share_of_time * static_cast<double>(*options.solve.effort));
  PlanResult with_rings;
  Package other;
  try {
    with_rings = plan_for(networks, options);
    if (!with_rings.faults.empty() || !is_streamed(with_rings.plan)) return;
    other = package_of(networks, options, wanted, with_rings);
  } catch (const OtherInterface&) {
    return;
  } catch (const Error&) {  // its rows are where no kernel reads them
    return;
  }
  const bool takes_rings =
      cost_of(other) < cost_of(package) && (fits(with_rings.plan) || !fits(planned.plan));
  if (takes_rings) {
    std::swap(package, other);
    std::swap(planned, with_rings);
  }
  add_to_readme(package,
                fmt::format("\n{} would take an arena of {} bytes, a state of {} and control of {}.\n",
                            takes_rings ? "Row blocks that lie anywhere (`--layout granules`)"
                                        : "Rings instead of row blocks that lie anywhere (`--layout ring`)",
                            other.arena, other.state, other.control));
}

/// The package overwrites no model, and no file of the user's unless that is wanted.
void expect_directory(const GenerateCommand& command, const Package& package) {
  std::vector<NamedOutput> outputs;
  for (const GeneratedFile& file : package.files)
    outputs.emplace_back("-o", (std::filesystem::path(command.directory) / file.path).string());
  expect_different_files(files_of_models(command.inputs), outputs);
  if (!command.force) expect_own_files(command.directory, package);
}

/// The package's test, unless it cannot tell anything here.
PackageTest tested(const GenerateCommand& command, const GenerateOptions& wanted, const Package& package) {
  if (command.no_test) return {.words = ": --no-test"};
  if (wanted.cases == 0) return {.words = ": with --cases 0 it compares nothing"};
  if (!wanted.externs.empty()) return {.words = ": functions of --extern are yours to write"};
  if (wanted.kernels != CKernels::portable) return {.words = ": CMSIS-NN is for Arm"};
  // A compiler takes about a second for each million of numbers.
  constexpr Bytes most_weights = Bytes{1} << 24;
  if (package.weights > most_weights)
    return {.words = ": its weights take long to compile; `make test` runs it"};
  return test_of(package);
}

ExitStatus report_failure(const PackageTest& test) {
  if (test.verdict == PackageTest::Verdict::interrupted) {
    base::print(std::cerr, "stowage: interrupted during the test; nothing is written\n");
    return ExitStatus::not_met;
  }
  fmt::print(std::cerr,
             "stowage: {}stowage: that is a bug in stowage. Nothing is written; --no-test writes the files\n",
             test.words);
  return ExitStatus::own_plan_rejected;
}

/// What the plan does not reach.
void print_shortfalls(const Plan& plan) {
  if (plan.interrupted) base::print(std::cout, "the search for the plan was cut short\n");
  for (const LeftOut& it : plan.left_out)
    base::print(std::cout, "left out {}: {}{}\n", name_of(it.what), it.why,
                it.help.empty() ? "" : "; may help: " + it.help);
}

ExitStatus write_generated(const GenerateCommand& command) {
  if (!command.given_plan.empty() && command.plan != PlanTexts{})
    throw UsageError("--plan cannot be combined with planning options: the plan is already made");
  PlanOptions options = parse_plan_options(command.plan);
  std::vector<Network> networks = read_networks(command.inputs, command.model);
  print_notes(inputs_of(networks));
  const std::string name = networks.size() == 1 ? c_name_of(networks[0].input.info.name) : "models";
  const GenerateOptions wanted{.name = command.name.empty() ? name : command.name,
                               .cases = parse_cases(command.cases),
                               .seed = options.solve.seed,
                               .externs = command.externs,
                               .kernels = parse_kernels(command.kernels)};
  if (options.stream && wanted.kernels != CKernels::portable) suit_cmsis_nn(command.plan, *options.stream);
  PlanResult planned;
  if (!command.given_plan.empty()) planned.plan = read_plan(command.given_plan);
  const bool by_rows = options.stream || is_streamed(planned.plan);
  for (Network& network : networks) {
    add_scratch_of_kernels(network, wanted.kernels, by_rows);
    if (command.given_plan.empty()) run_carriers_whole(network, command.externs);
  }
  const InterruptWatch watch;
  options.solve.stop = watch.stop();
  options.solve.progress = progress_line();
  if (command.given_plan.empty()) {
    note_memories(options.memories);
    planned = plan_for(networks, options);
    note_nearness(planned);
    if (!planned.faults.empty()) return report_own_fault(planned);
  } else {
    const Faults faults = check_plan(planned.plan, inputs_of(networks));
    print_faults(faults);
    if (!faults.empty()) return ExitStatus::not_met;
  }
  Package package = package_of(networks, options, wanted, planned);
  const bool is_free = options.stream && options.stream->layout == StreamLayout::automatic;
  if (is_free && networks.size() == 1 && is_streamed(planned.plan))
    weigh_rings(networks, options, wanted, planned, package);
  expect_directory(command, package);
  const PackageTest test = tested(command, wanted, package);
  if (test.verdict == PackageTest::Verdict::failed || test.verdict == PackageTest::Verdict::interrupted)
    return report_failure(test);
  write_package(command.directory, package);
  base::print(
      std::cout,
      "{} in {}\narena    {:>10} bytes\nstate    {:>10} bytes\nweights  {:>10} bytes\ncontrol  {:>10} bytes\n"
      "steps    {:>10}\ntest     {:>10}{}\n",
      wanted.name, command.directory, package.arena, package.state, package.weights, package.control,
      package.steps, test.verdict == PackageTest::Verdict::passed ? "passed" : "not run", test.words);
  print_shortfalls(planned.plan);
  std::cout.flush();
  return report_fit(planned);
}

}  // namespace

ExitStatus run_generate(const GenerateCommand& command) {
  try {
    return write_generated(command);
  } catch (const OtherInterface& other) {
    fmt::print(
        std::cerr,
        "stowage: nothing is written: --io rows asks for functions that take and give rows, and the plan has "
        "none: {}\n",
        other.why);
    return ExitStatus::not_met;
  }
}

}  // namespace stowage::cli
