#include "stowage/run.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "model/plan_blocks.h"
#include "run/blocks.h"
#include "run/inputs.h"
#include "run/plan_run.h"
#include "run/program.h"
#include "stowage/error.h"
#include "stowage/run_at_sizes.h"

namespace stowage {
namespace {

/// Adds the name of the model's file to errors.
run::Program prepare(const Network& network, const RunOptions& options, const Graph* like = nullptr) {
  try {
    return run::make_program(network, options, {}, like);
  } catch (const Error& error) {
    const std::string& source = network.input.info.source;
    throw source.empty() ? error : error.in_file(source);
  }
}

std::vector<const Network*> pointers_to(std::span<const Network> networks) {
  std::vector<const Network*> pointers;
  for (const Network& network : networks) pointers.push_back(&network);
  return pointers;
}

void count_kernels(const run::Program& program, RunResult& result) {
  result.kernels_hold += program.held;
  result.kernels_scratch = std::max(result.kernels_scratch, program.scratch);
}

/// Kernels that run rows, and the blocks of split networks.
struct ForRows {
  std::vector<run::Program> plain{};
  std::deque<run::BlockNetwork> blocks{};  ///< The plan of the last is that of all of them.
};

/// Rows need plain kernels; prepares them unless the models have them. Splits the networks that the plan splits.
void prepare_rows(std::span<const Network* const> networks, const RunOptions& prepared_for, const Plan& plan,
                  std::vector<run::ModelToRun>& models, ForRows& prepared) {
  if (prepared_for.kernels != KernelSet::plain) {
    for (const Network* const network : networks)
      prepared.plain.push_back(
          prepare(*network, {.kernels = KernelSet::plain, .random_weights = prepared_for.random_weights}));
    for (std::size_t m = 0; m < models.size(); ++m) models[m].program = &prepared.plain[m];
  }
  for (std::size_t m = 0; m < models.size(); ++m) {
    if (!model::has_blocks(plan, m)) continue;
    run::ModelToRun& model = models[m];
    const Plan& before = prepared.blocks.empty() ? plan : prepared.blocks.back().plan();
    try {
      prepared.blocks.emplace_back(*networks[m], *model.program, before, m);
    } catch (const Error& error) {
      throw model.file.empty() ? error : error.in_file(model.file);
    }
    const run::BlockNetwork& blocks = prepared.blocks.back();
    model.unsplit = model.program;
    model.program = &blocks.program();
    model.network = &blocks.network();
    model.blocks = &blocks;
  }
}

}  // namespace

struct Runner::Prepared {
  std::vector<const Network*> networks{};
  std::vector<run::Program> programs{};
  RunOptions options{};  ///< Only the options that matter.
};

Runner::Runner(std::span<const Network> networks, const RunOptions& options) {
  auto prepared = std::make_unique<Prepared>();
  prepared->networks = pointers_to(networks);
  prepared->options = {.kernels = options.kernels, .random_weights = options.random_weights};
  for (const Network& network : networks) prepared->programs.push_back(prepare(network, options));
  prepared_ = std::move(prepared);
}

Runner::Runner(const Network& network, const RunOptions& options) : Runner(std::span(&network, 1), options) {}

Runner::~Runner() = default;
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;

namespace {

/// `prepared_for` are the options that the programs were prepared with.
RunResult run_programs(std::span<const Network* const> networks, std::span<const run::Program> programs,
                       const RunOptions& prepared_for, const Plan& plan, const RunOptions& options,
                       std::span<const run::Program> exact) {
  const run::GivenInputs given = run::given_inputs(networks, plan, options);
  RunResult result;
  std::vector<run::ModelToRun> models;
  for (std::size_t m = 0; m < networks.size(); ++m) {
    const auto value = [&given, &options, &network = *networks[m], m](TensorId tensor) {
      const auto array = given.find({m, tensor});
      return run::value_of(network, tensor, array == given.end() ? nullptr : array->second, options.seed);
    };
    models.push_back({.program = &programs[m],
                      .network = networks[m],
                      .file = networks[m]->input.info.source,
                      .value = value});
  }
  try {
    ForRows prepared;
    if (is_streamed(plan)) prepare_rows(networks, prepared_for, plan, models, prepared);
    for (const run::ModelToRun& model : models)
      count_kernels(model.unsplit != nullptr ? *model.unsplit : *model.program, result);
    run::run_models(models, prepared.blocks.empty() ? plan : prepared.blocks.back().plan(), options, result,
                    exact);
  } catch (const RunFault& fault) {
    result.fault = fault;
  } catch (const run::Interrupted&) {
    result.interrupted = true;
  }
  return result;
}

}  // namespace

RunResult Runner::run(const Plan& plan, const RunOptions& options) const {
  return run_programs(prepared_->networks, prepared_->programs, prepared_->options, plan, options, {});
}

void expect_inputs(std::span<const Network> networks, std::span<const std::string> names) {
  run::expect_names(pointers_to(networks), names);
}

RunResult run_plan(std::span<const Network> networks, const Plan& plan, const RunOptions& options,
                   std::span<const Network> exact) {
  const std::vector<const Network*> pointers = pointers_to(networks);
  static_cast<void>(run::given_inputs(pointers, plan, options));  // before kernels are prepared
  const RunOptions prepared_for{.kernels = is_streamed(plan) ? KernelSet::plain : options.kernels,
                                .random_weights = options.random_weights};
  std::vector<run::Program> programs;
  for (const Network& network : networks) programs.push_back(prepare(network, prepared_for));
  std::vector<run::Program> compared;
  for (std::size_t m = 0; m < exact.size() && options.check != RunCheck::none; ++m)
    compared.push_back(prepare(exact[m], prepared_for, &networks[m].graph()));
  return run_programs(pointers, programs, prepared_for, plan, options, compared);
}

RunResult run_plan(std::span<const Network> networks, const Plan& plan, const RunOptions& options) {
  return run_plan(networks, plan, options, {});
}

RunResult run_plan(const Network& network, const Plan& plan, const RunOptions& options) {
  return run_plan(std::span(&network, 1), plan, options);
}

}  // namespace stowage
