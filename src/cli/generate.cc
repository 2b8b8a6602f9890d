// stowage generate: plans a network and writes it as C.

#include "stowage/generate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/print.h"
#include "base/text.h"
#include "cli/buckets.h"
#include "cli/commands.h"
#include "cli/given_plan.h"
#include "cli/interrupt.h"
#include "cli/models.h"
#include "cli/open_rows.h"
#include "cli/output_files.h"
#include "cli/package_test.h"
#include "cli/plan_sizes.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "stowage/error.h"
#include "stowage/export.h"
#include "stowage/network.h"
#include "stowage/planner.h"

namespace stowage::cli {
namespace {

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

/// The user's own choices come first.
void suit_kernels(const PlanTexts& texts, CKernels kernels, StreamOptions& stream) {
  const StreamOptions suitable = streaming_for(kernels);
  if (texts.axes.empty()) stream.axes = suitable.axes;
  if (texts.blocks.empty()) stream.blocks = suitable.blocks;
}

bool has_scratch(const Plan& plan) {
  return std::ranges::any_of(plan.tensors,
                             [](const PlannedTensor& it) { return it.tensor.kind == TensorKind::scratch; });
}

/// The plan that the user gives, with its C. No package if the plan has faults, which are printed.
PlannedPackage package_of_given(const GenerateCommand& command, std::vector<Network> networks,
                                const GenerateOptions& wanted) {
  PlannedPackage made;
  made.planned.plan = read_plan(command.given_plan);
  // A plan for other kernels has no scratch memory; then operators that need some are refused by name.
  if (wanted.kernels != CKernels::portable || has_scratch(made.planned.plan))
    for (Network& network : networks)
      add_scratch_of_kernels(network, wanted.kernels, is_streamed(made.planned.plan), wanted.externs);
  const Faults faults = check_plan(made.planned.plan, inputs_of(networks));
  if (faults.empty()) expect_states(made.planned.plan, parse_models(command.inputs), command.model);
  if (!faults.empty()) note_other_models(made.planned.plan, inputs_of(networks));
  print_faults(faults);
  if (faults.empty()) made.package = generate_package(networks, made.planned.plan, wanted);
  return made;
}

/// What the models leave open: a plan that is given knows it.
ModelTexts sizes_for(const GenerateCommand& command) {
  if (command.given_plan.empty()) return command.model;
  const PlannedSizes sizes = sizes_in(read_plan(command.given_plan), command.inputs, command.model);
  if (sizes.is_within)
    throw UsageError("--dim gives sizes within the ranges of the plan; C is for the largest: leave them out");
  return sizes.texts;
}

/// Networks whose rows are open, as they are planned for C.
Network network_at(const GenerateCommand& command, const GenerateOptions& wanted, const ModelTexts& texts) {
  Network network = std::move(read_networks(command.inputs, texts)[0]);
  add_scratch_of_kernels(network, wanted.kernels, true, wanted.externs);
  run_carriers_whole(network, wanted.externs);
  return network;
}

/// A package for all sizes of a range, by rows; none if neither a plan that is given nor options ask for it. Where there is
/// no such plan, it says why.
std::optional<PlannedPackage> package_of_open_rows(const GenerateCommand& command, const PlanOptions& options,
                                                   const GenerateOptions& wanted) {
  if (!command.given_plan.empty()) {
    const GivenPlan given = read_given_plan(command.given_plan);
    if (!given.rows) return std::nullopt;
    const ModelTexts texts = sizes_in(given.plan, command.inputs, command.model).texts;
    const auto read = [&](std::int64_t size) {
      return network_at(command, wanted, with_size(texts, *given.rows, size));
    };
    PlannedPackage made{.planned = {.plan = given.plan}};
    OpenRowsReport report;
    const Faults faults = check_open_rows(
        given.plan, *given.rows, [&](std::int64_t size) { return read(size).input; }, report);
    print_faults(faults);
    if (faults.empty()) made.package = generate_package(given.plan, *given.rows, read, wanted);
    return made;
  }
  const auto read = [&](const ModelTexts& texts) { return network_at(command, wanted, texts); };
  const auto found = rows_of_range(command.inputs, command.model, options,
                                   [&](const ModelTexts& texts) { return read(texts).input; });
  if (!found) return std::nullopt;
  if (!found->planned) {
    clear_progress_line();
    base::print(std::cerr, "stowage: no plan by rows is one for all sizes: {}\n", found->why_not);
    return std::nullopt;
  }
  PlannedPackage made{.planned = *found->planned};
  made.package = generate_package(
      made.planned.plan, found->rows,
      [&](std::int64_t size) { return read(with_size(command.model, found->rows, size)); }, wanted);
  return made;
}

/// A plan of ours, with its C.
PlannedPackage package_of_options(std::vector<Network> networks, const PlanOptions& options,
                                  const GenerateOptions& wanted) {
  note_memories(options.memories);
  const auto note = [](std::string_view why, std::string_view how) {
    clear_progress_line();
    base::print(std::cerr, "stowage: no C for a first plan, so it is made again, {}:\n", how);
    base::print_lines(std::cerr, "stowage:   ", why);
  };
  PlannedPackage made = plan_package(std::move(networks), options, wanted, note);
  clear_progress_line();
  note_nearness(made.planned);
  return made;
}

/// The package overwrites no model, and no file of the user's unless that is wanted.
void expect_directory(const GenerateCommand& command, const Package& package) {
  std::vector<NamedOutput> outputs;
  for (const GeneratedFile& file : package.files)
    outputs.emplace_back("-o", (std::filesystem::path(command.directory) / file.path).string());
  expect_different_files(files_of_models(command.inputs), outputs);
  if (!command.force) expect_own_files(command.directory, package);
}

/// Sources of an earlier package would be compiled with this one.
void note_others_in(const GenerateCommand& command, const Package& package) {
  const std::vector<std::string> others = sources_of_others(command.directory, package);
  if (others.empty()) return;
  base::print(std::cerr, "stowage: note: {} has C files of an earlier package: {}\n",
              base::quoted(command.directory), fmt::format("{}", fmt::join(others, ", ")));
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
  if (is_cut_short(plan)) base::print(summary_stream(), "the search for the plan was cut short\n");
  for (const LeftOut& it : plan.left_out)
    base::print(summary_stream(), "left out {}: {}{}\n", name_of(it.what), it.why,
                it.help.empty() ? "" : "; may help: " + it.help);
}

/// Tests and writes a package, and says what it needs.
ExitStatus write_made(const GenerateCommand& command, const GenerateOptions& wanted,
                      const PlannedPackage& made) {
  if (!made.no_rows.empty()) {
    fmt::print(
        std::cerr,
        "stowage: nothing is written: --io rows asks for functions that take and give rows, and the plan has "
        "none: {}\n",
        made.no_rows);
    return ExitStatus::not_met;
  }
  if (!made.planned.faults.empty()) return report_own_fault(made.planned);
  const Package& package = made.package;
  if (package.files.empty()) return ExitStatus::not_met;  // faults of the given plan
  expect_directory(command, package);
  const PackageTest test = tested(command, wanted, package);
  if (test.verdict == PackageTest::Verdict::failed || test.verdict == PackageTest::Verdict::interrupted)
    return report_failure(test);
  write_package(command.directory, package);
  std::ostream& out = summary_stream();
  const std::vector<PlannedMemory>& memories = made.planned.plan.memories;
  base::print(out, "{} in {}\narena    {:>10} bytes\n", wanted.name, command.directory, package.arena);
  for (const PlannedMemory& memory : memories) {
    if (memories.size() > 1)
      base::print(out, "  {:<7}{:>10} bytes; steps read and write {} bytes\n", memory.memory.name,
                  memory.peak, memory.traffic);
  }
  base::print(out,
              "state    {:>10} bytes\nweights  {:>10} bytes\ncontrol  {:>10} bytes\nlayers   {:>10} bytes\n"
              "steps    {:>10}\ntest     {:>10}{}\n",
              package.state, package.weights, package.control, package.layers, package.steps,
              test.verdict == PackageTest::Verdict::passed ? "passed" : "not run", test.words);
  note_others_in(command, package);
  print_shortfalls(made.planned.plan);
  std::cout.flush();
  return report_fit(made.planned);
}

GenerateOptions options_of(const GenerateCommand& command, const PlanOptions& options, std::string name,
                           std::vector<std::uint64_t> hashes) {
  return {.name = command.name.empty() ? std::move(name) : command.name,
          .cases = parse_cases(command.cases),
          .seed = options.solve.seed,
          .inputs = parse_inputs(command.given_values),
          .externs = command.externs,
          .kernels = parse_kernels(command.kernels),
          .command = command.typed,
          .hashes = std::move(hashes)};
}

/// A package with a plan for each of several sizes: those of a file, or made as the options say.
ExitStatus generate_buckets(const GenerateCommand& command, const std::optional<Buckets>& given,
                            PlanOptions options) {
  if (command.inputs.size() != 1)
    throw UsageError("--dim gives several sizes: C for these is generated for one model");
  if (!command.given_values.empty())
    throw UsageError("--input gives the values of one size, and --dim gives several");
  for (const std::string& text : command.model.dims) {
    const std::string name = parse_assignment("--dim", text).first;
    if (given && given->all.at(0).sizes.contains(name))
      throw UsageError(
          fmt::format("--plan has a plan for each size of {}: leave out --dim {}", base::quoted(name), text));
  }
  const GenerateOptions wanted = options_of(command, options, c_name_of(parse_models(command.inputs)[0].name),
                                            hashes_of(command.inputs));
  if (options.stream) suit_kernels(command.plan, wanted.kernels, *options.stream);
  const bool is_by_rows =
      given ? std::ranges::any_of(given->all, [](const Bucket& it) { return is_streamed(it.plan); })
            : options.stream.has_value();
  const auto read = [&](const BucketSizes& sizes) {
    Network network = std::move(read_networks(command.inputs, with_sizes(command.model, sizes))[0]);
    if (!given || wanted.kernels != CKernels::portable || has_scratch(given->all[0].plan))
      add_scratch_of_kernels(network, wanted.kernels, is_by_rows, wanted.externs);
    if (!given && is_by_rows) run_carriers_whole(network, wanted.externs);
    return network;
  };
  const ReadBucket read_inputs = [&](const BucketSizes& sizes) {
    return std::vector<Input>{read(sizes).input};
  };
  const InterruptWatch watch;
  options.solve.stop = watch.stop();
  options.solve.progress = progress_line(options.solve);
  BucketsResult result;
  if (given) {
    result.buckets = *given;
    const Faults faults = check_buckets(*given, read_inputs);
    print_faults(faults);
    if (!faults.empty()) return ExitStatus::not_met;
  } else {
    note_memories(options.memories);
    result = make_buckets(read_inputs, sizes_of_buckets(command.model), options);
    clear_progress_line();
  }
  PlannedPackage made;
  made.planned.faults = result.faults;
  made.planned.plan = result.buckets.all.back().plan;
  for (std::size_t b = 0; b < result.outcomes.size(); ++b) {
    if (result.outcomes[b] == Outcome::fits) continue;
    made.planned.outcome = result.outcomes[b];
    made.planned.plan = result.buckets.all[b].plan;
  }
  if (result.faults.empty()) made.package = generate_package(result.buckets, read, wanted);
  return write_made(command, wanted, made);
}

}  // namespace

ExitStatus run_generate(const GenerateCommand& command) {
  if (!command.given_plan.empty() && command.plan != PlanTexts{})
    throw UsageError("--plan cannot be combined with planning options: the plan is already made");
  PlanOptions options = parse_plan_options(command.plan);
  options.states = shared_states(parse_models(command.inputs), command.model);
  const std::optional<Buckets> buckets =
      command.given_plan.empty() ? std::nullopt : read_buckets(command.given_plan);
  if (buckets || gives_several_sizes(command.model)) return generate_buckets(command, buckets, options);
  std::vector<Network> networks = read_networks(command.inputs, sizes_for(command));
  print_notes(inputs_of(networks));
  std::vector<std::string> given;
  for (const std::string& text : command.given_values)
    given.push_back(parse_assignment("--input", text).first);
  expect_inputs(networks, given);
  const std::string name = networks.size() == 1 ? c_name_of(networks[0].input.info.name) : "models";
  const GenerateOptions wanted =
      options_of(command, options, name,
                 networks.size() == 1 || command.model.joins.empty() ? hashes_of(command.inputs)
                                                                     : std::vector<std::uint64_t>());
  if (options.stream) suit_kernels(command.plan, wanted.kernels, *options.stream);
  const InterruptWatch watch;
  options.solve.stop = watch.stop();
  options.solve.progress = progress_line(options.solve);
  std::optional<PlannedPackage> open = package_of_open_rows(command, options, wanted);
  const PlannedPackage made = open ? *std::move(open)
                              : command.given_plan.empty()
                                  ? package_of_options(std::move(networks), options, wanted)
                                  : package_of_given(command, std::move(networks), wanted);
  return write_made(command, wanted, made);
}

}  // namespace stowage::cli
