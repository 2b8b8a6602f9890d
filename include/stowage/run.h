/// Example: plan a network, run it inside its plan, and compare it with a run outside.
///
///     stowage::Network network;
///     stowage::Graph graph;
///     graph.tensors = {{.name = "x", .kind = stowage::TensorKind::input, .dtype = stowage::DType::float32,
///                       .shape = stowage::Shape{1, 8}, .bytes = 32},
///                      {.name = "y", .kind = stowage::TensorKind::output, .dtype = stowage::DType::float32,
///                       .shape = stowage::Shape{1, 8}, .bytes = 32}};
///     graph.subgraphs = {{.name = "main", .inputs = {0}, .outputs = {1}, .operators = {
///                          {.name = "relu", .type = "Relu", .inputs = {0}, .outputs = {1}}}}};
///     network.input.content = graph;
///     network.details = {{{}}};
///     network.quantizations.resize(2);
///     const stowage::PlanResult planned = stowage::make_plan(network.input);
///     const stowage::RunResult result =
///         stowage::run_plan(network, planned.plan, {.check = stowage::RunCheck::tensors});
///     return !result.fault && result.outputs.at(0).array.data.size() == 32 ? 0 : 1;
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "stowage/network.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage {

enum class KernelSet : std::uint8_t {
  fast,  ///< Of oneDNN where it has the operator, plain otherwise.
  plain  ///< Plain loops.
};

/// What a run is compared with: one in which every tensor has memory of its own.
enum class RunCheck : std::uint8_t {
  none,
  outputs,  ///< The network's outputs, at the end.
  tensors   ///< What every operator reads before it runs, and what it wrote.
};

struct RunOptions {
  KernelSet kernels = KernelSet::fast;
  RunCheck check = RunCheck::none;
  /// Where inputs that are not given are drawn from, and the turns that models take which run at one time.
  std::uint64_t seed = 0;
  /// Replaces weights whose elements are all the same by random ones.
  std::optional<std::uint64_t> random_weights{};
  /// Values of inputs and state, by tensor name, or MODEL.TENSOR where several models have it.
  std::map<std::string, Array> inputs{};
  Progress progress{};
  /// Asks to stop before the next operator.
  std::stop_token stop{};
};

struct NamedArray {
  std::string name{};
  Array array{};
  std::size_t model = 0;  ///< Index in Plan::models.
};

/// What happened at one step.
struct StepReport {
  std::size_t clock = 0;
  Position position = 0;
  std::string what{};            ///< The operator in words.
  Bytes live = 0;                ///< In all memories: bytes of live pieces.
  std::vector<Bytes> highest{};  ///< Per memory: end of the highest byte that was handed to the kernel.
  double seconds = 0;
};

/// A difference, or a byte that is not held by whom it should be.
struct RunFault {
  std::string what{};
};

struct RunResult {
  std::vector<NamedArray> outputs{};  ///< Model by model, in its order; empty when a fault ended the run.
  std::optional<RunFault> fault{};
  bool interrupted = false;
  std::vector<StepReport> steps{};  ///< In the order in which they ran.
  /// Per memory: end of the highest byte of all tensors that were written or read.
  std::vector<Bytes> touched{};
  /// Copies (ByteCopy) that were made, and that had nothing to do; each counts whenever its operator runs.
  CopiesRemoved copies_made{};
  CopiesRemoved copies_skipped{};
  /// Multiplies of convolutions and products that a streamed plan ran, and those of the network.
  std::int64_t multiplies = 0;
  std::int64_t multiplies_of_network = 0;
  /// Memory outside the planned one: what kernels hold, and the most they want while one runs.
  Bytes kernels_hold = 0;
  Bytes kernels_scratch = 0;
};

/// Networks made ready to run: kernels prepared, and what is constant computed.
class Runner {
 public:
  /// Of the options only `kernels` and `random_weights` matter. Keeps references to the networks, which are
  /// in the order of the plan's models. Throws Error for operators that cannot be run, listing all of a
  /// network.
  explicit Runner(std::span<const Network> networks, const RunOptions& options = {});
  explicit Runner(const Network& network, const RunOptions& options = {});
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;

  /// As `run_plan`, with what was prepared. Not for several threads at once.
  [[nodiscard]] RunResult run(const Plan& plan, const RunOptions& options = {}) const;

 private:
  struct Prepared;
  std::unique_ptr<const Prepared> prepared_;
};

/// Runs the steps of a plan in memories of just the size it says. Bytes that no live piece holds
/// are filled with a pattern between steps; in a build with AddressSanitizer an operator that
/// touches a byte that is not its own ends the program, with its name. Nothing of the plan is believed: a
/// plan that is wrong gives a fault. Throws Error, before anything runs, for operators that cannot be run
/// (all of them), UsageError for inputs that do not fit the network.
[[nodiscard]] RunResult run_plan(const Network& network, const Plan& plan, const RunOptions& options = {});
[[nodiscard]] RunResult run_plan(std::span<const Network> networks, const Plan& plan,
                                 const RunOptions& options = {});

/// What came out and what it took, as a table for people; with a line per step if they ask for it.
void write_run(const RunResult& result, const Plan& plan, std::ostream& out);
void write_steps(const RunResult& result, const Plan& plan, std::ostream& out);

/// All of it as one JSON document, outputs without their values.
void write_run_json(const RunResult& result, const Plan& plan, std::ostream& out);

}  // namespace stowage
